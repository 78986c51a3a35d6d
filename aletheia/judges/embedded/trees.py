"""Boosted trees kept as plain arrays, and a score made a probability by a table."""

from __future__ import annotations

import hashlib
import io
import json
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from aletheia.errors import StoreError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """An ensemble. Arrays have shape (number of trees, nodes of the largest tree).

    A leaf points to itself with `left` and `right`, so walking `depth` steps ends at one. The
    columns of a row are `features` in this order.
    """

    features: tuple[str, ...]
    feature: npt.NDArray[np.int16]
    threshold: Floats
    left: npt.NDArray[np.int16]
    right: npt.NDArray[np.int16]
    value: Floats
    depth: int

    def predict(self, rows: Floats) -> Floats:
        """Probabilities of shape (number of rows,) for rows of shape (number, features)."""
        import numpy as np

        width = self.feature.shape[1]
        first = np.arange(len(self.feature), dtype=np.intp)[None, :] * width
        case = np.arange(len(rows), dtype=np.intp)[:, None] * rows.shape[1]
        feature, threshold = self.feature.ravel(), self.threshold.ravel()
        left, right, flat = self.left.ravel(), self.right.ravel(), rows.ravel()
        node = np.zeros((len(rows), len(self.feature)), dtype=np.intp)
        for _ in range(self.depth):
            at = first + node
            smaller = flat.take(case + feature.take(at)) <= threshold.take(at)
            node = np.where(smaller, left.take(at), right.take(at))
        total = self.value.ravel().take(first + node).sum(axis=1)
        found: Floats = 1.0 / (1.0 + np.exp(-total))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """What a raw score means: `probability[i]` at `score[i]`, straight lines between.

    `threshold` parts the verdicts; at or above `surely_yes` and at or below `surely_no` a verdict
    has high confidence. These three are probabilities.
    """

    score: tuple[float, ...]
    probability: tuple[float, ...]
    threshold: float
    surely_yes: float
    surely_no: float

    def __call__(self, score: float) -> float:
        """The probability that goes with a raw score, in [0, 1]."""
        at = bisect_right(self.score, score)
        if at == 0:
            return self.probability[0]
        if at == len(self.score):
            return self.probability[-1]
        low, high = self.score[at - 1], self.score[at]
        share = (score - low) / (high - low)
        return self.probability[at - 1] + share * (self.probability[at] - self.probability[at - 1])


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A weighted sum: `start` plus each feature times its slope."""

    features: tuple[str, ...]
    slope: tuple[float, ...]
    start: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """All that was fitted: trees by name, tables by name.

    `version` is a digest of the files themselves: other files, another version.
    """

    version: str
    trees: dict[str, Trees]
    line: Line
    calibrations: dict[str, Calibration]


@lru_cache(maxsize=1)
def model() -> Model:
    """The model shipped with the package. Raises `StoreError` when its files do not fit."""
    import numpy as np

    folder = resources.files("aletheia.judges.embedded").joinpath("data")
    files = {name: folder.joinpath(name).read_bytes() for name in FILES}
    about = json.loads(files["verdicts.json"])
    version = digest(files.values())
    trees: dict[str, Trees] = {}
    with np.load(io.BytesIO(files["verdicts.npz"]), allow_pickle=False) as data:
        for name, features in about["trees"].items():
            arrays = [data[f"{name}_{part}"] for part in _ARRAYS]
            trees[name] = _trees(features, arrays, version)
    return Model(
        version=version,
        trees=trees,
        line=Line(
            features=tuple(about["linear"]["features"]),
            slope=tuple(about["linear"]["slope"]),
            start=float(about["linear"]["start"]),
        ),
        calibrations={name: _calibration(item) for name, item in about["calibrations"].items()},
    )


def digest(files: Iterable[bytes]) -> str:
    """What the files are known by: twelve hexadecimal digits of a SHA-256 over each in turn."""
    found = hashlib.sha256()
    for content in files:
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()[:12]


FILES = ("verdicts.json", "verdicts.npz", "words.npz")
"""What verdicts depend on besides the code."""
_ARRAYS = ("feature", "threshold", "left", "right", "value", "depth")


def _trees(
    features: Sequence[str], arrays: Sequence[npt.NDArray[np.float64]], version: str
) -> Trees:
    import numpy as np

    feature, threshold, left, right, value, depth = arrays
    if int(feature.max()) >= len(features) or feature.shape != value.shape:
        raise StoreError(f"the model file of version {version} does not fit its list of features")
    return Trees(
        features=tuple(features),
        feature=feature.astype(np.int16),
        threshold=threshold.astype(np.float64),
        left=left.astype(np.int16),
        right=right.astype(np.int16),
        value=value.astype(np.float64),
        depth=int(depth),
    )


def _calibration(item: dict[str, list[float] | float]) -> Calibration:
    def numbers(name: str) -> tuple[float, ...]:
        listed = item[name]
        return tuple(listed) if isinstance(listed, list) else (float(listed),)

    return Calibration(
        score=numbers("score"),
        probability=numbers("probability"),
        threshold=numbers("threshold")[0],
        surely_yes=numbers("surely_yes")[0],
        surely_no=numbers("surely_no")[0],
    )
