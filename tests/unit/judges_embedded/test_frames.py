"""Changed places: the words are those of the evidence, and another one did it."""

from __future__ import annotations

import anyio
import pytest

from aletheia.grounding.numbering import number
from aletheia.judges.base import Judged, TraceCase
from aletheia.judges.embedded import EmbeddedFaithfulnessJudge
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.trace import Claim

METALS = "Tin melts at 232 degrees, lead at 327 degrees."
HOUSES = "The red barn belongs to Mrs. Holm and the grey barn to her brother."
TRADE = "Orrin Mills sold 14 looms to Pax Textiles in 1931. Ada Berg kept the books."
GATES = "The north gate guards the market, and the south gate guards the mint."
VOTE = "The board rejected the merger on 3 May after it had approved two smaller deals."


def judged(evidence: str, claim: str) -> FaithfulnessJudgment:
    case = TraceCase(query=None, evidence=number([evidence]), response=claim)
    claims = (Claim(id=0, text=claim, start=0, end=len(claim)),)
    outcome = anyio.run(EmbeddedFaithfulnessJudge().judge_faithfulness, case, claims)
    assert isinstance(outcome, Judged)
    return outcome.value[0]


@pytest.mark.parametrize(
    ("evidence", "claim", "kind"),
    [
        (METALS, "Lead melts at 232 degrees.", "attribute"),
        (METALS, "Tin melts at 327 degrees.", "attribute"),
        (HOUSES, "The grey barn belongs to Mrs. Holm.", "attribute"),
        (TRADE, "Pax Textiles sold 14 looms to Orrin Mills in 1931.", "role"),
        (TRADE, "Ada Berg sold 14 looms to Pax Textiles in 1931.", "attribute"),
        (GATES, "The south gate guards the market.", "attribute"),
        (VOTE, "The board approved the merger on 3 May.", "attribute"),
        (TRADE, "Orrin Mills sold 14 looms to Pax Textiles in 1931 out of sheer despair.", "added"),
        ("Ada Berg plans to repair the roof.", "Ada Berg repaired the roof.", "modality"),
        ("Ada Berg repaired the roof.", "Ada Berg may have repaired the roof.", "modality"),
    ],
)
def test_what_changed_places_is_not_supported(evidence: str, claim: str, kind: str) -> None:
    found = judged(evidence, claim)
    assert found.verdict == "N"
    assert f"edit_{kind}" in found.warnings


@pytest.mark.parametrize(
    ("evidence", "claim"),
    [
        (METALS, "Tin melts at 232 degrees."),
        (HOUSES, "The red barn belongs to Mrs. Holm."),
        (TRADE, "In 1931 Orrin Mills sold 14 looms to Pax Textiles."),
        (TRADE, "Pax Textiles was sold 14 looms by Orrin Mills."),
        (GATES, "The south gate guards the mint, and the north gate guards the market."),
        (VOTE, "On 3 May the board rejected the merger."),
        ("Tin, zinc and lead melt below 500 degrees.", "Lead and tin melt below 500 degrees."),
        ("The flood came after the storm had passed.", "The storm had passed before the flood came."),
        ("The prize was awarded to Ada Berg.", "Ada Berg was awarded the prize."),
        ("Ada Berg might repair the roof.", "Ada Berg might repair the roof."),
    ],
)  # fmt: skip
def test_the_same_in_another_order_stands(evidence: str, claim: str) -> None:
    assert [w for w in judged(evidence, claim).warnings if w.startswith("edit_")] == []
