"""Tables inside evidence, and whether a number of the answer is that of the row and column named.

All tokens of a swapped cell are in the evidence, so only the grid tells. Read are pipe tables,
HTML tables, blocks of comma or tab separated lines with a header, and JSON records. A verdict is
given only where the sentence names one row and one column; silence is the rule.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from aletheia.grounding.date_match import match_date
from aletheia.grounding.dates import DateMention
from aletheia.grounding.quantities import numeric_mentions
from aletheia.grounding.quantity import Quantity
from aletheia.grounding.quantity_match import match_quantity
from aletheia.grounding.units import Kind, suffix

# Patterns that cannot cross a `<`: time stays linear in text that never closes a tag.
_ROW = re.compile(r"<tr\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<t[dh]\b[^<>]*>((?:[^<]|<(?!/?t[dhr]\b|/?table\b))*+)", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_RULER = re.compile(r"[\s|:+=-]+")
_HEADER_UNIT = re.compile(r"[(\[]\s*([^()\[\]\s]+)\s*[)\]]|(%)\s*$|,\s*([A-Za-z°/%]+)\s*$")
_WORD = re.compile(r"\w+")
_LONGEST_CELL: Final = 60
# Each failure may have read to the end of the text.
_MOST_FAILURES: Final = 32


class Cell(NamedTuple):
    """A cell at `text[start:end]` of the evidence; -1 where the place is not known."""

    text: str
    start: int = -1
    end: int = -1


class Table(NamedTuple):
    """Column names and rows of the same length; the first cell of a row names it."""

    columns: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]


class CellVerdict(NamedTuple):
    """What the cell under the named row and column says about a number."""

    outcome: Literal["supported", "contradicted"]
    row: str
    column: str
    cell: Cell


def tables(text: str) -> list[Table]:
    """All tables in folded `text`; costs a few searches where there is none."""
    found: list[Table] = []
    if "|" in text:
        found += _line_tables(text, "|")
    if "\t" in text:
        found += _line_tables(text, "\t")
    if "<t" in text or "<T" in text:
        found += _html_tables(text)
    if '":' in text or '" :' in text:
        found += _json_tables(text)
    if not found and "\n" in text and text.count(",") >= 4:
        found += _line_tables(text, ",")
    return found


def _line_tables(text: str, mark: str) -> Iterator[Table]:
    """Find runs of lines that have the same number of cells."""
    rows: list[tuple[Cell, ...]] = []
    position = 0
    for line in text.split("\n"):
        row = _cells(line, position, mark) if mark in line else ()
        position += len(line) + 1
        if row and _RULER.fullmatch(line):
            continue
        if rows and len(row) != len(rows[0]):
            yield from _table(rows, mark)
            rows = []
        if len(row) > 1:
            rows.append(row)
    yield from _table(rows, mark)


def _cells(line: str, position: int, mark: str) -> tuple[Cell, ...]:
    parts = line.split(mark)
    begin = 0
    cells: list[Cell] = []
    for part in parts:
        stripped = part.strip(" \r")
        start = position + begin + part.find(stripped)
        cells.append(Cell(stripped, start, start + len(stripped)))
        begin += len(part) + len(mark)
    if mark == "|":
        inner = slice(not cells[0].text, len(cells) - (not cells[-1].text))
        cells = cells[inner]
    return tuple(cells)


def _table(rows: Sequence[tuple[Cell, ...]], mark: str) -> Iterator[Table]:
    if len(rows) < 2 or any(len(cell.text) > _LONGEST_CELL for row in rows for cell in row):
        return
    if mark == "," and not _looks_like_csv(rows):
        return
    yield Table(tuple(rows[0]), tuple(rows[1:]))


def _looks_like_csv(rows: Sequence[tuple[Cell, ...]]) -> bool:
    """Prose has commas too: a header without numbers, no blank after a comma, a numeric column."""
    if len(rows[0]) < 2 or any(not cell.text for cell in rows[0]):
        return False
    tight = all(b.start - a.end == 1 for row in rows for a, b in itertools.pairwise(row))
    return tight and all(any(cell.text[:1].isdigit() for cell in row) for row in rows[1:])


def _html_tables(text: str) -> Iterator[Table]:
    lower = text.lower() if text.isascii() else text
    start = lower.find("<table")
    while start >= 0:
        end = lower.find("</table", start)
        if end < 0:
            return
        cuts = [match.end() for match in _ROW.finditer(text, start, end)]
        spans = itertools.pairwise([*cuts, end])
        rows = [tuple(_html_cell(cell) for cell in _CELL.finditer(text, *span)) for span in spans]
        rows = [row for row in rows if rows[0] and len(row) == len(rows[0])]
        if len(rows) > 1:
            yield Table(rows[0], tuple(rows[1:]))
        start = lower.find("<table", end)


def _html_cell(match: re.Match[str]) -> Cell:
    return Cell(" ".join(_TAG.sub(" ", match[1]).split()), match.start(1), match.end(1))


# --- JSON -----------------------------------------------------------------------------------------


def _json_tables(text: str) -> Iterator[Table]:
    decoder = json.JSONDecoder()
    failures = 0
    position = min((at for at in (text.find("{"), text.find("[")) if at >= 0), default=-1)
    while position >= 0 and failures < _MOST_FAILURES:
        try:
            value, end = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            end = position + 1
            failures += 1
        else:
            yield from _records(value)
        following = [at for at in (text.find("{", end), text.find("[", end)) if at >= 0]
        position = min(following, default=-1)


def _records(value: object) -> Iterator[Table]:
    """Read a list of objects as a table; what an object nests is searched too."""
    if isinstance(value, Mapping):
        for nested in value.values():
            yield from _records(nested)
        return
    if not isinstance(value, Sequence) or isinstance(value, str):
        return
    objects = [item for item in value if isinstance(item, Mapping)]
    if len(objects) > 1 and len(objects) == len(value):
        names = [str(name) for name in objects[0]]
        rows = tuple(tuple(Cell(_scalar(item.get(name))) for name in names) for item in objects)
        yield Table(tuple(Cell(name.replace("_", " ")) for name in names), rows)


def _scalar(value: object) -> str:
    return "" if value is None or isinstance(value, Mapping | list) else str(value)


# --- verdict --------------------------------------------------------------------------------------


def cell_conflict(
    sentence: str, number: Quantity | DateMention, found: Sequence[Table], offset: int = 0
) -> CellVerdict | None:
    """Return what the tables say about `number` in folded `sentence`.

    `offset` is where the sentence starts in the text that `number` was found in. Contradicted means
    that the row and the column which the sentence names hold another value, and that the number
    stands elsewhere in that row or column. None where no single cell is named.
    """
    if not found:
        return None
    span = number.start - offset, number.end - offset
    lower = sentence.lower()
    for table in found:
        verdict = _judge(table, lower, number, span)
        if verdict is not None:
            return verdict
    return None


def row_conflict(
    sentence: str, number: Quantity | DateMention, found: Sequence[Table], offset: int = 0
) -> CellVerdict | None:
    """Return a cell of another row that holds `number`, when the named row holds it nowhere.

    Speaks only when the sentence names exactly one row of a table and no column (`Ana is 27` over
    the rows of Ana and Bo); see `cell_conflict` for the arguments.
    """
    span = number.start - offset, number.end - offset
    lower = sentence.lower()
    for table in found:
        named = [row for row in table.rows if row and _named(row[0].text, lower, span)]
        if len(named) != 1 or _in_row(table, named[0], number) is not None:
            continue
        for row in table.rows:
            column = _in_row(table, row, number)
            if column is not None:
                header = table.columns[column].text
                return CellVerdict("contradicted", named[0][0].text, header, named[0][column])
    return None


def _in_row(table: Table, row: tuple[Cell, ...], number: Quantity | DateMention) -> int | None:
    """The first column, but the naming one, in which the row holds the number."""
    return next(
        (j for j, cell in enumerate(row) if j and _holds(cell, table.columns[j], number)), None
    )


def _judge(
    table: Table, lower: str, number: Quantity | DateMention, span: tuple[int, int]
) -> CellVerdict | None:
    rows = [i for i, row in enumerate(table.rows) if row and _named(row[0].text, lower, span)]
    columns = [i for i, cell in enumerate(table.columns) if i and _named(cell.text, lower, span)]
    beside = [i for i in columns if _beside(table.columns[i].text, lower, span[1])]
    columns = beside or columns
    if not rows or not columns:
        return None
    for i in rows:
        for j in columns:
            if _holds(table.rows[i][j], table.columns[j], number):
                name, column = table.rows[i][0].text, table.columns[j].text
                return CellVerdict("supported", name, column, table.rows[i][j])
    if (
        len(rows) > 1
        or len(columns) > 1
        or not _elsewhere(table, rows[0], columns[0], number, lower)
    ):
        return None
    row = table.rows[rows[0]]
    header = table.columns[columns[0]].text
    return CellVerdict("contradicted", row[0].text, header, row[columns[0]])


def _named(name: str, lower: str, span: tuple[int, int]) -> bool:
    """Whether the sentence has the name, as whole words and apart from the number itself."""
    wanted = _bare(name)
    if len(wanted) < 2:
        return False
    at = lower.find(wanted)
    while at >= 0:
        end = at + len(wanted)
        whole = not lower[at - 1 : at].isalnum() and not lower[end : end + 1].isalnum()
        if whole and not (at < span[1] and span[0] < end):
            return True
        at = lower.find(wanted, end)
    return False


def _bare(name: str) -> str:
    """Return a header without its unit: `weight (kg)` is `weight`."""
    return _HEADER_UNIT.sub("", name).strip().lower()


def _beside(name: str, lower: str, end: int) -> bool:
    """`14 in 2022`: the column that follows the number directly."""
    gap, _, _ = lower[end : end + len(name) + 16].partition(_bare(name))
    return gap.strip() in ("in", "for", "during", "on", "at", "(", "in the", "of", "")


def _holds(cell: Cell, column: Cell, number: Quantity | DateMention) -> bool:
    mentions = numeric_mentions(cell.text)
    if isinstance(number, DateMention):
        return match_date(number, mentions.dates).supported
    return match_quantity(number, with_header(mentions.quantities, column.text)).supported


def with_header(values: Sequence[Quantity], header: str) -> list[Quantity]:
    """Bare numbers of a column take the unit of its header: `share (%)`, `mass, kg`."""
    match = _HEADER_UNIT.search(header)
    named = suffix(next(filter(None, match.groups())), attached=False) if match else None
    if named is None or named.kind is None or named.kind == "money":
        return list(values)
    kind: Kind = named.kind
    return [v.with_unit(named.unit, kind) if v.kind == "number" else v for v in values]


def _elsewhere(
    table: Table, row: int, column: int, number: Quantity | DateMention, lower: str
) -> bool:
    """Whether the number stands in the same column, or in the same row under an unnamed column."""
    for i, other in enumerate(table.rows):
        if i != row and _holds(other[column], table.columns[column], number):
            return True
    stems = {word[:5] for word in _WORD.findall(lower)}
    for j, cell in enumerate(table.rows[row]):
        if j in (0, column) or not _holds(cell, table.columns[j], number):
            continue
        if not stems & {word[:5] for word in _WORD.findall(table.columns[j].text.lower())}:
            return True
    return False
