"""How often the judge is wrong is told from data, and agrees with its card."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import aletheia.judges.embedded
from aletheia.errors import StoreError
from aletheia.judges.embedded import measured
from aletheia.judges.embedded.faithfulness import EmbeddedFaithfulnessJudge
from aletheia.judges.embedded.measured import JUDGE_ERROR, judge_error
from aletheia.judges.embedded.trees import FILES, digest, model

DATA = Path(aletheia.judges.embedded.__file__).parent / "data"


def test_results_keep_how_often_the_judge_is_wrong() -> None:
    assert EmbeddedFaithfulnessJudge().making[JUDGE_ERROR] == judge_error()
    assert "low confidence was right 63% of the time" in judge_error()


def test_the_figures_are_those_of_the_model_that_judges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures = json.loads(measured.FILE.read_text(encoding="utf-8"))
    assert figures["model"] == model().version == digest((DATA / n).read_bytes() for n in FILES)
    other = tmp_path / "measured.json"
    other.write_text(json.dumps({**figures, "model": "0" * 12}), encoding="utf-8")
    monkeypatch.setattr(measured, "FILE", other)
    with pytest.raises(StoreError, match="figures of the embedded judges are those of model `0000"):
        measured.judge_error.__wrapped__()


def test_data_is_small_and_its_version_is_its_content() -> None:
    assert sum(path.stat().st_size for path in DATA.iterdir()) <= 3_000_000
    assert digest([b"a", b"b"]) != digest([b"ab", b""])


def test_the_figures_are_those_of_the_card() -> None:
    figures = json.loads((DATA / "measured.json").read_text(encoding="utf-8"))
    card = " ".join((DATA / "CARD.md").read_text(encoding="utf-8").split())

    assert f"Version `{figures['model']}`" in card
    row = f"mean over sources 35 {figures['auroc']:.3f} {figures['balanced_accuracy']:.3f}"
    assert row in card
    assert f"{figures['records']:,} human-labelled records" in card
    for name, words in (
        ("supported_high_confidence_right", '"Supported" with high confidence was right {} %'),
        ("unsupported_high_confidence_right", '"unsupported" {} %'),
        ("low_confidence_right", "low confidence: {} % of them are right"),
    ):
        assert words.format(round(figures[name] * 100)) in card
