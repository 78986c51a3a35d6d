"""Notice that an endpoint read less than it was sent.

Some servers cut a prompt that does not fit their window and answer what is left of it, without a
word: the answer then rests on evidence that was never read. What gives it away is the number of
prompt tokens they report. It is compared with a number that no tokenizer can stay below, and with
what the same model reported before.

The comparison is made for an accusation, so it keeps quiet where a small number may mean
something else. A number below 256 is no window that a server has: it is made up, or counts only
what was new since the last request. A number smaller than one read whole before, that is enough
for what this prompt does not share with an earlier one, may count only what was new as well.
"""

from __future__ import annotations

import re
import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from aletheia.errors import ModelBadReply
from aletheia.schema.model import Usage

SMALLEST_WINDOW: Final = 256
"""Tokens. A report below it says nothing about a window."""

_MARGIN: Final = 0.9
_KEPT: Final = 32
_COMPARABLE: Final = 4.0
_LEAST_BYTES: Final = 2048
_LEAST_CALLS: Final = 3
_FEW_PER_BYTE: Final = 1 / 6
_SPREAD: Final = 1.5
_UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
)
_UNSPACED_RUN: Final = re.compile(f"[{_UNSPACED}]+")
_PER_UNSPACED_LETTER: Final = 0.25


def least_tokens(text: str) -> int:
    """Return a number of tokens that no tokenizer in use stays below for this text.

    One for each word between white space that holds a letter or digit. Scripts without spaces
    (Chinese, Japanese, Thai, Lao, Khmer, Burmese) count one for four characters.
    """
    spaced = [text] if text.isascii() else _UNSPACED_RUN.split(text)
    unspaced = len(text) - sum(map(len, spaced))
    words = (word for part in spaced for word in part.split())
    return sum(map(_says_something, words)) + int(unspaced * _PER_UNSPACED_LETTER)


def _says_something(word: str) -> bool:
    return word[0].isalnum() or any(map(str.isalnum, word))


@dataclass(frozen=True, slots=True)
class _Seen:
    """A prompt that was read whole, as far as anybody can tell."""

    text: str
    size: int
    tokens: int

    @property
    def ratio(self) -> float:
        return self.tokens / self.size


@dataclass(slots=True)
class PromptSizes:
    """What one model reported about the last prompts it read. Safe to use from threads."""

    _seen: deque[_Seen] = field(default_factory=lambda: deque(maxlen=_KEPT))
    _largest: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def check(self, text: str, usage: Usage) -> None:
        """Compare a prompt with what was reported of it.

        Raises `ModelBadReply` with `usage` where the endpoint read clearly less than it was sent.
        A count of 0, or none at all, is not reported and says nothing.
        """
        if not usage.prompt_tokens:
            return
        # Some count what they had read before within the prompt, some beside it.
        tokens = usage.prompt_tokens + (usage.cached_prompt_tokens or 0)
        if tokens < SMALLEST_WINDOW:
            return
        size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
        call = _Seen(text, size, tokens)
        with self._lock:
            doubt = self._doubt(call)
            if doubt is None:
                self._seen.append(call)
                self._largest = max(self._largest, tokens)
        if doubt is not None:
            raise _cut(doubt, usage)

    def _doubt(self, call: _Seen) -> str | None:
        """Say what the endpoint cannot have read, or None."""
        least = _least_above(call)
        if call.tokens < _MARGIN * least and not self._only_new(call):
            return f"only {call.tokens} of at least {least} prompt tokens"
        if self._below_its_own(call):
            return f"only {call.tokens} prompt tokens of {call.size} bytes, less than half as many"
        if self._always_the_same(call):
            return f"exactly {call.tokens} tokens of prompts of very different length"
        return None

    def _only_new(self, call: _Seen) -> bool:
        """Whether the count may leave out what this prompt shares with an earlier one."""
        if call.tokens >= self._largest:
            return False
        shared = max((_shared(item.text, call.text) for item in self._seen), default=0)
        return shared > 0 and call.tokens >= _MARGIN * least_tokens(call.text[shared:])

    def _below_its_own(self, call: _Seen) -> bool:
        # A prompt that was cut fills the window: fewer tokens than before mean something else.
        many = call.ratio >= _FEW_PER_BYTE or call.tokens < self._largest / 2
        if many or call.size < _LEAST_BYTES:
            return False
        ratios = [item.ratio for item in self._seen if _comparable(item, call)]
        return len(ratios) >= _LEAST_CALLS and call.ratio < min(ratios) / 2

    def _always_the_same(self, call: _Seen) -> bool:
        equal = {item.text: item for item in self._seen if item.tokens == call.tokens}
        equal[call.text] = call
        sizes = [item.size for item in equal.values()]
        if len(equal) < _LEAST_CALLS or max(sizes) < _SPREAD * min(sizes):
            return False
        # Only a prompt that may be longer than the window can have been cut to it.
        return all(2 * least_tokens(item.text) >= item.tokens for item in equal.values())


def _least_above(call: _Seen) -> int:
    """Return the bound, or 0 where a look is enough to see that it is not above the count."""
    # A letter of a script without spaces takes three bytes, counts a quarter, and may part a word.
    unspaced = (call.size - len(call.text)) / 2
    if len(call.text.split()) + (1 + _PER_UNSPACED_LETTER) * unspaced <= call.tokens:
        return 0
    return least_tokens(call.text)


def _comparable(one: _Seen, other: _Seen) -> bool:
    """Whether two prompts are of similar length and script."""
    alike = abs(len(one.text) / one.size - len(other.text) / other.size) < 0.1
    large, small = max(one.size, other.size), min(one.size, other.size)
    return alike and small >= _LEAST_BYTES / 2 and large <= _COMPARABLE * small


def _shared(one: str, other: str) -> int:
    """Length of the longest common beginning."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _cut(doubt: str, usage: Usage) -> ModelBadReply:
    return ModelBadReply(
        f"the endpoint read {doubt}: the prompt was cut without a word",
        hint="give the model a larger context, such as `num_ctx` in Ollama, or send less evidence",
        usage=usage,
    )
