"""Where graphs and question sets are found: here, in the directories set, in the package."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

import aletheia
from aletheia.errors import UsageError

_PACKAGE = Path(aletheia.__file__).parent


def graph_dirs(extra: Sequence[Path] = ()) -> tuple[Path, ...]:
    """`./graphs`, then `extra`, then the graphs that came with the package."""
    return (Path("graphs"), *extra, *_shipped("graphs"))


def question_dirs() -> tuple[Path, ...]:
    """`./questions`, then the question sets that came with the package."""
    return (Path("questions"), *_shipped("questions"))


def question_file(spec: str, directories: Sequence[Path]) -> Path:
    """Find the file of a path, or of a name in `directories`. Raises `UsageError`."""
    path = Path(spec).expanduser()
    if path.is_file():
        return path
    named = [found for name, found in _sets(directories).items() if spec in (name, found.name)]
    if named and len(path.parts) == 1:
        return named[0]
    if path.is_dir():
        raise UsageError(f"the question file `{spec}` is a directory")
    raise UsageError(f"no question file `{spec}`", hint=_suggestion(spec, directories))


def _suggestion(spec: str, directories: Sequence[Path]) -> str:
    names = sorted(_sets(directories))
    if not names:
        return "give the path of a JSON file"
    close = get_close_matches(Path(spec).stem, names, n=1)
    start = f"did you mean `{close[0]}`? " if close else ""
    return f"{start}there are {', '.join(f'`{name}`' for name in names)}, or give a path"


def _sets(directories: Sequence[Path]) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for directory in directories:
        for path in sorted(directory.glob("*.json")):
            if path.name != "schema.json":
                found.setdefault(path.stem, path)
    return found


def _shipped(kind: str) -> tuple[Path, ...]:
    """Find the data inside the wheel; in a checkout it lies beside the package instead."""
    inside, beside = _PACKAGE / "data" / kind, _PACKAGE.parent / kind
    if inside.is_dir():
        return (inside,)
    checkout = (_PACKAGE.parent / "pyproject.toml").is_file()
    return (beside,) if checkout and beside.is_dir() else ()
