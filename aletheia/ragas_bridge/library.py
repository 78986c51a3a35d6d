"""The one place that imports ragas: late, once, off the event loop, with its telemetry off."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from math import isfinite
from typing import Protocol

import anyio

from aletheia.errors import BudgetExceeded, ConfigError, ModelError
from aletheia.ragas_bridge.adapters import ChatJudge, PreparedJudge, VectorTable
from aletheia.ragas_bridge.base import Measured, Outcome, Unmeasured, failed_call

_IMPORTING = threading.Lock()
_PEERS = r"(ragas|langchain\w*|langsmith|langgraph|instructor|datasets)(\.|$)"

# What a library may raise over one row. Anything else (cancellation, a missing setting) means
# that the run cannot go on, and passes.
_ROW_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    RuntimeError,
    TypeError,
    ValueError,
)


class Result(Protocol):
    """ragas's `MetricResult`."""

    @property
    def value(self) -> object: ...  # noqa: D102


class Metric(Protocol):
    """A metric of `ragas.metrics.collections`; each takes its own keywords."""

    def ascore(self, **inputs: object) -> Awaitable[Result]: ...  # noqa: D102


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """The classes of ragas that are used here."""

    context_precision: Callable[..., Metric]
    context_recall: Callable[..., Metric]
    faithfulness: Callable[..., Metric]
    semantic_similarity: Callable[..., Metric]


def via_ragas() -> str:
    """`via ragas <version>`, read without importing ragas."""
    return f"via ragas {version('ragas')}"


def load() -> Library:
    """Import ragas (2 to 4 s the first time); `ConfigError` when it cannot be imported."""
    with _IMPORTING:
        return _load()


async def aload() -> Library:
    """`load` in a worker thread, so that the event loop goes on meanwhile."""
    return await anyio.to_thread.run_sync(load)


@cache
def _load() -> Library:
    # ragas reads it once, at its first event; an own choice of the user cannot be stricter.
    os.environ["RAGAS_DO_NOT_TRACK"] = "true"
    try:
        # Its imports also add filters to the process's list; this puts the list back.
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning, module=_PEERS)
            return _import()
    except ImportError as error:
        raise ConfigError(
            f"ragas {version('ragas')} cannot be imported: {error}",
            hint="reinstall aletheia-rag with the versions it pins",
        ) from error


def _import() -> Library:
    from ragas.embeddings.base import BaseRagasEmbedding
    from ragas.llms.base import InstructorBaseRagasLLM
    from ragas.metrics.collections import (
        ContextPrecision,
        ContextRecall,
        Faithfulness,
        SemanticSimilarity,
    )

    # ragas checks by `isinstance`. Registering says "this is one" without a class statement
    # that would need ragas at import time.
    InstructorBaseRagasLLM.register(ChatJudge)
    InstructorBaseRagasLLM.register(PreparedJudge)
    BaseRagasEmbedding.register(VectorTable)
    return Library(
        context_precision=ContextPrecision,
        context_recall=ContextRecall,
        faithfulness=Faithfulness,
        semantic_similarity=SemanticSimilarity,
    )


async def measure(metric: Metric, **inputs: object) -> Outcome:
    """Run one ragas metric over one row; whatever goes wrong with the row is a value.

    Values are rounded to 9 decimals, which takes ragas's 1e-10 guard against division by zero
    out again.
    """
    try:
        result = await metric.ascore(**inputs)
    except (ModelError, BudgetExceeded) as error:
        return failed_call(error)
    except _ROW_ERRORS as error:
        return Unmeasured(reason=f"ragas failed: {type(error).__name__}: {error}")
    return _bounded(result.value)


def _bounded(value: object) -> Outcome:
    if not isinstance(value, int | float):
        return Unmeasured(reason=f"ragas gave no number: {value!r}")
    if not isfinite(value):
        return Unmeasured(reason="ragas gave no value (not a number)")
    rounded = round(float(value), 9)
    if not -1.0 <= rounded <= 1.0:
        return Unmeasured(reason=f"ragas gave {value!r}, outside 0..1")
    if rounded < 0:
        return Measured(
            value=0.0, remark=f"the raw value {rounded:.3f} is below the scale and shown as 0"
        )
    return Measured(value=rounded)
