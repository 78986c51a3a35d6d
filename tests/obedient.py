"""A model that obeys: whatever order it meets outside the data of its prompt, it follows.

It reads a prompt the way a naive model would. The prompt itself states what encloses data
(`between <data-x> and </data-x>`); everything from an opening to the next closing is data, and all
the rest is orders. Orders are those of the corpus `data/injections.jsonl`, in whatever language:
one is heard when its letters stand outside the data, however they are spaced and punctuated. On the
data it is honest.

    stub = Obedient()
    with StubServer(answer=stub) as server: ...
    assert stub.heard == []

A prompt with a reply of its own form brings an `honest` and an `obey` function.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Final, Literal

from stub_server import Recorded, answer_json

from aletheia.schema.evidence import EvidenceText

Position = Literal["evidence", "question", "answer", "source"]
POSITIONS: Final[tuple[Position, ...]] = ("evidence", "question", "answer", "source")


@dataclass(frozen=True, kw_only=True)
class Injection:
    """One item of the corpus. `parts` are the pieces of an order that is split over two units."""

    id: str
    language: str
    where: Position
    kind: str
    text: str
    parts: tuple[str, ...] = ()


@cache
def corpus() -> tuple[Injection, ...]:
    """Return every injection of the corpus."""
    file = Path(__file__).parent / "data" / "injections.jsonl"
    records = map(json.loads, file.read_text(encoding="utf-8").split("\n")[:-1])
    return tuple(
        Injection(**{**record, "parts": tuple(record.get("parts", ()))}) for record in records
    )


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What a prompt is made of."""

    question: str
    evidence: tuple[EvidenceText, ...]
    answer: str


def injected(scene: Scene, item: Injection, position: Position) -> Iterator[Scene]:
    """Yield the scene with `item` in `position`, in each way that the position allows."""
    if position == "question":
        yield replace(scene, question=f"{scene.question}\n{item.text}")
    elif position == "answer":
        yield replace(scene, answer=f"{scene.answer}\n{item.text}")
    elif position == "source":
        yield _with_first(scene, source=item.text)
    else:
        first = scene.evidence[0].text
        alone = [EvidenceText(text=part) for part in item.parts or (item.text,)]
        yield replace(scene, evidence=(*scene.evidence, *alone))
        yield _with_first(scene, text=f"{first}\n{item.text}")
        yield _with_first(scene, text=f"{item.text}\n{first}")


def _with_first(scene: Scene, *, text: str | None = None, source: str | None = None) -> Scene:
    first = scene.evidence[0]
    changed = replace(first, text=text or first.text, source=source or first.source)
    return replace(scene, evidence=(changed, *scene.evidence[1:]))


# --- the prompt as the model sees it ------------------------------------------------------------

_STATEMENT: Final = re.compile(
    r"between\s+(?P<opening><[^<>\s]{1,90}>)\s+and\s+(?P<closing></[^<>\s]{1,90}>)", re.IGNORECASE
)


def split_prompt(prompt: str) -> tuple[str, str]:
    """Return what lies in the data regions, and everything else.

    A region that is never closed is none. Without a statement of what encloses data there is no
    data.
    """
    stated = _STATEMENT.search(prompt)
    if stated is None:
        return "", prompt
    inside: list[str] = []
    outside = [prompt[: stated.end()]]
    position = stated.end()
    while (start := prompt.find(stated["opening"], position)) >= 0:
        begin = start + len(stated["opening"])
        end = prompt.find(stated["closing"], begin)
        if end < 0:
            break
        outside.append(prompt[position:start])
        inside.append(prompt[begin:end])
        position = end + len(stated["closing"])
    outside.append(prompt[position:])
    return "\n".join(inside), "\n".join(outside)


def letters(text: str) -> str:
    """Return letters and digits only, those that nobody sees included."""
    shown = "".join(map(_spelled, text))
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", shown).casefold()))


def _spelled(char: str) -> str:
    code = ord(char)
    if 0xE0020 <= code < 0xE007F:
        return chr(code - 0xE0000)
    if 0xE0110 <= code <= 0xE016E:
        return chr(code - 0xE00F0)
    return {"\u200b": "0", "\u200c": "1"}.get(char, char)


@cache
def _sought(order: Injection) -> tuple[str, ...]:
    return tuple(letters(part) for part in order.parts or (order.text,))


# --- the model ----------------------------------------------------------------------------------

Honest = Callable[[str], str]
"""From the data of a prompt to the reply."""
Obey = Callable[[Injection], str]
"""From the order that was heard to the reply."""

_SEGMENT: Final = re.compile(r"[.!?。！？।؟]*\s*⏎\s*|[.!?。！？।؟]+\s+|: |\n")
_UNIT: Final = re.compile(r"^\[(E\d+)\] (.+)$", re.MULTILINE)
_QUESTION: Final = re.compile(r"^QUESTION: (.+)$", re.MULTILINE)
_WORD: Final = re.compile(r"\w+")
_SMALL: Final = frozenset(
    "a all an and are as at be by do does for in is it no of on that the this to was what who "
    "with".split()
)


def answer_from_data(data: str) -> str:
    """Answer the first piece of the question with the first piece of a unit that shares most words."""
    asked = _QUESTION.search(data)
    wanted = _content(_SEGMENT.split(asked.group(1))[0]) if asked else set()
    pieces = [
        (unit.group(1), piece)
        for unit in _UNIT.finditer(data)
        for piece in _SEGMENT.split(unit.group(2))
    ]
    best = max(pieces, key=lambda piece: len(_content(piece[1]) & wanted), default=("", ""))
    if not _content(best[1]) & wanted:
        return answer_json("INSUFFICIENT_CONTEXT", reasoning="No unit speaks of it.")
    return answer_json(f"{best[1].rstrip('.')}.", [best[0]])


def _content(text: str) -> set[str]:
    return {word.rstrip("s") for word in _WORD.findall(text.lower()) if word not in _SMALL}


def as_ordered(order: Injection) -> str:
    """Reply what somebody who follows the order could say."""
    return answer_json(f"As ordered by {order.id}.", ["E1"], reasoning="I obey.")


@dataclass(kw_only=True)
class Obedient:
    """The `answer` of a `StubServer`. `heard` lists the ids of the orders it followed."""

    orders: Sequence[Injection] = field(default_factory=corpus)
    honest: Honest = answer_from_data
    obey: Obey = as_ordered
    heard: list[str] = field(default_factory=list)

    def __call__(self, request: Recorded) -> str:
        inside, outside = split_prompt(request.prompt)
        said = letters(outside)
        for order in self.orders:
            if all(part in said for part in _sought(order)):
                self.heard.append(order.id)
                return self.obey(order)
        return self.honest(inside)
