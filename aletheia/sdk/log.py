"""Log traces from a running program: kept at once, evaluated in the background."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import partial
from typing import Final

from anyio import to_thread

from aletheia.config import Settings
from aletheia.config import settings as in_force
from aletheia.errors import StoreError
from aletheia.pipeline.redact import RedactLike
from aletheia.pipeline.stored import close_stores, store_for
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.sdk import portal
from aletheia.sdk.budget import ContextLike
from aletheia.sdk.evaluate_trace import Evaluation, Origin, read_evaluation
from aletheia.sdk.worker import Job
from aletheia.sdk.worker_host import HOST
from aletheia.sdk.worker_warnings import RareWarnings

__all__ = ["alog", "flush", "log", "shutdown"]

_WARNINGS: Final = RareWarnings(logging.getLogger(__name__))


def log(
    query: str | None,
    context: ContextLike,
    response: str,
    *,
    sync: bool | None = None,
    project: str | None = None,
    external_id: str | None = None,
    redact: RedactLike | None = None,
    source: str = "log",
    notes: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> int | EvaluationResult:
    """Keep a trace, and return its id; the background worker evaluates it later.

    Query, context and response are those of `evaluate`. When this returns the trace is in the
    store, and stays there whatever becomes of the process: what is not evaluated when it ends is
    swept up by the next one that logs to the same project. With `sync` (None =
    `settings.default_sync`) it is evaluated at once, and the result is returned.

    `external_id` is your own id of the trace: logging it again replaces the trace. `source` says
    where it comes from, `notes` go into the result. `redact` (`off`, `mask`, `module:function` or
    a function from text to text; None = `settings.redact`) is done before anything is kept or sent.

    Raises `DataError` for what is no trace and where a redaction fails, `BudgetExceeded` before
    anything is kept where the evaluation could cost too much (`produced` is the response),
    `StoreError` where the store cannot be used, `ConfigError` for wrong settings. A failing
    evaluation raises nothing here: the trace has its error.
    """
    now = settings or in_force.current()
    origin = Origin(
        project=project, external_id=external_id, source=source, redact=redact, notes=notes
    )
    evaluation = read_evaluation(query, context, response, settings=now, origin=origin)
    if now.default_sync if sync is None else sync:
        return evaluation.run(persist=True)
    return _kept(evaluation)


async def alog(
    query: str | None,
    context: ContextLike,
    response: str,
    *,
    sync: bool | None = None,
    project: str | None = None,
    external_id: str | None = None,
    redact: RedactLike | None = None,
    source: str = "log",
    notes: Mapping[str, str] | None = None,
    settings: Settings | None = None,
) -> int | EvaluationResult:
    """Do what `log` does without holding up the running event loop; the store is used in a thread.

    A task that is cancelled meanwhile waits until the trace is kept.
    """
    now = settings or in_force.current()
    origin = Origin(
        project=project, external_id=external_id, source=source, redact=redact, notes=notes
    )
    evaluation = read_evaluation(query, context, response, settings=now, origin=origin)
    if now.default_sync if sync is None else sync:
        return await evaluation.arun(persist=True)
    return await to_thread.run_sync(partial(_kept, evaluation))


def flush(timeout_s: float | None = None) -> bool:
    """Wait until all that this process logged is evaluated, and go on.

    For the end of a serverless call, and for tests. False where `timeout_s` seconds were too few,
    and where nothing can be evaluated now, as the provider or the store fails.
    """
    return HOST.flush(timeout_s)


def shutdown(wait: bool = True) -> None:
    """End the worker, then close stores and models.

    With `wait` everything that was logged is evaluated before, without it the rest stays pending;
    an evaluation under way is given back. Nothing runs afterwards: a later `log` keeps its trace,
    and warns that this process evaluates it no more. At exit this happens by itself, and takes 10
    seconds at most.
    """
    HOST.close(within_s=None if wait else 0.0)
    portal.shutdown()
    close_stores()


def _kept(evaluation: Evaluation) -> int:
    """Store a trace and queue its evaluation."""
    settings, trace = evaluation.settings, evaluation.trace
    store = store_for(settings)
    try:
        (trace_id,) = store.add([trace])
    except StoreError:
        # Another thread may have closed it, at the end of the program.
        again = store_for(settings)
        if again is store:
            raise
        (trace_id,) = again.add([trace])
    match HOST.submit(Job(trace_id, trace.project, settings)):
        case "closed":
            _WARNINGS.warn("closed", f"trace {trace_id} stays pending: the worker was shut down")
        case "full":
            _WARNINGS.warn("full", f"trace {trace_id} is evaluated later: {_FULL}")
        case "queued":
            pass
    return trace_id


_FULL: Final = "the queue is full; `ALETHEIA_QUEUE_SIZE` is its size"
