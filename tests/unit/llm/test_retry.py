"""The retry loop on a clock that only the test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest

from aletheia.errors import AletheiaError, ModelBadReply, ModelRefused, ModelUnavailable
from aletheia.llm.retry import Retrier, RetryingModel, RetryPolicy
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.model import Prompt, Usage

PROMPT = Prompt(system="", user="?")


@dataclass
class Clock:
    now: float = 0.0
    waits: list[float] = field(default_factory=list)

    def read(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def busy(retry_after_s: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("busy", status=429, retry_after_s=retry_after_s)


def run(lines: Sequence[Line], policy: RetryPolicy) -> tuple[Clock, ScriptedModel, object]:
    clock = Clock()
    script = ScriptedModel(lines)
    retrier = Retrier(policy, sleep=clock.sleep, clock=clock.read)
    model = RetryingModel(script, retrier=retrier)
    try:
        return clock, script, asyncio.run(model.complete(PROMPT))
    except AletheiaError as error:
        return clock, script, error


def policy(**values: float) -> RetryPolicy:
    return RetryPolicy(**{"jitter_s": 0.0, "max_retries": 4, **values})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lines", "values", "waits", "ends"),
    [
        (["ok"], {}, [], "ok"),
        ([busy(), busy(), "ok"], {}, [0.5, 1.0], "ok"),
        ([busy()] * 4 + ["ok"], {"max_wait_s": 1.5}, [0.5, 1.0, 1.5, 1.5], "ok"),
        ([busy(2.0), busy(0.1), "ok"], {}, [2.0, 1.0], "ok"),
        ([busy()] * 5, {}, [0.5, 1.0, 2.0, 4.0], "busy (5 tries)"),
        ([busy()], {"max_retries": 0}, [], "busy (1 try)"),
        ([busy(121.0)], {}, [], "busy (1 try; it asks to wait 121 s, more than 120 s)"),
        ([busy(120.0), "ok"], {}, [120.0], "ok"),
        ([busy(9.0)], {"total_s": 8.0}, [], "busy (1 try; no time left of 8 s)"),
        (
            [busy(), busy(), busy()],
            {"total_s": 2.0},
            [0.5, 1.0],
            "busy (3 tries; no time left of 2 s)",
        ),
    ],
)
def test_waits_and_ends(
    lines: list[Line], values: dict[str, float], waits: list[float], ends: str
) -> None:
    clock, script, outcome = run(lines, policy(**values))
    assert clock.waits == waits
    assert len(script.history) == len(waits) + 1
    assert getattr(outcome, "text", getattr(outcome, "message", None)) == ends


@pytest.mark.parametrize("error", [ModelRefused("no", status=401), ModelBadReply("empty", text="")])
def test_other_errors_pass_through_after_one_try(error: AletheiaError) -> None:
    clock, script, outcome = run([error], policy())
    assert outcome is error
    assert (clock.waits, len(script.history)) == ([], 1)


def test_jitter_is_added_and_bounded_and_never_shortens_what_was_asked_for() -> None:
    for _ in range(20):
        clock, _, _ = run([busy(3.0), "ok"], policy(jitter_s=0.5))
        assert 3.0 <= clock.waits[0] <= 3.5


def test_the_cost_of_failed_tries_is_added_up() -> None:
    costly = ModelUnavailable("x", usage=Usage(prompt_tokens=3, completion_tokens=1, calls=2))
    _, _, outcome = run([costly, busy(), "ok"], policy())
    assert getattr(outcome, "usage", None) == Usage(prompt_tokens=3, completion_tokens=1, calls=4)
    _, _, outcome = run([costly, busy()], policy(max_retries=1))
    assert getattr(outcome, "usage", None) == Usage(prompt_tokens=3, completion_tokens=1, calls=3)


def test_counts_add_up_over_calls() -> None:
    clock = Clock()
    retrier = Retrier(policy(max_retries=1), sleep=clock.sleep, clock=clock.read)
    model = RetryingModel(ScriptedModel(["ok", busy(), "ok", busy(), busy()]), retrier=retrier)

    async def three() -> None:
        await model.complete(PROMPT)
        await model.complete(PROMPT)
        with pytest.raises(ModelUnavailable):
            await model.complete(PROMPT)

    asyncio.run(three())
    stats = model.stats
    assert (stats.calls, stats.retries, stats.attempts, stats.gave_up) == (3, 2, 5, 1)
    assert model.name == "scripted"
