"""Fitting: trees over sentences, trees over responses, and what their score means."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from aletheia.judges.embedded.scoring import summary
from training.verdicts.rows import UNKNOWN, Rows

Array = npt.NDArray[Any]
FOLDS = 5
SETTINGS = {
    "objective": "binary", "learning_rate": 0.02, "min_data_in_leaf": 40, "feature_fraction": 0.35,
    "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 5.0, "max_depth": 6, "verbose": -1,
    "num_threads": 1, "deterministic": True, "seed": 0,
}  # fmt: skip
PART = {"num_leaves": 12, "rounds": 500}
WHOLE = {"num_leaves": 8, "rounds": 400}
_SOURCE_POWER = 0.5
_RARE_CLASS = 0.15


def weights(sources: Array, label: Array) -> Array:
    """A source of n records weighs √n, and its two classes the same, as far as both are there."""
    found = np.zeros(len(label))
    for source in sorted(set(sources)):
        here = sources == source
        for value in (0, 1):
            cell = here & (label == value)
            if cell.any():
                found[cell] = here.sum() ** _SOURCE_POWER / max(
                    2 * cell.sum(), _RARE_CLASS * here.sum()
                )
    return np.asarray(found / found.mean())


def boost(
    numbers: Array, label: Array, sources: Array, *, num_leaves: int, rounds: int
) -> lightgbm.Booster:
    """Fit trees with the settings of this module."""
    data = lightgbm.Dataset(numbers, label, weight=weights(sources, label))
    return lightgbm.train({**SETTINGS, "num_leaves": num_leaves}, data, rounds)


def usable(rows: Rows) -> Array:
    """Rows to fit sentences on: a known label; a whole response only where it is short."""
    return np.asarray((~rows.whole & (rows.label != UNKNOWN)) | (rows.whole & (rows.siblings == 2)))


def part_trees(rows: Rows) -> lightgbm.Booster:
    """Fit the trees over sentences."""
    chosen = rows.at(usable(rows))
    return boost(chosen.numbers, chosen.label, chosen.sources, **PART)


def fold_of(ids: Array) -> Array:
    """The fold of each record; rows of one record share it."""
    return np.array([zlib.crc32(str(item).encode()) % FOLDS for item in ids])


def out_of_fold(rows: Rows) -> Array:
    """Scores of all rows by trees that never saw their record."""
    scores = np.zeros(len(rows.ids))
    fold = fold_of(rows.ids)
    for k in range(FOLDS):
        scores[fold == k] = part_trees(rows.at(fold != k)).predict(rows.numbers[fold == k])
    return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class Wholes:
    """One row a response: the summary of its sentence scores, then its own numbers."""

    numbers: Array
    names: tuple[str, ...]
    sources: Array
    grounded: Array
    ids: Array

    def at(self, mask: Array) -> Wholes:
        """The responses where `mask` is true."""
        return Wholes(
            numbers=self.numbers[mask], names=self.names, sources=self.sources[mask],
            grounded=self.grounded[mask], ids=self.ids[mask],
        )  # fmt: skip


def wholes(rows: Rows, scores: Array) -> Wholes:
    """Gather the rows of each response."""
    members: dict[str, list[int]] = {}
    for at, item in enumerate(rows.ids):
        members.setdefault(str(item), []).append(at)
    numbers, places = [], []
    names: tuple[str, ...] = ()
    for listed in members.values():
        whole = next(at for at in listed if rows.whole[at])
        parts = [float(scores[at]) for at in listed if not rows.whole[at]] or [float(scores[whole])]
        said = summary(parts, float(scores[whole]))
        names = tuple(said)
        numbers.append(list(said.values()))
        places.append(whole)
    at = np.array(places)
    return Wholes(
        numbers=np.c_[np.array(numbers, dtype=np.float32), rows.numbers[at]],
        names=(*names, *rows.names), sources=rows.sources[at], grounded=rows.grounded[at],
        ids=rows.ids[at],
    )  # fmt: skip


def whole_trees(found: Wholes) -> lightgbm.Booster:
    """Fit the trees over responses."""
    return boost(found.numbers, found.grounded, found.sources, **WHOLE)


FAMILIES = (
    ("ab_",), ("begin_", "faithdial_", "q2_"), ("factcheck_", "fm2"), ("ragtruth_",),
    ("summedits",), ("wice_",),
)  # fmt: skip
"""Sources that are alike, by the beginning of their names: they are left out together."""


def leave_families_out(
    rows: Rows, scores: Array, report: Callable[[str], None]
) -> tuple[Array, Wholes]:
    """Scores of every response by trees that saw no source like it; and the responses."""
    all_wholes = wholes(rows, scores)
    found = np.zeros(len(all_wholes.ids))
    for family in FAMILIES:
        out = np.array([str(source).startswith(family) for source in rows.sources])
        out_wholes = np.array([str(source).startswith(family) for source in all_wholes.sources])
        away = rows.at(out)
        sentences = part_trees(rows.at(~out)).predict(away.numbers)
        trees = whole_trees(all_wholes.at(~out_wholes))
        found[out_wholes] = trees.predict(wholes(away, sentences).numbers)
        report(f"left out: {', '.join(family)}")
    return found, all_wholes


def two_sided(sources: Array, label: Array) -> list[str]:
    """Sources with both classes."""
    return [s for s in sorted(set(sources)) if len(set(label[sources == s])) == 2]


def balanced_accuracy(yes: Array, label: Array) -> float:
    """Mean of the shares of both classes that are got right."""
    return float((yes[label == 1].mean() + (~yes[label == 0]).mean()) / 2)


def best_threshold(score: Array, label: Array, sources: Array) -> float:
    """The middle of the thresholds whose balanced accuracy, averaged over sources, is near best."""
    names = two_sided(sources, label)
    grid = np.quantile(score, np.linspace(0.05, 0.95, 91))
    reached = np.array(
        [
            np.mean(
                [balanced_accuracy(score[sources == s] >= t, label[sources == s]) for s in names]
            )
            for t in grid
        ]
    )
    return float(np.median(grid[reached >= reached.max() - 0.004]))


def equal_weights(sources: Array, label: Array) -> Array:
    """Every source the same, and in it both classes the same."""
    found = np.zeros(len(label))
    for source in two_sided(sources, label):
        for value in (0, 1):
            cell = (sources == source) & (label == value)
            found[cell] = 1 / cell.sum()
    return found


def calibrate(
    score: Array, label: Array, sources: Array, right: float, *, least: int = 200
) -> dict[str, Any]:
    """A logistic table of the score, the threshold, and the bands that are `right` so often."""
    weight = equal_weights(sources, label)
    used = weight > 0
    s, y, w = score[used], label[used], weight[used]
    odds = np.log(s / (1 - s))[:, None]
    fitted = LogisticRegression(C=100.0).fit(odds, y, sample_weight=w * len(w) / w.sum())
    knots = np.linspace(0.02, 0.98, 49)
    table = fitted.predict_proba(np.log(knots / (1 - knots))[:, None])[:, 1]
    chance = fitted.predict_proba(odds)[:, 1]
    at = fitted.predict_proba(
        np.array([[np.log(t / (1 - t))] for t in [best_threshold(s, y, sources[used])]])
    )
    return {
        "score": [round(float(k), 4) for k in knots],
        "probability": [round(float(p), 5) for p in table],
        "threshold": round(float(at[0, 1]), 4),
        "surely_yes": round(_band(chance, y, w, right, least), 4),
        "surely_no": round(1 - _band(1 - chance, 1 - y, w, right, least), 4),
    }


def _band(chance: Array, label: Array, weight: Array, right: float, least: int) -> float:
    """The lowest probability at and above which the weighted share of ones is `right`."""
    order = np.argsort(-chance)
    ones = np.cumsum(weight[order] * label[order]) / np.cumsum(weight[order])
    enough = np.flatnonzero((ones >= right) & (np.arange(len(order)) >= least))
    return float(chance[order][enough[-1]]) if len(enough) else 1.0


def arrays(booster: lightgbm.Booster, names: Sequence[str], prefix: str) -> dict[str, Array]:
    """The trees of a booster as padded arrays; see `aletheia.judges.embedded.trees`."""
    lists = [_nodes(tree["tree_structure"]) for tree in booster.dump_model()["tree_info"]]
    width = max(len(nodes) for nodes in lists)
    out = {
        "feature": np.zeros((len(lists), width), dtype=np.int16),
        "threshold": np.zeros((len(lists), width)),
        "left": np.zeros((len(lists), width), dtype=np.int16),
        "right": np.zeros((len(lists), width), dtype=np.int16),
        "value": np.zeros((len(lists), width)),
    }
    for i, nodes in enumerate(lists):
        for j, (feature, threshold, left, right, value) in enumerate(nodes):
            out["feature"][i, j], out["threshold"][i, j] = feature, threshold
            out["left"][i, j], out["right"][i, j], out["value"][i, j] = left, right, value
    if len(names) != booster.num_feature():
        raise ValueError(f"{len(names)} names for {booster.num_feature()} features")
    return {
        f"{prefix}_{k}": v
        for k, v in {**out, "depth": np.array(int(SETTINGS["max_depth"]))}.items()
    }


def _nodes(root: dict[str, Any]) -> list[tuple[int, float, int, int, float]]:
    found: list[tuple[int, float, int, int, float]] = []

    def visit(node: dict[str, Any]) -> int:
        at = len(found)
        found.append((0, 0.0, at, at, float(node.get("leaf_value", 0.0))))
        if "left_child" in node:
            left, right = visit(node["left_child"]), visit(node["right_child"])
            found[at] = (node["split_feature"], float(node["threshold"]), left, right, 0.0)
        return at

    visit(root)
    return found
