"""How often the embedded judges are wrong: the figures of their card, as data."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Final

from aletheia.errors import StoreError
from aletheia.judges.embedded.trees import model

JUDGE_ERROR: Final = "judge_error"
"""The entry of `making` that says how often the judge is wrong."""

FILE: Final = Path(__file__).parent / "data" / "measured.json"


@cache
def judge_error() -> str:
    """Say in one sentence how often verdicts on claims were right, on labelled records.

    Raises `StoreError` where the figures were measured with other data than is there now.
    """
    figures = json.loads(FILE.read_text(encoding="utf-8"))
    if figures["model"] != model().version:
        raise StoreError(
            f"the figures of the embedded judges are those of model `{figures['model']}`, and model "
            f"`{model().version}` is installed; run `{figures['command']} --write`"
        )
    shares = {name: f"{value:.0%}" for name, value in figures.items() if isinstance(value, float)}
    return (
        f"on {figures['records']:,} labelled responses a verdict of low confidence was right "
        f"{shares['low_confidence_right']} of the time, a confident “supported” "
        f"{shares['supported_high_confidence_right']}, a confident “unsupported” "
        f"{shares['unsupported_high_confidence_right']}"
    )
