"""The synchronous face: coroutines run on one private event loop in one private thread.

So a synchronous call works where a loop is already running (a notebook, a web server, another
kind of loop), from any thread and any number of times, and no loop is ever patched. The thread
starts with the first call and ends with the program, or with `shutdown`.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Generic, TypeVar, TypeVarTuple

from aletheia.errors import UsageError

if TYPE_CHECKING:
    from anyio import CancelScope
    from anyio.from_thread import BlockingPortal

__all__ = ["run_sync", "shutdown"]

T = TypeVar("T")
Ts = TypeVarTuple("Ts")


def run_sync(function: Callable[[*Ts], Awaitable[T]], *args: *Ts) -> T:
    """Run an asynchronous function to its end on the private loop and return what it returns.

    It sees the context variables of the caller, such as overridden settings and open cost scopes.
    What it raises is raised here with its own traceback. Ctrl-C cancels it and waits until it has
    cleaned up. The calling thread is blocked meanwhile, an event loop that runs in it as well.
    Raises `UsageError` where the caller is itself run by the private loop, which would wait for
    itself.
    """
    return _HOST.run(function, args)


def shutdown() -> None:
    """Let the calls under way finish, then end the loop and its thread; the next call starts anew."""
    _HOST.stop(cancel=False)


class _LoopThread(threading.Thread):
    """The thread of a private loop, known by its class."""


@dataclass(frozen=True, slots=True)
class _Fatal:
    """What would have ended the private loop, had it been raised there."""

    error: BaseException


@dataclass(slots=True)
class _Call(Generic[T]):
    """One call on its way. `ended` is set when nothing of it runs any more."""

    ended: threading.Event = field(default_factory=threading.Event)
    scope: CancelScope | None = None

    async def run(
        self, function: Callable[..., Awaitable[T]], args: tuple[object, ...]
    ) -> T | _Fatal:
        from anyio import CancelScope, get_cancelled_exc_class

        try:
            with CancelScope() as self.scope:
                return await function(*args)
        except BaseException as error:
            if isinstance(error, Exception | get_cancelled_exc_class()):
                raise
            return _Fatal(error)
        finally:
            self.ended.set()
        return _Fatal(CancelledError())

    def cancel(self) -> None:
        """Cancel it. Runs in the loop, in order: a call that has not begun never was handed over."""
        if self.scope is None:
            self.ended.set()
        else:
            self.scope.cancel()


@dataclass(frozen=True, slots=True)
class _Running:
    """A loop that runs. `thread` is the one it runs in."""

    portal: BlockingPortal
    thread: threading.Thread

    def stop(self, *, cancel: bool) -> None:
        """End the loop, after the calls under way or by cancelling them."""
        if self.thread.is_alive():
            self.portal.start_task_soon(self.portal.stop, cancel)
            self.thread.join()


class _Host:
    """Starts the loop when it is needed, ends it, and starts another one after a fork."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: _Running | None = None
        self._registered = False
        # After a fork the child holds the loop of its parent. Closing it would take the parent's
        # sockets off a list that both share, so it is kept and never touched.
        self._inherited: list[_Running] = []

    def run(self, function: Callable[[*Ts], Awaitable[T]], args: tuple[*Ts]) -> T:
        _reject_loop_thread("run_sync")
        call: _Call[T] = _Call()
        future: Future[T | _Fatal]
        portal: BlockingPortal | None = None
        try:
            # Under the lock, so that no loop is stopped between being found and being used.
            with self._lock:
                portal = self._current().portal
                future = portal.start_task_soon(call.run, function, args)
            outcome: T | _Fatal = future.result()
        except BaseException as error:
            interrupted = not isinstance(error, Exception) and not call.ended.is_set()
            if interrupted and portal is not None:
                # Ctrl-C reached this thread: what runs for it has to end first, unless the loop
                # is being ended anyway.
                with suppress(RuntimeError):
                    portal.start_task_soon(call.cancel)
                    call.ended.wait()
            raise
        if isinstance(outcome, _Fatal):
            raise outcome.error
        return outcome

    def stop(self, *, cancel: bool) -> None:
        """End the loop, if one runs."""
        _reject_loop_thread("shutdown")
        with self._lock:
            running, self._running = self._running, None
        if running is not None:
            running.stop(cancel=cancel)

    def _current(self) -> _Running:
        if self._running is None or not self._running.thread.is_alive():
            self._register()
            self._running = _started()
        return self._running

    def _register(self) -> None:
        if not self._registered:
            # At exit nobody will read what daemon threads still wait for.
            atexit.register(self.stop, cancel=True)
            os.register_at_fork(after_in_child=self._after_fork)
            self._registered = True

    def _after_fork(self) -> None:
        self._lock = threading.Lock()
        if self._running is not None:
            self._inherited.append(self._running)
        self._running = None


def _started() -> _Running:
    ready: Future[BlockingPortal] = Future()
    # A daemon: the interpreter would wait for another one before it tells that it exits.
    thread = _LoopThread(target=_serve, args=(ready,), name="aletheia-portal", daemon=True)
    thread.start()
    return _Running(ready.result(), thread)


def _serve(ready: Future[BlockingPortal]) -> None:
    """Run a loop until its portal is stopped."""
    import anyio
    from anyio.from_thread import BlockingPortal

    async def serve() -> None:
        async with BlockingPortal() as portal:
            ready.set_result(portal)
            await portal.sleep_until_stopped()

    try:
        anyio.run(serve)
    except BaseException as error:
        if ready.done():
            raise
        ready.set_exception(error)


def _reject_loop_thread(name: str) -> None:
    if isinstance(threading.current_thread(), _LoopThread):
        raise UsageError(
            f"`{name}` was called by what the private event loop runs, and would wait for itself",
            hint="await the asynchronous function there",
        )


_HOST: Final = _Host()
