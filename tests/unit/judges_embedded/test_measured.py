"""How often the judge is wrong is told from data, and agrees with its card."""

from __future__ import annotations

import json
from pathlib import Path

import aletheia.judges.embedded
from aletheia.judges.embedded.faithfulness import EmbeddedFaithfulnessJudge
from aletheia.judges.embedded.measured import JUDGE_ERROR, judge_error

DATA = Path(aletheia.judges.embedded.__file__).parent / "data"


def test_results_keep_how_often_the_judge_is_wrong() -> None:
    assert EmbeddedFaithfulnessJudge().making[JUDGE_ERROR] == judge_error()
    assert "low confidence was right 62% of the time" in judge_error()


def test_the_figures_are_those_of_the_card() -> None:
    figures = json.loads((DATA / "measured.json").read_text(encoding="utf-8"))
    card = " ".join((DATA / "CARD.md").read_text(encoding="utf-8").split())

    assert f"{figures['records']:,} human-labelled records" in card
    for name, words in (
        ("supported_high_confidence_right", '"Supported" with high confidence was right {} %'),
        ("unsupported_high_confidence_right", '"unsupported" {} %'),
        ("low_confidence_right", "low confidence: {} % of them are right"),
    ):
        assert words.format(round(figures[name] * 100)) in card
