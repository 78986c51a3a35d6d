"""The stub server's batches, seen with `openai` itself: what holds there holds for our client."""

from __future__ import annotations

import json

import openai
import pytest
from stub_batch import BatchPlan, checked, read_form
from stub_server import Step, StubServer


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loopback is reached directly, whatever the machine is set to."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def line(item: str = "a", **changed: object) -> bytes:
    body = {"model": "stub", "messages": [{"role": "user", "content": "hi"}]}
    fields = {"custom_id": item, "method": "POST", "url": "/v1/chat/completions", "body": body}
    return json.dumps({**fields, **changed}).encode() + b"\n"


def client(server: StubServer) -> openai.OpenAI:
    return openai.OpenAI(api_key="k", base_url=server.base_url, max_retries=0)


def test_files_and_batches_as_the_library_uses_them() -> None:
    with (
        StubServer(["one", Step(status=500)], batches=[BatchPlan(polls=2)]) as server,
        client(server) as api,
    ):
        content = line("a") + line("b")
        uploaded = api.files.create(file=("in.jsonl", content), purpose="batch")
        assert (uploaded.bytes, uploaded.filename) == (len(content), "in.jsonl")
        assert api.files.content(uploaded.id).content == content
        batch = api.batches.create(
            input_file_id=uploaded.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={"k": "v"},
        )
        assert (batch.status, batch.metadata) == ("validating", {"k": "v"})
        assert api.batches.retrieve(batch.id).status == "in_progress"
        done = api.batches.retrieve(batch.id)
        counts = done.request_counts
        assert (done.status, counts.total, counts.completed, counts.failed) == (
            ("completed", 2, 1, 1)
        )
        output = json.loads(api.files.content(done.output_file_id).content)
        errors = json.loads(api.files.content(done.error_file_id).content)
        assert (output["custom_id"], output["response"]["status_code"]) == ("a", 200)
        assert (errors["custom_id"], errors["response"]["status_code"]) == ("b", 500)
        assert api.files.delete(uploaded.id).deleted
        with pytest.raises(openai.NotFoundError):
            api.files.retrieve(uploaded.id)


def test_the_list_is_paged_from_the_newest() -> None:
    with StubServer() as server, client(server) as api:
        uploaded = api.files.create(file=("in.jsonl", line()), purpose="batch")
        for _ in range(5):
            api.batches.create(
                input_file_id=uploaded.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
            )
        first = api.batches.list(limit=2)

        assert [batch.id for batch in first.data] == ["batch_0005", "batch_0004"]
        assert [batch.id for batch in first] == [f"batch_000{n}" for n in (5, 4, 3, 2, 1)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"input_file_id": "file-none"},
        {"endpoint": "/v1/embeddings"},
        {"completion_window": "1h"},
    ],
)
def test_a_batch_that_is_asked_for_wrongly_is_refused(wrong: dict[str, str]) -> None:
    with StubServer() as server, client(server) as api:
        uploaded = api.files.create(file=("in.jsonl", line()), purpose="batch")
        right = {
            "input_file_id": uploaded.id,
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
        }
        with pytest.raises(openai.BadRequestError):
            api.batches.create(**{**right, **wrong})  # type: ignore[arg-type]


def test_an_upload_for_another_purpose_is_refused() -> None:
    with StubServer() as server, client(server) as api, pytest.raises(openai.BadRequestError):
        api.files.create(file=("in.jsonl", line()), purpose="vision")


WRONG_LINES = {
    "invalid_json_line": b"{\n",
    "missing_required_parameter": b'{"custom_id": "b"}\n',
    "duplicate_custom_id": line("a"),
    "invalid_custom_id": line("x" * 65),
    "invalid_method": line("b", method="GET"),
    "invalid_url": line("b", url="/v1/embeddings"),
    "mismatched_model": line("b", body={"model": "other", "messages": []}),
}


@pytest.mark.parametrize("code", WRONG_LINES)
def test_each_rule_for_a_line_has_its_code(code: str) -> None:
    lines, errors = checked(line("a") + WRONG_LINES[code])

    assert [item["custom_id"] for item in lines] == ["a"]
    assert [(error["code"], error["line"]) for error in errors] == [(code, 2)]


def test_a_form_is_read_whole_with_line_breaks_and_dashes_in_the_file() -> None:
    body = (
        b'--xyz\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
        b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n'
        b"Content-Type: application/jsonl\r\n\r\none--\ntwo\n\r\n--xyz--\r\n"
    )

    assert read_form("multipart/form-data; boundary=xyz", body) == {
        "purpose": "batch",
        "file": "one--\ntwo\n",
        "filename": "a.jsonl",
    }


def test_a_server_without_batches_does_not_know_the_paths() -> None:
    with (
        StubServer(batch_api=False) as server,
        client(server) as api,
        pytest.raises(openai.NotFoundError),
    ):
        api.batches.list()
