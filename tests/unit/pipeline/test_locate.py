"""Names of graphs and question sets: which directory wins, and what an unknown one says."""

from __future__ import annotations

from pathlib import Path

import pytest

from aletheia.errors import UsageError
from aletheia.pipeline import locate


def test_the_working_directory_comes_first_and_the_package_last(tmp_path: Path) -> None:
    first, second, *shipped = locate.graph_dirs((tmp_path,))

    assert (first, second) == (Path("graphs"), tmp_path)
    assert [path.name for path in shipped] == ["graphs"]


def test_the_shipped_sets_are_found_by_name_from_anywhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    found = locate.question_file("aldermoor", locate.question_dirs())

    assert found.name == "aldermoor.json"
    assert found.is_absolute()


def test_a_file_here_wins_over_a_shipped_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions").mkdir()
    (tmp_path / "questions" / "aldermoor.json").write_text("{}", encoding="utf-8")

    found = locate.question_file("aldermoor", locate.question_dirs())

    assert found == Path("questions/aldermoor.json")


@pytest.mark.parametrize("spec", ["aldermoor", "aldermoor.json"])
def test_a_name_works_with_and_without_its_suffix(spec: str) -> None:
    assert locate.question_file(spec, locate.question_dirs()).stem == "aldermoor"


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(UsageError, match="no question file `aldermor`") as caught:
        locate.question_file("aldermor", locate.question_dirs())

    assert "did you mean `aldermoor`?" in (caught.value.hint or "")
    assert "`terrorist_orgs`" in (caught.value.hint or "")
    assert "schema" not in (caught.value.hint or "")


def test_a_directory_and_an_empty_search_say_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is a directory"):
        locate.question_file(str(tmp_path), ())
    with pytest.raises(UsageError, match="no question file") as caught:
        locate.question_file("x", (tmp_path,))

    assert caught.value.hint == "give the path of a JSON file"
