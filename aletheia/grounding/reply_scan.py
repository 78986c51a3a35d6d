"""Find the JSON objects in the text of a reply: fences, prose and reasoning around them."""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from typing import Final

from aletheia.grounding.relaxed_json import Pairs, RelaxedError, RelaxedReader

_THOUGHT: Final = r"think|thinking|thought|thoughts|reasoning|reflection|analysis|scratchpad|reason"
_OPENS: Final = re.compile(
    rf"<\s*(?:\w+:)?(?:\w*{_THOUGHT})\b[^<>]{{0,80}}(?<!/)>|◁think▷|\[THINK\]"
    r"|<\|channel\|>\s*analysis\s*<\|message\|>|<\|begin_of_thought\|>",
    re.IGNORECASE,
)
_CLOSES: Final = re.compile(
    rf"<\s*/\s*(?:\w+:)?(?:\w*{_THOUGHT})\s*>|◁/think▷|\[/THINK\]"
    r"|<\|channel\|>\s*final\b[^<]{0,40}<\|message\|>|<\|end_of_thought\|>",
    re.IGNORECASE,
)
_START: Final = re.compile(r"[{｛]|\[(?=\s*\{)")
_FENCE_BEFORE: Final = re.compile(r"(?:```|~~~|''')[ \t]*[\w+.-]*[ \t]*\n?\s*\Z")
_FENCE_AFTER: Final = re.compile(r"\s*(?:```|~~~|''')")
_MOST_ATTEMPTS: Final = 2000


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One value read from the text, with every repair that was needed to get at it."""

    value: object
    start: int
    end: int
    repairs: tuple[str, ...]
    unclosed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """An object that could not be read: what was read of it, and where it stopped.

    `cut` is True when the text just ended inside it.
    """

    start: int
    partial: Pairs
    cut: bool
    message: str
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What the text holds outside of the model's reasoning, in order.

    `unfinished_thought` says that the reasoning was never closed and no answer follows it.
    """

    objects: tuple[Candidate, ...]
    broken: tuple[Broken, ...]
    unfinished_thought: bool


def scan(raw: str) -> Scan:
    """Every object of `raw` that can be read, reasoning left out. Never raises."""
    read, broken = _read_all(raw)
    begin = _end_of_reasoning(raw, read)
    opened = _unclosed_thought(raw, read, begin)
    kept = [item for item in read if item.start >= begin]
    failed = [item for item in broken if item.start >= begin]
    noted: list[str] = ["bom"] if raw.startswith("\ufeff") else []
    if begin:
        noted.append("reasoning_block")
    if opened is not None:
        kept, failed = _after_unclosed(raw, kept, failed, opened)
        noted.append("unclosed_reasoning")
    return Scan(
        objects=tuple(_noted(raw, item, begin, noted) for item in kept),
        broken=tuple(failed),
        unfinished_thought=opened is not None and not kept,
    )


def _read_all(raw: str) -> tuple[list[Candidate], list[Broken]]:
    read: list[Candidate] = []
    broken: list[Broken] = []
    position = 0
    for _ in range(_MOST_ATTEMPTS):
        match = _START.search(raw, position)
        if match is None:
            break
        reader = RelaxedReader(raw, match.start())
        try:
            value = reader.read()
        except RelaxedError as error:
            broken.append(_broken(match.start(), error))
            position = match.start() + 1
            continue
        position = max(reader.position, match.end())
        read.append(
            Candidate(
                value=value,
                start=match.start(),
                end=position,
                repairs=tuple(reader.repairs),
                unclosed=reader.unclosed,
            )
        )
    return read, broken


def _broken(start: int, error: RelaxedError) -> Broken:
    return Broken(
        start=start,
        partial=error.partial,
        cut=error.cut,
        message=error.message,
        position=error.position,
    )


def _inside(position: int, read: list[Candidate]) -> bool:
    before = bisect_left(read, position, key=lambda item: item.start)
    return before > 0 and position < read[before - 1].end


def _end_of_reasoning(raw: str, read: list[Candidate]) -> int:
    """End of the last closing tag that is not text inside an object; 0 without one."""
    ends = [match.end() for match in _CLOSES.finditer(raw) if not _inside(match.start(), read)]
    return ends[-1] if ends else 0


def _unclosed_thought(raw: str, read: list[Candidate], begin: int) -> int | None:
    for match in _OPENS.finditer(raw, begin):
        if not _inside(match.start(), read):
            return match.start()
    return None


def _after_unclosed(
    raw: str, kept: list[Candidate], failed: list[Broken], opened: int
) -> tuple[list[Candidate], list[Broken]]:
    """Reasoning that was never closed may hold drafts: only an object that ends the text counts."""
    before = [item for item in kept if item.end <= opened]
    if before:
        return before, [item for item in failed if item.start < opened]
    last = kept[-1:]
    if last and not _FENCE_AFTER.sub("", raw[last[0].end :], count=1).strip():
        return last, []
    return [], []


def _noted(raw: str, item: Candidate, begin: int, noted: list[str]) -> Candidate:
    before = raw[begin : item.start].removeprefix("\ufeff")
    after = raw[item.end :]
    repairs = list(noted)
    fence = _FENCE_BEFORE.search(before)
    if fence is not None:
        repairs.append("fence")
        before = before[: fence.start()]
        after = _FENCE_AFTER.sub("", after, count=1)
    if before.strip() or after.strip():
        repairs.append("surrounding_text")
    return replace(item, repairs=(*repairs, *item.repairs))
