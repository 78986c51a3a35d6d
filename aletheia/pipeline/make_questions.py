"""Question sets made from a graph."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from aletheia import graph as graphs
from aletheia.errors import DataError
from aletheia.pipeline.questions import load_questions
from aletheia.schema.question import Question, QuestionType

if TYPE_CHECKING:
    from aletheia.graph.make_questions import MadeQuestions, TypeCount


@dataclass(frozen=True, slots=True, kw_only=True)
class MakeRequest:
    """What to make and where to write it; no `types` means all seven."""

    knowledge_graph: str
    output: Path
    n: int = 100
    types: tuple[str, ...] = ()
    unanswerable: float = 0.2
    seed: int = 0
    force: bool = False
    graph_dirs: Sequence[Path] = ()


def make_set(request: MakeRequest) -> MadeQuestions:
    """Make a question set from a graph, write it, and read it back.

    Raises `UsageError` (an unknown graph or type, a file that is there) or `DataError` (a broken
    graph, or one that gives no question at all).
    """
    from aletheia.graph.make_questions import TYPES, make_questions
    from aletheia.graph.write import check_target, write_text

    check_target(request.output, force=request.force)
    graph = graphs.load(request.knowledge_graph, search_dirs=request.graph_dirs)
    made = make_questions(
        graph,
        n=request.n,
        types=cast("tuple[QuestionType, ...]", request.types) or TYPES,
        unanswerable=request.unanswerable,
        seed=request.seed,
    )
    if not made.questions:
        raise DataError("no question can be made from this graph", file=graph.path)
    about = f"Made from the graph `{graph.name}` ({graph.digest}) with seed {request.seed}."
    text = question_set_text(made.questions, name=request.output.stem, description=about)
    write_text(request.output, text, force=request.force)
    load_questions(request.output)
    return made


def made_lines(made: MadeQuestions, request: MakeRequest) -> Iterator[str]:
    """Say what was made, and of what nothing could be made, for a person."""
    total, answerable = len(made.questions), sum(q.answerable for q in made.questions)
    yield f"{total} questions, {total - answerable} of them without an answer in the graph"
    if total < request.n:
        yield f"{request.n - total} fewer than asked for: the graph gives no more"
    yield f"{'type':<20} {'answer':<7} {'wanted':>6} {'possible':>8} {'made':>5}"
    for count in made.counts:
        if count.wanted or count.made:
            yield _row(count)
    for count in made.counts:
        for reason, times in count.reasons:
            yield f"left out, {count.type}: {reason} ({times})"
    yield f"wrote {request.output}"


def _row(count: TypeCount) -> str:
    has = "yes" if count.answerable else "no"
    return f"{count.type:<20} {has:<7} {count.wanted:>6} {count.possible:>8} {count.made:>5}"


def question_set_text(questions: Iterable[Question], *, name: str, description: str) -> str:
    """Write a question set as the loader reads it, one question a line."""
    head = {"name": name, "description": description}
    lines = ",\n".join(f"  {_json(_record(question))}" for question in questions)
    return (
        "{\n"
        + "".join(f'"{k}": {_json(v)},\n' for k, v in head.items())
        + (f'"questions": [\n{lines}\n]\n}}\n')
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _record(question: Question) -> dict[str, object]:
    record: dict[str, object] = {
        "id": question.id,
        "question": question.question,
        "answer": question.answer,
    }
    if question.answer_aliases:
        record["answer_aliases"] = list(question.answer_aliases)
    if question.type is not None:
        record["type"] = question.type
    record["answerable"] = question.answerable
    record["supporting_facts"] = list(question.supporting_facts)
    return record | (question.model_extra or {})
