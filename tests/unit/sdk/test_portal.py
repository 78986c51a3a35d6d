"""The synchronous face: any loop, any thread, any number of calls, nothing left open."""

from __future__ import annotations

import asyncio
import importlib.util
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest
from stub_server import StubServer

from aletheia.config import settings
from aletheia.errors import ModelRefused, UsageError
from aletheia.llm.base import requests_only
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.record import RecordingModel
from aletheia.llm.tracking import CostScope
from aletheia.schema.model import Prompt, Reply
from aletheia.sdk.portal import run_sync, shutdown

PROMPT = Prompt(system="", user="hi")


def echo(request: object) -> str:
    return str(request.body["messages"][-1]["content"])  # type: ignore[attr-defined]


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(answer=echo) as running:
        yield running
        # Closes the client's side first, so that the server has nothing to wait for.
        shutdown()


@pytest.fixture
def model(server: StubServer) -> OpenAIChatModel:
    return OpenAIChatModel("stub", base_url=server.base_url)


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def portals() -> list[threading.Thread]:
    return [item for item in threading.enumerate() if item.name == "aletheia-portal"]


async def add(left: int, right: int) -> int:
    await anyio.lowlevel.checkpoint()
    return left + right


def test_it_returns_what_the_function_returns() -> None:
    assert run_sync(add, 1, 2) == 3


def test_importing_it_starts_nothing() -> None:
    code = "import threading, sys, aletheia.sdk.portal\nassert threading.active_count() == 1\nassert 'asyncio' not in sys.modules and 'anyio' not in sys.modules"

    subprocess.run([sys.executable, "-c", code], check=True)


# --- loops and threads (field case 151) -------------------------------------------------------


def three_calls(model: OpenAIChatModel) -> list[str]:
    return [run_sync(model.complete, replace(PROMPT, user=f"q{n}")).text for n in range(3)]


def test_it_works_three_times_inside_a_running_loop(model: OpenAIChatModel) -> None:
    async def notebook() -> list[str]:
        # The loop that runs here was used with the same model, as a cell before may have done.
        first = await model.complete(PROMPT)
        return [first.text, *three_calls(model)]

    assert asyncio.run(notebook()) == ["hi", "q0", "q1", "q2"]
    assert anyio.run(notebook) == ["hi", "q0", "q1", "q2"]


@pytest.mark.skipif(importlib.util.find_spec("uvloop") is None, reason="uvloop is not installed")
def test_it_works_inside_uvloop(model: OpenAIChatModel) -> None:
    import uvloop

    async def handler() -> list[str]:
        return three_calls(model)

    assert uvloop.run(handler()) == ["q0", "q1", "q2"]


def test_it_works_from_eight_threads_at_once(model: OpenAIChatModel) -> None:
    def ask(thread: int) -> list[str]:
        prompts = [replace(PROMPT, user=f"{thread}.{number}") for number in range(10)]
        return [run_sync(model.complete, prompt).text for prompt in prompts]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))

    assert answers == [[f"{thread}.{number}" for number in range(10)] for thread in range(8)]
    assert len(portals()) == 1


def test_calls_of_several_threads_run_at_once() -> None:
    """Each waits for the other one to have begun."""
    begun = [threading.Event(), threading.Event()]

    async def meet(mine: int) -> int:
        begun[mine].set()
        await anyio.to_thread.run_sync(begun[1 - mine].wait)
        return mine

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(lambda mine: run_sync(meet, mine), range(2))) == [0, 1]


def test_a_loop_in_another_thread_goes_on_meanwhile(model: OpenAIChatModel) -> None:
    async def both() -> tuple[str, str]:
        in_thread = asyncio.to_thread(lambda: run_sync(model.complete, PROMPT).text)
        own, other = await asyncio.gather(model.complete(PROMPT), in_thread)
        return own.text, other

    assert asyncio.run(both()) == ("hi", "hi")


# --- a thousand times (field case 152) --------------------------------------------------------


def test_a_thousand_calls_leave_nothing_open(server: StubServer, model: OpenAIChatModel) -> None:
    for _ in range(5):
        run_sync(model.complete, PROMPT)
    before = (descriptors(), threading.active_count())

    for _ in range(1000):
        run_sync(model.complete, PROMPT)

    assert (descriptors(), threading.active_count()) == before
    assert server.connections == 1
    assert len(server.chats) == 1005


def test_starting_and_stopping_leaves_nothing_open(server: StubServer) -> None:
    def once() -> None:
        model = OpenAIChatModel("stub", base_url=server.base_url)
        assert run_sync(model.complete, PROMPT).text == "hi"
        shutdown()

    others = threading.active_count()
    once()
    # What the server still holds of the first connection counts as well.
    wait_until(lambda: threading.active_count() <= others)
    before = descriptors()
    for _ in range(30):
        once()
    wait_until(lambda: descriptors() <= before)

    assert portals() == []


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(2000):
        if holds():
            return
        threading.Event().wait(0.005)
    raise AssertionError("it never came to hold")


# --- context ----------------------------------------------------------------------------------

SEEN: ContextVar[str] = ContextVar("seen", default="nothing")


def test_overridden_settings_hold_inside() -> None:
    async def model_name() -> str:
        await anyio.lowlevel.checkpoint()
        return settings.model

    with settings.override(model="mine"):
        assert run_sync(model_name) == "mine"
    assert run_sync(model_name) != "mine"


def test_what_is_set_inside_stays_inside() -> None:
    async def change() -> None:
        SEEN.set("changed")

    run_sync(change)

    async def read() -> str:
        return SEEN.get()

    assert SEEN.get() == run_sync(read) == "nothing"


def test_a_cost_scope_counts_the_calls_inside_and_only_its_own(model: OpenAIChatModel) -> None:
    counted = RecordingModel(model)

    def ask(times: int) -> int:
        with CostScope() as scope:
            for _ in range(times):
                run_sync(counted.complete, PROMPT)
            return scope.calls

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(ask, [1, 2, 3, 4])) == [1, 2, 3, 4]


# --- errors -----------------------------------------------------------------------------------


async def refuse() -> Reply:
    await anyio.lowlevel.checkpoint()
    raise ModelRefused("no", status=403, usage=requests_only(1))


def test_an_error_comes_with_its_own_traceback() -> None:
    with pytest.raises(ModelRefused) as caught:
        run_sync(refuse)

    assert caught.value.status == 403
    assert "refuse" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert caught.value.__cause__ is None


class Stop(BaseException):
    pass


@pytest.mark.parametrize(
    "error", [KeyboardInterrupt(), SystemExit(3), Stop(), BaseExceptionGroup("g", [Stop()])]
)
def test_what_would_end_a_loop_reaches_the_caller_and_the_loop_goes_on(
    error: BaseException,
) -> None:
    run_sync(add, 1, 1)
    (thread,) = portals()

    async def fail() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        run_sync(fail)

    assert caught.value is error
    assert run_sync(add, 1, 2) == 3
    assert portals() == [thread]


@pytest.mark.parametrize("call", [lambda: run_sync(add, 1, 2), shutdown], ids=["run_sync", "stop"])
def test_a_call_from_within_itself_is_an_error_and_not_a_dead_lock(
    call: Callable[[], object],
) -> None:
    async def inside() -> None:
        call()

    with pytest.raises(UsageError, match="wait for itself"):
        run_sync(inside)
    assert run_sync(add, 1, 2) == 3


def test_many_calls_from_within_at_once_are_errors_too() -> None:
    """While other threads hand their work over."""

    async def inside() -> str:
        await anyio.lowlevel.checkpoint()
        try:
            run_sync(add, 1, 2)
        except UsageError:
            return "error"
        return "ran"

    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: run_sync(inside), range(200))) == {"error"}


def test_a_worker_thread_of_the_loop_may_call_it() -> None:
    async def inside() -> int:
        return await anyio.to_thread.run_sync(lambda: run_sync(add, 1, 2))

    assert run_sync(inside) == 3


@pytest.mark.parametrize("delay", [0.0, 0.05])
def test_ctrl_c_cancels_what_runs_and_waits_for_its_end(delay: float) -> None:
    """At the moment at which the call is handed over, too."""
    ended: list[str] = []
    main = threading.main_thread().ident
    assert main is not None

    async def work() -> None:
        try:
            await anyio.sleep(delay)
            signal.pthread_kill(main, signal.SIGINT)
            await anyio.sleep_forever()
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(0.01)
                ended.append("cleaned up")

    with pytest.raises(KeyboardInterrupt):
        run_sync(work)

    assert ended == ["cleaned up"]
    assert run_sync(add, 1, 2) == 3


# --- its life ---------------------------------------------------------------------------------


def test_it_starts_again_after_a_shutdown() -> None:
    assert run_sync(add, 1, 2) == 3
    shutdown()
    shutdown()
    assert portals() == []
    assert run_sync(add, 1, 2) == 3


def test_a_shutdown_lets_calls_under_way_finish() -> None:
    begun, release = threading.Event(), threading.Event()

    async def slow() -> str:
        begun.set()
        await anyio.to_thread.run_sync(release.wait)
        return "finished"

    with ThreadPoolExecutor(2) as pool:
        call = pool.submit(run_sync, slow)
        begun.wait()
        stopping = pool.submit(shutdown)
        release.set()
        stopping.result()
        assert call.result() == "finished"


AT_EXIT = """
import sys, threading, time
import anyio
from aletheia.sdk.portal import run_sync

async def hang():
    try:
        await anyio.sleep_forever()
    finally:
        print("cancelled", flush=True)

async def add(a, b):
    return a + b

def in_background():
    try:
        run_sync(hang)
    except BaseException:
        pass

print(run_sync(add, 1, 2), flush=True)
if sys.argv[1] == "busy":
    threading.Thread(target=in_background, daemon=True).start()
    time.sleep(0.2)
"""


@pytest.mark.parametrize(("how", "printed"), [("idle", "3\n"), ("busy", "3\ncancelled\n")])
def test_the_program_ends_with_it_running(how: str, printed: str) -> None:
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", "-c", AT_EXIT, how],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, printed, "")


AFTER_FORK = """
import os, sys
sys.path.insert(0, sys.argv[1])
from stub_server import StubServer
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.schema.model import Prompt
from aletheia.sdk.portal import run_sync

prompt = Prompt(system="", user="hi")
url = sys.argv[2]
model = OpenAIChatModel("stub", base_url=url)
assert run_sync(model.complete, prompt).text == "hi"
sys.stdout.flush()
child = os.fork()
if child == 0:
    for _ in range(3):
        assert run_sync(model.complete, prompt).text == "hi"
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
for _ in range(3):
    assert run_sync(model.complete, prompt).text == "hi"
print("both went on")
"""


def test_a_forked_child_gets_a_loop_of_its_own_and_the_parent_keeps_its() -> None:
    tests = str(Path(__file__).parents[2])
    with StubServer(answer=echo) as server:
        done = subprocess.run(
            [sys.executable, "-c", AFTER_FORK, tests, server.base_url],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert (done.returncode, done.stdout) == (0, "both went on\n"), done.stderr
