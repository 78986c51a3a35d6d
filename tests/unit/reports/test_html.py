"""The HTML page: safe with any text, complete, and readable by everybody."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.reports.samples import (
    GROUNDED,
    HOSTILE,
    SCORERS,
    finding,
    row,
    sample_report,
    sample_rows,
    unit,
)

from aletheia.reports.html import content_policy, iter_html, render_html
from aletheia.reports.questions import GROUPS, group_of
from aletheia.schema.report import MetricScore
from aletheia.schema.verification import Mode, RejectionReason

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Page(HTMLParser):
    """Elements, ids, links and headings of a page; fails on tags that do not nest."""

    def __init__(self, html):
        super().__init__()
        self.html = html
        self.open, self.tags, self.ids, self.links = [], [], [], []
        self.headings, self.attributes, self.text = [], [], []
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(tag, *pair) for pair in attrs]
        self.ids += [value for name, value in attrs if name == "id"]
        self.links += [value for name, value in attrs if name == "href"]
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.fixture(scope="module")
def page():
    return Page(render_html(sample_report()))


def test_nothing_of_the_data_became_markup(page):
    assert {"script", "img", "iframe", "object", "form", "link", "base"} & set(page.tags) == set()
    assert [entry for entry in page.attributes if entry[1].startswith("on")] == []
    assert [entry for entry in page.attributes if entry[1] == "style"] == []


def test_templates_in_data_are_not_rendered(page):
    assert "{{ 7 * 7 }}" in page.html


def test_no_control_character_and_no_surrogate_is_in_the_page(page):
    assert page.html.encode()
    assert not any(
        (char < " " and char not in "\n\t") or "\x7f" <= char <= "\x9f" or char in "\u202e\u202c"
        for char in page.html
    )


def test_the_policy_allows_the_pages_own_style_and_nothing_else(page):
    policy = next(
        value for _, name, value in page.attributes if name == "content" and "default-src" in value
    )
    style = re.search("<style>(.*?)</style>", page.html, re.DOTALL)[1]

    assert policy == content_policy(style)
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert page.html.count("<style>") == 1


def test_nothing_points_outside_the_page(page):
    assert all(link.startswith("#") for link in page.links)
    assert "http:" not in page.html.replace("http-equiv", "")
    assert "https:" not in page.html
    assert "url(http" not in page.html
    assert not {"src", "srcset", "action", "data"} & {name for _, name, _ in page.attributes}


def test_every_link_has_its_target_and_ids_are_unique(page):
    assert {link[1:] for link in page.links} <= set(page.ids)
    assert sorted(page.ids) == sorted(set(page.ids) | {"hatch", "dots"})


def test_headings_never_skip_a_level(page):
    steps = zip(page.headings, page.headings[1:], strict=False)

    assert page.headings.count(1) == 1
    assert all(after <= before + 1 for before, after in steps)


def test_tables_have_header_cells_with_a_scope(page):
    scopes = [entry for entry in page.attributes if entry[:2] == ("th", "scope")]

    assert len(scopes) == page.tags.count("th") > 0


def test_failures_come_first(page):
    order = [name for name in page.ids if name.startswith("g-")]

    assert order == ["g-rejected", "g-error", "g-over_refusal", "g-wrong", "g-abstained", "g-right"]


@pytest.mark.parametrize(
    "words",
    [
        "4 of 11 replies are answers that came from the evidence",
        "What to do next.",
        "embedded:answer_similarity(minilm-l6-int8)",
        "3 of 4",
        "0.72–0.97",
        "the cited evidence gives another value",
        "a code without words",
        "in E2, which is not cited",
        "nearest: ",
        "part of the source",
        "the reply is cut off",
        "‹ESC›[31mred",
        "should have answered: the evidence holds the answer",
        "ModelUnavailable: 429 after 4 tries",
        "the judge's reply was cut off",
        "no detectable difference",
        "Retrieval brought nothing.",
        "1.3 s",
        "e1",
        "fence",
        "(was not shown)",
        "no API key is set",
        "sha256:" + "ab" * 32,
    ],
)
def test_the_page_says(page, words):
    assert words in "".join(page.text)


def test_every_finding_is_labelled_in_words_beside_the_mark(page):
    assert page.html.count('<mark class="off">') == 9
    assert '<a class="tag" href="#q5-f1">1 name</a>' in page.html


def test_pieces_are_the_page():
    report = sample_report()

    assert "".join(iter_html(report)) == render_html(report)


@pytest.mark.parametrize(
    ("mode", "rows", "words"),
    [
        (Mode.STRICT, [], "Nothing was verified: there are no questions."),
        (Mode.OFF, [row("r", "q?", "g", category="grounded_answer", grounding_rejected=False)],
         "grounding mode is `off`"),
        (
            Mode.LENIENT,
            [
                row(
                    "r", "q?", "g", category="grounded_answer", grounding_rejected=False,
                    verified=False, warnings=(RejectionReason.UNCITED_ENTITIES,), answer="Orle",
                )
            ],
            "not in the cited evidence (kept in this mode)",
        ),
    ],
)  # fmt: skip
def test_unusual_runs_have_a_page_too(mode, rows, words):
    assert words in "".join(Page(render_html(sample_report(rows, mode=mode))).text)


def test_mixed_implementations_are_shown_apart():
    rows = [
        sample_rows()[0],
        sample_rows()[1].model_copy(
            update={
                "metrics": {
                    "faithfulness": MetricScore(
                        value=0.5, implementation="ragas:Faithfulness", status="measured"
                    )
                }
            }
        ),
    ]
    text = "".join(Page(render_html(sample_report(rows))).text)

    assert "scored by 2 implementations, which are not averaged" in text
    assert "ragas:Faithfulness" in text
    assert SCORERS["faithfulness"] in text


@settings(deadline=None, max_examples=60)
@given(
    st.text(st.characters(exclude_categories=())),
    st.text(st.sampled_from("<>&\"'{%}\x00\x1b\u202e\ud83d ab"), min_size=1),
)
def test_no_text_can_leave_its_place(anything, hostile):
    text = anything + hostile
    item = row(
        text or "r", text, text, **GROUNDED, type=text, answer=text, raw_reply=text,
        reasoning=text, cited_ids=(text,), evidence=(unit(1, text, cited=True, source=text),),
        findings=(finding(text, hostile, hostile, text, text, text),), error=text,
        repairs=(text,), normalised=((text, text),), timings_ms={text: 1.0},
        metrics={text: MetricScore(value=None, implementation=text, status="unmeasured",
                                   reason=text)},
    )  # fmt: skip
    plain = row("r", "q", "g", **GROUNDED, answer="a")
    page = Page(render_html(sample_report([item, plain], graph=text, settings={text: text})))

    assert not {"script", "img"} & set(page.tags)
    assert page.html.encode()


def test_every_row_falls_into_one_group():
    keys = [group.key for group in GROUPS]

    assert len(set(keys)) == len(keys)
    assert all(group_of(item) in keys for item in sample_rows())


def _palette(css, dark):
    block = css.split("@media (prefers-color-scheme: dark)")[1 if dark else 0]
    return dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block.split("* {")[0]))


def _luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize(
    ("text", "ground"),
    [
        *[(text, ground) for text in ("ink", "muted", "link") for ground in ("paper", "card")],
        *[(tone, f"{tone}-soft") for tone in ("good", "warn", "bad", "calm", "grey")],
        *[("ink", f"{tone}-soft") for tone in ("good", "warn", "bad", "calm", "grey")],
        ("bad", "card"),
    ],
)
def test_text_has_a_contrast_of_at_least_4_5(page, dark, text, ground):
    css = re.search("<style>(.*?)</style>", page.html, re.DOTALL)[1]
    palette = _palette(css, dark)
    low, high = sorted((_luminance(palette[text]), _luminance(palette[ground])))

    assert (high + 0.05) / (low + 0.05) >= 4.5


def test_the_hostile_text_is_really_hostile():
    """Guard for the tests above: the sample holds what they look for."""
    assert "<script>" in HOSTILE
    assert "\x1b" in HOSTILE
    assert "\ud83d" in HOSTILE


def test_cells_and_advice_are_shown_for_the_run_and_for_each_question():
    report = sample_report()
    html = render_html(report)
    text = " ".join(Page(html).text)

    for cell in report.diagnosis_report.cells:
        assert cell.plain_name in text
    for item in report.diagnosis_report.suggestions:
        assert item.title in text
    assert "llm (decomposer cutter, judge judge)" in text
    assert "0.80 (not learned: the fallback of a run that keeps nothing)" in text
    assert "No cell (rejected: uncited_entities)" in text
    assert "Over-answered, tentative" in text
    assert 'href="#cells"' in html
