"""The generator without a model: it answers with sentences of the evidence, or abstains."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from typing import Final

from aletheia.generators._choice import Choice, NoChoice
from aletheia.generators._choose import choose
from aletheia.generators._meaning import Similarity
from aletheia.generators._passages import Evidence, Passage, read_evidence
from aletheia.generators._question import analyse
from aletheia.generators.base import Generation
from aletheia.schema.answer import ABSTENTION
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Embedder
from aletheia.schema.verification import Mode

_NO_MODEL: Final = "Picked by word matching, without a language model."


class ExtractiveGenerator:
    """`Generator` that quotes the evidence sentences which say what the question asks.

    It sees the question and the numbered units and nothing else, and gives the same reply for the
    same input. With an `embedder` a relation that no word matches may be met by meaning. `clock`
    gives seconds, for the timings.
    """

    def __init__(
        self, embedder: Embedder | None = None, *, clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._embedder = embedder
        self._clock = clock

    @property
    def name(self) -> str:
        """Which kind of generator this is."""
        return "extractive"

    @property
    def model(self) -> str:
        """What chose the sentences: word rules, and the embedder where there is one."""
        return "extractive" if self._embedder is None else f"extractive+{self._embedder.name}"

    async def generate(self, question: str, evidence: EvidenceSet, *, mode: Mode) -> Generation:  # noqa: ARG002
        """Return the JSON reply; `mode` makes no difference to it. Never raises `ModelError`."""
        started = self._clock()
        read = read_evidence(evidence)
        chosen = choose(analyse(question, read), read, self._similarity())
        reply = _reply(chosen, read)
        seconds = self._clock() - started
        return Generation(
            reply=json.dumps(reply, ensure_ascii=False),
            model=self.model,
            timings_ms={"generate": seconds * 1000},
            notes=_notes(read),
        )

    def _similarity(self) -> Similarity | None:
        embedder = self._embedder
        if embedder is None:
            return None

        def cosines(left: Sequence[str], right: Sequence[str]) -> Sequence[float]:
            vectors = embedder.embed([*left, *right])
            pairs = (vectors[: len(left)] * vectors[len(left) :]).sum(axis=1)
            return [float(cosine) for cosine in pairs]

        return cosines


def _reply(chosen: Choice | NoChoice, evidence: Evidence) -> dict[str, object]:
    if isinstance(chosen, NoChoice):
        return {
            "answer": ABSTENTION,
            "evidence_ids": [],
            "reasoning": f"{_NO_MODEL} {chosen.why}",
        }
    passages = _with_context(chosen.passages, evidence)
    text = " ".join(_text(passage, chosen.passages) for passage in passages)
    ids = list(dict.fromkeys(passage.unit.id for passage in passages))
    return {
        "answer": chosen.opening + text,
        "evidence_ids": ids,
        "reasoning": f"{_NO_MODEL} {chosen.why}",
    }


def _with_context(chosen: Sequence[Passage], evidence: Evidence) -> list[Passage]:
    """Put the sentence that gives the subject before one that only refers to it."""
    out: list[Passage] = []
    for passage in chosen:
        if passage.refers_back and passage.number > 0:
            before = [
                p
                for p in evidence.by_unit[passage.unit.id]
                if p.number < passage.number and not p.refers_back
            ]
            out.extend(before[-1:])
        out.append(passage)
    return list(dict.fromkeys(out))


def _text(passage: Passage, chosen: Sequence[Passage]) -> str:
    """The sentence; a first one that names nothing gets the title of its unit in front."""
    text = passage.text
    bare = passage.refers_back and passage.number == 0 and passage.unit.source
    return f"{passage.unit.source}: {text}" if bare and passage in chosen else text


def _notes(evidence: Evidence) -> tuple[str, ...]:
    notes = []
    if evidence.skipped:
        they = "it addresses" if evidence.skipped == 1 else "they address"
        notes.append(f"{_sentences(evidence.skipped)} left out: {they} the reader")
    if evidence.unread:
        notes.append(f"{_sentences(evidence.unread)} not looked at: there are too many")
    return tuple(notes)


def _sentences(number: int) -> str:
    return f"{number} sentence" if number == 1 else f"{number} sentences"
