"""The summary for a terminal."""

import pytest
from unit.reports.samples import HOSTILE, LONG_WORD, sample_report, sample_rows

from aletheia.reports.text import render_text
from aletheia.reports.visible import cells
from aletheia.schema.verification import Mode


@pytest.mark.parametrize(
    "report",
    [
        sample_report(),
        sample_report([]),
        sample_report(sample_rows()[:1], mode=Mode.OFF),
        sample_report(
            graph=LONG_WORD,
            questions="質問" * 60,
            generator=HOSTILE,
            generator_model="m" * 200,
            generator_note=HOSTILE,
            metrics_by=LONG_WORD,
            resumed=3,
        ),
    ],
)
def test_lines_fit_80_columns_and_hold_nothing_that_a_terminal_obeys(report):
    text = render_text(report)

    assert max(map(cells, text.splitlines())) <= 80
    assert all(char == "\n" or char.isprintable() or char == "\u200d" for char in text)
    assert text.encode()


def test_colour_is_the_callers_and_does_not_change_the_words():
    seen = set()

    def style(line, role):
        seen.add(role)
        return f"<{role}>{line}"

    styled = render_text(sample_report(), style=style)
    stripped = "".join(line.partition(">")[2] for line in styled.splitlines(keepends=True))

    assert stripped == render_text(sample_report())
    assert seen == {"poor", "heading", "plain"}


@pytest.mark.parametrize(
    "expected",
    [
        "generator   extractive",
        "no API key is set",
        "passed              6    55%",
        "faithfulness        0.96  3 of 4 [0.72–0.97]  embedded:faithfulness",
        "2   18%  not in the cited evidence (uncited_entities)",
        "abstained, evidence lacks the answer  33%  1 of 3",
        "no detectable difference",
        "no reply            1  (in no rate)",
    ],
)
def test_it_says_what_ran_and_what_came_out(expected):
    assert expected in render_text(sample_report())
