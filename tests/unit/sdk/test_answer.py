"""Answer one question from evidence: generator, verification and mode joined in one call."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import pytest
from stub_server import Step, StubServer

from aletheia.config import settings
from aletheia.errors import (
    BudgetExceeded,
    ConfigError,
    DataError,
    ModelRefused,
    ModelUnavailable,
    UsageError,
)
from aletheia.llm.tracking import CostScope
from aletheia.sdk.answer import AnswerResult, aanswer, answer
from aletheia.sdk.api import verify
from aletheia.sdk.portal import run_sync, shutdown
from aletheia.testing import SAMPLE_EVIDENCE, ScriptedModel, answer_reply

QUESTION = "When did the harbour of Port Ellery open?"
GOOD = answer_reply("The harbour of Port Ellery opened in 1911.", ["E1"])
WRONG = answer_reply("The harbour of Port Ellery opened in 1912.", ["E1"])


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a directory without a cache or a `.env`, and with no endpoint."""
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ALETHEIA_DB_PATH"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer() as running:
        with settings.override(openai_base_url=running.base_url, max_retries=0):
            yield running
        shutdown()


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


# --- the mode ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "mode", "text", "passed", "category"),
    [
        (GOOD, "strict", "The harbour of Port Ellery opened in 1911.", True, "grounded_answer"),
        (WRONG, "strict", None, False, "rejected"),
        (WRONG, "lenient", "The harbour of Port Ellery opened in 1912.", True, "grounded_answer"),
        (WRONG, "off", "The harbour of Port Ellery opened in 1912.", True, "grounded_answer"),
        (
            answer_reply("INSUFFICIENT_CONTEXT"),
            "strict",
            "INSUFFICIENT_CONTEXT",
            True,
            "insufficient_context",
        ),
        ("no object", "off", None, False, "rejected"),
    ],
)
def test_the_mode_decides_what_is_let_through(
    reply: str, mode: str, text: str | None, passed: bool, category: str
) -> None:
    result = answer(QUESTION, SAMPLE_EVIDENCE, mode=mode, model=ScriptedModel([reply, reply]))

    assert (result.answer, result.passed, bool(result)) == (text, passed, passed)
    assert result.verification.category == category


def test_the_verification_is_that_of_verify() -> None:
    result = answer(QUESTION, SAMPLE_EVIDENCE, model=ScriptedModel([WRONG]))

    assert result.verification == verify(SAMPLE_EVIDENCE, WRONG, QUESTION)
    assert result.verification.answer == "The harbour of Port Ellery opened in 1912."


def test_evidence_is_numbered_as_verify_numbers_it() -> None:
    given = [" ", {"text": "The harbour of Port Ellery opened in 1911.", "source": "Register"}]
    model = ScriptedModel([GOOD])

    result = answer(QUESTION, given, model=model)

    assert "[E1] Register: The harbour" in model.history[0].user
    assert result.passed
    assert result.verification.dropped == (0,)


def test_a_reply_that_cannot_be_read_is_asked_for_again_and_both_are_kept() -> None:
    result = answer(QUESTION, SAMPLE_EVIDENCE, model=ScriptedModel(["nonsense", GOOD]))

    assert [attempt.reply for attempt in result.attempts] == ["nonsense", GOOD]
    assert (result.passed, result.usage.calls, result.model) == (True, 2, "scripted")


# --- what answers -----------------------------------------------------------------------------


def test_without_an_endpoint_the_evidence_answers() -> None:
    result = answer(QUESTION, SAMPLE_EVIDENCE)

    assert result.answer is not None
    assert "1911" in result.answer
    assert (result.generator, result.usage.calls, result.cached) == ("extractive", 0, False)
    assert list(Path().iterdir()) == []


def test_with_an_endpoint_its_model_answers_and_an_id_names_another(server: StubServer) -> None:
    with settings.override(model="first"):
        results = [answer(QUESTION, SAMPLE_EVIDENCE), answer(QUESTION, SAMPLE_EVIDENCE, model="b")]

    assert [result.model for result in results] == ["first", "b"]
    assert [request.body["model"] for request in server.chats] == ["first", "b"]
    assert all(result.passed and result.generator == "llm" for result in results)


def test_no_evidence_makes_no_call(server: StubServer) -> None:
    result = answer(QUESTION, [])

    assert (result.answer, result.cached, server.chats) == ("INSUFFICIENT_CONTEXT", False, [])
    assert result.notes


@pytest.mark.parametrize("cache_enabled", [True, False])
def test_the_second_identical_question_makes_no_call(
    server: StubServer, cache_enabled: bool
) -> None:
    with settings.override(cache_enabled=cache_enabled), CostScope() as scope:
        first, second = (answer(QUESTION, SAMPLE_EVIDENCE) for _ in range(2))

    assert (first.cached, second.cached) == (False, cache_enabled)
    assert second.usage.calls == (0 if cache_enabled else 1)
    assert len(server.chats) == (1 if cache_enabled else 2)
    assert first.verification == second.verification
    assert scope.cost.cached == (1 if cache_enabled else 0)
    assert Path("aletheia.db").exists() is cache_enabled


def test_the_async_twin_gives_the_same(server: StubServer) -> None:
    with settings.override(cache_enabled=False):
        left = answer(QUESTION, SAMPLE_EVIDENCE)
        right = asyncio.run(aanswer(QUESTION, SAMPLE_EVIDENCE))

    assert left.verification == right.verification
    assert (left.answer, left.model) == (right.answer, right.model)


def test_it_becomes_json(server: StubServer) -> None:
    fields = answer(QUESTION, SAMPLE_EVIDENCE).to_dict()

    assert json.loads(json.dumps(fields)) == fields
    assert list(fields) == list(AnswerResult.__dataclass_fields__)
    assert fields["usage"]["prompt_tokens"] == 11


# --- what can be wrong ------------------------------------------------------------------------


def test_a_model_that_is_named_without_an_endpoint_is_an_error_and_makes_no_file() -> None:
    with pytest.raises(ConfigError, match="no model endpoint"):
        answer(QUESTION, SAMPLE_EVIDENCE, model="some-model")
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        ({"question": " "}, DataError, "blank"),
        ({"question": None}, DataError, "null, not text"),
        ({"evidence": None}, DataError, "evidence"),
        ({"mode": "strikt"}, UsageError, "did you mean `strict`"),
        ({"model": 7}, UsageError, "`int`"),
    ],
)
def test_what_cannot_be_used_is_named(
    arguments: dict[str, object], error: type[Exception], said: str
) -> None:
    values = {"question": QUESTION, "evidence": SAMPLE_EVIDENCE, "model": ScriptedModel([GOOD])}
    values |= arguments

    with pytest.raises(error, match=said):
        answer(**values)  # type: ignore[arg-type]


@pytest.mark.parametrize(("status", "error"), [(401, ModelRefused), (500, ModelUnavailable)])
def test_a_failure_of_the_endpoint_is_raised(status: int, error: type[Exception]) -> None:
    with (
        StubServer([Step(status=status)]) as server,
        settings.override(openai_base_url=server.base_url, max_retries=0, cache_enabled=False),
    ):
        with pytest.raises(error):
            answer(QUESTION, SAMPLE_EVIDENCE)
        assert answer(QUESTION, SAMPLE_EVIDENCE).passed
        shutdown()


def test_what_one_question_may_cost_is_bounded(server: StubServer) -> None:
    prices = {"price_input_usd": 1.0, "price_output_usd": 1.0}

    with settings.override(**prices, per_trace_budget_usd=0.0), pytest.raises(BudgetExceeded):
        answer(QUESTION, SAMPLE_EVIDENCE)
    assert server.chats == []
    with settings.override(**prices, per_trace_budget_usd=1.0):
        assert answer(QUESTION, SAMPLE_EVIDENCE).passed


# --- many times -------------------------------------------------------------------------------


def test_calls_keep_their_sockets_and_files(server: StubServer) -> None:
    """Field case 152, with the cache on: other questions, so that each is asked."""
    for number in range(3):
        answer(f"warm {number}?", SAMPLE_EVIDENCE)
    before = (descriptors(), threading.active_count())

    for number in range(60):
        answer(f"Question {number}?", SAMPLE_EVIDENCE)

    assert (descriptors(), threading.active_count()) == before
    assert server.connections == 1
    assert len(server.chats) == 63


def test_many_settings_do_not_pile_up(server: StubServer) -> None:
    """Only a few models are held; what is given up is closed."""

    def ask(number: int) -> None:
        with settings.override(timeout_s=100.0 + number):
            answer(f"Question {number}?", SAMPLE_EVIDENCE)

    for number in range(10):
        ask(number)
    before = descriptors()
    for number in range(10, 40):
        ask(number)

    # The server sees a connection end a moment after it did.
    assert descriptors() <= before + 4


def test_loops_that_end_leave_nothing_open(server: StubServer) -> None:
    def once(number: int) -> None:
        anyio.run(aanswer, f"Question {number}?", SAMPLE_EVIDENCE)

    for number in range(3):
        once(number)
    before = descriptors()
    for number in range(3, 23):
        once(number)

    assert descriptors() <= before + 4


def test_threads_and_a_running_loop_at_once(server: StubServer) -> None:
    """Field case 151."""

    async def notebook() -> list[bool]:
        with ThreadPoolExecutor(4) as pool:
            override = settings.override
            url = server.base_url

            def ask(number: int) -> bool:
                # A plain thread starts without the overrides of its parent.
                with override(openai_base_url=url, max_retries=0):
                    return answer(f"Question {number}?", SAMPLE_EVIDENCE).passed

            threads = list(pool.map(ask, range(8)))
        here = [answer(QUESTION, SAMPLE_EVIDENCE).passed for _ in range(3)]
        return [*threads, *here, (await aanswer(QUESTION, SAMPLE_EVIDENCE)).passed]

    assert asyncio.run(notebook()) == [True] * 12


def test_calling_it_from_what_the_private_loop_runs_is_an_error() -> None:
    async def inside() -> AnswerResult:
        return answer(QUESTION, SAMPLE_EVIDENCE)

    with pytest.raises(UsageError, match="await"):
        run_sync(inside)
