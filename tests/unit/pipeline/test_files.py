"""Output files: the directory is tried first, names are never reused, nothing is half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from aletheia.errors import DataError, UsageError
from aletheia.pipeline import files
from aletheia.pipeline.journal import SUFFIX

AT = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)
OWN = Path("none")


def texts() -> dict[str, Iterator[str]]:
    return {".html": iter(["<p>", "é"]), ".json": iter(["{}"])}


def test_a_pair_gets_the_stem_of_its_moment(tmp_path: Path) -> None:
    page, data = files.write_pair(tmp_path, AT, texts(), own=OWN)

    assert page.name == "ragas_20260131_235959.html"
    assert data.name == "ragas_20260131_235959.json"
    assert page.read_text(encoding="utf-8") == "<p>é"
    assert sorted(path.name for path in tmp_path.iterdir()) == [page.name, data.name]


@pytest.mark.parametrize("suffix", [".json", ".html", SUFFIX])
def test_a_stem_that_any_run_has_is_passed_over(tmp_path: Path, suffix: str) -> None:
    taken = tmp_path / f"ragas_20260131_235959{suffix}"
    taken.write_text("mine", encoding="utf-8")

    page, _ = files.write_pair(tmp_path, AT, texts(), own=OWN)
    with files.new_journal(tmp_path, AT, {}) as opened:
        journal = opened.path

    assert page.name == "ragas_20260201_000000.html"
    assert journal.name == f"ragas_20260201_000001{SUFFIX}"
    assert taken.read_text(encoding="utf-8") == "mine"


def test_a_run_keeps_the_stem_of_its_own_journal(tmp_path: Path) -> None:
    with files.new_journal(tmp_path, AT, {}) as opened:
        page, _ = files.write_pair(tmp_path, AT, texts(), own=opened.path)

    assert page.stem == opened.path.name.removesuffix(SUFFIX)


def test_a_failure_while_writing_leaves_no_file(tmp_path: Path) -> None:
    def breaks() -> Iterator[str]:
        yield "half"
        raise DataError("no more")

    with pytest.raises(DataError):
        files.write_pair(tmp_path, AT, {".html": breaks()}, own=OWN)

    assert list(tmp_path.iterdir()) == []


def test_files_follow_the_mask_of_the_process(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        page, _ = files.write_pair(tmp_path, AT, texts(), own=OWN)
    finally:
        os.umask(before)

    assert page.stat().st_mode & 0o777 == 0o640


def test_a_missing_directory_is_made(tmp_path: Path) -> None:
    files.check_directory(tmp_path / "a" / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_file_in_the_way_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")

    for directory in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="is not a directory"):
            files.check_directory(directory)


def test_a_place_where_nothing_can_be_written_is_found_before_any_work() -> None:
    """`/proc` refuses everybody, root too."""
    with pytest.raises(UsageError, match="nothing can be written into `/proc/"):
        files.check_directory(Path("/proc/aletheia"))
