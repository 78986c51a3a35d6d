"""Question sets from a graph: made from its facts, checked, spread over types and relations."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, get_args

from aletheia.errors import UsageError
from aletheia.graph import question_chains as chained
from aletheia.graph import question_dates as dated
from aletheia.graph import question_missing as missing
from aletheia.graph import question_single as single
from aletheia.graph.knowledge import KnowledgeGraph
from aletheia.graph.question_world import Draft, World, gives_away, occurs
from aletheia.graph.text import fold
from aletheia.schema.question import Question, QuestionType

TYPES: Final[tuple[QuestionType, ...]] = get_args(QuestionType)
_MAKERS: Final[dict[QuestionType, Callable[[World], Iterable[Draft]]]] = {
    "alias_lookup": single.aliases,
    "entity_existence": single.existence,
    "entity_description": single.descriptions,
    "relationship": single.relations,
    "attribute_filter": single.filters,
    "multi_hop": chained.chains,
    "temporal": dated.dates,
}
_SHORT: Final[dict[QuestionType, str]] = {
    "alias_lookup": "alias",
    "entity_existence": "existence",
    "entity_description": "description",
    "relationship": "relationship",
    "attribute_filter": "filter",
    "multi_hop": "hop",
    "temporal": "temporal",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeCount:
    """What a type came to: wanted, possible and made questions, with an answer or without.

    `reasons` says what no question could be made of, and how often, most frequent first.
    """

    type: QuestionType
    answerable: bool
    wanted: int
    possible: int
    made: int
    reasons: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeQuestions:
    """The questions, by type, and the table of what could be made."""

    questions: tuple[Question, ...]
    counts: tuple[TypeCount, ...]


def make_questions(
    graph: KnowledgeGraph,
    *,
    n: int = 100,
    types: Sequence[QuestionType] = TYPES,
    unanswerable: float = 0.2,
    seed: int = 0,
) -> MadeQuestions:
    """Make up to `n` questions, a share of `unanswerable` among them, spread over `types`.

    Each answer is the only one that the graph gives; what a type cannot fill goes to the others.
    Retrieval is not consulted. The same graph and arguments give the same questions. Raises
    `UsageError` for an unknown type, `n` below 1 or a share outside 0..1.
    """
    _check(n, types, unanswerable)
    world = World(graph.store)
    chance = random.Random(f"{seed}:questions")  # noqa: S311 - no secret
    n_missing = round(n * unanswerable)
    answered = {kind: _sound(_MAKERS[kind](world), kind, world) for kind in types}
    gaps = _absent(world, seed, types, n_missing)
    lacking = {kind: _sound(gaps[kind], kind, world) for kind in types}
    _drop_repeats([*answered.values(), *lacking.values()])
    parts = [(answered, n - n_missing, True), (lacking, n_missing, False)]
    questions: list[Question] = []
    counts: list[TypeCount] = []
    for drafts, wanted, answerable in parts:
        shares = _shares({kind: len(found) for kind, found in drafts.items()}, wanted)
        for kind in types:
            chosen = _spread(drafts[kind], shares[kind], chance)
            questions += _numbered(chosen, kind, answerable=answerable)
            counts.append(_count(kind, answerable, wanted, drafts, len(chosen), world))
    order = {kind: at for at, kind in enumerate(types)}
    questions.sort(key=lambda q: (order[q.type], not q.answerable))  # type: ignore[index]
    return MadeQuestions(questions=tuple(questions), counts=tuple(counts))


def _check(n: int, types: Sequence[str], unanswerable: float) -> None:
    if n < 1:
        raise UsageError(f"`n` is {n}, it must be at least 1")
    if not 0 <= unanswerable <= 1:
        raise UsageError(f"`unanswerable` is {unanswerable}, it must lie between 0 and 1")
    unknown = [kind for kind in types if kind not in TYPES]
    if unknown or not types:
        named = ", ".join(f"`{kind}`" for kind in TYPES)
        what = (
            f"there is no question type `{unknown[0]}`" if unknown else "no question type is named"
        )
        raise UsageError(what, hint=f"the types are {named}")
    if len(set(types)) < len(types):
        raise UsageError("a question type is named twice")


def _absent(
    world: World, seed: int, types: Sequence[QuestionType], wanted: int
) -> dict[QuestionType, list[Draft]]:
    """Questions without an answer: about things that are there, else about things that are not."""
    out: dict[QuestionType, list[Draft]] = {kind: [] for kind in types}
    for draft in missing.lacking(world) if wanted else ():
        if draft.type in out:
            out[draft.type].append(draft)
    enough = {kind for kind in types if len(out[kind]) * len(types) >= wanted + len(types)}
    for draft in missing.strangers(world, seed) if wanted else ():
        if draft.type in out and draft.type not in enough:
            out[draft.type].append(draft)
    return out


def _sound(drafts: Iterable[Draft], kind: QuestionType, world: World) -> list[Draft]:
    """Keep questions that do not give their answer away, each once."""
    found: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        aliases = tuple(a for a in draft.aliases if not _shown(a, draft))
        if gives_away(replace(draft, aliases=()), world.kinds):
            world.skip(kind, "the answer stands in the question")
        else:
            found[fold(draft.question)].append(replace(draft, aliases=aliases))
    for same in found.values():
        if len({d.answer for d in same}) > 1:
            world.skip(kind, "the same question has two answers")
    return [same[0] for same in found.values() if len({d.answer for d in same}) == 1]


def _drop_repeats(lists: Iterable[list[Draft]]) -> None:
    """Leave each question only where it stands first."""
    seen: set[str] = set()
    for drafts in lists:
        drafts[:] = [d for d in drafts if fold(d.question) not in seen]
        seen.update(fold(d.question) for d in drafts)


def _shown(alias: str, draft: Draft) -> bool:
    """Whether another form of the answer stands in the question; existence may name its own."""
    return draft.type != "entity_existence" and occurs(alias, draft.question)


def _shares(possible: dict[QuestionType, int], wanted: int) -> dict[QuestionType, int]:
    """Share questions out one by one, to the types that can still take one."""
    shares = dict.fromkeys(possible, 0)
    left = wanted
    while left:
        open_ = [kind for kind in possible if shares[kind] < possible[kind]]
        if not open_:
            break
        for kind in open_[:left]:
            shares[kind] += 1
        left -= min(left, len(open_))
    return shares


def _spread(drafts: list[Draft], wanted: int, chance: random.Random) -> list[Draft]:
    """Draw questions in turn from the relations and attributes they are about."""
    groups: dict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        groups[draft.about].append(draft)
    names = sorted(groups)
    chance.shuffle(names)
    for name in names:
        chance.shuffle(groups[name])
    used: Counter[str] = Counter()
    chosen: list[Draft] = []
    while len(chosen) < wanted:
        for name in names:
            if groups[name] and len(chosen) < wanted:
                # A thing that has been asked about comes later.
                best = min(groups[name], key=lambda d: sum(used[w] for w in _things(d)))
                groups[name].remove(best)
                used.update(_things(best))
                chosen.append(best)
    return chosen


def _things(draft: Draft) -> set[str]:
    references = draft.facts or (draft.missing or "",)
    return {reference.partition("|")[0] for reference in references}


def _numbered(drafts: Sequence[Draft], kind: QuestionType, *, answerable: bool) -> list[Question]:
    prefix = _SHORT[kind] if answerable else f"{_SHORT[kind]}-none"
    return [
        Question.model_validate(
            {
                "id": f"{prefix}-{number:02}",
                "question": draft.question[:1].upper() + draft.question[1:],
                "answer": draft.answer,
                "answer_aliases": tuple(dict.fromkeys(draft.aliases)),
                "type": kind,
                "answerable": answerable,
                "supporting_facts": draft.facts,
                **({"missing": draft.missing} if draft.missing is not None else {}),
            }
        )
        for number, draft in enumerate(drafts, 1)
    ]


def _count(
    kind: QuestionType,
    answerable: bool,
    wanted: int,
    drafts: dict[QuestionType, list[Draft]],
    made: int,
    world: World,
) -> TypeCount:
    even = _shares(dict.fromkeys(drafts, wanted), wanted)[kind]
    reasons = Counter({r: n for (k, r), n in world.skipped.items() if k == kind and answerable})
    return TypeCount(type=kind, answerable=answerable, wanted=even, possible=len(drafts[kind]),
                     made=made, reasons=tuple(reasons.most_common()))  # fmt: skip
