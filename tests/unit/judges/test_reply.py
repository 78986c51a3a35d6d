"""Replies as a bijection: every id once, every verdict from the menu, nothing out of prose."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aletheia.judges.reply import decode, read_items
from aletheia.judges.roster import Roster, roster
from aletheia.judges.words import MENU, VERDICT_WORDS, read_verdict

CLAIMS = roster("C", ["One.", "Two."], "salt")
QUESTIONS = roster("Q", ["Who?"], "salt")


def entry(asked: Roster, at: int, **changes: object) -> dict[str, object]:
    item = asked.items[at]
    return {"id": item.key, "check": item.check, "verdict": "N"} | changes


FULL = [entry(CLAIMS, at) for at in range(3)]


def problems(text: str, asked: Roster = CLAIMS, *, cut: bool = False) -> list[str | None]:
    """The problem of each item shown, None where it was read."""
    read = read_items(decode(text, cut=cut), [asked])[asked.family]
    assert set(read.fields).isdisjoint(read.problems)
    assert set(read.fields) | set(read.problems) == {item.key for item in asked.items}
    return [read.problems.get(item.key) for item in asked.items]


def _python(entries: list[dict[str, object]]) -> str:
    return repr({"claims": entries, "note": None})


@pytest.mark.parametrize(
    "text",
    [
        json.dumps({"claims": FULL}),
        json.dumps(FULL),
        json.dumps({"result": {"claims": FULL}}),
        json.dumps({"claims": {item["id"]: item for item in FULL}}),
        json.dumps({"claims": {item["id"]: {**item, "id": None} for item in FULL}}),
        json.dumps({"claims": [{**item, "id": item["id"].lower()} for item in FULL]}),  # type: ignore[attr-defined]
        json.dumps({"claims": [{**item, "id": int(item["id"][1:])} for item in FULL]}),  # type: ignore[index]
        json.dumps({"claims": [{"claim": f"claim {item['id'][1:]}", "verdict": "no", "check": item["check"]} for item in FULL]}),  # type: ignore[index]
        json.dumps({"claims": [{**item, "check": f"({item['check']})".upper()} for item in FULL]}),
        f"Sure:\n```json\n{json.dumps({'claims': FULL})}\n```\nAnything {{else}}?",
        f"<think>a draft {{}}</think>{json.dumps({'claims': FULL})}",
        f"{json.dumps({'claims': FULL})}\n{json.dumps({'claims': FULL})}",
        json.dumps(json.dumps({"claims": FULL})),
        _python(FULL),
        json.dumps({"claims": FULL}).removesuffix("}") + ",",
    ],
    ids=[
        *("object", "bare list", "nested one level", "keyed by id", "keyed, no id inside"),
        *("small letters", "numbers", "words", "check in brackets", "fence and prose"),
        *("reasoning", "said twice", "json in a string", "python literals", "comma, no brace"),
    ],
)  # fmt: skip
def test_usual_forms_are_read(text: str) -> None:
    assert problems(text) == [None, None, None]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ["empty_reply"] * 3),
        ("Yes, all of them are supported.", ["unreadable"] * 3),
        ("1. Yes. 2. Yes. 3. No.", ["unreadable"] * 3),
        ('["Y", "Y", "N"]', ["missing"] * 3),
        ('{"claims": "Y"}', ["missing"] * 3),
        ('{"type": "object", "properties": {"claims": {"type": "array"}}}', ["schema_echo"] * 3),
        (json.dumps({"claims": FULL[:2]}), [None, None, "missing"]),
        (json.dumps({"claims": [FULL[0], FULL[0], FULL[2]]}), ["duplicate_id", "missing", None]),
        (json.dumps({"claims": [*FULL, entry(CLAIMS, 0, id="C9")]}), [None, None, None]),
        (json.dumps({"claims": [*FULL[:2], entry(CLAIMS, 2, id="Q3")]}), [None, None, "missing"]),
        (json.dumps({"claims": [*FULL[:2], entry(CLAIMS, 2, id=True)]}), [None, None, "missing"]),
        (json.dumps({"claims": [*FULL[:2], entry(CLAIMS, 2, id=3.5)]}), [None, None, "missing"]),
        # Verdicts that slipped by one: the checks are those of the neighbours.
        (
            json.dumps({"claims": [{**FULL[at], "id": f"C{(at + 1) % 3 + 1}"} for at in range(3)]}),
            ["check_mismatch"] * 3,
        ),
        # Ids from 0: C0 was not asked, and the others are those of the neighbours.
        (
            json.dumps({"claims": [{**FULL[at], "id": at} for at in range(3)]}),
            ["check_mismatch", "check_mismatch", "missing"],
        ),
        (
            json.dumps({"claims": FULL[:2]})[:-2] + ', {"id": "C3", "verdict": "N", "verdict": "Y"}]}',
            [None, None, "duplicate_key"],
        ),
        (json.dumps({"claims": FULL})[:-20], [None, None, "truncated"]),
    ],
)  # fmt: skip
def test_what_does_not_fit_costs_that_item_only(text: str, expected: list[str | None]) -> None:
    assert problems(text) == expected


def test_a_reply_that_ended_at_its_length_names_the_reason() -> None:
    assert problems(json.dumps({"claims": FULL[:1]}), cut=True) == [None, "truncated", "truncated"]


def test_two_families_in_one_reply_are_told_apart_by_letter_or_list() -> None:
    question = [entry(QUESTIONS, at) for at in range(2)]
    for text in (
        json.dumps({"questions": question, "claims": FULL}),
        json.dumps(question + FULL),
        json.dumps(
            {
                "questions": [{**item, "id": int(str(item["id"])[1:])} for item in question],
                "claims": [{**item, "id": int(str(item["id"])[1:])} for item in FULL],
            }
        ),
    ):
        read = read_items(decode(text), [QUESTIONS, CLAIMS])
        assert not read["Q"].problems
        assert not read["C"].problems


@given(st.text(max_size=200))
def test_no_text_raises_or_loses_an_item(text: str) -> None:
    problems(text)


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(["id", "claims", "check", "verdict", "C1", "questions"]), inner, max_size=4), max_leaves=12))  # fmt: skip
def test_no_json_raises_or_loses_an_item(value: object) -> None:
    problems(json.dumps(value))


@pytest.mark.parametrize(("word", "verdict"), VERDICT_WORDS.items())
def test_every_word_of_the_table_is_read_in_any_spelling(word: str, verdict: str) -> None:
    for spelled in (word, word.upper(), f" **{word}.** ", word.replace(" ", "_")):
        assert read_verdict(spelled) == verdict


def test_the_menu_is_in_the_table_and_means_itself() -> None:
    assert [read_verdict(verdict) for verdict in MENU] == list(MENU)


@pytest.mark.parametrize(
    "value",
    [1, 0, -1, 1.0, None, "", "maybe", "Y/N", "Yes and no", "not unsupported", "yess", ["Y"], "1"],
)
def test_any_other_verdict_is_off_the_menu(value: object) -> None:
    """A label inside another, a number, a default: none of them is a verdict."""
    assert read_verdict(value) is None


@pytest.mark.parametrize(("value", "verdict"), [(True, "Y"), (False, "N")])
def test_booleans_are_verdicts(value: bool, verdict: str) -> None:
    assert read_verdict(value) == verdict
