"""A graph in which every name is replaced, with its question set and a card."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from aletheia import graph as graphs
from aletheia.errors import StoreError, UsageError
from aletheia.pipeline import locate
from aletheia.pipeline.make_questions import question_set_text
from aletheia.pipeline.questions import load_questions

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph
    from aletheia.graph.rename import Renaming
    from aletheia.graph.rename_check import RenamingCheck
    from aletheia.schema.question import Question, QuestionSet

SHOWN: Final = 12
"""Examples in the card and on the terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FictionaliseRequest:
    """What to rename and where to write it. `questions` and `questions_output` come together."""

    knowledge_graph: str
    output: Path
    seed: int = 0
    kinds: tuple[str, ...] = ("names", "dates", "numbers")
    questions: str | None = None
    questions_output: Path | None = None
    force: bool = False
    graph_dirs: Sequence[Path] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Fictionalised:
    """What was written: the new graph as it loads again, the card, and what was left."""

    graph: KnowledgeGraph
    questions: tuple[Question, ...]
    files: tuple[Path, ...]
    check: RenamingCheck

    @property
    def exit_code(self) -> int:
        """1 if an old name is left, else 0."""
        return 1 if self.check.leftovers else 0


def fictionalise(request: FictionaliseRequest) -> Fictionalised:
    """Rename a graph and its questions, write both and a card, and check what was written.

    Raises `UsageError` (a file is there already, an unknown name), `DataError` (a broken file) or
    `StoreError` (cannot be written, or does not load as it was written).
    """
    from aletheia.graph.rename import rename
    from aletheia.graph.rename_check import check

    card = request.output.with_suffix(".md")
    _check_targets(request, card)
    source = graphs.load(request.knowledge_graph, search_dirs=request.graph_dirs)
    asked = _load(request)
    texts = [text for q in (asked.questions if asked else ()) for text in _texts(q)]
    made, renaming = rename(source, request.seed, kinds=request.kinds, texts=texts)
    questions = tuple(renaming.question(q) for q in (asked.questions if asked else ()))
    loaded = _write_graph(made, source, request)
    found = check(source, loaded, renaming, questions)
    files = [request.output, card]
    if asked is not None and request.questions_output is not None:
        files.append(request.questions_output)
        _write_questions(questions, asked, source, request)
    text = "\n".join(_card(source, loaded, asked, renaming, found, request)) + "\n"
    _write(card, text, request)
    return Fictionalised(graph=loaded, questions=questions, files=tuple(files), check=found)


def _check_targets(request: FictionaliseRequest, card: Path) -> None:
    from aletheia.graph.write import check_target

    if (request.questions is None) != (request.questions_output is None):
        raise UsageError("`--questions` and `--questions-output` come together or not at all")
    if request.output.suffix.lower() != ".json":
        raise UsageError(
            f"`{request.output}` must end in `.json`", hint="the graph is node-link JSON"
        )
    targets = [request.output, card]
    if request.questions_output is not None:
        targets.append(request.questions_output)
    if len(set(targets)) < len(targets):
        raise UsageError(f"`{request.questions_output}` is written twice", hint="name another file")
    for path in targets:
        check_target(path, force=request.force)


def _load(request: FictionaliseRequest) -> QuestionSet | None:
    if request.questions is None:
        return None
    return load_questions(locate.question_file(request.questions, locate.question_dirs()))


def _texts(question: Question) -> Iterator[str]:
    yield from (question.question, question.answer, *question.answer_aliases)
    yield from (v for v in (question.model_extra or {}).values() if isinstance(v, str))


def _write(path: Path, text: str, request: FictionaliseRequest) -> None:
    from aletheia.graph.write import write_text

    write_text(path, text, force=request.force)


def _write_graph(
    made: KnowledgeGraph, source: KnowledgeGraph, request: FictionaliseRequest
) -> KnowledgeGraph:
    """Write the graph and load it again; it must hold the same facts."""
    from aletheia.graph.write import node_link_text

    about = {
        "name": request.output.stem,
        "description": f"The graph `{source.name}` with other {_listed(request.kinds)}.",
        "made_from": source.name,
        "made_from_digest": source.digest or "none",
        "seed": str(request.seed),
    }
    _write(request.output, node_link_text(made, about), request)
    loaded = graphs.load(str(request.output.resolve()), search_dirs=())
    if _facts(loaded) != _facts(made):
        raise StoreError(
            f"`{request.output}` does not load as it was written",
            hint="an attribute of the source means something else in node-link JSON",
        )
    return loaded


def _facts(graph: KnowledgeGraph) -> list[tuple[object, ...]]:
    return sorted((f.kind, f.subject, f.predicate, f.object, f.attributes) for f in graph.facts())


def _write_questions(
    questions: Sequence[Question],
    asked: QuestionSet,
    source: KnowledgeGraph,
    request: FictionaliseRequest,
) -> None:
    target = request.questions_output
    if target is None:
        return
    text = question_set_text(
        questions,
        name=target.stem,
        description=f"The set `{asked.name}` for the graph `{source.name}`, renamed like "
        f"`{request.output.name}` (seed {request.seed}).",
    )
    _write(target, text, request)
    load_questions(target)


def _listed(kinds: Sequence[str]) -> str:
    return " and ".join([", ".join(kinds[:-1]), kinds[-1]] if len(kinds) > 1 else kinds)


# --- the card and the summary -----------------------------------------------------------------


def _card(
    source: KnowledgeGraph,
    made: KnowledgeGraph,
    asked: QuestionSet | None,
    renaming: Renaming,
    found: RenamingCheck,
    request: FictionaliseRequest,
) -> Iterator[str]:
    yield f"# Graph card: `{request.output.stem}`"
    yield ""
    yield f"The graph `{source.name}` with other {_listed(request.kinds)}. Its shape, relations, types and descriptions are those of the source."
    yield ""
    yield "| what | value |"
    yield "|---|---|"
    rows = {
        "Nodes": made.n_nodes,
        "Links": made.n_edges,
        "Facts": sum(1 for _ in made.facts()),
        "Words of names replaced": len(renaming.plan.words) + len(renaming.plan.exact),
        "Years moved by": renaming.numbers.shift,
        "Old names left": len(found.leftovers),
        "Seed": request.seed,
        "Digest": made.digest,
        "Source": source.name,
        "Digest of the source": source.digest,
        **(
            {"Questions": len(asked.questions), "Digest of the questions' source": asked.digest}
            if asked
            else {}
        ),
    }
    yield from (f"| {what} | {value} |" for what, value in rows.items())
    yield ""
    yield "- **Licence**: that of the source."
    yield "- **Limits**: relations, types and descriptions are not reworded, so what is told about a thing may still give it away. A name that a text spells in another way than the graph is not found."
    yield from _stayed(found)


def _stayed(found: RenamingCheck) -> Iterator[str]:
    for what, counts in (
        ("Numbers that stay", found.numbers),
        ("Number words that stay", found.number_words),
        ("Capitalised ordinary words that stay", found.ordinary_names),
    ):
        total = sum(n for _, n in counts)
        yield f"- **{what}**: {total}{_examples(counts)}"
    for left in found.leftovers[:SHOWN]:
        yield f"- **Old name left**: `{left.name}` in the {left.where}: `{left.text[:120]}`"


def _examples(counts: Sequence[tuple[str, int]]) -> str:
    shown = ", ".join(f"`{value}`" for value, _ in counts[:SHOWN])
    more = len(counts) - SHOWN
    return f" ({shown}{f', and {more} more' if more > 0 else ''})" if counts else ""


def summary(done: Fictionalised) -> Iterator[str]:
    """Say what was written and what is left, for a person."""
    yield f"{done.graph.name}: {done.graph.n_nodes:,} nodes, {done.graph.n_edges:,} edges"
    if done.questions:
        yield f"questions: {len(done.questions):,}"
    yield from (line.removeprefix("- ").replace("**", "") for line in _stayed(done.check))
    if len(done.check.leftovers) > SHOWN:
        yield f"and {len(done.check.leftovers) - SHOWN} more old names"
    yield f"old names left: {len(done.check.leftovers)}"
    yield from (f"wrote {path}" for path in done.files)
