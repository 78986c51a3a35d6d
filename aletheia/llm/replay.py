"""Record what a model replied into a file, and replay it: tests and demonstrations without a model.

A cassette is a JSON Lines file in ASCII, so that no text in it, not even half of a UTF-16 pair,
can break a line or be lost. Each line is one call: the model's id, the digest of the prompt, the
prompt, and the reply or the error.
"""

from __future__ import annotations

import json
import os
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from aletheia.errors import BudgetExceeded, DataError, ModelError, StoreError, UsageError
from aletheia.llm.base import digest_prompt
from aletheia.llm.written import (
    Recordable,
    error_fields,
    read_error,
    read_prompt,
    read_reply,
    to_json,
)
from aletheia.schema.model import ChatModel, Prompt, Reply

_VERSION: Final = 1
_SHOWN: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class _Take:
    """One line of a cassette. `line` counts from 1."""

    line: int
    model: str
    prompt: Prompt
    outcome: Reply | Recordable


# --- recording --------------------------------------------------------------------------------


def record_replies(model: ChatModel, path: Path | str) -> ChatModel:
    """Return a model that answers as `model` does and appends each call to the file `path`.

    Model errors are recorded and raised as they are. Raises `StoreError` if the file cannot be
    written.
    """
    return _RecordingModel(model, Path(path))


class _RecordingModel:
    """Writes each call down before its outcome is handed on. Safe to use from threads."""

    def __init__(self, model: ChatModel, path: Path) -> None:
        self.inner: Final = model
        self._path = path
        self._lock = threading.Lock()
        # A line that a crash cut off must not swallow the next one.
        self._append(b"" if _ends_with_line(self._path) else b"\n")

    @property
    def name(self) -> str:
        """Name of the model inside."""
        return self.inner.name

    async def complete(self, prompt: Prompt) -> Reply:
        """Answer one prompt and write the call down."""
        try:
            reply = await self.inner.complete(prompt)
        except (ModelError, BudgetExceeded) as error:
            self._write(prompt, {"error": error_fields(error)})
            raise
        self._write(prompt, {"reply": asdict(reply)})
        return reply

    def _write(self, prompt: Prompt, outcome: Mapping[str, object]) -> None:
        head = {"cassette": _VERSION, "model": self.name, "digest": digest_prompt(prompt)}
        line = to_json({**head, "prompt": asdict(prompt), **outcome})
        self._append(f"{line}\n".encode("ascii"))

    def _append(self, line: bytes) -> None:
        try:
            with self._lock, self._path.open("ab") as file:
                file.write(line)
        except OSError as error:
            raise StoreError(f"`{self._path}` cannot be written: {error.strerror}") from None


def _ends_with_line(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - 1))
            return file.read(1) in (b"", b"\n")
    except OSError:
        # The write that follows says what is wrong, if anything is.
        return True


# --- replaying --------------------------------------------------------------------------------


class ReplayModel:
    """`ChatModel` that answers from a cassette, by the digest of the prompt.

    A prompt that was recorded several times gets its replies in the recorded order, each once.
    `model` takes only the calls of one model, where a cassette holds those of several; `name` is
    then its id, or the only one there is. Raises `DataError` for a line that cannot be read, or
    several models and none chosen, and `StoreError` for a file that cannot be read.
    """

    def __init__(self, path: Path | str, *, model: str | None = None) -> None:
        self._path = Path(path)
        takes = _read_cassette(self._path)
        self._name = _chosen(takes, model, self._path)
        self._takes = [take for take in takes if take.model == self._name]
        self._left: defaultdict[str, list[_Take]] = defaultdict(list)
        for take in reversed(self._takes):
            self._left[digest_prompt(take.prompt)].append(take)
        self._recorded = {digest: len(left) for digest, left in self._left.items()}

    @property
    def name(self) -> str:
        """Id of the model that was recorded."""
        return self._name

    async def complete(self, prompt: Prompt) -> Reply:
        """Return the recorded reply or raise the recorded error.

        Raises `UsageError`, which is no `ModelError`, for a prompt that was not recorded, or not
        so often: the cassette is at fault.
        """
        digest = digest_prompt(prompt)
        left = self._left.get(digest)
        if not left:
            raise self._not_there(prompt, digest)
        outcome = left.pop().outcome
        if isinstance(outcome, Reply):
            return outcome
        raise outcome

    def _not_there(self, prompt: Prompt, digest: str) -> UsageError:
        times = self._recorded.get(digest)
        if times:
            return UsageError(
                f"the prompt {_quoted(prompt.user)} was recorded {times} times in `{self._path}` "
                "and is asked once more",
                hint="record the cassette again",
            )
        return UsageError(
            f"the prompt {_quoted(prompt.user)} is not in `{self._path}`: "
            f"{_nearest(prompt, self._takes)}",
            hint="record the cassette again, or ask what was recorded",
        )


def _chosen(takes: Sequence[_Take], model: str | None, path: Path) -> str:
    names = list(dict.fromkeys(take.model for take in takes))
    if model is not None and model in names:
        return model
    listed = ", ".join(f"`{name}`" for name in names) or "none"
    if model is not None:
        raise DataError(f"it holds no call of `{model}`; the models are {listed}", file=path)
    if len(names) > 1:
        raise DataError(f"it holds calls of {listed}", file=path, hint="choose one with `model`")
    if not names:
        raise DataError("it holds no call", file=path)
    return names[0]


def _read_cassette(path: Path) -> list[_Take]:
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise StoreError(f"`{path}` cannot be read: {error.strerror}") from None
    return [
        _read_take(line, number, path) for number, line in enumerate(lines, start=1) if line.strip()
    ]


def _read_take(line: bytes, number: int, path: Path) -> _Take:
    try:
        fields = json.loads(line)
        if not isinstance(fields, dict) or fields.get("cassette") != _VERSION:
            raise ValueError("it is no line of a cassette that this version reads")
        recorded = fields["reply"] if "reply" in fields else fields["error"]
        read: Callable[[object], Reply | Recordable]
        read = read_reply if "reply" in fields else read_error
        return _Take(
            line=number,
            model=str(fields["model"]),
            prompt=read_prompt(fields["prompt"]),
            outcome=read(recorded),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        said = f"`{error.args[0]}` is missing" if isinstance(error, KeyError) else str(error)
        hint = "remove the line, or record the cassette again"
        raise DataError(said, file=path, line=number, hint=hint) from None


# --- the nearest prompt -----------------------------------------------------------------------


def _nearest(prompt: Prompt, takes: Sequence[_Take]) -> str:
    """Say which recorded prompt is the nearest and where it differs first."""
    words = _words(prompt)
    best = max(takes, key=lambda take: _overlap(words, _words(take.prompt)))
    return f"the nearest recorded one, on line {best.line}, {_difference(prompt, best.prompt)}"


def _words(prompt: Prompt) -> frozenset[str]:
    return frozenset(f"{prompt.system} {prompt.user}".split())


def _overlap(left: frozenset[str], right: frozenset[str]) -> float:
    return len(left & right) / max(1, len(left | right))


def _difference(asked: Prompt, recorded: Prompt) -> str:
    for field in ("system", "user"):
        mine, theirs = _text(asked, field), _text(recorded, field)
        if mine != theirs:
            at = _first_difference(mine, theirs)
            return (
                f"has {_quoted(theirs[at:])} at character {at} of `{field}`, "
                f"this one {_quoted(mine[at:])}"
            )
    for field in ("schema_name", "temperature", "max_output_tokens", "repeat"):
        mine, theirs = getattr(asked, field), getattr(recorded, field)
        if mine != theirs:
            return f"has `{field}` {theirs!r}, this one {mine!r}"
    return "has another `schema`"


def _text(prompt: Prompt, field: str) -> str:
    """A text of the prompt; its random token differs in every call and is no difference."""
    text: str = getattr(prompt, field)
    token = prompt.delimiter
    return text.replace(token, "0" * len(token)) if token else text


def _first_difference(left: str, right: str) -> int:
    pairs = enumerate(zip(left, right, strict=False))
    return next((at for at, (a, b) in pairs if a != b), min(len(left), len(right)))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…")
