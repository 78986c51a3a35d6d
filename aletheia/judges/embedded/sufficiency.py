"""The embedded sufficiency judge: how well single sentences and units cover what was asked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Final

from aletheia.judges.base import Judged, Outcome, TraceCase
from aletheia.judges.embedded.evidence import Evidence, evidence_of
from aletheia.judges.embedded.features import Block, Measure, Part, Row, coverage
from aletheia.judges.embedded.questions import QUESTION_WORDS
from aletheia.judges.embedded.trees import model
from aletheia.judges.rules import settled_sufficiency
from aletheia.schema.judgement import Confidence, SufficiencyJudgment
from aletheia.schema.trace import SubQuestion

FEATURES = ("b1_exact", "b1_near", "window_near", "unit_exact", "unit_near")
"""The coverages of the question that the line is over; see `features`."""

MOST_UNITS = 2
_FIRST_WORD: Final = re.compile(r"[\s¿¡]*(\w+)")
_SECOND = 0.9
"""A second unit is named when it covers this share of what the best one does."""


class EmbeddedSufficiencyJudge:
    """Judges sub-questions without a model behind it.

    It knows whether the evidence speaks of what was asked, not whether it says the answer: that
    is why most of its verdicts have low confidence.
    """

    @property
    def name(self) -> str:
        """Which kind of judge this is."""
        return "embedded"

    @property
    def making(self) -> Mapping[str, str]:
        """What results keep of it."""
        return {"sufficiency_judge": self.name, "embedded_model": model().version}

    async def judge_sufficiency(
        self, case: TraceCase, sub_questions: Sequence[SubQuestion]
    ) -> Outcome[tuple[SufficiencyJudgment, ...]]:
        """Return one judgment for each sub-question, in the order asked."""
        settled = settled_sufficiency(case, sub_questions)
        if settled is not None:
            return settled
        evidence = evidence_of(case.evidence)
        return Judged(value=tuple(_judgment(evidence, item) for item in sub_questions))


def measure(evidence: Evidence, question: str) -> Row:
    """The numbers of one question, in the order of `FEATURES`."""
    block = _block(evidence, question)
    return measure_block(evidence, block)


def _block(evidence: Evidence, question: str) -> Block:
    """The words of the question against the evidence; the word that asks is none of them."""
    first = _FIRST_WORD.match(question)
    text = question
    if first is not None and first.group(1).lower() in QUESTION_WORDS:
        text = " " * first.end() + question[first.end() :]
    return Measure(evidence, text, None).block(Part(start=0, end=len(text)))


def measure_block(evidence: Evidence, block: Block) -> Row:
    """The numbers of a question that was looked up already."""
    row = coverage(block, evidence.unit_of)
    return {name: row[name] for name in FEATURES}


def score(row: Row) -> float:
    """The raw score of one question, in [0, 1]."""
    line = model().line
    total = line.start + sum(
        row[name] * by for name, by in zip(line.features, line.slope, strict=True)
    )
    return 1.0 / (1.0 + math.exp(-total))


def _judgment(evidence: Evidence, item: SubQuestion) -> SufficiencyJudgment:
    block = _block(evidence, item.text)
    if not block.content:
        return SufficiencyJudgment(sub_question_id=item.id, problem="nothing_to_compare")
    bands = model().calibrations["sufficiency"]
    chance = bands(score(measure_block(evidence, block)))
    yes = chance >= bands.threshold
    sure = chance >= bands.surely_yes if yes else chance <= bands.surely_no
    confidence: Confidence = "high" if sure else "low"
    return SufficiencyJudgment(
        sub_question_id=item.id,
        verdict="Y" if yes else "N",
        confidence=confidence,
        score=round(chance, 4),
        reasoning=_reasoning(block, chance),
        evidence_ids=_units(evidence, block) if yes else (),
    )


def _units(evidence: Evidence, block: Block) -> tuple[str, ...]:
    """The unit that covers most of the question, and another that covers nearly as much."""
    cover: dict[int, float] = {}
    shares = ((block.exact + block.near) * block.weights[:, None]).sum(axis=0)
    # Units of equal cover stay in the order of their texts.
    for unit, share in zip(evidence.unit_of, shares.tolist(), strict=True):
        cover[unit] = max(cover.get(unit, 0.0), share)
    ranked = sorted(cover, key=lambda unit: -cover[unit])[:MOST_UNITS]
    kept = [unit for unit in ranked if cover[unit] >= _SECOND * cover[ranked[0]]]
    return tuple(evidence.units.units[unit].id for unit in sorted(kept))


def _reasoning(block: Block, chance: float) -> str:
    missing = [
        token.word
        for token, near in zip(block.content, block.near.max(axis=1).tolist(), strict=True)
        if near < 0.5
    ]
    said = f"score {chance:.2f}"
    return f"{said}; no unit speaks of: {', '.join(missing)}" if missing else said
