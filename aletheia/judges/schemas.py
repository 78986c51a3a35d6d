"""JSON schemas of the replies, fit for strict structured output.

They say nothing of the ids of one trace, so that they stay the same for a whole run; whether ids
exist is decided when the reply is read.
"""

from __future__ import annotations

from typing import Any, Final

from aletheia.judges.words import CLAIM_KINDS, MENU

_TEXT: Final = {"type": "string"}
_YES_NO: Final = {"type": "string", "enum": list(MENU)}
_TEXTS: Final = {"type": "array", "items": _TEXT}
_KIND: Final = {"type": "string", "enum": list(CLAIM_KINDS)}


def _object(**properties: object) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(**properties: object) -> dict[str, Any]:
    return {"type": "array", "items": _object(**properties)}


_CLAIMS: Final = _list(quote=_TEXT, text=_TEXT, kind=_KIND)

SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "decompose_query": _object(sub_questions=_TEXTS),
    "decompose_response": _object(claims=_CLAIMS),
    "decompose": _object(sub_questions=_TEXTS, claims=_CLAIMS),
    "sufficiency": _object(
        questions=_list(id=_TEXT, check=_TEXT, why=_TEXT, verdict=_YES_NO, evidence_ids=_TEXTS)
    ),
    "faithfulness": _object(
        claims=_list(id=_TEXT, check=_TEXT, why=_TEXT, verdict=_YES_NO, evidence_ids=_TEXTS)
    ),
    "completeness": _object(claims=_list(id=_TEXT, check=_TEXT, answers=_TEXTS, off_topic=_YES_NO)),
    "fused": _object(
        questions=_list(id=_TEXT, check=_TEXT, verdict=_YES_NO, evidence_ids=_TEXTS),
        claims=_list(
            id=_TEXT,
            check=_TEXT,
            verdict=_YES_NO,
            evidence_ids=_TEXTS,
            answers=_TEXTS,
            off_topic=_YES_NO,
        ),
    ),
}
"""Prompt name -> schema of its reply. Not to be changed in place."""
