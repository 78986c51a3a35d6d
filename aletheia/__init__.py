"""Checks whether an answer came from the evidence, or from somewhere else.

Names load when they are used, so `import aletheia` costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from aletheia._version import __version__

if TYPE_CHECKING:
    from aletheia.config import settings
    from aletheia.errors import (
        AletheiaError,
        BudgetExceeded,
        ConfigError,
        DataError,
        MissingExtra,
        ModelError,
        StoreError,
        UsageError,
    )
    from aletheia.llm.tracking import CostScope, get_tracker
    from aletheia.schema.cost import Cost
    from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell, Suggestion
    from aletheia.schema.evidence import EvidenceSet, EvidenceText, EvidenceUnit
    from aletheia.schema.trace import ContextChunk
    from aletheia.schema.verification import Finding, Mode, Note, RejectionReason
    from aletheia.sdk.answer import AnswerResult, aanswer, answer
    from aletheia.sdk.api import verify
    from aletheia.sdk.budget import enforce_budget, instrument
    from aletheia.sdk.evaluate import aevaluate, evaluate
    from aletheia.sdk.log import alog, log, shutdown
    from aletheia.sdk.result import VerifyResult
    from aletheia.sdk.trace import trace
    from aletheia.sdk.trace_return import TraceReturn

__all__ = [
    "AletheiaError",
    "AnswerResult",
    "BudgetExceeded",
    "ConfigError",
    "ContextChunk",
    "Cost",
    "CostScope",
    "DataError",
    "Diagnosis",
    "EvaluationResult",
    "EvidenceSet",
    "EvidenceText",
    "EvidenceUnit",
    "FailureCell",
    "Finding",
    "MissingExtra",
    "Mode",
    "ModelError",
    "Note",
    "RejectionReason",
    "StoreError",
    "Suggestion",
    "TraceReturn",
    "UsageError",
    "VerifyResult",
    "__version__",
    "aanswer",
    "aevaluate",
    "alog",
    "answer",
    "enforce_budget",
    "evaluate",
    "get_tracker",
    "instrument",
    "log",
    "settings",
    "shutdown",
    "trace",
    "verify",
]

_HOMES = {
    "aletheia.config": ("settings",),
    "aletheia.errors": (
        "AletheiaError",
        "BudgetExceeded",
        "ConfigError",
        "DataError",
        "MissingExtra",
        "ModelError",
        "StoreError",
        "UsageError",
    ),
    "aletheia.llm.tracking": ("CostScope", "get_tracker"),
    "aletheia.schema.cost": ("Cost",),
    "aletheia.schema.diagnosis": ("Diagnosis", "EvaluationResult", "FailureCell", "Suggestion"),
    "aletheia.schema.evidence": ("EvidenceSet", "EvidenceText", "EvidenceUnit"),
    "aletheia.schema.trace": ("ContextChunk",),
    "aletheia.schema.verification": ("Finding", "Mode", "Note", "RejectionReason"),
    "aletheia.sdk.answer": ("AnswerResult", "aanswer", "answer"),
    "aletheia.sdk.api": ("verify",),
    "aletheia.sdk.budget": ("enforce_budget", "instrument"),
    "aletheia.sdk.evaluate": ("aevaluate", "evaluate"),
    "aletheia.sdk.log": ("alog", "log", "shutdown"),
    "aletheia.sdk.result": ("VerifyResult",),
    "aletheia.sdk.trace": ("trace",),
    "aletheia.sdk.trace_return": ("TraceReturn",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            from importlib import import_module

            value: object = getattr(import_module(module), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module `aletheia` has no attribute `{name}`", name=name, obj=None)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
