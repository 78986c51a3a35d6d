"""The embedded faithfulness judge: a score, a verdict, the units, the words nothing carries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aletheia.judges.base import Judged, Outcome, TraceCase
from aletheia.judges.embedded.edits import LEAST_COVERED, Edit, edits
from aletheia.judges.embedded.evidence import Evidence, by_text, evidence_of
from aletheia.judges.embedded.features import Block, Part
from aletheia.judges.embedded.measured import JUDGE_ERROR, judge_error
from aletheia.judges.embedded.scoring import Scored, Scorer, sentence_parts
from aletheia.judges.embedded.tokens import tokens
from aletheia.judges.embedded.trees import model
from aletheia.judges.rules import settled_faithfulness
from aletheia.schema.judgement import Confidence, FaithfulnessJudgment, Verdict
from aletheia.schema.trace import Claim
from aletheia.schema.verification import Finding

NOT_CARRIED = 0.5
"""Likeness below which a word counts as carried by nothing."""
MOST_UNITS = 3
MOST_OWN_WORDS = 4
"""Words of an item of a list that is no sentence by itself."""
_DECIDING = frozenset(("number", "date", "polarity", "identifier"))
_UNDECIDED = frozenset(("absent", "not_in_evidence", "misattributed", "from_question"))
_HELD_BACK = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class _Doubts:
    """What speaks against one span: findings that contradict, other findings, changes of sense."""

    contradicted: tuple[Finding, ...]
    uncarried: tuple[Finding, ...]
    edits: tuple[Edit, ...]


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
    their places; claims in other words are read as a text of their own.
    """
    spans = [(claim.start, claim.end) for claim in claims]
    in_place = all(_is_in_place(case.response, claim) for claim in claims)
    text = case.response
    if not in_place:
        text, spans = _joined(claims)
    scorer = Scorer(evidence, text, case.query)
    judge = _Judge(evidence, scorer)
    found = []
    for claim, scored in zip(claims, scorer.spans(spans), strict=True):
        own = None if in_place else _own_words(claim, case.response)
        judgment = judge.judgment(claim.id, scored, own)
        found.append(judgment if in_place else _moved(judgment, text, claim, case.response))
    return tuple(found)


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


class _Judge:
    """Makes judgments of scores and doubts."""

    def __init__(self, evidence: Evidence, scorer: Scorer) -> None:
        self._evidence = evidence
        self._scorer = scorer
        self._measure = scorer.measure
        self._bands = model().calibrations["faithfulness"]

    def judgment(
        self, claim_id: int, scored: Scored, own: int | None = None
    ) -> FaithfulnessJudgment:
        """Judge one span; `own` are the words at its end that an item of a list adds to its stem."""
        parts = sentence_parts(self._scorer.response, scored.start, scored.end)
        blocks = [self._measure.block(part) for part in parts]
        if not any(block.content for block in blocks):
            return FaithfulnessJudgment(claim_id=claim_id, problem="nothing_to_compare")
        doubts = self._doubts(scored, blocks, own)
        verdict, confidence, score = self._verdict(scored.score, doubts)
        return FaithfulnessJudgment(
            claim_id=claim_id,
            verdict=verdict,
            confidence=confidence,
            score=round(score, 4),
            reasoning=_reasoning(scored.score, doubts),
            evidence_ids=self._units(blocks) if verdict == "Y" else (),
            unsupported=() if verdict == "Y" else self._uncarried(scored, blocks, doubts),
            warnings=tuple(dict.fromkeys(f"edit_{edit.kind}" for edit in doubts.edits)),
        )

    def _doubts(self, scored: Scored, blocks: Sequence[Block], own: int | None) -> _Doubts:
        inside = [
            item
            for item in self._measure.findings
            if item.start < scored.end and item.end > scored.start
        ]
        against = [
            item
            for item in inside
            if item.kind in _DECIDING and item.nearest is not None and item.reason not in _UNDECIDED
        ]
        # In a long text one sentence in eight looks changed; a claim is compared by itself.
        single = blocks if len(blocks) == 1 else []
        changes = [
            edit
            for block in single
            for edit in edits(
                block.words, self._measure.best_piece(block), _covered(block), _unheld(block)
            )
        ]
        changes += [
            Edit(kind="name", start=item.start, end=item.end, against=item.nearest or "")
            for item in inside
            if item.kind == "name" and _is_replaced(item, single)
        ]
        if own is not None and not changes:
            changes += _new_item(blocks[-1], own)
        return _Doubts(
            contradicted=tuple(against),
            uncarried=tuple(item for item in inside if item not in against),
            edits=tuple(changes),
        )

    def _verdict(self, score: float, doubts: _Doubts) -> tuple[Verdict, Confidence, float]:
        """The verdict; a veto scales the score to below what "supported" needs."""
        bands = self._bands
        if doubts.contradicted or doubts.edits:
            held = score * bands.threshold * (1 - _HELD_BACK)
            sure = bool(doubts.contradicted) or score <= bands.surely_no
            return "N", "high" if sure else "low", held
        if score >= bands.threshold:
            sure = score >= bands.surely_yes and not doubts.uncarried
            return "Y", "high" if sure else "low", score
        return "N", "high" if score <= bands.surely_no else "low", score

    def _units(self, blocks: Sequence[Block]) -> tuple[str, ...]:
        """Few units that together carry the words: the best first, more while they add words."""
        import numpy as np

        order = by_text(self._evidence.units)
        columns = np.asarray(self._evidence.unit_of)
        chosen: list[int] = []
        for block in blocks:
            if not block.content:
                continue
            per_unit = np.stack(
                [block.near[:, columns == k].max(axis=1, initial=0.0) for k in order]
            )
            have = per_unit[chosen].max(axis=0) if chosen else np.zeros(per_unit.shape[1])
            while len(chosen) < MOST_UNITS:
                gains = np.maximum(per_unit - have, 0.0) @ block.weights
                best = int(np.argmax(gains))
                if chosen and gains[best] < _HELD_BACK + 0.1 * float(block.weights.sum()):
                    break
                if best in chosen:
                    break
                chosen.append(best)
                have = np.maximum(have, per_unit[best])
        units = self._evidence.units.units
        return tuple(units[at].id for at in sorted(order[k] for k in chosen))

    def _uncarried(
        self, scored: Scored, blocks: Sequence[Block], doubts: _Doubts
    ) -> tuple[tuple[int, int], ...]:
        """Spans of words nothing carries; the whole span where no single word shows it."""
        spans = [
            (token.start, token.end)
            for block in blocks
            for token, near in zip(block.content, block.near.max(axis=1), strict=False)
            if near < NOT_CARRIED
        ]
        spans += [(max(f.start, scored.start), min(f.end, scored.end)) for f in doubts.contradicted]
        spans += [(edit.start, edit.end) for edit in doubts.edits]
        return _merged(spans, self._scorer.response) or ((scored.start, scored.end),)


def _new_item(block: Block, own: int) -> list[Edit]:
    """An item of a list of which the evidence holds no word: its stem does not carry it."""
    last = {(token.start, token.end) for token in block.words[-own:]}
    at = [i for i, token in enumerate(block.content) if (token.start, token.end) in last]
    if not at or any(block.near[i].max() >= NOT_CARRIED for i in at):
        return []
    first, end = block.content[at[0]].start, block.content[at[-1]].end
    return [Edit(kind="added", start=first, end=end, against="")]


def _is_replaced(item: Finding, blocks: Sequence[Block]) -> bool:
    """Whether the sentence with this name is otherwise that of the evidence."""
    return any(
        _covered(block) >= LEAST_COVERED
        for block in blocks
        if block.words and block.words[0].start < item.end and item.start < block.words[-1].end
    )


def _covered(block: Block) -> float:
    """Share of the weight of the block's words that its best sentence carries."""
    total = float(block.weights.sum())
    return float((block.near[:, block.best] * block.weights).sum()) / max(1e-6, total)


def _unheld(block: Block) -> frozenset[tuple[int, int]]:
    """Places of the words that no sentence of the evidence holds."""
    best = block.near.max(axis=1).tolist()
    return frozenset(
        (token.start, token.end)
        for token, near in zip(block.content, best, strict=False)
        if near < NOT_CARRIED
    )


def _merged(spans: Sequence[tuple[int, int]], text: str) -> tuple[tuple[int, int], ...]:
    """Spans in order, joined where only white space or a function word lies between."""
    found: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if found and (
            start <= found[-1][1]
            or (len(text[found[-1][1] : start].split()) <= 1 and start - found[-1][1] <= 5)
        ):
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return tuple(found)


def _said(edit: Edit) -> str:
    if not edit.against:
        return f"{edit.kind}: no unit holds it"
    return f"{edit.kind} changed against `{edit.against}`"


def _reasoning(score: float, doubts: _Doubts) -> str:
    parts = [f"score {score:.2f}"]
    parts += [f"`{item.text}` against `{item.nearest}`" for item in doubts.contradicted]
    parts += [_said(edit) for edit in doubts.edits]
    parts += [f"`{item.text}` is in no unit" for item in doubts.uncarried if item.text][:3]
    return "; ".join(parts)


__all__ = ["EmbeddedFaithfulnessJudge", "Part", "judge_claims"]
