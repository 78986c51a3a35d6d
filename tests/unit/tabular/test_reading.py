"""Files as tools write them: every row is read or is an error, and none is lost."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from aletheia.errors import DataError, UsageError
from aletheia.tabular import Format, Row, open_table, read_rows
from aletheia.tabular.cells import encode_cell, list_in, text_in


def rows_of(path: Path, **options: Any) -> list[Row]:
    with open_table(path, **options) as table:
        found = list(table.rows())
        assert table.scan().rows == len(found)
        return found


def written(directory: Path, name: str, content: bytes | str) -> Path:
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def lines(*names: str) -> str:
    return "".join(f'{{"a": "{name}"}}\n' for name in names)


# --- what a file holds ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "kind", "count"),
    [
        ("x.jsonl", lines("1", "2"), Format.JSONL, 2),
        ("x.json", lines("1", "2"), Format.JSONL, 2),
        ("x", lines("1", "2"), Format.JSONL, 2),
        ("x.jsonl", "", Format.JSONL, 0),
        ("x.json", '[{"a": 1}, {"a": 2}]', Format.JSON, 2),
        ("x.jsonl", '[\n{"a": 1},\n{"a": 2}\n]', Format.JSON, 2),
        ("x.json", '{\n "a": 1,\n "b": [{"c": 1}]\n}', Format.JSON, 1),
        ("x.json", '{"data": [{"a": 1}]}', Format.JSON, 1),
        ("x.json", '{"meta": {"n": [1]}, "traces": [{"a": 1}, {"a": 2}]}', Format.JSON, 2),
        ("x", '\ufeff{"own": [{"a": 1}], "numbers": [1]}', Format.JSON, 1),
        ("x.json", "[]", Format.JSON, 0),
        ("x.csv", "a,b\n1,2\n", Format.CSV, 1),
        ("x.csv", "[a],b\n1,2\n", Format.CSV, 1),
        ("x.tsv", "a\tb\n1\t2\n", Format.TSV, 1),
    ],
)
def test_content_and_suffix_say_what_a_file_holds(
    tmp_path: Path, name: str, content: str, kind: Format, count: int
) -> None:
    path = written(tmp_path, name, content)
    with open_table(path) as table:
        assert table.format is kind
    assert len(rows_of(path)) == count


def test_one_object_that_is_a_row_is_not_opened_for_the_list_in_it(tmp_path: Path) -> None:
    """The chunks of a context are objects too."""
    path = written(tmp_path, "x.json", json.dumps({"context": [{"text": "a"}], "response": "b"}))
    found = rows_of(path, is_row=lambda record: "response" in record)
    assert [row.record for row in found] == [{"context": [{"text": "a"}], "response": "b"}]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.json", '{"a": [{"b": 1}], "c": [{"d": 1}]}', "more than one array"),
        ("x.json", '{"data": [1], "traces": [1]}', "more than one array"),
        ("x.json", '{"a": 1}', "holds no array"),
        ("x.json", '{\n"a": 1,}', "not JSON at line 2"),
        ("x.json", '{"a": [{}]}\n]', "not JSON|no JSON"),
        ("x.json", "7", "neither a JSON array"),
        ("x.txt", "Dear all,", "cannot be told"),
        ("x.jsonl.gz", b"\x1f\x8b\x08\x00", "gunzip -c"),
        ("x.csv", "a,b".encode("utf-16"), "UTF-16"),
        ("x.csv", "", "no row of names"),
        ("x.csv", "a;b,c\n1;2,3\n", "`,` and `;` would divide"),
        ("x.parquet", "PAR1 but no", "no Parquet file"),
    ],
)  # fmt: skip
def test_a_file_that_holds_no_rows_is_an_error_with_its_name(
    tmp_path: Path, name: str, content: bytes | str, message: str
) -> None:
    path = written(tmp_path, name, content)
    with pytest.raises(DataError, match=message) as caught:
        list(read_rows(path))
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "options", [{"split": "test"}, {"kind": Format.DATASET}, {"delimiter": ";"}]
)
def test_an_option_that_does_not_fit_the_file_is_refused(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    with pytest.raises(UsageError):
        rows_of(written(tmp_path, "x.jsonl", lines("1")), **options)


# --- rows -------------------------------------------------------------------------------------


def test_lines_end_at_line_feeds_only(tmp_path: Path) -> None:
    """Field case 143: a mark at the start, U+2028 in a text, CRLF, blank lines, a bad end."""
    path = written(tmp_path, "x.jsonl", b'\xef\xbb\xbf{"a": "b\xe2\x80\xa8c"}\r\n\r\n{"a":')
    found = rows_of(path)
    assert [(row.line, row.record, row.error is None) for row in found] == [
        (1, {"a": "b\u2028c"}, True),
        (3, None, False),
    ]


@pytest.mark.parametrize(
    ("content", "good"),
    [
        ('[{"a": 1}, 7, {"a": NaN}, {"a": 1, "a": 2}, {"a": 2}]', [1, 5]),
        ('[{"a": 1}, {"a": 2}, {"a": }]', [1, 2]),
        ('[{"a": 1} {"a": 2}]', [1]),
        ('[{"a": 1},]', [1]),
        ('[{"a": 1}', [1]),
        ('[{"a": 1}] and more', [1]),
    ],
)
def test_a_bad_element_of_an_array_is_a_bad_row(
    tmp_path: Path, content: str, good: list[int]
) -> None:
    """Field case 142: what can be read is read, what cannot is there with its reason."""
    found = rows_of(written(tmp_path, "x.json", content))
    assert [row.index for row in found if row.error is None] == good
    assert len(found) > len(good)


@pytest.mark.parametrize(
    ("content", "records"),
    [
        ('a,b\r\n"x, y","line1\nline2"\r\n', [{"a": "x, y", "b": "line1\nline2"}]),
        ("a;b\n1,5;2\n", [{"a": "1,5", "b": "2"}]),
        ("sep=;\na;b\n1;2\n", [{"a": "1", "b": "2"}]),
        ("\ufeffa,b\n1,2\n", [{"a": "1", "b": "2"}]),
        ('a|b\n"1|2"|3\n', [{"a": "1|2", "b": "3"}]),
        ('a,b\n"say ""hi""",\n', [{"a": 'say "hi"', "b": ""}]),
        ("a,b\n\u2028,\x85\n", [{"a": "\u2028", "b": "\x85"}]),
    ],
)
def test_dialects_of_csv(tmp_path: Path, content: str, records: list[dict[str, str]]) -> None:
    found = rows_of(written(tmp_path, "x.csv", content))
    assert [row.record for row in found] == records


def test_known_names_decide_between_delimiters(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", "query;context, response\n1;2, 3\n")
    with open_table(path, known={"query", "response"}, delimiter=";") as table:
        assert table.columns == ("query", "context, response")
    with open_table(
        written(tmp_path, "y.csv", "query;a|b;response\n"), known={"query", "response"}
    ) as table:
        assert table.columns == ("query", "a|b", "response")


def test_rows_of_csv_that_cannot_be_read_are_listed_with_their_line(tmp_path: Path) -> None:
    """Too few cells, too many, a stray quote, bytes that are no text; a blank line is none."""
    content = b'a,b\n"1\n1",2\n\n3\n4,5,6\n"x"y,7\n\xff,8\n9,10\n'
    found = rows_of(written(tmp_path, "x.csv", content))
    assert [(row.line, row.error is None) for row in found] == [
        *[(2, True), (5, False), (6, False), (7, False), (8, False), (9, True)]
    ]
    assert "it has 1 cells, and the first row has 2" in str(found[1].error)
    assert "byte 0xFF" in str(found[4].error)


def test_a_quote_that_is_never_closed_says_how_far_it_reaches(tmp_path: Path) -> None:
    found = rows_of(written(tmp_path, "x.csv", 'a,b\n1,2\n"3,4\n5,6\n'))
    assert [row.error is None for row in found] == [True, False]
    assert "up to line 4" in str(found[1].error)


def test_a_cell_may_be_long(tmp_path: Path) -> None:
    path = written(tmp_path, "x.csv", f"a,b\n{'x' * 300_000},1\n")
    assert len(dict(rows_of(path)[0].record or {})["a"]) == 300_000


# --- cells ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cell", "value", "python"),
    [
        ('["a | b", "x;y"]', ["a | b", "x;y"], False),
        ('[{"text": "a"}]', [{"text": "a"}], False),
        ("[]", [], False),
        ("one | chunk; only", "one | chunk; only", False),
        ("[1] See the annex [2]", "[1] See the annex [2]", False),
        ("fun f(a) { return a }", "fun f(a) { return a }", False),
        ('"5"', "5", False),
        ('"Yes," he said', '"Yes," he said', False),
        ("['a', 'b']", ["a", "b"], True),
        ("['it\\'s', \"b\"]", ["it's", "b"], True),
        ("('a', 'b')", ["a", "b"], True),
        ("(a remark)", "(a remark)", False),
    ],
)
def test_a_cell_of_context_is_a_list_or_one_text(cell: str, value: object, python: bool) -> None:
    """Field case 137: no separator ever divides a text."""
    assert list_in(cell) == (value, python)


@pytest.mark.parametrize(
    "cell",
    [
        *("", "  ", "null", "None", "nan", '["a"', "['a' 'b']", "['a'\n 'b']", "['a', b]"),
        *('{"text": "a"}', "{'text': 'a'}", "array(['a'], dtype=object)", "['" + "a" * 2_000_000),
        "[" * 5000 + "'a'" + "]" * 5000,
    ],
)
def test_a_cell_that_could_mean_two_things_is_an_error_with_a_hint(cell: str) -> None:
    with pytest.raises(DataError) as caught:
        list_in(cell)
    assert caught.value.hint


@pytest.mark.parametrize("text", ["5", "true", "[1]", '{"a": 1}', "", '"', "a,b\n", '"Yes," he'])
def test_a_cell_of_text_is_that_text_whoever_wrote_it(text: str) -> None:
    """Other tools write `5` where we write the quoted text."""
    assert (text_in(text), text_in(encode_cell(text))) == (text, text)


# --- columnar files ---------------------------------------------------------------------------


def test_parquet_values_become_those_of_json(tmp_path: Path) -> None:
    """Dates and decimals as text, NaN as a missing value; a nested column has a path."""
    import datetime as dt
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    values = {
        "meta": [{"contexts": ["a"]}, None],
        "when": [dt.date(2024, 1, 2), None],
        "price": [decimal.Decimal("1.50"), None],
        "score": [float("nan"), 0.5],
    }
    pq.write_table(pa.table(values), path)
    with open_table(path) as table:
        assert table.columns == ("meta", "when", "price", "score", "meta.contexts")
        assert [row.record for row in table.rows()] == [
            {"meta": {"contexts": ["a"]}, "when": "2024-01-02", "price": "1.50", "score": None},
            {"meta": None, "when": None, "price": None, "score": 0.5},
        ]
        assert [row.record for row in table.rows({"score"})][1] == {"score": 0.5}


def test_infinity_in_parquet_is_a_bad_row(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"a": [float("inf"), 1.0]}), path)
    assert [row.error is None for row in rows_of(path)] == [False, True]


def test_a_dataset_folder_and_its_splits(tmp_path: Path) -> None:
    """Saved by `save_to_disk`: one dataset, or a dictionary of splits."""
    from datasets import Dataset, DatasetDict

    rows = [{"context": ["a | b", "c"], "response": "r"}, {"context": [], "response": ""}]
    one, several = tmp_path / "one", tmp_path / "several"
    data = Dataset.from_list(rows)
    data.save_to_disk(one)
    DatasetDict({"train": data, "test": data.select([1])}).save_to_disk(several)

    assert list(read_rows(one)) == rows
    assert list(read_rows(several, split="test")) == rows[1:]
    for split in (None, "dev"):
        with pytest.raises(UsageError, match="`train`, `test`"):
            list(read_rows(several, split=split))
    with pytest.raises(UsageError, match="one dataset"):
        list(read_rows(one, split="dev"))
    with pytest.raises(DataError, match="no Hugging Face dataset"), open_table(tmp_path):
        pass
    with open_table(one) as first, open_table(several, split="train") as second:
        assert first.scan().rows == second.scan().rows == 2
        assert first.scan().digest != second.scan().digest


def test_reading_holds_a_piece_of_a_file_only() -> None:
    """Field case 164: of a long file nothing is held but what is under way."""
    import tracemalloc

    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "x.csv"
        with path.open("w") as handle:
            handle.write("a,b\n")
            handle.writelines(f'{n},"{"x" * 1000}"\n' for n in range(5000))
        tracemalloc.start()
        with open_table(path) as table:
            count = sum(1 for _ in table.rows())
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert count == 5000
    assert peak < 3_500_000
