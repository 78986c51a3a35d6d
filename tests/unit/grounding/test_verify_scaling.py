"""Verification takes time in proportion to the text, whatever the text is made of.

Each shape is verified at one length and at eight times that length. Quadratic code takes 64 times
as long then; the bound leaves room for a busy machine. The shortest of a few runs counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from aletheia.grounding import lexicon, polarity, text, tokens, variants
from aletheia.grounding.numbering import number
from aletheia.grounding.spans import Spans
from aletheia.grounding.verify import verify_reply

SHORT = 8_000
LONGER = 8
BOUND = 28
"""Linear is 8, quadratic 64."""
FLOOR = 0.004
"""Seconds below which a run says nothing: what is constant weighs more there."""

RIVER = (
    "The river is 412 km long and not deep. Marta Quill of NATO built the weir in 1974. "
    '"The quote about the river water" is known. 会议在东京举行。 Type 1 and Windows 10.'
)
EVIDENCE = (RIVER, "Other unit 5.")
ANSWER = 'Marta Quill built it in 1974. "The river is long" is said at http://a.example.com.'

SHAPES: dict[str, Callable[[int], str]] = {
    "one sentence": lambda n: "river " * (n // 6),
    "sentences": lambda n: "The river is long. " * (n // 19),
    "capitals": lambda n: "Paris " * (n // 6),
    "capitals apart": lambda n: "and Paris went home. " * (n // 21),
    "articles": lambda n: "The " * (n // 4),
    "numbers": lambda n: " and ".join(map(str, range(n // 9))),
    "quotations": lambda n: '"about the river water" ' * (n // 24),
    "open quotations": lambda n: '"quote ' * (n // 7),
    "single quotations": lambda n: "'about the river' " * (n // 18),
    "brackets": lambda n: "[(" * (n // 2),
    "markers": lambda n: "Marta Quill went [E1].\n" * (n // 23),
    "marker run": lambda n: "He." + " [E1]" * (n // 5),
    "links": lambda n: "https://a.example.com/x " * (n // 24),
    "closing brackets of a link": lambda n: "http://a.com/" + ")" * n,
    "mail without an end": lambda n: "x" * n + " @ a.b",
    "domain without an end": lambda n: "a." * (n // 2) + " /",
    "hyphens and a slash": lambda n: "a-" * (n // 2) + " / .com",
    "identifiers": lambda n: "A-30 " * (n // 5),
    "numbered": lambda n: "Windows 11 " * (n // 11),
    "negations": lambda n: "It is not deep. " * (n // 16),
    "negations in one sentence": lambda n: "not deep and " * (n // 13),
    "headings": lambda n: "# Head\ntext.\n" * (n // 13),
    "lines": lambda n: "Cities\n" * (n // 7),
    "blank lines": lambda n: "a." + "\n" * n + "b",
    "blank lines with spaces": lambda n: "a." + " \n" * (n // 2) + "b",
    "refusal with a gap": lambda n: "I do not know" + " " * n + "it",
    "kana": lambda n: "カタカナと東京都で" * (n // 9),
    "accents": lambda n: "Zürich " * (n // 7),
    "combining marks": lambda n: "a" + "\u0301" * n,
    "code": lambda n: "`" * n,
}


def seconds(evidence: tuple[str, ...], answer: str) -> float:
    reply = json.dumps({"answer": answer, "evidence_ids": ["E1"], "reasoning": ""})
    start = time.process_time()
    verify_reply(number(evidence), reply, question="Who?")
    return time.process_time() - start


def growth(run: Callable[[int], float]) -> float:
    """How many times as long the longer text takes, at best of three."""
    short = min(run(SHORT) for _ in range(3))
    bound = BOUND * max(short, FLOOR)
    for _ in range(3):
        long = run(SHORT * LONGER)
        if long < bound:
            break
    return long / max(short, FLOOR)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_answer_takes_linear_time(shape: str) -> None:
    def run(length: int) -> float:
        return seconds(EVIDENCE, "It is so. " + SHAPES[shape](length))

    assert growth(run) < BOUND


@pytest.mark.parametrize("shape", SHAPES)
def test_a_long_unit_takes_linear_time(shape: str) -> None:
    def run(length: int) -> float:
        return seconds((SHAPES[shape](length), EVIDENCE[1]), ANSWER)

    assert growth(run) < BOUND


@pytest.mark.parametrize(
    "function",
    [
        text.plain,
        lexicon.is_common,
        polarity.stem,
        polarity.opposites,
        variants.sound_key,
        tokens._cleaned,
    ],
)
def test_caches_keep_no_long_text(function: Callable[[str], object]) -> None:
    cached = [cell.cell_contents for cell in function.__closure__ or ()]
    cache = next(item for item in cached if hasattr(item, "cache_info"))
    before = cache.cache_info().currsize
    function("ä" * 10_000)
    assert cache.cache_info().currsize == before
    assert cache.cache_info().maxsize <= 65_536


def test_spans_are_a_union() -> None:
    spans = Spans([(5, 8), (1, 3), (7, 12), (20, 20), (3, 4)])
    assert list(spans) == [(1, 4), (5, 12)]
    covered = [place for place in range(14) if spans.cover(place)]
    assert covered == [1, 2, 3, 5, 6, 7, 8, 9, 10, 11]
    assert spans.overlap(4, 6)
    assert not spans.overlap(4, 5)
    assert not spans.overlap(12, 20)
    assert not Spans().cover(0)


_TWICE = """
from aletheia.grounding.numbering import number
from aletheia.grounding.verify import verify_reply
evidence = number(["Ana Nova and Ana Nora met Anna Noha in Noba. The river Nola is deep."])
reply = {"answer": "Anna Nofa met hypothensive Norra. It is shallow.", "evidence_ids": ["E1"]}
print(verify_reply(evidence, reply))
"""


def test_the_order_of_sets_changes_nothing() -> None:
    """Python orders sets of text differently in every process unless `PYTHONHASHSEED` is set."""
    shown = {
        subprocess.run(
            [sys.executable, "-c", _TWICE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(shown) == 1
