"""Triples: CSV, TSV and JSON lines. Objects are nodes too, so a year can be asked for."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from aletheia.errors import DataError
from aletheia.graph.build import Builder
from aletheia.graph.formats.node_link import ALIAS_KEYS
from aletheia.graph.formats.source import lines, parse_line, read_text
from aletheia.graph.formats.values import first, rest
from aletheia.graph.store import DESCRIPTION, Pairs

SUBJECTS = ("subject", "source", "head", "from", "s")
PREDICATES = ("predicate", "relation", "relationship", "rel", "edge", "p")
OBJECTS = ("object", "target", "tail", "to", "o")
_ALIASES = frozenset({*ALIAS_KEYS, "also known as", "known_as", "known as"})


def add(
    builder: Builder, triple: tuple[str, str, str], attributes: Pairs, line: int, path: Path
) -> None:
    """One triple. An alias, type or description belongs to its subject; the rest are edges."""
    subject, predicate, value = triple
    slug = predicate.casefold()
    if slug in _ALIASES:
        builder.alias(builder.reference(subject), [value])
    elif slug == "type":
        builder.add_type(builder.reference(subject), value)
    elif slug == DESCRIPTION:
        builder.attribute(builder.reference(subject), DESCRIPTION, value)
    else:
        builder.edge(subject, predicate, value, attributes)
        return
    if attributes:
        message = "attributes of a name, type or description are not kept"
        builder.warn("attributes_of_name", message, f"{path.name}:{line}", line)


def read_jsonl(path: Path, builder: Builder) -> None:
    """Read one JSON object a line. Raises `DataError` with the line."""
    for number, text in lines(path):
        record = parse_line(text, path, number)
        keys, parts = zip(*(first(record, names) for names in _COLUMNS), strict=True)
        for part, names in zip(parts, _COLUMNS, strict=True):
            if part is None:
                message = f"a triple needs a `{names[0]}`"
                raise DataError(message, file=path, line=number, field=names[0])
        add(builder, parts, tuple(rest(record, set(keys))), number, path)


_COLUMNS = (SUBJECTS, PREDICATES, OBJECTS)


def read_table(path: Path, builder: Builder) -> None:
    """Read a CSV or TSV file. Raises `DataError` with the line.

    With a header that names the three columns, they may stand in any order and the other columns
    become edge attributes; without one, each row has exactly three fields.
    """
    rows = _rows(path)
    start = next(rows, None)
    if start is None:
        return
    header = [cell.strip() for cell in start[1]]
    columns = _columns([cell.casefold() for cell in header])
    if columns is None:
        columns, header = (0, 1, 2), ["subject", "predicate", "object"]
        if len(start[1]) != len(header):
            message = f"{len(start[1])} fields, and no header that names them"
            hint = "begin with: subject,predicate,object"
            raise DataError(message, file=path, line=start[0], hint=hint)
        _add_row(builder, start[1], header, columns, start[0], path)
    for number, row in rows:
        _add_row(builder, row, header, columns, number, path)


def _add_row(
    builder: Builder,
    row: list[str],
    header: Sequence[str],
    columns: tuple[int, int, int],
    number: int,
    path: Path,
) -> None:
    if len(row) != len(header):
        message = f"{len(row)} fields, expected {len(header)}"
        raise DataError(message, file=path, line=number)
    cells = [cell.strip() for cell in row]
    for column in columns:
        if not cells[column]:
            raise DataError("the field is empty", file=path, line=number, field=header[column])
    attributes = tuple(
        (header[i], cell) for i, cell in enumerate(cells) if cell and i not in columns
    )
    s, p, o = columns
    add(builder, (cells[s], cells[p], cells[o]), attributes, number, path)


def _columns(header: list[str]) -> tuple[int, int, int] | None:
    """Positions of subject, predicate and object, or None if this is no header."""
    found = []
    for names in _COLUMNS:
        position = next((header.index(name) for name in names if name in header), None)
        if position is None:
            return None
        found.append(position)
    return found[0], found[1], found[2]


def _rows(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield non-blank rows with the line they end on."""
    text = read_text(path)
    reader = csv.reader(
        io.StringIO(text, newline=""), delimiter=_delimiter(text, path), strict=True
    )
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, row
    except csv.Error as error:
        line = reader.line_num
        raise DataError(f"not a valid table: {error}", file=path, line=line) from None


def _delimiter(text: str, path: Path) -> str:
    """Choose the delimiter: the extension's, unless only another one parts the first line."""
    first_line = text.partition("\n")[0]
    usual = "\t" if path.suffix.lower() == ".tsv" else ","
    return max((usual, ",", ";", "\t"), key=lambda mark: min(first_line.count(mark), 2))
