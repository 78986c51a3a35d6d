"""What a score and the changes of sense make of a span: verdict, confidence, units, words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aletheia.judges.embedded.edits import Compared, Edit, changed_places, edits
from aletheia.judges.embedded.evidence import Evidence, by_text
from aletheia.judges.embedded.features import Block, Part
from aletheia.judges.embedded.lines import line, names_of
from aletheia.judges.embedded.scoring import Scored, Scorer, sentence_parts
from aletheia.judges.embedded.tokens import tokens
from aletheia.judges.embedded.trees import model
from aletheia.judges.embedded.yes_no import Answered
from aletheia.judges.support import JUDGE_OVERRULED
from aletheia.schema.judgement import Confidence, FaithfulnessJudgment, Verdict
from aletheia.schema.verification import Finding

NOT_CARRIED = 0.5
"""Likeness below which a word counts as carried by nothing."""
MOST_UNITS = 3
NOTHING = "nothing_to_compare"
_DENYING = frozenset(("negation", "antonym"))
_UNREAL = frozenset("myth mythical fictional fictitious imaginary legendary nonexistent".split())
_DECIDING = frozenset(("number", "date", "polarity", "identifier"))
_UNDECIDED = frozenset(("absent", "not_in_evidence", "misattributed", "from_question"))
_HELD_BACK = 0.01
_SAME_BUT_NAME = 0.8
"""Share of the weight of the other words that makes a sentence with a strange name that of the evidence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubts:
    """What speaks against one span: findings that contradict, other findings, changes of sense."""

    contradicted: tuple[Finding, ...]
    uncarried: tuple[Finding, ...]
    edits: tuple[Edit, ...]


class Judge:
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
            return FaithfulnessJudgment(claim_id=claim_id, problem=NOTHING)
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
            warnings=self._warnings(scored.score, doubts),
        )

    def answer(self, claim_id: int, scored: Scored, answer: Answered) -> FaithfulnessJudgment:
        """Judge a bare yes or no; `scored` is the statement that its question makes."""
        found = self.judgment(claim_id, scored)
        block = self._measure.block(Part(start=scored.start, end=scored.end))
        piece = self._measure.best_piece(block)
        thing = {t.form for t in tokens(answer.thing) if t.kind != "function"}
        if found.verdict is None or not block.content or not thing:
            return FaithfulnessJudgment(claim_id=claim_id, problem=NOTHING)
        named = thing <= piece.forms
        doubts = self._doubts(scored, [block], None)
        denied = any(edit.kind in _DENYING for edit in doubts.edits) or (
            answer.existence and any(token.word in _UNREAL for token in piece.tokens)
        )
        carried = found.verdict == "Y" or (answer.existence and named)
        denies = bool(doubts.contradicted) or (named and denied)
        yes = (carried and not denied) if answer.yes else denies
        score = found.score or 0.0
        limit = self._bands.threshold
        held = max(score, limit) if yes else min(score, limit * (1 - _HELD_BACK))
        return found.model_copy(
            update={
                "verdict": "Y" if yes else "N", "confidence": "low", "score": round(held, 4),
                "evidence_ids": self._units([block]) if yes else (),
                "unsupported": () if yes else ((scored.start, scored.end),),
                "warnings": () if yes else found.warnings,
            }
        )  # fmt: skip

    def _doubts(self, scored: Scored, blocks: Sequence[Block], own: int | None) -> Doubts:
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
        changes = [edit for block in single for edit in self._changes(block)]
        changes += [
            Edit(kind="name", start=item.start, end=item.end, against=item.nearest or "")
            for item in inside
            if item.kind == "name" and _is_replaced(item, single)
        ]
        if own is not None and not changes:
            changes += _new_item(blocks[-1], own)
        return Doubts(
            contradicted=tuple(against),
            uncarried=tuple(item for item in inside if item not in against),
            edits=tuple(changes),
        )

    def _changes(self, block: Block) -> list[Edit]:
        """Changes of sense against the evidence sentence that covers most of the part.

        Where another one holds more of its words that are no names, the part is read beside that
        too: it may tell the same of somebody else.
        """
        if not self._evidence.pieces:
            return []
        found = edits(self._beside(block, block.best))
        plain = [i for i, token in enumerate(block.content) if token.kind != "name"]
        hits = block.exact[plain].sum(axis=0)
        other = int(hits.argmax())
        if not found and hits[other] > hits[block.best]:
            found = changed_places(self._beside(block, other))
        return found

    def _beside(self, block: Block, at: int) -> Compared:
        piece = self._evidence.pieces[at]
        names = names_of(block.words) | names_of(piece.tokens)
        exact = block.exact.max(axis=1).tolist()
        found = list(zip(block.content, exact, strict=False))
        return Compared(
            mine=line(self._scorer.response, block.words, names),
            theirs=line(self._evidence.units.units[piece.unit].text, piece.tokens, names),
            covered=_covered(block, at),
            by_unit=_covered_by_unit(block, self._evidence.unit_of),
            held=frozenset(token.form for token, hit in found if hit),
            inexact=frozenset((token.start, token.end) for token, hit in found if not hit),
            unheld=_unheld(block),
        )

    def _verdict(self, score: float, doubts: Doubts) -> tuple[Verdict, Confidence, float]:
        """The verdict; a veto keeps the score below what "supported" needs."""
        bands = self._bands
        if doubts.contradicted:
            return "N", "high", score * bands.threshold * (1 - _HELD_BACK)
        if doubts.edits:
            # A weaker sign: the score falls just below the line, and no further.
            held = min(score, bands.threshold * (1 - _HELD_BACK * (2 - score)))
            return "N", "high" if score <= bands.surely_no else "low", held
        if score >= bands.threshold:
            sure = score >= bands.surely_yes and not doubts.uncarried
            return "Y", "high" if sure else "low", score
        return "N", "high" if score <= bands.surely_no else "low", score

    def _warnings(self, score: float, doubts: Doubts) -> tuple[str, ...]:
        """Name the changes of sense; a score that they or a fact held back was overruled."""
        found = dict.fromkeys(f"edit_{edit.kind}" for edit in doubts.edits)
        if score >= self._bands.threshold and (doubts.contradicted or doubts.edits):
            found[JUDGE_OVERRULED] = None
        return tuple(found)

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
        self, scored: Scored, blocks: Sequence[Block], doubts: Doubts
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
    for block in blocks:
        if not block.words or block.words[0].start >= item.end:
            continue
        if block.words[-1].end <= item.start:
            continue
        held = total = 0.0
        exact = block.exact[:, block.best]
        for token, weight, hit in zip(block.content, block.weights, exact, strict=False):
            if token.end <= item.start or token.start >= item.end:
                held, total = held + float(weight * hit), total + float(weight)
        if held >= _SAME_BUT_NAME * total > 0:
            return True
    return False


def _covered(block: Block, at: int) -> float:
    """Share of the weight of the block's words that one evidence sentence carries."""
    total = float(block.weights.sum())
    return float((block.near[:, at] * block.weights).sum()) / max(1e-6, total)


def _covered_by_unit(block: Block, unit_of: Sequence[int]) -> float:
    """Share of the weight of the block's words that the unit of its best sentence carries."""
    import numpy as np

    columns = np.asarray(unit_of or [0])
    near = block.near[:, columns == columns[block.best]].max(axis=1)
    return float((near * block.weights).sum()) / max(1e-6, float(block.weights.sum()))


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


def _reasoning(score: float, doubts: Doubts) -> str:
    parts = [f"score {score:.2f}"]
    parts += [f"`{item.text}` against `{item.nearest}`" for item in doubts.contradicted]
    parts += [_said(edit) for edit in doubts.edits]
    parts += [f"`{item.text}` is in no unit" for item in doubts.uncarried if item.text][:3]
    return "; ".join(parts)
