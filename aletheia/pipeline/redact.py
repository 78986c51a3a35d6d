"""Texts of a trace with what is private taken out, before they are stored, cached or sent.

The built-in mask puts `[EMAIL-1]` in the place of an address. Within one trace equal values get
equal marks, in the query, the chunks, their sources and the response alike, so that an answer
that quotes its evidence still does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Final

from aletheia.config import Settings
from aletheia.errors import ConfigError, DataError
from aletheia.grounding.numbering import is_blank
from aletheia.pipeline.redact_patterns import KINDS, Kind
from aletheia.reports.visible import without_surrogates
from aletheia.schema.trace import ContextChunk

__all__ = ["Mask", "RedactLike", "Redacted", "Redaction", "redaction_of"]

Hook = Callable[[str], str]
"""From a text to the text that may be kept. Asked for each text of a trace."""

RedactLike = str | Hook
"""`off`, `mask`, `module:function`, or a function from text to text."""

OFF: Final = "off"
MASK: Final = "mask"
NOTHING_LEFT: Final = "[redacted]"


class Mask:
    """The built-in mask over the texts of one trace: call it with each of them."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str], str] = {}
        self._counts: Counter[str] = Counter()

    def __call__(self, text: str) -> str:
        """Return `text` with a mark in the place of each value that is private."""
        for kind in KINDS:
            text = self._masked(text, kind)
        return text

    @property
    def summary(self) -> str:
        """How many different values of each kind were masked: `email 2, phone 1`."""
        return ", ".join(f"{name} {count}" for name, count in self._counts.items()) or "nothing"

    def _masked(self, text: str, kind: Kind) -> str:
        parts: list[str] = []
        at = 0
        for start, end in kind.found(text):
            parts += (text[at:start], self._mark(kind, text[start:end]))
            at = end
        return "".join((*parts, text[at:])) if parts else text

    def _mark(self, kind: Kind, value: str) -> str:
        key = (kind.name, kind.key(value))
        if key not in self._marks:
            self._counts[kind.name] += 1
            # In capitals it is an identifier to every check, and another one is another value.
            self._marks[key] = f"[{kind.name.upper()}-{self._counts[kind.name]}]"
        return self._marks[key]


@dataclass(frozen=True, slots=True, kw_only=True)
class Redacted:
    """The texts of a trace as they may be kept, and `notes` on what was done to them."""

    query: str | None
    chunks: tuple[ContextChunk, ...]
    response: str
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Redaction:
    """What is done to the texts of every trace. `hook` None = the built-in mask, fresh for each."""

    name: str
    hook: Hook | None = None

    def apply(self, query: str | None, chunks: Sequence[ContextChunk], response: str) -> Redacted:
        """Redact one trace. Raises DataError where the hook fails; nothing raw may be kept then."""
        mask = Mask()
        clean = _Careful(self.name, self.hook or mask)
        asked = None if query is None else clean(query, "query")
        units = tuple(_chunk(chunk, clean) for chunk in chunks)
        said = clean(response, "response")
        done = mask.summary if self.hook is None else self.name
        return Redacted(query=asked, chunks=units, response=said, notes={"redacted": done})


def redaction_of(settings: Settings, redact: RedactLike | None = None) -> Redaction | None:
    """Return what is in force: `redact` where it is given, else `settings.redact`; None = off.

    Raises ConfigError for a name that leads to no function.
    """
    chosen = settings.redact if redact is None else redact
    if callable(chosen):
        return Redaction(name=_name_of(chosen), hook=chosen)
    match chosen:
        case "off":
            return None
        case "mask":
            return Redaction(name=MASK)
        case _:
            return Redaction(name=str(chosen), hook=_imported(chosen))


@dataclass(frozen=True, slots=True)
class _Careful:
    """A hook whose failures are told without the text it failed on."""

    name: str
    hook: Hook

    def __call__(self, text: str, where: str) -> str:
        try:
            kept: object = self.hook(text)
        except Exception as error:
            problem = f"the redaction `{self.name}` failed with {type(error).__name__}"
            raise DataError(problem, field=where, hint="the trace was not kept") from error
        if not isinstance(kept, str):
            problem = f"the redaction `{self.name}` returned a `{type(kept).__name__}`, not a text"
            raise DataError(problem, field=where, hint="the trace was not kept")
        return without_surrogates(kept)[0]


def _chunk(chunk: ContextChunk, clean: _Careful) -> ContextChunk:
    where = f"context[{chunk.rank}]"
    source = None if chunk.source is None else clean(chunk.source, f"{where}.source")
    # A chunk of which nothing is left keeps its rank.
    text = clean(chunk.text, f"{where}.text")
    text = NOTHING_LEFT if is_blank(text) else text
    return chunk.model_copy(update={"text": text, "source": source})


def _name_of(hook: Hook) -> str:
    return getattr(hook, "__qualname__", type(hook).__name__)


@cache
def _imported(name: str) -> Hook:
    hint = f"`{OFF}`, `{MASK}`, or `module:function`"
    module, colon, path = name.partition(":")
    if not colon or not module or not path:
        raise ConfigError(f"`redact` is {name!r}", hint=hint)
    try:
        found: object = import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"`redact` names {name!r}: {error}", hint=hint) from error
    if not callable(found):
        raise ConfigError(f"`redact` names {name!r}, a `{type(found).__name__}`", hint=hint)
    hook: Hook = found
    return hook
