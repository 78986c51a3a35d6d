"""A loopback server that speaks enough of the OpenAI protocol to test a client over real HTTP.

In a test::

    with StubServer([Step(text="one"), Step(status=429, headers={"Retry-After": "0"})]) as server:
        model = OpenAIChatModel("stub", base_url=server.base_url)

As a process (the port is the first line on stdout; it ends with SIGTERM or Ctrl-C)::

    python -m stub_server --port 0 --script script.json

`script.json` holds the arguments of `StubServer` by name: `{"refuses": ["json_schema"], "rules":
[{"contains": "Who", "steps": [{"status": 500}]}], "steps": [{"text": "hi"}], "answer":
"from_evidence"}`. `GET /requests` returns what was asked so far.

A chat request is answered by the first rule whose text it contains and that has steps left, else
by the next of `steps`, else by `answer`. So is each line of a batch; `batches` says what becomes
of each batch (`stub_batch.BatchPlan`), and `batch_api=False` makes a server without them. A `Fault`
breaks requests to any path.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import re
import signal
import socket
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

from stub_batch import BatchPlan, BatchStore, read_form

Refusal = str
"""`json_schema`, `json_object`, `temperature`, `max_tokens`, `max_completion_tokens`, `system`."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One answer.

    `text` is the reply's content (None = null). `body` replaces the whole JSON, `raw` the bytes.
    `delay` waits before the answer, `drip` seconds between its bytes; `hang_up` closes the
    connection without an answer, `cut` after so many bytes of its body. `times` is how often the
    step is used, None for ever.
    """

    text: str | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    finish_reason: str | None = "stop"
    refusal: str | None = None
    message: str | None = None
    body: Any = None
    raw: str | None = None
    usage: Mapping[str, Any] | None = field(
        default_factory=lambda: {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}
    )
    delay: float = 0.0
    drip: float = 0.0
    hang_up: bool = False
    cut: int | None = None
    times: int | None = 1


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Steps for those chat requests whose messages contain a text."""

    contains: str
    steps: Sequence[Step]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """Steps instead of the answers to those requests whose path begins with `path` and a method.

    With `carried_out` the request is done all the same, and only its answer is lost.
    """

    path: str
    steps: Sequence[Step]
    method: str = "GET"
    carried_out: bool = False


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One request as it arrived, header names in lower case. `at` is monotonic seconds."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: Any
    at: float

    @property
    def prompt(self) -> str:
        """All message texts of a chat request."""
        messages = self.body.get("messages", []) if isinstance(self.body, dict) else []
        return "\n".join(str(message.get("content")) for message in messages)


Answer = Callable[[Recorded], "Step | str | dict[str, Any]"]


class StubServer:
    """Runs on a free port of 127.0.0.1 while its `with` block does."""

    def __init__(
        self,
        steps: Sequence[Step | str] = (),
        *,
        rules: Sequence[Rule] = (),
        answer: Answer | None = None,
        refuses: Sequence[Refusal] = (),
        api_key: str | None = None,
        models: Sequence[str] | None = ("stub",),
        dimension: int = 8,
        embeddings: Sequence[Any] = (),
        batches: Sequence[BatchPlan] = (),
        batch_api: bool = True,
        faults: Sequence[Fault] = (),
        on_request: Callable[[Recorded], None] | None = None,
        port: int = 0,
    ) -> None:
        self.requests: list[Recorded] = []
        self.refuses = set(refuses)
        self.api_key = api_key
        self.models = models
        self.dimension = dimension
        self.connections = 0
        self.embeddings = deque(embeddings)
        self._answer = answer or from_evidence
        self._queue = deque(_counted(steps))
        self._rules = [(rule.contains, deque(_counted(rule.steps))) for rule in rules]
        self._faults = [(fault, deque(_counted(fault.steps))) for fault in faults]
        self.batch = BatchStore(self._answer_line, batches) if batch_api else None
        self.on_request = on_request
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.stub = self
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )

    @property
    def port(self) -> int:
        """Port it listens on."""
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        """What `OPENAI_BASE_URL` is set to."""
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def chats(self) -> list[Recorded]:
        """Chat requests only."""
        return self.to("/chat/completions")

    def to(self, path: str) -> list[Recorded]:
        """Requests to one path below `/v1`."""
        with self._lock:
            return [item for item in self.requests if item.path == f"/v1{path}"]

    def record(self, item: Recorded) -> None:
        """Write a request down."""
        with self._lock:
            self.requests.append(item)

    def next_step(self, request: Recorded) -> Step:
        """Choose the answer to a chat request."""
        with self._lock:
            for contains, queue in self._rules:
                if contains in request.prompt and queue:
                    return _take(queue)
            if self._queue:
                return _take(self._queue)
        return _as_step(self._answer(request))

    def next_fault(self, request: Recorded) -> tuple[Step, bool] | None:
        """Choose what goes wrong with a request, and whether it is carried out all the same."""
        with self._lock:
            for fault, queue in self._faults:
                if request.method == fault.method and request.path.startswith(fault.path) and queue:
                    return _take(queue), fault.carried_out
        return None

    def _answer_line(self, body: Any) -> tuple[int, Any]:
        """Answer one line of a batch as a chat request with that body."""
        refused = _refused(body, self.refuses)
        if refused is not None:
            return 400, _error_body(refused[1], code="unsupported_parameter", param=refused[0])
        path = "/v1/chat/completions"
        request = Recorded(method="POST", path=path, headers={}, body=body, at=time.monotonic())
        step = self.next_step(request)
        if step.raw is not None:
            return step.status, step.raw
        if step.body is not None:
            return step.status, step.body
        if step.status >= 400:
            return step.status, _error_body(step.message or f"status {step.status}")
        return 200, _completion(step, body)

    def start(self) -> Self:
        """Begin to listen."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End: waiting answers are cut short, all connections closed, all threads joined."""
        self.closing.set()
        self._server.shutdown()
        self._server.hang_up_all()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()


def answer_json(answer: str, ids: Sequence[str] = (), reasoning: str = "As cited.") -> str:
    """Return a reply in the form that the generator asks for."""
    return json.dumps({"answer": answer, "evidence_ids": list(ids), "reasoning": reasoning})


def from_evidence(request: Recorded) -> Step | str:
    """Answer with the first evidence unit of the prompt; another schema is filled minimally."""
    schema = _schema_of(request.body)
    if schema is not None and "evidence_ids" not in schema.get("properties", {}):
        return json.dumps(instance_of(schema))
    unit = re.search(r"^\s*\[(E\d+)\]\s*(.+)$", request.prompt, re.MULTILINE)
    if unit is None:
        return answer_json("INSUFFICIENT_CONTEXT", reasoning="Nothing to cite.")
    return answer_json(unit.group(2).strip(), [unit.group(1)])


def instance_of(schema: Mapping[str, Any]) -> Any:
    """Return the smallest value that a JSON schema allows, as far as it is a plain one."""
    return _instance(schema, schema)


def _instance(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    if "$ref" in schema:
        return _instance(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _instance(schema[several][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    kind = schema.get("type", "object")
    if kind == "object":
        fields = schema.get("properties", {})
        return {name: _instance(item, root) for name, item in fields.items()}
    return {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": []}.get(kind)


def _schema_of(body: Any) -> Mapping[str, Any] | None:
    form = body.get("response_format") if isinstance(body, dict) else None
    return form["json_schema"]["schema"] if form and form.get("type") == "json_schema" else None


@dataclass
class _Counted:
    step: Step
    left: int | None


def _counted(steps: Sequence[Step | str]) -> list[_Counted]:
    made = [_as_step(step) for step in steps]
    return [_Counted(step, step.times) for step in made]


def _take(queue: deque[_Counted]) -> Step:
    first = queue[0]
    if first.left is not None:
        first.left -= 1
        if first.left <= 0:
            queue.popleft()
    return first.step


def _as_step(given: Step | str | Mapping[str, Any]) -> Step:
    if isinstance(given, Step):
        return given
    return Step(text=given) if isinstance(given, str) else Step(text=json.dumps(given))


class _Server(ThreadingHTTPServer):
    # Joined in server_close, so that no thread outlives a test.
    daemon_threads = False
    block_on_close = True
    request_queue_size = 128
    stub: StubServer

    def __init__(self, *args: Any) -> None:
        self._open: set[socket.socket] = set()
        self._open_lock = threading.Lock()
        super().__init__(*args)

    def get_request(self) -> tuple[socket.socket, Any]:
        connection, address = super().get_request()
        with self._open_lock:
            self._open.add(connection)
            self.stub.connections += 1
        return connection, address

    def shutdown_request(self, request: Any) -> None:
        with self._open_lock:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up_all(self) -> None:
        with self._open_lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is what some tests are about."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""

    def do_GET(self) -> None:
        if self.path == "/requests":
            listed = [vars(item) for item in list(self.server.stub.requests)]
            self._json(200, [{**item, "headers": dict(item["headers"])} for item in listed])
            return
        request = self._record(None)
        stub = self.server.stub
        if self._denied() or self._broken(request):
            return
        if self._is_batch():
            self._batch(None)
        elif self.path == "/v1/models" and stub.models is not None:
            data = [{"id": name, "object": "model"} for name in stub.models]
            self._json(200, {"object": "list", "data": data})
        else:
            self._error(404, "no such path")

    def do_POST(self) -> None:
        body = self._read_body()
        request = self._record(body)
        if self._denied() or self._broken(request):
            return
        if self._is_batch():
            self._batch(body)
        elif self.path == "/v1/embeddings":
            self._embeddings(body)
        elif self.path == "/v1/chat/completions":
            self._chat(request)
        else:
            self._error(404, "no such path")

    def do_DELETE(self) -> None:
        request = self._record(None)
        if self._denied() or self._broken(request):
            return
        if self._is_batch():
            self._batch(None)
        else:
            self._error(404, "no such path")

    def _read_body(self) -> Any:
        raw = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        content_type = self.headers.get("Content-Type", "")
        if content_type.startswith("multipart/form-data"):
            return read_form(content_type, raw)
        return json.loads(raw or b"null")

    def _is_batch(self) -> bool:
        has = self.server.stub.batch is not None
        return has and re.match(r"/v1/(files|batches)\b", self.path) is not None

    def _batch(self, body: Any) -> None:
        status, made = self._batch_answer(body)
        if isinstance(made, bytes):
            self._bytes(status, made, Step(headers={"Content-Type": "application/octet-stream"}))
        else:
            self._json(status, made)

    def _batch_answer(self, body: Any) -> tuple[int, Any]:
        store = self.server.stub.batch
        assert store is not None
        parts = urlsplit(self.path)
        return store.respond(self.command, parts.path, dict(parse_qsl(parts.query)), body)

    def _broken(self, request: Recorded) -> bool:
        """Whether a fault took the answer's place."""
        fault = self.server.stub.next_fault(request)
        if fault is None:
            return False
        step, carried_out = fault
        if carried_out and self._is_batch():
            self._batch_answer(request.body)
        self._after(step, request.body)
        return True

    def _record(self, body: Any) -> Recorded:
        item = Recorded(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=body,
            at=time.monotonic(),
        )
        self.server.stub.record(item)
        if self.server.stub.on_request is not None:
            self.server.stub.on_request(item)
        return item

    def _denied(self) -> bool:
        key = self.server.stub.api_key
        given = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if key is None or given == key:
            return False
        # Some servers echo the whole key.
        self._error(401, f"Incorrect API key provided: {given}", code="invalid_api_key")
        return True

    def _chat(self, request: Recorded) -> None:
        stub = self.server.stub
        refused = _refused(request.body, stub.refuses)
        if refused is not None:
            self._error(400, refused[1], code="unsupported_parameter", param=refused[0])
            return
        self._after(stub.next_step(request), request.body)

    def _after(self, step: Step, asked: Any) -> None:
        """Do what a step says: wait, hang up, or answer."""
        if step.delay:
            self.server.stub.closing.wait(step.delay)
        if step.hang_up:
            self._hang_up()
            return
        self._send(step, asked)

    def _hang_up(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _send(self, step: Step, asked: Any) -> None:
        if step.raw is not None:
            self._bytes(step.status, step.raw.encode(), step)
        elif step.body is not None:
            self._bytes(step.status, json.dumps(step.body).encode(), step)
        elif step.status >= 400:
            self._error(step.status, step.message or f"status {step.status}", step=step)
        else:
            self._bytes(200, json.dumps(_completion(step, asked)).encode(), step)

    def _embeddings(self, body: Any) -> None:
        if self.server.stub.embeddings:
            self._json(200, self.server.stub.embeddings.popleft())
            return
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        data = [
            {"object": "embedding", "index": index, "embedding": self._vector(text)}
            for index, text in enumerate(texts)
        ]
        usage = {"prompt_tokens": len(texts), "total_tokens": len(texts)}
        self._json(200, {"object": "list", "data": data, "model": body["model"], "usage": usage})

    def _vector(self, text: str) -> list[float]:
        digest = hashlib.sha512(text.encode()).digest()
        return [byte / 16 - 8.1 for byte in digest[: self.server.stub.dimension]]

    def _error(
        self,
        status: int,
        message: str,
        *,
        code: str | None = None,
        param: str | None = None,
        step: Step | None = None,
    ) -> None:
        body = _error_body(message, code=code, param=param)
        self._bytes(status, json.dumps(body).encode(), step or Step())

    def _json(self, status: int, body: Any) -> None:
        self._bytes(status, json.dumps(body).encode(), Step())

    def _bytes(self, status: int, body: bytes, step: Step) -> None:
        self.send_response(status)
        headers = {"Content-Type": "application/json", **step.headers}
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if step.cut is not None:
            self.wfile.write(body[: step.cut])
            self._hang_up()
            return
        if not step.drip:
            self.wfile.write(body)
            return
        for byte in body:
            if self.server.stub.closing.wait(step.drip):
                return
            self.wfile.write(bytes([byte]))


def _error_body(
    message: str, *, code: str | None = None, param: str | None = None
) -> dict[str, Any]:
    error = {"message": message, "type": "stub_error", "code": code, "param": param}
    return {"error": error}


def _completion(step: Step, asked: Any) -> dict[str, Any]:
    message = {"role": "assistant", "content": step.text, "refusal": step.refusal}
    choice = {"index": 0, "message": message, "finish_reason": step.finish_reason}
    made: dict[str, Any] = {
        "id": "stub-1",
        "object": "chat.completion",
        "created": 0,
        "model": asked.get("model", "stub"),
        "choices": [choice],
    }
    return made if step.usage is None else {**made, "usage": dict(step.usage)}


def _refused(body: Any, refuses: set[Refusal]) -> tuple[str, str] | None:
    """Name and message of the first parameter that this endpoint does not take."""
    kind = (body.get("response_format") or {}).get("type")
    if kind in refuses:
        said = f"Invalid parameter: 'response_format' of type '{kind}' is not supported."
        return "response_format", said
    if "temperature" in refuses and "temperature" in body:
        return "temperature", "Unsupported value: 'temperature' does not support 0.0."
    for name, other in (
        ("max_tokens", "max_completion_tokens"),
        ("max_completion_tokens", "max_tokens"),
    ):
        if name in refuses and name in body:
            return name, f"Unsupported parameter: '{name}' is not supported. Use '{other}'."
    if "system" in refuses and body["messages"][0]["role"] == "system":
        said = "Unsupported value: 'messages[0].role' does not support 'system'."
        return "messages[0].role", said
    return None


def _from_script(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    script: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    answers: dict[str, Answer] = {"from_evidence": from_evidence}
    script["steps"] = [_step(item) for item in script.get("steps", [])]
    script["rules"] = [
        Rule(contains=rule["contains"], steps=[_step(item) for item in rule["steps"]])
        for rule in script.get("rules", [])
    ]
    script["batches"] = [BatchPlan(**item) for item in script.get("batches", [])]
    if "answer" in script:
        script["answer"] = answers[script["answer"]]
    return script


def _step(item: Any) -> Step:
    return Step(text=item) if isinstance(item, str) else Step(**item)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run as a process until SIGTERM or Ctrl-C."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--script", type=Path)
    parsed = parser.parse_args(arguments)
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    with StubServer(**_from_script(parsed.script), port=parsed.port) as server:
        sys.stdout.write(f"{server.port}\n")
        sys.stdout.flush()
        ended.wait()


if __name__ == "__main__":
    main()
