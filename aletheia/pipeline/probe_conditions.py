"""The conditions of probes as values: which evidence is shown, and which answer would follow it."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aletheia.diagnosis import abstention
from aletheia.graph.rename import Direction, Renaming
from aletheia.graph.rename_numbers import Change
from aletheia.graph.text import fold
from aletheia.grounding.numbering import number
from aletheia.pipeline import gold
from aletheia.schema.evidence import EvidenceSet, EvidenceText, EvidenceUnit
from aletheia.schema.question import Question

NOTHING_LEFT = "no unit is left"
NOTHING_TO_REPLACE = "question, evidence and answer hold no name, date or number to replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """Evidence as it is shown under a condition, numbered anew; `ids` are the base ids in order.

    `replaced` says that the texts are other ones.
    """

    question: Question
    evidence: EvidenceSet
    ids: tuple[str, ...]
    replaced: bool = False

    def base_ids(self, cited: Iterable[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return citations as base ids, and those that name no unit, as they were written."""
        names = dict(zip(self.evidence.ids, self.ids, strict=True))
        cited = tuple(cited)
        known = tuple(names[unit] for unit in cited if unit in names)
        return known, tuple(unit for unit in cited if unit not in names)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counterfact:
    """Evidence with other names, dates and numbers.

    `wanted` follows the shown evidence, `before` is the old answer. Where the answer stays the
    same, the question is renamed too (`renamed`): then only the evidence can answer it.
    """

    shown: Shown
    wanted: tuple[str, ...]
    before: tuple[str, ...]
    renamed: bool


def as_it_is(question: Question, evidence: EvidenceSet) -> Shown:
    """Show the base evidence."""
    return Shown(question=question, evidence=evidence, ids=evidence.ids)


def holders(evidence: EvidenceSet, forms: Sequence[str], facts: Iterable[str]) -> frozenset[str]:
    """Return the ids of units that hold an answer: in words, or as a fact that supports it.

    `forms` are the answer and its aliases.
    """
    wanted = frozenset(facts)
    return frozenset(unit.id for unit in evidence if _holds(unit, forms, wanted))


def _holds(unit: EvidenceUnit, forms: Sequence[str], facts: frozenset[str]) -> bool:
    if not facts.isdisjoint(unit.facts):
        return True
    alone = EvidenceSet(units=(unit,))
    return bool(forms) and abstention.gold_in_evidence(forms[0], forms[1:], alone) is True


def only(question: Question, evidence: EvidenceSet, ids: Iterable[str]) -> Shown | str:
    """Show some units and no other; a string says why that cannot be."""
    wanted = frozenset(ids)
    units = [unit for unit in evidence if unit.id in wanted]
    return _numbered(question, units) if units else NOTHING_LEFT


def without(question: Question, evidence: EvidenceSet, ids: Iterable[str]) -> Shown | str:
    """Leave some units out; a string says why that cannot be."""
    gone = frozenset(ids)
    return only(question, evidence, (unit.id for unit in evidence if unit.id not in gone))


def shuffled(question: Question, evidence: EvidenceSet, seed: int) -> Shown | str:
    """Show the units in another order, the same for the same seed and question."""
    units = list(evidence)
    if len(units) < 2:
        return "there are fewer than two units"
    digest = hashlib.sha256(f"{seed}|{question.id}".encode()).digest()
    random.Random(digest).shuffle(units)  # noqa: S311  no secret
    if tuple(unit.id for unit in units) == evidence.ids:
        units.reverse()
    return _numbered(question, units)


def _numbered(question: Question, units: Sequence[EvidenceUnit]) -> Shown:
    texts = [
        EvidenceText(text=u.text, source=u.source, aliases=u.aliases, facts=u.facts) for u in units
    ]
    ids = tuple(unit.id for unit in units)
    return Shown(question=question, evidence=number(texts), ids=ids)


class Counterfacts:
    """Makes counterfactual evidence by one renaming.

    What the question itself names is kept: nobody can remember anything about a name that was
    invented a moment ago, so an answer from memory shows only where the question stays as it is.
    """

    def __init__(self, renaming: Renaming) -> None:
        self._renaming = renaming
        self._names = Direction(renaming.plan)

    def make(
        self, question: Question, evidence: EvidenceSet, forms: Sequence[str], *, right: bool
    ) -> Counterfact | str:
        """Replace what the question does not name; a string says why that shows nothing.

        `forms` are the answer and its aliases. Only for a `right` answer that stays the same the
        question is renamed too.
        """
        asked = f" {fold(question.question)} "
        after = tuple(self._replaced(form, asked) for form in forms)
        if _distinct(forms, after):
            shown = self._shown(question, evidence, asked)
            return Counterfact(shown=shown, wanted=after, before=tuple(forms), renamed=False)
        other = self._renaming.question(question)
        if not right or other.question == question.question:
            return NOTHING_TO_REPLACE
        shown = self._shown(other, evidence, "")
        new = (other.answer, *other.answer_aliases)
        return Counterfact(shown=shown, wanted=new, before=tuple(forms), renamed=True)

    def _shown(self, question: Question, evidence: EvidenceSet, asked: str) -> Shown:
        units = [
            EvidenceText(
                text=self._replaced(unit.text, asked),
                source=None if unit.source is None else self._replaced(unit.source, asked),
                aliases=tuple(self._replaced(alias, asked) for alias in unit.aliases),
                facts=unit.facts,
            )
            for unit in evidence
        ]
        return Shown(question=question, evidence=number(units), ids=evidence.ids, replaced=True)

    def _replaced(self, text: str, asked: str) -> str:
        changes = [*self._names.changes(text), *self._renaming.numbers.changes(text)]
        return _spliced(text, [item for item in changes if not _named(item, text, asked)])


def _named(change: Change, text: str, asked: str) -> bool:
    """Whether the question holds these words itself."""
    return f" {fold(text[change.start : change.end])} " in asked


def _spliced(text: str, changes: Sequence[Change]) -> str:
    """Write changes into a text; where two overlap, that of a name counts, which comes first."""
    out, at = list[str](), 0
    for change in sorted(changes, key=lambda item: (item.start, -item.end)):
        if change.start >= at:
            out += [text[at : change.start], change.new]
            at = change.end
    return "".join(out) + text[at:]


def _distinct(before: Sequence[str], after: Sequence[str]) -> bool:
    """Whether no old form passes for the new answer, and no new form for the old one."""
    if not before or not all(form.strip() for form in (*before, *after)):
        return False
    old, new = _asking(before), _asking(after)
    crossed = [gold.is_correct(new, form) for form in before]
    crossed += [gold.is_correct(old, form) for form in after]
    return all(found is False for found in crossed)


def _asking(forms: Sequence[str]) -> Question:
    return Question(id="-", question="-", answer=forms[0], answer_aliases=tuple(forms[1:]))
