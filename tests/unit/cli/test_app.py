"""The program as a whole: help, wrong commands, errors, colours, closed pipes, what it imports."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from aletheia import __version__
from aletheia.cli import app, output
from aletheia.cli.app import COMMANDS, run

ROOT = Path(__file__).parents[3]
HEAVY = frozenset(
    (
        *("openai", "ragas", "datasets", "networkx", "numpy", "pandas", "onnxruntime", "scipy"),
        *("rich", "tokenizers", "jinja2", "bm25s", "pydantic_settings", "httpx", "httpx2"),
        *(
            "rapidfuzz",
            "tenacity",
            "langchain",
            "langchain_core",
            "instructor",
            "rdflib",
            "pygments",
        ),
    )
)
MAY_LOAD_FOR_HELP = frozenset(("aletheia", "annotated_doc", "typer", "shellingham"))
MAY_LOAD_AT_IMPORT = frozenset(("aletheia",))


def process(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("ALETHEIA_", "OPENAI_", "NO_COLOR", "FORCE_COLOR"))
    }
    return subprocess.run(
        [sys.executable, *arguments],
        env={**environment, **variables},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def loaded_by(code: str) -> set[str]:
    """Top packages, beside the standard library's, that a fresh process has after `code`."""
    ending = (
        "import sys; sys.stderr.write('\\n' + ' '.join(sorted({m.partition('.')[0] for m in "
        "sys.modules})))"
    )
    done = process("-I", "-c", f"{code}\n{ending}")
    assert done.returncode == 0, done.stderr
    # `-I` leaves the site packages' own start-up hooks in: what a bare process has does not count.
    bare = process("-I", "-c", ending)
    names = set(done.stderr.split()) - set(bare.stderr.split())
    return {name for name in names - set(sys.stdlib_module_names) if not name.startswith("_")}


def test_importing_the_package_loads_nothing_else() -> None:
    assert loaded_by("import aletheia") <= MAY_LOAD_AT_IMPORT


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["evaluate-ragas", "--help"]])
def test_help_loads_only_what_shows_help(arguments: list[str]) -> None:
    found = loaded_by(f"from aletheia.cli.app import run; assert run({arguments!r}) == 0")

    assert found & HEAVY == set()
    if "evaluate-ragas" not in arguments:
        assert found <= MAY_LOAD_FOR_HELP


def test_the_module_and_the_script_are_one_program() -> None:
    done = process("-m", "aletheia", "--version")

    assert (done.returncode, done.stdout) == (0, f"aletheia {__version__}\n")


def test_help_lists_every_command_with_the_first_line_of_its_own_help(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["--help"]) == 0
    listed = " ".join(capsys.readouterr().out.split())

    for command in COMMANDS:
        assert f"{command.name} {command.summary}" in listed
        assert run([command.name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: aletheia {command.name}")


def test_the_bare_program_shows_its_help_and_exits_2(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([]) == 2
    shown = capsys.readouterr().err
    assert "\n  evaluate-ragas " in shown
    assert "‹LF›" not in shown


def test_a_group_without_a_command_shows_its_help_and_exits_2(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["local-model"]) == 2
    assert "\n  serve " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ["evalute-ragas"],
            "there is no command `evalute-ragas`",
            "did you mean `evaluate-ragas`?",
        ),
        (["xyz"], "there is no command `xyz`", "the commands are evaluate-ragas"),
        (["--versoin"], "No such option: --versoin", "did you mean `--version`?"),
        (["show-graph", "x", "--jsn"], "No such option: --jsn", "did you mean `--json`?"),
        (["show-graph"], "Missing argument", "`aletheia show-graph --help`"),
        (["show-graph", "aldermor"], "no knowledge graph `aldermor`", "did you mean `aldermoor`?"),
        (["doctor", "now"], "unexpected extra argument", "`aletheia doctor --help`"),
        (
            ["evaluate-ragas", "--limit", "0", "--knowledge-graph", "x", "--questions", "y"],
            "'--limit'",
            "--help",
        ),
    ],
)
def test_misuse_is_one_error_a_hint_and_exit_2(
    arguments: list[str], error: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2

    told = capsys.readouterr()
    first, blank, second = told.err.splitlines()
    assert told.out == ""
    assert first.startswith("error: ")
    assert error in first
    assert blank == ""
    assert second.startswith("hint: ")
    assert hint in second


def test_a_traceback_is_shown_only_on_request(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run(["show-graph", "nope"])
    assert "Traceback" not in capsys.readouterr().err

    monkeypatch.setenv("ALETHEIA_DEBUG", "1")
    run(["show-graph", "nope"])
    assert "Traceback" in capsys.readouterr().err


def test_a_message_from_data_stays_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    run(["show-graph", "two\nlines\x1b[31m"])

    first = capsys.readouterr().err.splitlines()[0]
    assert first.startswith("error: no knowledge graph `two lines")
    assert "\x1b" not in first


def test_show_graph_as_json_is_one_object(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["show-graph", "aldermoor", "--json"]) == 0

    found = json.loads(capsysbinary.readouterr().out)
    assert found["nodes"] == 127
    assert {"predicate": "was_born_in", "count": 26} in found["predicates"]


def test_show_graph_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["show-graph", "aldermoor"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("aldermoor: 127 nodes, 236 edges")
    assert "Some facts" in lines


def test_a_closed_pipe_ends_the_program_without_a_word() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "aletheia", "show-graph", "aldermoor"],
            stdout=closed,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            timeout=120,
            check=False,
        )

    assert (done.returncode, done.stderr) == (app.PIPE_CLOSED, b"")


def test_a_terminal_that_cannot_show_a_letter_gets_an_escape() -> None:
    done = process("-m", "aletheia", "doctor", PYTHONIOENCODING="ascii")

    assert done.returncode == 0, done.stderr
    assert "\\u2026" in done.stdout


class Terminal:
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("variables", "coloured"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colours_follow_the_terminal_and_no_color(
    variables: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert output.colours(Terminal()) is coloured  # type: ignore[arg-type]
