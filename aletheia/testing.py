"""Helpers for tests of code that uses this package: models that follow a script or a recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from aletheia.llm.replay import ReplayModel, record_replies
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.evidence import EvidenceText

__all__ = [
    "SAMPLE_EVIDENCE",
    "Line",
    "ReplayModel",
    "ScriptedModel",
    "answer_reply",
    "record_replies",
]

SAMPLE_EVIDENCE: Final = (
    EvidenceText(text="The harbour of Port Ellery opened in 1911.", source="Harbour register"),
    EvidenceText(text="Port Ellery exports tea and salt.", source="Trade almanac"),
    EvidenceText(text="The lighthouse keeper of Port Ellery is Mara Quint.", aliases=("M. Quint",)),
)
"""Three invented units; numbered in this order they are E1, E2 and E3."""


def answer_reply(
    answer: str, evidence_ids: Sequence[str] = (), reasoning: str = "As cited."
) -> str:
    """Return a reply in the form that a generator is asked for."""
    fields = {"answer": answer, "evidence_ids": list(evidence_ids), "reasoning": reasoning}
    return json.dumps(fields, ensure_ascii=False)
