"""What a judge may answer, in one table for prompts, schemas, the reader and tests."""

from __future__ import annotations

from typing import Final, get_args

from aletheia.schema.judgement import Verdict
from aletheia.schema.trace import ClaimKind

MENU: Final[tuple[Verdict, ...]] = get_args(Verdict)
"""The verdicts that prompts offer."""

CLAIM_KINDS: Final[tuple[ClaimKind, ...]] = get_args(ClaimKind)
"""The kinds of claim that prompts offer."""

VERDICT_WORDS: Final[dict[str, Verdict]] = {
    **dict.fromkeys(
        (
            "y",
            "yes",
            "true",
            "supported",
            "fully supported",
            "grounded",
            "sufficient",
            "answerable",
        ),
        "Y",
    ),
    # What is not known to be supported is not supported.
    **dict.fromkeys(
        (
            *("n", "no", "false", "unsupported", "not supported", "partially supported"),
            *("partly supported", "partial", "ungrounded", "not grounded", "contradicted"),
            *("refuted", "insufficient", "not sufficient", "unanswerable", "not answerable"),
            *("unknown", "unclear", "idk", "cannot tell", "can't tell", "not mentioned"),
            *("not enough information", "nei"),
        ),
        "N",
    ),
}
"""A whole answer, folded -> what it means. Any other word is off the menu, and so is a number."""

_AROUND: Final = " \t\r\n\"'`*_.!"


def read_verdict(value: object) -> Verdict | None:
    """Read one field: `true`, or text that is one word of the table. None = off the menu."""
    if isinstance(value, bool):
        return "Y" if value else "N"
    # A code such as 1, 0 or -1 is no word of the table.
    if not isinstance(value, str):
        return None
    folded = " ".join(value.strip(_AROUND).casefold().replace("_", " ").split())
    return VERDICT_WORDS.get(folded)


def read_kind(value: object) -> ClaimKind | None:
    """Read the kind of a claim. None = off the menu."""
    if not isinstance(value, str):
        return None
    folded = value.strip(_AROUND).casefold()
    return next((kind for kind in CLAIM_KINDS if kind == folded), None)
