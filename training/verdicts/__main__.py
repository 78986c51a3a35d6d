"""Refit the embedded judges.

    python -m training.verdicts ../shared/data/verdicts

Reads the permissive records of `train/` only, and writes `verdicts.npz` and `verdicts.json` beside
the code that reads them. `words.npz` is made first by `python -m training.verdicts.words`. About
fifteen minutes on one core. Needs lightgbm and scikit-learn, which the package itself does not.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from aletheia.judges.embedded.scoring import PART_TREES, WHOLE_TREES
from training.verdicts import fit, sufficiency
from training.verdicts.rows import Rows, cached, permissive

OUTPUT = Path(__file__).resolve().parents[2] / "aletheia/judges/embedded/data"
RIGHT = 0.80
"""How often a verdict of high confidence is right on sources that were left out."""


def main() -> None:
    """Fit, and write the files of the package."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("root", type=Path, help="folder that holds train/")
    asked.add_argument("--cache", type=Path, help="folder for rows that take long to make")
    asked.add_argument("--output", type=Path, default=OUTPUT)
    options = asked.parse_args()
    records = list(permissive((options.root / "train").glob("*.gz")))
    rows = cached("train", records, options.cache)
    trees, faithfulness = fit_faithfulness(rows)
    linear, sufficient = sufficiency.fit(records)
    write(options.output, trees, {"faithfulness": faithfulness, "sufficiency": sufficient}, linear)


def fit_faithfulness(rows: Rows) -> tuple[dict[str, tuple[Any, tuple[str, ...]]], dict[str, Any]]:
    """Both ensembles, and the calibration found by leaving out one family of sources at a time."""
    scores = fit.out_of_fold(rows)
    away, found = fit.leave_families_out(rows, scores, print)
    calibration = fit.calibrate(away, found.grounded, found.sources, RIGHT)
    trees = {
        PART_TREES: (fit.part_trees(rows), rows.names),
        WHOLE_TREES: (fit.whole_trees(found), found.names),
    }
    return trees, calibration


def write(
    folder: Path,
    trees: dict[str, tuple[Any, tuple[str, ...]]],
    calibrations: dict[str, Any],
    linear: dict[str, Any],
) -> None:
    """Write arrays and what they mean."""
    arrays: dict[str, Any] = {}
    for name, (booster, names) in trees.items():
        arrays |= fit.arrays(booster, names, name)
    np.savez_compressed(folder / "verdicts.npz", **arrays)
    about = {
        "trees": {name: list(names) for name, (_, names) in trees.items()},
        "linear": linear,
        "calibrations": calibrations,
    }
    text = json.dumps(about, indent=1, ensure_ascii=False)
    (folder / "verdicts.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
