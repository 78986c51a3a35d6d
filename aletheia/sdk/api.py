"""The calls of the Python API."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from aletheia.errors import UsageError
from aletheia.grounding.modes import judge
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.schema.verification import Mode
from aletheia.sdk.evidence import EvidenceLike, read_evidence, text_of
from aletheia.sdk.result import VerifyResult

__all__ = ["parse_mode", "verify"]


def verify(
    evidence: EvidenceLike | None,
    reply: str | Mapping[str, object] | None,
    question: str | None = None,
    mode: Mode | str = Mode.STRICT,
    *,
    exempt_question_entities: bool = False,
) -> VerifyResult:
    """Check that `reply` says nothing that the evidence it cites does not carry.

    `evidence` are the units in the order in which they were shown, the first being `E1`: texts,
    mappings with `text` and optionally `source` and `aliases`, `EvidenceText`, or an
    `EvidenceSet`. `reply` is what the model wrote, as text or as the object already read. Lenient
    mode reads every common form of citation and turns failures into warnings.
    `exempt_question_entities` lets names of the question pass without evidence.

    Deterministic and offline. No reply raises; evidence that cannot be read raises DataError, an
    unknown mode UsageError.
    """
    chosen = parse_mode(mode)
    units = read_evidence(evidence)
    if question is not None:
        question = text_of(question, "question")
    options = VerifyOptions(
        lenient=chosen is Mode.LENIENT, exempt_question_entities=exempt_question_entities
    )
    found = verify_reply(units, reply, question=question, options=options)
    return VerifyResult.of(judge(found, chosen), units.dropped)


def parse_mode(mode: Mode | str) -> Mode:
    """Read the name of a mode. Raises UsageError that lists the modes there are."""
    try:
        return Mode(mode)
    except ValueError:
        names = [item.value for item in Mode]
        near = get_close_matches(str(mode).lower(), names, n=1)
        hint = f"did you mean `{near[0]}`?" if near else None
        listed = ", ".join(f"`{name}`" for name in names)
        raise UsageError(
            f"{mode!r} is not a grounding mode; there are {listed}", hint=hint
        ) from None
