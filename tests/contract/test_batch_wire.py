"""The client of the Batch API over real HTTP: what is sent, and what each answer becomes."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import pytest
from stub_batch import BatchPlan
from stub_server import Fault, Step, StubServer

from aletheia.errors import ConfigError, ModelBadReply, ModelRefused, ModelUnavailable
from aletheia.llm.batch import BatchRequest
from aletheia.llm.batch_status import TOKEN, BatchStatus
from aletheia.llm.openai_batch import BatchClient
from aletheia.llm.openai_client import OpenAIConnection
from aletheia.llm.openai_wire import Shape
from aletheia.llm.retry import RetryPolicy

T = TypeVar("T")

SECRET = "sk-secret-0123456789abcdef"
QUICK = RetryPolicy(max_retries=3, first_wait_s=0.01, max_wait_s=0.02, jitter_s=0.0)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly, whatever the machine is set to."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def request(item: str, text: str = "hi", **more: object) -> BatchRequest:
    messages = [{"role": "user", "content": text}]
    return BatchRequest(custom_id=item, body={"model": "stub", "messages": messages, **more})


def using(server: StubServer, work: Callable[[BatchClient], Awaitable[T]]) -> T:
    """Do `work` with a client in an event loop of its own."""

    async def run() -> T:
        connection = OpenAIConnection(api_key=SECRET, base_url=server.base_url, timeout_s=10.0)
        return await work(BatchClient(connection, QUICK))

    return anyio.run(run)


def submit(server: StubServer, *requests: BatchRequest, token: str = "t") -> BatchStatus:
    return using(server, lambda client: client.submit(requests, token))


def collect(server: StubServer, batch: BatchStatus, *asked: str):
    async def work(client: BatchClient):
        status = await client.status(batch.id)
        return status, await client.results(status, set(asked), shape=Shape())

    return using(server, work)


def test_a_batch_is_uploaded_made_and_fetched() -> None:
    """One file with purpose `batch`, one batch that carries the token, one file back."""
    with StubServer(["one", "two"], api_key=SECRET) as server:
        made = submit(server, request("a"), request("b"), token="tok")
        status, results = collect(server, made, "a", "b")
        upload, creation = server.requests[:2]

        assert (upload.method, upload.path) == ("POST", "/v1/files")
        assert upload.body["purpose"] == "batch"
        assert upload.body["filename"] == "aletheia-tok.jsonl"
        lines = [json.loads(text) for text in upload.body["file"].splitlines()]
        assert [item["custom_id"] for item in lines] == ["a", "b"]
        assert lines[0]["body"]["messages"] == [{"role": "user", "content": "hi"}]
        assert creation.body == {
            "input_file_id": made_from(server),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {TOKEN: "tok"},
        }
    assert (status.state, status.total, status.completed) == ("completed", 2, 2)
    texts = {
        item: body["choices"][0]["message"]["content"] for item, body in results.bodies.items()
    }
    assert texts == {"a": "one", "b": "two"}


def made_from(server: StubServer) -> str:
    return next(iter(server.batch.batches.values())).input_file_id


INVALID = {
    "duplicate id": ([request("a"), request("a")], "duplicate_custom_id"),
    "two models": ([request("a"), request("b", model="other")], "mismatched_model"),
}


@pytest.mark.parametrize("case", INVALID)
def test_an_input_file_that_is_not_valid_fails_as_a_whole_and_says_where(case: str) -> None:
    requests, code = INVALID[case]
    with StubServer() as server:
        made = submit(server, *requests)
        status, results = collect(server, made, "a", "b")

        assert status.state == "failed"
        assert status.errors[0].startswith("line 2: ")
        assert code in status.errors[0]
        assert set(results.unanswered) == {"a", "b"}
        assert server.batch.answered == []


def test_errors_come_in_a_file_of_their_own() -> None:
    with StubServer(["fine", Step(status=400, message="bad")]) as server:
        made = submit(server, request("a"), request("b"))
        status, results = collect(server, made, "a", "b")

    assert status.output_file_id != status.error_file_id
    assert set(results.bodies) == {"a"}
    assert results.failures["b"].status == 400


def test_a_cancelled_batch_gives_back_what_it_had_done() -> None:
    plan = BatchPlan(polls=9, answered=1)
    with StubServer(batches=[plan]) as server:
        made = submit(server, request("a"), request("b"))
        assert using(server, lambda client: client.cancel(made.id)).state == "cancelling"
        status, results = collect(server, made, "a", "b")

    assert status.state == "cancelled"
    assert (set(results.bodies), results.unanswered) == ({"a"}, ("b",))


def test_a_batch_is_found_by_its_token() -> None:
    with StubServer() as server:
        for number in range(150):
            server.batch.files.clear()
            submit_quickly(server, f"t{number}")
        made = [using(server, lambda client, t=token: client.find(t)) for token in ("t0", "t149")]
        absent = using(server, lambda client: client.find("other"))

    assert [batch.id for batch in made] == ["batch_0001", "batch_0150"]
    assert absent is None


def submit_quickly(server: StubServer, token: str) -> None:
    """Make a batch at the server without HTTP."""
    form = {"purpose": "batch", "file": request("a").line().decode()}
    _, stored = server.batch.respond("POST", "/v1/files", {}, form)
    body = {
        "input_file_id": stored["id"],
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "metadata": {TOKEN: token},
    }
    server.batch.respond("POST", "/v1/batches", {}, body)


def test_a_list_whose_cursor_is_ignored_does_not_go_on_for_ever() -> None:
    page = {"object": "list", "data": [{"id": "b", "status": "completed"}], "has_more": True}
    faults = [Fault(path="/v1/batches?", steps=[Step(body=page, times=None)])]
    with StubServer(faults=faults) as server:
        assert using(server, lambda client: client.find("t")) is None
        assert len(server.requests) == 2


@pytest.mark.parametrize("status", [404, 405, 501])
@pytest.mark.parametrize("path", ["/v1/files", "/v1/batches"])
def test_no_batch_api_is_a_setting_that_is_wrong_and_is_not_tried_again(
    status: int, path: str
) -> None:
    faults = [Fault(method="POST", path=path, steps=[Step(status=status, times=None)])]
    with StubServer(faults=faults) as server:
        with pytest.raises(ConfigError, match=f"no Batch API: it answered {status}"):
            submit(server, request("a"))
        assert len([item for item in server.requests if item.path == path]) == 1


def test_a_batch_of_somebody_else_is_refused_with_a_hint() -> None:
    with StubServer() as server, pytest.raises(ModelRefused) as caught:
        using(server, lambda client: client.status("batch_9"))
    assert "another key" in (caught.value.hint or "")


def test_a_file_that_cannot_be_fetched_is_tried_again_and_then_unavailable() -> None:
    """Also where the connection breaks in the middle of the file: half a file is no file."""
    steps = [Step(status=503), Step(hang_up=True), Step(raw="half a file", cut=4)]
    faults = [Fault(path="/v1/files/", steps=steps)]
    with StubServer(["fine"], faults=faults) as server:
        made = submit(server, request("a"))
        _, results = collect(server, made, "a")
        assert set(results.bodies) == {"a"}

    faults = [Fault(path="/v1/files/", steps=[Step(status=503, times=None)])]
    with StubServer(faults=faults) as server:
        made = submit(server, request("a"))
        with pytest.raises(ModelUnavailable, match="4 tries"):
            collect(server, made, "a")


def test_a_file_that_has_expired_is_refused_with_a_hint() -> None:
    with StubServer(["fine"]) as server:
        made = submit(server, request("a"))
        using(server, lambda client: client.status(made.id))
        server.batch.files.clear()
        with pytest.raises(ModelRefused) as caught:
            collect(server, made, "a")
    assert "no longer has the file" in (caught.value.hint or "")


def test_an_upload_without_an_id_is_a_bad_reply() -> None:
    faults = [Fault(method="POST", path="/v1/files", steps=[Step(body={"object": "file"})])]
    with StubServer(faults=faults) as server, pytest.raises(ModelBadReply, match="no id"):
        submit(server, request("a"))


def test_no_message_holds_the_key() -> None:
    with (
        StubServer(api_key="another") as server,
        pytest.raises(ModelRefused) as caught,
    ):
        submit(server, request("a"))
    assert SECRET not in str(caught.value)
    assert "OPENAI_API_KEY" in (caught.value.hint or "")
