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
        ConfigError,
        DataError,
        MissingExtra,
        ModelError,
        StoreError,
        UsageError,
    )
    from aletheia.schema.evidence import EvidenceSet, EvidenceText, EvidenceUnit
    from aletheia.schema.verification import Finding, Mode, Note, RejectionReason
    from aletheia.sdk.api import verify
    from aletheia.sdk.result import VerifyResult

__all__ = [
    "AletheiaError",
    "ConfigError",
    "DataError",
    "EvidenceSet",
    "EvidenceText",
    "EvidenceUnit",
    "Finding",
    "MissingExtra",
    "Mode",
    "ModelError",
    "Note",
    "RejectionReason",
    "StoreError",
    "UsageError",
    "VerifyResult",
    "__version__",
    "settings",
    "verify",
]

_HOMES = {
    "aletheia.config": ("settings",),
    "aletheia.errors": (
        "AletheiaError",
        "ConfigError",
        "DataError",
        "MissingExtra",
        "ModelError",
        "StoreError",
        "UsageError",
    ),
    "aletheia.schema.evidence": ("EvidenceSet", "EvidenceText", "EvidenceUnit"),
    "aletheia.schema.verification": ("Finding", "Mode", "Note", "RejectionReason"),
    "aletheia.sdk.api": ("verify",),
    "aletheia.sdk.result": ("VerifyResult",),
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
