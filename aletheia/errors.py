"""Every error this package raises on purpose.

AletheiaError
├── UsageError          the command line or a call asks for something that does not exist
├── ConfigError         a setting is missing, unknown or contradictory
├── DataError           an input file is wrong: carries file, line and field
├── ModelError          a model or its endpoint failed
│   ├── ModelUnavailable    network, timeout, 429 or 5xx after the retries
│   ├── ModelRefused        authentication, permission, content filter, unknown model
│   │   └── ContextTooLong      the prompt does not fit into the model's context window
│   └── ModelBadReply       the transport worked, the reply is unusable
├── BudgetExceeded      a call would cost more than is allowed: it was not made
├── StoreError          a file or database of ours cannot be read or written
│   └── NoStore             nothing was ever stored there
└── MissingExtra        an optional package is not installed: carries the pip line

An exception means "cannot go on". A bad reply for one item is a value, not an exception.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from aletheia.schema.model import Usage


class AletheiaError(Exception):
    """Root of the tree. `exit_code` is what the command line ends with."""

    exit_code: ClassVar[int] = 2

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return self.message if self.hint is None else f"{self.message} ({self.hint})"


class UsageError(AletheiaError):
    """An argument names something that does not exist or cannot be combined."""


class ConfigError(AletheiaError):
    """A setting is missing, unknown or contradictory."""


class DataError(AletheiaError):
    """Input data is wrong.

    `file`, `line` (1-based) and `field` say where, as far as they are known.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        line: int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        where = str(file) if file is not None else ""
        if line is not None:
            where = f"{where}:{line}" if where else f"line {line}"
        if field is not None:
            where = f"{where}: field `{field}`" if where else f"field `{field}`"
        super().__init__(f"{where}: {message}" if where else message, hint=hint)
        self.file = str(file) if file is not None else None
        self.line = line
        self.field = field


class ModelError(AletheiaError):
    """A model or its endpoint failed.

    `status` is the HTTP status, where there was one. `usage` is what the failed call cost, as far
    as the endpoint said so; `usage.calls` counts the requests that were sent.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(message, hint=hint)
        self.status = status
        self.usage = usage


class ModelUnavailable(ModelError):
    """Network failure, timeout, 429 or 5xx, after the retries were used up.

    `retry_after_s` is how long the endpoint asked to be left alone.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        usage: Usage | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message, hint=hint, status=status, usage=usage)
        self.retry_after_s = retry_after_s


class ModelRefused(ModelError):
    """The endpoint said no: bad key, no permission, content filter, unknown model."""


class ContextTooLong(ModelRefused):
    """The prompt does not fit into the context window of the model."""


class ModelBadReply(ModelError):
    """The transport worked, but what came back cannot be used.

    `text` is the text of the reply where there was a reply with a text, even an empty one.
    """

    def __init__(
        self,
        message: str,
        *,
        hint: str | None = None,
        status: int | None = None,
        usage: Usage | None = None,
        text: str | None = None,
    ) -> None:
        super().__init__(message, hint=hint, status=status, usage=usage)
        self.text = text


class BudgetExceeded(AletheiaError):
    """A call was not made, because it would exceed a budget.

    `estimated_usd` is what was spent, what is reserved for calls under way and what the call may
    cost at most, together; None where the price of the model is not known, and that is set to
    block. `scope` names the budget: `trace` or `run`. `produced` is what was finished before,
    such as the answer that the user's own function returned.
    """

    def __init__(
        self,
        estimated_usd: float | None,
        budget_usd: float,
        *,
        scope: str = "trace",
        model: str | None = None,
        produced: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(_over_budget(estimated_usd, budget_usd, scope, model), hint=hint)
        self.estimated_usd = estimated_usd
        self.budget_usd = budget_usd
        self.scope = scope
        self.model = model
        self.produced = produced


def _over_budget(estimated: float | None, budget: float, scope: str, model: str | None) -> str:
    allowed = f"the budget of this {scope} is ${budget:.6g}"
    if estimated is None:
        named = f"`{model}`" if model else "the model"
        return f"the price of {named} is not known, and {allowed}"
    return f"up to ${estimated:.6g} would be spent, and {allowed}"


class StoreError(AletheiaError):
    """A file or database of ours cannot be read or written."""


class NoStore(StoreError):
    """Nothing was ever stored there; what only reads makes no store."""


class MissingExtra(AletheiaError):
    """An optional package is not installed. `hint` replaces the pip line where it differs."""

    def __init__(self, what: str, extra: str, *, hint: str | None = None) -> None:
        super().__init__(
            f"{what} needs an optional package",
            hint=hint or f"pip install 'aletheia-rag[{extra}]'",
        )
        self.extra = extra
