"""Records as rows of numbers: one row for each whole response, one for each of its sentences."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from aletheia.grounding.numbering import number
from aletheia.judges.embedded.evidence import Evidence
from aletheia.judges.embedded.features import Measure, Part
from aletheia.judges.embedded.scoring import sentence_parts

LICENCES = ("MIT", "Apache-2.0", "CC0", "CC-BY-4.0", "ODC-BY")
UNKNOWN = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Rows of numbers, and what each is a row of.

    Record id, source, whether it is the whole response, how many sentences that has, the label of
    the record, and the label of the row itself (-1 = not known).
    """

    numbers: npt.NDArray[np.float32]
    names: tuple[str, ...]
    ids: npt.NDArray[np.str_]
    sources: npt.NDArray[np.str_]
    whole: npt.NDArray[np.bool_]
    siblings: npt.NDArray[np.int64]
    grounded: npt.NDArray[np.int64]
    label: npt.NDArray[np.int64]

    def at(self, mask: npt.NDArray[np.bool_]) -> Rows:
        """The rows where `mask` is true."""
        return Rows(
            numbers=self.numbers[mask], names=self.names, ids=self.ids[mask],
            sources=self.sources[mask], whole=self.whole[mask], siblings=self.siblings[mask],
            grounded=self.grounded[mask], label=self.label[mask],
        )  # fmt: skip


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a gzipped JSONL file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def permissive(paths: Iterable[Path]) -> Iterator[dict[str, Any]]:
    """The records of all files whose licence allows to ship what is fitted on them."""
    for path in sorted(paths):
        for record in read(path):
            if str(record["license"]).startswith(LICENCES):
                yield record


def build(records: Sequence[dict[str, Any]]) -> Rows:
    """Rows of the records with a response."""
    columns: list[tuple[str, str, bool, int, int, int]] = []
    numbers: list[list[float]] = []
    names: tuple[str, ...] = ()
    for record in records:
        if record["response"] is None:
            continue
        response, grounded = record["response"], bool(record["grounded"])
        measure = Measure(Evidence(number(record["context"])), response, record["query"])
        parts = sentence_parts(response)
        whole = measure.row(Part(start=0, end=len(response), siblings=len(parts)))
        names = tuple(whole)
        about = (str(record["id"]), str(record["source"]))
        numbers.append(list(whole.values()))
        columns.append((*about, True, len(parts), int(grounded), int(grounded)))
        for part in parts:
            numbers.append(list(measure.row(part).values()))
            columns.append(
                (*about, False, len(parts), int(grounded), _label(record, part, len(parts)))
            )
    ids, sources, wholes, siblings, labels, own = zip(*columns, strict=True)
    return Rows(
        numbers=np.array(numbers, dtype=np.float32), names=names, ids=np.array(ids),
        sources=np.array(sources), whole=np.array(wholes), siblings=np.array(siblings),
        grounded=np.array(labels), label=np.array(own),
    )  # fmt: skip


def _label(record: dict[str, Any], part: Part, n_parts: int) -> int:
    """Whether one sentence is carried; not known where only the whole response was labelled."""
    if record["grounded"]:
        return 1
    spans = record["unsupported_spans"]
    if spans:
        return int(not any(start < part.end and end > part.start for start, end in spans))
    return 0 if n_parts == 1 else UNKNOWN


def cached(name: str, records: Sequence[dict[str, Any]], folder: Path | None) -> Rows:
    """Build the rows, or take them from `folder` where an earlier run left them."""
    path = folder / f"{name}.npz" if folder else None
    fields = Rows.__dataclass_fields__
    if path is not None and path.exists():
        with np.load(path, allow_pickle=False) as data:
            return Rows(
                **{k: tuple(map(str, data[k])) if k == "names" else data[k] for k in fields}
            )
    rows = build(records)
    if path is not None:
        np.savez_compressed(path, **{k: np.array(getattr(rows, k)) for k in fields})
    return rows
