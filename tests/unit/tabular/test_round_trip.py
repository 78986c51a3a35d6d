"""What is written is what is read, in every format, whatever stands in the values."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aletheia.errors import DataError, StoreError, UsageError
from aletheia.tabular import output_format, read_rows, write_rows

SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".parquet")
SEPARATORS = ["a | b", "x;y", "line1\nline2"]

NASTY: list[dict[str, Any]] = [
    {"context": SEPARATORS, "query": "a,b", "response": '"'},
    {"context": [], "query": None, "response": ""},
    {"context": [{"text": "a", "rank": 0}], "query": "5", "response": "[1]"},
    {"context": ["\r", "\r\n", "\x00", "\u2028", "é", "😀", "\ud83d"], "query": "true", "response": "null"},
    {"context": ["'a'"], "query": '"5"', "response": '{"a": 1}'},
    {"context": [" a "], "query": "007", "response": "1.50"},
    {"context": [""], "query": "=1+1", "response": "\ufeffx"},
]  # fmt: skip


def through(path: Path, rows: list[dict[str, Any]], **options: Any) -> list[dict[str, Any]]:
    assert write_rows(path, rows, **options) == len(rows)
    return list(read_rows(path))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_separators_quotes_and_line_ends_inside_values_come_back(
    tmp_path: Path, suffix: str
) -> None:
    """Field case 137."""
    assert through(tmp_path / f"rows{suffix}", NASTY) == NASTY


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    "values",
    [
        [1, 2, None],
        [1.5, -0.0, 1e22],
        [1, 1.0, True],
        [True, None, False],
        [10**30, -(2**63), 0],
        [None, None, None],
        ["", None, " "],
        [[], ["a"], None],
        [{}, {"a": [1, {"b": None}]}, []],
    ],
)
def test_types_come_back(tmp_path: Path, suffix: str, values: list[Any]) -> None:
    """`1`, `1.0`, `true` and `"1"` are four values; null is not the empty text."""
    rows = [{"value": value, "text": str(value)} for value in values]
    found = through(tmp_path / f"rows{suffix}", rows)

    assert [(type(row["value"]), row) for row in found] == [
        (type(row["value"]), row) for row in rows
    ]


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=())),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=6,
)
tables = st.lists(st.text(st.characters(exclude_categories=("Cs",)), max_size=4), min_size=1, max_size=3, unique=True).flatmap(
    lambda names: st.lists(st.fixed_dictionaries(dict.fromkeys(names, json_values)), min_size=1, max_size=4)
)  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=tables)
def test_any_rows_come_back(tmp_path: Path, suffix: str, rows: list[dict[str, Any]]) -> None:
    """The round trip of every format that is written is the identity."""
    found = through(tmp_path / f"rows{suffix}", rows)
    assert json.dumps(found, sort_keys=True) == json.dumps(rows, sort_keys=True)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_no_rows_come_back_as_none(tmp_path: Path, suffix: str) -> None:
    assert through(tmp_path / f"rows{suffix}", [], columns=["a", "b"]) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_key_that_a_row_lacks(tmp_path: Path, suffix: str) -> None:
    """Where rows share their columns it is read as null; where they do not it stays away."""
    found = through(tmp_path / f"rows{suffix}", [{"a": 1}, {"b": 2}])
    shared = suffix in (".csv", ".tsv", ".parquet")
    assert found == ([{"a": 1, "b": None}, {"a": None, "b": 2}] if shared else [{"a": 1}, {"b": 2}])


def test_lists_of_texts_are_real_lists_in_parquet(tmp_path: Path) -> None:
    """Other tools read them; other nested values are JSON text."""
    path = tmp_path / "rows.parquet"
    write_rows(path, [{"context": ["a"], "made": {"by": "us"}}])
    assert pyarrow.parquet.read_table(path).to_pylist() == [{"context": ["a"], "made": '{"by": "us"}'}]  # fmt: skip


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("value", [math.nan, math.inf, {1, 2}, b"x"])
def test_what_is_no_json_is_refused_and_nothing_is_replaced(
    tmp_path: Path, suffix: str, value: object
) -> None:
    """A file appears whole or not at all."""
    path = tmp_path / f"rows{suffix}"
    path.write_text("before")
    with pytest.raises(DataError):
        write_rows(path, [{"a": 1}, {"a": value}])
    assert (path.read_text(), list(tmp_path.iterdir())) == ("before", [path])


def test_a_key_that_is_no_column_is_refused(tmp_path: Path) -> None:
    """Nothing is left out silently."""
    for suffix in (".csv", ".parquet"):
        with pytest.raises(DataError, match="`b` is no column"):
            write_rows(tmp_path / f"rows{suffix}", [{"a": 1, "b": 2}], columns=["a"])


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be written"):
        write_rows(tmp_path / "no" / "rows.csv", [])
    with pytest.raises(UsageError, match=r"nothing is known of `\.xlsx` files"):
        output_format("rows.xlsx")
