"""The files and batches of the stub server, as far as a client of the Batch API can tell.

A batch ends after a number of looks at it. What becomes of it is a `BatchPlan`: completed,
expired with half the lines answered, an output file with a damaged line, and so on. Each line is
answered by the same logic as a chat request.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

ENDPOINT = "/v1/chat/completions"
TERMINAL = frozenset({"completed", "failed", "expired", "cancelled"})


@dataclass(frozen=True, kw_only=True)
class BatchPlan:
    """What becomes of one batch.

    After `polls` looks it is `end`, having answered the first `answered` lines (None = all).
    `tamper` changes the lines of its output file, `error_lines` the lines of its error file.
    `errors` are those of a batch that is `failed`.
    """

    polls: int = 1
    end: str = "completed"
    answered: int | None = None
    tamper: Callable[[list[str]], list[str]] | None = None
    error_lines: Callable[[list[str]], list[str]] | None = None
    errors: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """A file at the endpoint."""

    id: str
    name: str
    purpose: str
    content: bytes
    created_at: int = field(default_factory=lambda: int(time.time()))

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "object": "file",
            "bytes": len(self.content),
            "created_at": self.created_at,
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        }


@dataclass(kw_only=True)
class StoredBatch:
    """A batch at the endpoint; `lines` are those of its input file that are well formed."""

    id: str
    input_file_id: str
    metadata: Mapping[str, str] | None
    plan: BatchPlan
    lines: list[dict[str, Any]]
    status: str = "validating"
    errors: Sequence[Mapping[str, Any]] = ()
    looks: int = 0
    completed: int = 0
    failed: int = 0
    output_file_id: str | None = None
    error_file_id: str | None = None
    created_at: int = field(default_factory=lambda: int(time.time()))

    def shown(self) -> dict[str, Any]:
        errors = {"object": "list", "data": list(self.errors)} if self.errors else None
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": ENDPOINT,
            "errors": errors,
            "input_file_id": self.input_file_id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            "created_at": self.created_at,
            "expires_at": self.created_at + 86400,
            "request_counts": {
                "total": len(self.lines),
                "completed": self.completed,
                "failed": self.failed,
            },
            "metadata": self.metadata,
        }


AnswerLine = Callable[[Any], tuple[int, Any]]
"""From the body of a line to the status and the JSON that a chat request would get."""

Answered = tuple[int, Any]
"""HTTP status and JSON (bytes where it is no JSON) of an answer of the server itself."""


class BatchStore:
    """All files and batches of one server. Safe to use from its threads."""

    def __init__(self, answer: AnswerLine, plans: Sequence[BatchPlan] = ()) -> None:
        self.files: dict[str, StoredFile] = {}
        self.batches: dict[str, StoredBatch] = {}
        self.answered: list[Any] = []
        self._answer = answer
        self._plans = deque(plans)
        self._lock = threading.RLock()

    def respond(self, method: str, path: str, query: Mapping[str, str], body: Any) -> Answered:
        """Answer a request to a path below `/v1/files` or `/v1/batches`."""
        kind, *rest = path.removeprefix("/v1/").split("/")
        with self._lock:
            match (kind, method, rest):
                case ("files", "POST", []):
                    return self._upload(body)
                case ("files", _, [file_id]) | ("files", _, [file_id, "content"]):
                    return self._file(method, file_id, whole=rest[1:] == ["content"])
                case ("batches", "POST", []):
                    return self._create(body or {})
                case ("batches", "GET", []):
                    return self._list(query)
                case ("batches", "GET", [batch_id]):
                    return self._look(batch_id)
                case ("batches", "POST", [batch_id, "cancel"]):
                    return self._cancel(batch_id)
        return _error(404, f"no such path: {method} {path}")

    def _upload(self, form: Mapping[str, Any] | None) -> Answered:
        if not form or "file" not in form:
            return _error(400, "'file' is a required property", param="file")
        if form.get("purpose") != "batch":
            return _error(400, f"invalid purpose: {form.get('purpose')!r}", param="purpose")
        stored = self._store("batch", form.get("filename", "upload"), form["file"].encode())
        return 200, stored.shown()

    def _file(self, method: str, file_id: str, *, whole: bool) -> Answered:
        stored = self.files.get(file_id)
        if stored is None:
            return _error(404, f"No such File object: {file_id}", param="id")
        if method == "DELETE" and not whole:
            del self.files[file_id]
            return 200, {"id": file_id, "object": "file", "deleted": True}
        if method != "GET":
            return _error(405, "method not allowed")
        return 200, stored.content if whole else stored.shown()

    def _create(self, body: Mapping[str, Any]) -> Answered:
        stored = self.files.get(body.get("input_file_id", ""))
        if stored is None:
            return _error(400, "Invalid file id", param="input_file_id")
        if body.get("endpoint") != ENDPOINT:
            return _error(400, f"Invalid endpoint: {body.get('endpoint')!r}", param="endpoint")
        if body.get("completion_window") != "24h":
            return _error(400, "Invalid completion window", param="completion_window")
        lines, errors = checked(stored.content)
        batch = StoredBatch(
            id=f"batch_{len(self.batches) + 1:04d}",
            input_file_id=stored.id,
            metadata=body.get("metadata"),
            plan=self._plans.popleft() if self._plans else BatchPlan(),
            lines=lines,
            errors=errors,
        )
        self.batches[batch.id] = batch
        return 200, batch.shown()

    def _list(self, query: Mapping[str, str]) -> Answered:
        newest = list(reversed(self.batches.values()))
        ids = [batch.id for batch in newest]
        after = query.get("after")
        start = ids.index(after) + 1 if after in ids else 0
        limit = int(query.get("limit", "20"))
        page = [batch.shown() for batch in newest[start : start + limit]]
        return 200, {
            "object": "list",
            "data": page,
            "first_id": page[0]["id"] if page else None,
            "last_id": page[-1]["id"] if page else None,
            "has_more": start + limit < len(newest),
        }

    def _look(self, batch_id: str) -> Answered:
        batch = self.batches.get(batch_id)
        if batch is None:
            return _error(404, f"No batch found with id '{batch_id}'.")
        if batch.status not in TERMINAL:
            self._advance(batch)
        return 200, batch.shown()

    def _cancel(self, batch_id: str) -> Answered:
        batch = self.batches.get(batch_id)
        if batch is None:
            return _error(404, f"No batch found with id '{batch_id}'.")
        if batch.status in TERMINAL:
            return _error(409, f"Cannot cancel a batch with status '{batch.status}'.")
        batch.status = "cancelling"
        return 200, batch.shown()

    def _advance(self, batch: StoredBatch) -> None:
        batch.looks += 1
        if batch.status == "cancelling":
            self._end(batch, "cancelled", answered=batch.plan.answered or 0)
        elif batch.errors or (batch.plan.errors and batch.looks >= batch.plan.polls):
            batch.errors = batch.errors or batch.plan.errors
            batch.status = "failed"
        elif batch.looks >= batch.plan.polls:
            self._end(batch, batch.plan.end, answered=batch.plan.answered)
        else:
            batch.status = "in_progress"

    def _end(self, batch: StoredBatch, status: str, *, answered: int | None) -> None:
        """Answer the lines and write the files: replies in one, everything else in the other."""
        good: list[str] = []
        bad: list[str] = []
        count = len(batch.lines) if answered is None else answered
        for number, line in enumerate(batch.lines, 1):
            made = self._answered(line, number) if number <= count else _left_over(line, status)
            (good if (made["response"] or {}).get("status_code") == 200 else bad).append(
                json.dumps(made)
            )
        batch.completed, batch.failed = len(good), len(bad)
        if batch.plan.tamper is not None:
            good = batch.plan.tamper(good)
        if batch.plan.error_lines is not None:
            bad = batch.plan.error_lines(bad)
        batch.output_file_id = self._written(batch, "output", good)
        batch.error_file_id = self._written(batch, "error", bad)
        batch.status = status

    def _answered(self, line: Mapping[str, Any], number: int) -> dict[str, Any]:
        self.answered.append(line["body"])
        status, body = self._answer(line["body"])
        response = {"status_code": status, "request_id": f"req_{number}", "body": body}
        return {
            "id": f"batch_req_{number}",
            "custom_id": line["custom_id"],
            "response": response,
            "error": None,
        }

    def _written(self, batch: StoredBatch, kind: str, lines: Sequence[str]) -> str | None:
        if not lines:
            return None
        content = "".join(f"{line}\n" for line in lines).encode()
        return self._store("batch_output", f"{batch.id}_{kind}.jsonl", content).id

    def _store(self, purpose: str, name: str, content: bytes) -> StoredFile:
        stored = StoredFile(
            id=f"file-{len(self.files) + 1:04d}", name=name, purpose=purpose, content=content
        )
        self.files[stored.id] = stored
        return stored


def checked(content: bytes) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Lines of an input file, and what is wrong with it by the rules of the Batch API."""
    lines: list[dict[str, Any]] = []
    errors: list[dict[str, Any]] = []
    seen: set[str] = set()
    for number, text in enumerate(content.decode().removesuffix("\n").split("\n"), 1):
        code, message = "", ""
        try:
            line = json.loads(text)
            code, message = _wrong(line, seen, lines)
        except ValueError:
            code, message = "invalid_json_line", "This line is not parseable as valid JSON."
        if code:
            errors.append({"code": code, "line": number, "message": message, "param": None})
            continue
        seen.add(line["custom_id"])
        lines.append(line)
    return lines, errors


def _wrong(line: Any, seen: set[str], lines: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """Code and message of the first thing wrong with a line, two empty strings for none."""
    names = ("custom_id", "method", "url", "body")
    missing = [name for name in names if not isinstance(line, dict) or name not in line]
    if missing:
        return "missing_required_parameter", f"Missing required parameter: '{missing[0]}'."
    if line["custom_id"] in seen:
        return "duplicate_custom_id", f"The custom_id '{line['custom_id']}' is used twice."
    if len(line["custom_id"]) > 64:
        return "invalid_custom_id", "The custom_id is longer than 64 characters."
    if line["method"] != "POST":
        return "invalid_method", f"The method '{line['method']}' is not supported."
    if line["url"] != ENDPOINT:
        return "invalid_url", f"The url '{line['url']}' is not that of the batch."
    model = line["body"].get("model")
    if lines and lines[0]["body"].get("model") != model:
        return "mismatched_model", f"The model '{model}' is not that of the first line."
    return "", ""


def _left_over(line: Mapping[str, Any], status: str) -> dict[str, Any]:
    """Return the line for a request that was not answered before the batch ended."""
    error = {"code": f"batch_{status}", "message": f"The batch was {status} before this request."}
    return {
        "id": "batch_req_none",
        "custom_id": line["custom_id"],
        "response": None,
        "error": error,
    }


def read_form(content_type: str, body: bytes) -> dict[str, str]:
    """Fields of a multipart form; the name of an uploaded file stands under `filename`."""
    boundary = re.search(r'boundary="?([^";]+)', content_type)
    if boundary is None:
        return {}
    form: dict[str, str] = {}
    for part in body.split(b"--" + boundary[1].encode())[1:-1]:
        head, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
        name = re.search(rb'\bname="([^"]*)"', head)
        filename = re.search(rb'\bfilename="([^"]*)"', head)
        if name is not None:
            form[name[1].decode()] = content.removesuffix(b"\r\n").decode()
        if filename is not None:
            form["filename"] = filename[1].decode()
    return form


def _error(status: int, message: str, *, param: str | None = None) -> Answered:
    kind = "invalid_request_error"
    return status, {"error": {"message": message, "type": kind, "code": None, "param": param}}
