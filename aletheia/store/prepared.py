"""Statements that are compiled once and then go straight to the driver.

The library binds and compiles anew at each call, which costs more than what SQLite does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sqlalchemy import Connection, Delete, Insert, Select, Update

from aletheia.store.engine import driver_cursor

if TYPE_CHECKING:
    from sqlalchemy.engine import Dialect

_FLOAT8: Final = 701
"""What PostgreSQL calls the type of a float; no other type of ours asks for its number."""

Statement = Insert | Update | Delete | Select[Any]
Processor = Callable[[object], object]


class Prepared:
    """A statement whose parameters `names` are given with each call."""

    def __init__(self, statement: Statement, names: Sequence[str], dialect: Dialect) -> None:
        compiled: Any = statement.compile(dialect=dialect, column_keys=list(names))
        self._sql = str(compiled)
        self._names = compiled.positiontup or list(compiled.binds)
        self._positional = compiled.positiontup is not None
        binds = {name: compiled.binds[name] for name in self._names}
        self._processors = {name: _into(bind.type, dialect) for name, bind in binds.items()}
        # Values that stand in the statement itself.
        self._fixed = {
            name: bind.effective_value for name, bind in binds.items() if name not in set(names)
        }
        chosen = statement.selected_columns if isinstance(statement, Select) else ()
        self._columns = [(column.name, _out_of(column.type, dialect)) for column in chosen]

    def one(self, connection: Connection, row: Mapping[str, object]) -> Any:  # noqa: ANN401
        """Run it for a row and return what it returns."""
        with driver_cursor(connection, self._sql) as cursor:
            cursor.execute(self._sql, self._values(row))
            return cursor.fetchone()

    def all(self, connection: Connection, row: Mapping[str, object]) -> list[dict[str, Any]]:
        """Run a query and return what it finds, by column."""
        with driver_cursor(connection, self._sql) as cursor:
            cursor.execute(self._sql, self._values(row))
            found = cursor.fetchall()
        names = self._columns
        return [
            {name: _made(read, value) for (name, read), value in zip(names, values, strict=True)}
            for values in found
        ]

    def many(self, connection: Connection, rows: Sequence[Mapping[str, object]]) -> None:
        """Run it for rows."""
        if rows:
            with driver_cursor(connection, self._sql) as cursor:
                cursor.executemany(self._sql, [self._values(row) for row in rows])

    def _values(self, row: Mapping[str, object]) -> object:
        row = {**row, **self._fixed} if self._fixed else row
        made = self._processors
        if self._positional:
            return [_made(made[name], row[name]) for name in self._names]
        return {name: _made(made[name], row[name]) for name in self._names}


def _made(processor: Processor | None, value: object) -> object:
    return value if processor is None else processor(value)


def _into(kind: Any, dialect: Dialect) -> Processor | None:  # noqa: ANN401
    processor: Processor | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return processor


def _out_of(kind: Any, dialect: Dialect) -> Processor | None:  # noqa: ANN401
    processor: Processor | None = kind.dialect_impl(dialect).result_processor(dialect, _FLOAT8)
    return processor
