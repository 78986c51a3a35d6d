"""The documentation: its links resolve, its commands exist, its code runs and says what it says.

Blocks are read by their first word. `python` is run; `console` is run too, each `$ command` in one
shell, and what it prints must be what stands below it (a line `...` stands for any lines, `...`
in a line for any text). `json title=NAME` is also a file in the directory where the blocks run.
`sh` may only call targets of the Makefile, pip and our program. `UPDATE_DOCS=1` writes what a
command prints into its block, where the block has no `...`.
"""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import pytest

from aletheia.cli.app import COMMANDS, run, subcommands
from aletheia.grounding.date_match import DateOutcome
from aletheia.grounding.quantity import Outcome
from aletheia.schema.answer import ProblemCode
from aletheia.schema.verification import FindingKind, RejectionReason

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "graphs/*.md", "questions/*.md", "benchmarks/*.md")
    for page in ROOT.glob(pattern)
)

_FENCE = re.compile(r"^```(\S*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\!)\[[^\]\n]*\]\(([^)\s]+)\)")
_END = "__end_of_command__"


@dataclass(frozen=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    language: str
    title: str | None
    text: str


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def blocks(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for match in _FENCE.finditer(text):
        title = re.search(r"title=(\S+)", match[2])
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match[1], title[1] if title else None, match[3]))
    return found


BLOCKS = [block for page in PAGES for block in blocks(page)]


def of(*languages: str) -> pytest.MarkDecorator:
    chosen = [block for block in BLOCKS if block.language in languages]
    ids = [f"{name(block.page)}:{block.line}" for block in chosen]
    return pytest.mark.parametrize("block", chosen, ids=ids)


def prose(page: Path) -> str:
    """The text of a page without its blocks."""
    return _FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Ids of the headings, made as code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


# --- links and names --------------------------------------------------------------------------


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_resolve(page: Path) -> None:
    wrong = []
    for target in _LINK.findall(prose(page)):
        if target.startswith(("https://", "mailto:")):
            continue
        path, _, anchor = target.partition("#")
        there = (page.parent / path).resolve() if path else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            wrong.append(target)

    assert wrong == []


def test_the_index_leads_to_every_page() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / target).resolve() for target in _LINK.findall(prose(index))}

    pages = set((ROOT / "docs").rglob("*.md")) - {index}
    assert {name(page) for page in pages - linked} == set()


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_command_is_in_the_readme(command: object) -> None:
    assert f"aletheia {command.name}" in (ROOT / "README.md").read_text(encoding="utf-8")  # type: ignore[attr-defined]


_USE = re.compile(r"\baletheia ([a-z][a-z-]+)((?:[^\S\n]+[^`\n|>;&]*)?)")


def uses() -> list[tuple[str, str, str]]:
    """Each use of a command on a page: page, command, the rest of the line."""
    found = set()
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        code = [*re.findall(r"`(aletheia [^`\n]+)`", _FENCE.sub("", text))]
        for block in blocks(page):
            if block.language in ("console", "sh"):
                code += [line for line in block.text.splitlines() if "aletheia" in line]
        found |= {(name(page), *match) for line in code for match in _USE.findall(line)}
    return sorted(found)


@pytest.mark.parametrize(("page", "command", "rest"), uses())
def test_commands_and_their_options_exist(
    page: str, command: str, rest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = [command, *(word for word in rest.split()[:1] if word in subcommands(command))]
    assert run([*path, "--help"]) == 0, f"{page}: there is no `aletheia {command}`"
    shown = set(re.findall(r"--[a-z][a-z-]*", capsys.readouterr().out))

    assert set(re.findall(r"--[a-z][a-z-]*", rest)) - shown == set()


@of("sh")
def test_shell_lines_call_targets_that_exist(block: Block) -> None:
    targets = set(
        re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    )
    for line in block.text.splitlines():
        words = line.split()
        assert words[0] in ("make", "pip", "export", "aletheia"), line
        if words[0] == "make":
            assert words[1] in targets, line


# --- code -------------------------------------------------------------------------------------


def prepared(block: Block, directory: Path) -> dict[str, str]:
    """Put the page's files into `directory`; return the environment for its code."""
    for other in blocks(block.page):
        if other.title is not None:
            (directory / other.title).write_text(other.text, encoding="utf-8")
    kept = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("OPENAI_", "ALETHEIA_"))
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**kept, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "80"}


@of("json")
def test_json_is_json(block: Block) -> None:
    texts = block.text.splitlines() if (block.title or "").endswith("jsonl") else [block.text]
    for text in texts:
        json.loads(text)


@of("python")
def test_python_runs(block: Block, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block.text],
        cwd=tmp_path,
        env=prepared(block, tmp_path),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr


@of("console")
def test_commands_print_what_stands_below_them(block: Block, tmp_path: Path) -> None:
    commands = re.findall(r"^\$ (.+)$", block.text, re.MULTILINE)
    # After each command a mark, so that its output can be told from the next one's.
    lines = [f"{command}\nstatus=$?; echo {_END}; (exit $status)" for command in commands]
    done = subprocess.run(
        ["bash", "-c", "exec 2>&1\n" + "\n".join(lines)],
        cwd=tmp_path,
        env=prepared(block, tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    outputs = done.stdout.split(f"{_END}\n")[:-1]
    shown = "".join(f"$ {command}\n{text}" for command, text in zip(commands, outputs, strict=True))
    shown = re.sub(r"ragas_\d{8}_\d{6}", "ragas_YYYYMMDD_HHMMSS", shown)
    if os.environ.get("UPDATE_DOCS") and "..." not in block.text:
        _rewrite(block, shown)
        return
    assert re.fullmatch(_pattern(block.text), shown, re.DOTALL), shown


def _pattern(expected: str) -> str:
    """Expected output as a regular expression."""
    lines = []
    for line in expected.splitlines():
        if line == "...":
            lines.append("(?:[^\n]*\n)*?")
        else:
            lines.append("[^\n]*".join(map(re.escape, line.split("..."))) + "\n")
    return "".join(lines)


def _rewrite(block: Block, shown: str) -> None:
    text = block.page.read_text(encoding="utf-8")
    block.page.write_text(text.replace(block.text, shown, 1), encoding="utf-8")


# --- the reference of findings ----------------------------------------------------------------

_PLACES = {"finding": 3, "note": 3, "_citation": 3}
"""Functions that make a finding or note, and where they take its reason."""


def codes() -> set[str]:
    """Every reason that the source of the verification writes down."""
    found = {*get_args(ProblemCode), *get_args(Outcome), *get_args(DateOutcome), *RejectionReason}
    for path in (ROOT / "aletheia" / "grounding").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            found |= {code for value in _reasons(node) for code in _strings(value)}
    return found - {"exact"}


def _reasons(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, ast.keyword):
        return [node.value] if node.arg in ("reason", "note") else []
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        named = any(
            isinstance(item, ast.Name) and item.id in ("reason", "note") for item in targets
        )
        return [node.value] if named and node.value is not None else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        place = _PLACES.get(node.func.id, len(node.args))
        return node.args[place : place + 1]
    return []


def _strings(value: ast.expr) -> list[str]:
    """The texts an expression may come to: not those it compares with."""
    if isinstance(value, ast.Constant):
        return [value.value] if isinstance(value.value, str) else []
    if isinstance(value, ast.IfExp):
        return [*_strings(value.body), *_strings(value.orelse)]
    if isinstance(value, ast.BoolOp):
        return [code for item in value.values for code in _strings(item)]
    return []


def test_the_reference_of_findings_has_every_kind_and_reason() -> None:
    page = (ROOT / "docs" / "reference" / "findings.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(\w+)`", page, re.MULTILINE))

    assert {*codes(), *get_args(FindingKind)} - listed == set()
