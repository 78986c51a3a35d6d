"""`aletheia make-questions` and `aletheia fictionalise` as a user runs them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import here, process

pytestmark = pytest.mark.e2e

CLASH = {
    "directed": True,
    "multigraph": True,
    "graph": {},
    "nodes": [{"id": str(year), "name": str(year)} for year in range(1000, 2100)],
    "links": [],
}
"""A graph where every year is a name: by whatever years move, one lands on another."""


def read(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


def test_a_made_set_is_run_offline_and_nearly_all_right(tmp_path: Path) -> None:
    """40 questions, evaluated without a model: at least 85 % right or rightly abstained."""
    asked = ("--output", "made.json", "--n", 40, "--seed", 4)
    made = process("make-questions", "aldermoor", *asked, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert "40 questions, 8 of them without an answer" in made.stderr
    assert made.stdout == ""

    done = here("evaluate-ragas", "--knowledge-graph", "aldermoor",
                "--questions", "made.json", "--output-dir", "out", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    rows = read(next((tmp_path / "out").glob("*.json")))["detailed_results"]
    right = sum(bool(row["correct"] if row["answerable"] else row["abstained"]) for row in rows)
    assert len(rows) == 40
    assert right >= 34


def test_the_same_seed_writes_the_same_bytes(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        asked = ("--output", f"{name}.json", "--n", 20, "--seed", seed)
        assert here("make-questions", "aldermoor", *asked, cwd=tmp_path).returncode == 0
    first, again, other = ((tmp_path / f"{n}.json").read_text() for n in "abc")

    assert first.replace('"a"', "") == again.replace('"b"', "")
    assert first.replace('"a"', "") != other.replace('"c"', "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("make-questions", "nowhere", "--output", "x.json"), "no knowledge graph `nowhere`"),
        (("make-questions", "aldermoor", "--output", "x.json", "--types", "riddle"), "riddle"),
        (("make-questions", "aldermoor", "--output", "no/x.json"), "no directory"),
        (("fictionalise", "aldermoor", "--output", "x.csv"), "must end in `.json`"),
        (("fictionalise", "aldermoor", "--output", "x.json", "--questions", "aldermoor"), "together"),
        (("fictionalise", "aldermoor", "--output", "x.json", "--replace", "colours"), "colours"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_and_nothing_written(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    done = here(*arguments, cwd=tmp_path)

    assert done.returncode == 2
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_fictional_world_is_written_and_answered(tmp_path: Path) -> None:
    """Graph, questions and card are written, no old name is left, and three of four questions are right."""
    done = process("fictionalise", "terrorist_orgs", "--output", "world.json", "--seed", 3,
                   "--questions", "terrorist_orgs", "--questions-output", "asked.json",
                   cwd=tmp_path)  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "old names left: 0" in done.stderr
    card = (tmp_path / "world.md").read_text(encoding="utf-8")
    assert "| Seed | 3 |" in card
    assert "| Old names left | 0 |" in card
    text = (tmp_path / "world.json").read_text() + (tmp_path / "asked.json").read_text()
    assert not any(name in text for name in ("Hezbollah", "Hizballah", "Lebanon", "al-Qa'ida"))

    ran = here("evaluate-ragas", "--knowledge-graph", "world.json",
               "--questions", "asked.json", "--output-dir", "out", cwd=tmp_path)  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    rows = read(next((tmp_path / "out").glob("*.json")))["detailed_results"]
    right = sum(bool(row["correct"] if row["answerable"] else row["abstained"]) for row in rows)
    assert right >= 0.75 * len(rows)


def test_files_that_are_there_are_kept_unless_forced(tmp_path: Path) -> None:
    """The card counts too: nothing is written if any of the files is there."""
    (tmp_path / "world.md").write_text("mine")
    arguments = ("fictionalise", "aldermoor", "--output", "world.json")
    refused = here(*arguments, cwd=tmp_path)
    assert refused.returncode == 2
    assert "`world.md` is there already" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["world.md"]

    assert here(*arguments, "--force", cwd=tmp_path).returncode == 0
    assert (tmp_path / "world.md").read_text() != "mine"


def test_a_name_that_is_left_ends_in_1(tmp_path: Path) -> None:
    (tmp_path / "clash.json").write_text(json.dumps(CLASH))
    done = here("fictionalise", "clash.json", "--output", "world.json", cwd=tmp_path)

    assert done.returncode == 1
    assert "Old name left: `2080` in the node id" in done.stderr
    assert (tmp_path / "world.json").exists()
