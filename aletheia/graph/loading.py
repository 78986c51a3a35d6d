"""Finding a graph by name or path and reading it with the right reader."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from aletheia.errors import DataError, UsageError
from aletheia.graph.build import Builder
from aletheia.graph.formats import ftm, graphml, node_link, rdf, triples
from aletheia.graph.formats.source import lines
from aletheia.graph.knowledge import KnowledgeGraph

Reader = Callable[[Path, Builder], None]


def _json(path: Path, builder: Builder) -> None:
    """Read `.json`: node-link, unless the first line is an entity or triple of its own."""
    (_json_lines if _is_json_lines(path) else node_link.read)(path, builder)


def _json_lines(path: Path, builder: Builder) -> None:
    """Read JSON lines: FollowTheMoney if the first one has a `schema`, else triples."""
    (ftm.read if '"schema"' in _first_line(path) else triples.read_jsonl)(path, builder)


def _first_line(path: Path) -> str:
    return next((text for _, text in lines(path)), "")


def _is_json_lines(path: Path) -> bool:
    line = _first_line(path)
    marks = ('"schema"', '"subject"', '"predicate"')
    return line.endswith("}") and '"nodes"' not in line and any(mark in line for mark in marks)


READERS: Mapping[str, Reader] = {
    ".json": _json,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".ijson": _json_lines,
    ".ftm": ftm.read,
    ".graphml": graphml.read,
    ".csv": triples.read_table,
    ".tsv": triples.read_table,
    **dict.fromkeys(rdf.FORMATS, rdf.read),
}
"""Reader by file extension."""


def available(search_dirs: Sequence[Path]) -> tuple[Path, ...]:
    """The graph files in these directories, in name order; the first directory wins a name."""
    found: dict[str, Path] = {}
    for directory in search_dirs:
        if directory.is_dir():
            for path in sorted(directory.iterdir()):
                if path.suffix.lower() in READERS and path.is_file():
                    found.setdefault(path.name, path)
    return tuple(found[name] for name in sorted(found))


def resolve(spec: str, search_dirs: Sequence[Path]) -> Path:
    """The file of a name (with or without extension) or path. Raises `UsageError`."""
    graphs = available(search_dirs)
    named = [path for path in graphs if spec in (path.name, path.stem)]
    if len(named) == 1:
        return named[0]
    if len(named) > 1:
        options = ", ".join(f"`{path.name}`" for path in named)
        raise UsageError(f"the graph name `{spec}` fits several files: {options}")
    path = Path(spec).expanduser()
    if path.is_file():
        return path
    if path.is_dir():
        raise UsageError(f"the knowledge graph `{spec}` is a directory, not a file")
    raise UsageError(f"no knowledge graph `{spec}`", hint=_suggestion(spec, graphs))


def _suggestion(spec: str, graphs: Sequence[Path]) -> str:
    from difflib import get_close_matches

    names = sorted({path.stem for path in graphs})
    if not names:
        return "no graph is installed; give the path of a file"
    close = get_close_matches(Path(spec).stem, names, n=1)
    listing = f"there are {', '.join(f'`{n}`' for n in names)}, or give the path of a file"
    return f"did you mean `{close[0]}`? {listing}" if close else listing


def load(spec: str, *, search_dirs: Sequence[Path]) -> KnowledgeGraph:
    """Load a knowledge graph by name or path.

    Raises `UsageError` for an unknown name, `DataError` (file, line) for a broken or empty file,
    `MissingExtra` for RDF without rdflib.
    """
    path = resolve(spec, search_dirs)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(f"`{suffix}`" for suffix in READERS)
        raise DataError(
            f"no reader for the extension `{path.suffix}`", file=path, hint=f"known: {known}"
        )
    builder = Builder()
    try:
        reader(path, builder)
        with path.open("rb") as handle:
            digest = hashlib.file_digest(handle, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"cannot be read: {error.strerror}", file=path) from None
    if not builder.n_nodes:
        raise DataError("the graph is empty: no node and no edge", file=path)
    for node_id in builder.undeclared() if builder.any_declared else ():
        message = "edges lead to nodes that are not declared; their id serves as their name"
        builder.warn("dangling_link", message, node_id)
    return KnowledgeGraph(
        builder.build(),
        name=path.stem,
        path=path,
        digest=f"sha256:{digest}",
        warnings=builder.warnings(),
    )
