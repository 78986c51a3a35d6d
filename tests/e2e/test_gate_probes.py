"""`aletheia gate --probes`: the contamination of the very run that is held against the rules."""

from __future__ import annotations

from pathlib import Path

import pytest
from e2e.program import here

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of three questions, probes of the same three, and probes of two of them."""
    root = tmp_path_factory.mktemp("probed")
    same = ("--knowledge-graph", "aldermoor", "--questions", "aldermoor", "--quiet")
    for command, name, limit in (
        ("evaluate-ragas", "run", 3),
        ("probe", "probes", 3),
        ("probe", "fewer", 2),
    ):
        done = here(command, *same, "--limit", limit, "--output-dir", name, cwd=root)
        assert done.returncode == 0, done.stderr
    return root


def only(directory: Path) -> Path:
    (file,) = directory.glob("*.json")
    return file


@pytest.mark.parametrize(
    ("probes", "code", "told"),
    [
        ("probes", 0, "contamination: 0.00"),
        ("fewer", 2, "the probes and the report differ in questions"),
        ("run", 2, "this is no report of `aletheia probe`"),
        (None, 3, "not in this report"),
    ],
)
def test_the_probes_have_to_be_about_the_run(
    made: Path, probes: str | None, code: int, told: str
) -> None:
    given = () if probes is None else ("--probes", only(made / probes))

    done = here("gate", only(made / "run"), "--max-contamination", "0.1", *given, cwd=made)

    assert done.returncode == code, done.stderr
    assert told in done.stdout + done.stderr
