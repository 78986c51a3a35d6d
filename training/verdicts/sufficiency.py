"""A straight line over a few coverages of the question by the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from aletheia.grounding.numbering import number
from aletheia.judges.embedded.evidence import Evidence
from aletheia.judges.embedded.sufficiency import FEATURES, measure
from training.verdicts import fit as fitting

STRENGTH = 0.02
"""Inverse of the penalty: 178 records teach little."""


def fit(records: Sequence[dict[str, Any]]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The line, and what its score means, from the records labelled for sufficiency."""
    used = [record for record in records if record["task"] == "sufficiency"]
    rows = np.array(
        [list(measure(Evidence(number(r["context"])), r["query"]).values()) for r in used]
    )
    label = np.array([int(record["sufficient"]) for record in used])
    sources = np.array([str(record["source"]) for record in used])
    line = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, class_weight="balanced"))
    held_out = cross_val_predict(line, rows, label, cv=10, method="predict_proba")[:, 1]
    line.fit(rows, label)
    scaler, regression = line[0], line[1]
    slope = regression.coef_[0] / scaler.scale_
    start = float(regression.intercept_[0] - (scaler.mean_ * slope).sum())
    linear = {
        "features": list(FEATURES),
        "slope": [round(float(value), 5) for value in slope],
        "start": round(start, 5),
    }
    return linear, fitting.calibrate(held_out, label, sources, 0.8, least=20)
