"""The embedded faithfulness judge: a score, a verdict, the units, the words nothing carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aletheia.judges.base import Judged, Outcome, TraceCase
from aletheia.judges.embedded.evidence import Evidence, evidence_of
from aletheia.judges.embedded.measured import JUDGE_ERROR, judge_error
from aletheia.judges.embedded.scoring import Scorer
from aletheia.judges.embedded.tokens import tokens
from aletheia.judges.embedded.trees import model
from aletheia.judges.embedded.verdicts import Judge
from aletheia.judges.embedded.yes_no import Answered, answered
from aletheia.judges.rules import settled_faithfulness
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.trace import Claim

MOST_OWN_WORDS = 4
"""Words of an item of a list that is no sentence by itself."""


class EmbeddedFaithfulnessJudge:
    """Judges claims without a model behind it: no key, no network, a few milliseconds.

    `score` is the calibrated probability that the units carry the claim. A number, date or sign
    that contradicts the evidence decides against it; a changed quantifier, role or modality
    forbids a positive verdict. Outside its two bands a verdict has low confidence.
    """

    @property
    def name(self) -> str:
        """Which kind of judge this is."""
        return "embedded"

    @property
    def making(self) -> Mapping[str, str]:
        """What results keep of it."""
        return {
            "faithfulness_judge": self.name,
            "embedded_model": model().version,
            JUDGE_ERROR: judge_error(),
        }

    async def judge_faithfulness(
        self, case: TraceCase, claims: Sequence[Claim]
    ) -> Outcome[tuple[FaithfulnessJudgment, ...]]:
        """Return one judgment for each claim, in the order asked."""
        settled = settled_faithfulness(case, claims)
        if settled is not None:
            return settled
        return Judged(value=judge_claims(evidence_of(case.evidence), case, claims))


def judge_claims(
    evidence: Evidence, case: TraceCase, claims: Sequence[Claim]
) -> tuple[FaithfulnessJudgment, ...]:
    """Judge each claim by its own words.

    Where all claims are what the response says, they are read in it, sentence by sentence with
    their places; claims in other words are read as a text of their own. A question with a bare yes
    or no is read as the statement it makes.
    """
    asked = {claim.id: answered(claim.text) for claim in claims}
    stated = [claim for claim in claims if asked[claim.id] is None]
    found = {item.claim_id: item for item in _judge_stated(evidence, case, stated)}
    for claim in claims:
        answer = asked[claim.id]
        if answer is not None:
            found[claim.id] = _judge_answer(evidence, case, claim, answer)
    return tuple(found[claim.id] for claim in claims)


def _judge_stated(
    evidence: Evidence, case: TraceCase, claims: Sequence[Claim]
) -> list[FaithfulnessJudgment]:
    spans = [(claim.start, claim.end) for claim in claims]
    in_place = all(_is_in_place(case.response, claim) for claim in claims)
    text = case.response
    if not in_place:
        text, spans = _joined(claims)
    scorer = Scorer(evidence, text, case.query)
    judge = Judge(evidence, scorer)
    found = []
    for claim, scored in zip(claims, scorer.spans(spans), strict=True):
        own = None if in_place else _own_words(claim, case.response)
        judgment = judge.judgment(claim.id, scored, own)
        found.append(judgment if in_place else _moved(judgment, text, claim, case.response))
    return found


def _judge_answer(
    evidence: Evidence, case: TraceCase, claim: Claim, answer: Answered
) -> FaithfulnessJudgment:
    """Judge what the question states; a no is carried only by evidence that denies it."""
    scorer = Scorer(evidence, answer.statement, case.query)
    [scored] = scorer.spans([(0, len(answer.statement))])
    judge = Judge(evidence, scorer)
    found = judge.answer(claim.id, scored, answer)
    spans = ((claim.start, claim.end),) if found.unsupported else ()
    return found.model_copy(update={"unsupported": spans})


def _is_in_place(response: str, claim: Claim) -> bool:
    """Whether the claim says no more than its span: what is put before it stands elsewhere."""
    own = " ".join(response[claim.start : claim.end].split())
    return bool(own) and claim.text.endswith(own[-min(len(own), len(claim.text)) :])


def _own_words(claim: Claim, response: str) -> int | None:
    """How many words at the end of the claim are its own, where it has a stem before them."""
    own = len(tokens(response[claim.start : claim.end].lstrip("-*•0123456789.) ")))
    return own if 0 < own <= MOST_OWN_WORDS and own < len(tokens(claim.text)) else None


def _joined(claims: Sequence[Claim]) -> tuple[str, list[tuple[int, int]]]:
    spans: list[tuple[int, int]] = []
    position = 0
    lines = [" ".join(claim.text.split()) for claim in claims]
    for line in lines:
        spans.append((position, position + len(line)))
        position += len(line) + 1
    return "\n".join(lines), spans


def _moved(
    judgment: FaithfulnessJudgment, text: str, claim: Claim, response: str
) -> FaithfulnessJudgment:
    """The judgment with its unsupported words looked up in the span of the response."""
    own = response[claim.start : claim.end].lower()
    spans = []
    for start, end in judgment.unsupported:
        at = own.find(text[start:end].lower())
        if at >= 0:
            spans.append((claim.start + at, claim.start + at + end - start))
    if judgment.unsupported and not spans:
        spans = [(claim.start, claim.end)]
    return judgment.model_copy(update={"unsupported": tuple(spans)})
