"""How many statements of an answer the evidence supports, by deterministic verification."""

from __future__ import annotations

from collections.abc import Sequence

from aletheia.grounding.refusal import Statement, statements
from aletheia.grounding.text import fold
from aletheia.grounding.verify import verify_answer
from aletheia.ragas_bridge.base import Support
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.verification import Finding


def count_support(answer: str, evidence: EvidenceSet, cited: tuple[str, ...]) -> Support:
    """Count supported, all and undecided statements of `answer` against all the evidence.

    Faithfulness asks whether the retrieved units carry the answer, not whether the right one was
    cited, so `cited` is not looked at. A statement is undecided when no check could decide
    anything in it and it does not stand word for word in a unit.
    """
    del cited
    claims = [item for item in statements(answer) if item.kind == "claim"]
    whole = verify_answer(evidence, ParsedAnswer(answer=answer, evidence_ids=evidence.ids))
    kept = [claim for claim in claims if not _failed(claim, whole.findings)]
    texts = [fold(unit.text).text for unit in evidence]
    undecided = sum(not _decided(claim, evidence, texts) for claim in kept)
    return Support(len(kept) - undecided, len(claims), undecided)


def _failed(claim: Statement, findings: Sequence[Finding]) -> bool:
    return any(
        item.kind != "citation"
        and item.start < claim.end
        and claim.start < max(item.end, item.start + 1)
        for item in findings
    )


def _decided(claim: Statement, evidence: EvidenceSet, texts: Sequence[str]) -> bool:
    words = fold(claim.text).text.strip()
    if words and any(words in text for text in texts):
        return True
    alone = verify_answer(evidence, ParsedAnswer(answer=claim.text, evidence_ids=evidence.ids))
    return alone.checked > 0
