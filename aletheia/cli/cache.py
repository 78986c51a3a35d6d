"""`aletheia cache`: what the reply cache holds, take some of it out, write it down."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, BinaryIO, Final

import typer

from aletheia.cli import output
from aletheia.cli.times import age_of
from aletheia.errors import UsageError

if TYPE_CHECKING:
    from aletheia.llm.cache import CacheGroup, CacheStats, ReplyCache

__all__ = ["cache"]

cache = typer.Typer(
    name="cache",
    help="Look after the replies that are kept so that no call is made twice.",
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
)

Db = Annotated[
    Path | None,
    typer.Option("--db", metavar="PATH", help="Database file instead of `ALETHEIA_DB_PATH`."),
]

_DAMAGED: Final = 1


@cache.command(short_help="Count replies, hits and the tokens they saved.")
def stats(
    db: Db = None,
    json: Annotated[bool, typer.Option("--json", help="Print the counts as JSON.")] = False,
) -> None:
    """Count replies, hits and the tokens they saved, by endpoint and model."""
    with _opened(db, said=not json) as (path, held):
        found = held.stats() if held is not None else None
    if json:
        output.data(_as_json(path, found))
    elif found is not None:
        for line in _lines(found):
            output.text(line)


@cache.command(short_help="Remove replies, and say how many.")
def clear(
    db: Db = None,
    model: Annotated[
        str | None, typer.Option("--model", metavar="ID", help="Only replies of this model.")
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option("--older-than", metavar="AGE", help="Only older ones: 30d, 12h, 45m, 2w."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Remove all, where neither option is given.")
    ] = False,
) -> None:
    """Remove replies, and say how many. They cost money, so removing all of them needs `--yes`."""
    age = None if older_than is None else age_of(older_than, "--older-than")
    with _opened(db) as (path, held):
        if held is None:
            return
        if model is None and age is None and not yes:
            raise UsageError(
                f"this would remove all there is, {_replies(held.stats().entries)} in `{path}`",
                hint="choose some with `--model` or `--older-than`, or confirm with `--yes`",
            )
        removed = held.clear(model=model, older_than=age)
        left = held.stats().entries
    output.text(f"{_replies(removed)} removed, {left:,} left in `{path}`")


@cache.command(short_help="Write every reply as JSON Lines.")
def export(
    db: Db = None,
    output_file: Annotated[
        Path | None, typer.Option("--output", metavar="FILE", help="Write to this file.")
    ] = None,
) -> None:
    """Write every reply as one JSON object a line, with the prompt that led to it.

    Exit status: 0; 1 where a row is damaged and was left out.
    """
    with _opened(db) as (path, held):
        if held is None:
            return
        if output_file is None:
            written, damaged = _export(held, lambda line: output.data(line.decode()))
        else:
            with _new_file(output_file, path) as stream:
                written, damaged = _export(held, stream.write)
    output.note(f"{_replies(written)} written")
    if damaged:
        output.note(f"left out as damaged: {damaged:,}")
        raise typer.Exit(_DAMAGED)


@contextmanager
def _opened(db: Path | None, *, said: bool = True) -> Iterator[tuple[Path, ReplyCache | None]]:
    """Open the cache there is; None where there is none yet, which is `said`."""
    from aletheia.config import settings
    from aletheia.llm.cache import ReplyCache

    path = settings.db_path if db is None else db
    held = ReplyCache.existing(path)
    if held is None:
        if said:
            output.note(f"there is no reply cache in `{path}` yet")
        yield path, None
        return
    with closing(held):
        yield path, held


def _replies(count: int) -> str:
    return f"{count:,} {'reply' if count == 1 else 'replies'}"


# --- stats ------------------------------------------------------------------------------------


def _lines(found: CacheStats) -> Iterable[str]:
    yield from output.pairs(
        [
            ("file", f"{found.path}, {_size(found.size_bytes)}"),
            ("replies", f"{found.entries:,}"),
            ("hits", f"{found.hits:,}"),
            ("tokens saved", _saved(found.tokens_saved, found.hits_unreported)),
        ]
    )
    if found.hits_unreported:
        yield f"of {found.hits_unreported:,} hits the endpoint had not said the tokens"
    ordered = sorted(found.groups, key=lambda group: group.base_url)
    for base_url, groups in groupby(ordered, key=lambda group: group.base_url):
        yield ""
        yield base_url
        yield f"{'replies':>9} {'hits':>9} {'tokens saved':>15}  model"
        for group in groups:
            yield _row(group)


def _row(group: CacheGroup) -> str:
    saved = _saved(group.tokens_saved, group.hits_unreported)
    return f"{group.entries:>9,} {group.hits:>9,} {saved:>15}  {group.model}"


def _saved(tokens: int, unreported: int) -> str:
    """A sum that lacks something is a floor."""
    return f"≥ {tokens:,}" if unreported else f"{tokens:,}"


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _as_json(path: Path, found: CacheStats | None) -> str:
    from dataclasses import asdict
    from json import dumps

    body: dict[str, Any] = {
        "path": str(path),
        "size_bytes": found.size_bytes if found else 0,
        "entries": found.entries if found else 0,
        "hits": found.hits if found else 0,
        "tokens_saved": found.tokens_saved if found else 0,
        "hits_unreported": found.hits_unreported if found else 0,
        "models": [asdict(group) for group in found.groups] if found else [],
    }
    return dumps(body, ensure_ascii=False, indent=2) + "\n"


# --- export -----------------------------------------------------------------------------------


def _export(held: ReplyCache, write: Any) -> tuple[int, int]:  # noqa: ANN401 - what it returns is not read
    from aletheia.llm.cache import DamagedRow

    written = damaged = 0
    for row in held.export():
        if isinstance(row, DamagedRow):
            damaged += 1
            output.note(f"the row {row.key} is damaged: {row.problem}")
            continue
        write(f"{row.to_line()}\n".encode("ascii"))
        written += 1
    return written, damaged


@contextmanager
def _new_file(path: Path, database: Path) -> Iterator[BinaryIO]:
    """Open a file that gets its name when it is whole."""
    if path.is_dir() or (path.exists() and path.samefile(database)):
        what = "a directory" if path.is_dir() else "the database itself"
        raise UsageError(f"`--output {path}` is {what}", hint="name another file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as stream:
            yield stream
        part.replace(path)
    except OSError as error:
        raise UsageError(f"`--output {path}` cannot be written: {error.strerror}") from None
    finally:
        part.unlink(missing_ok=True)
