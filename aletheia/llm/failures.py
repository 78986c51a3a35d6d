"""From what an endpoint answered to the error that says it: by status, code and words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from aletheia.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from aletheia.llm.base import requests_only

_PASSING = frozenset({408, 409, 425, 429})
_FILTER = re.compile(r"content[_ ]?(filter|policy|management)|ResponsibleAI", re.IGNORECASE)
_QUOTA = re.compile(r"insufficient_quota|exceeded your current quota|billing", re.IGNORECASE)
_TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|model_context_window"
    r"|context[ _-]?(length|size|window|limit|overflow)|maximum model length|max_model_len"
    r"|(prompt|input|request|message|content)s?\b.{0,24}\b(is|are|was) too (long|large)\b"
    r"|string_above_max_length|request too large|too large for model|too many (input |prompt )?tokens"
    r"|(input|prompt|token)s?( token)?( count| length)?.{0,40}exceeds? the (maximum|limit|model)"
    r"|`?inputs`? tokens \+ `?max_new_tokens`? must be",
    re.IGNORECASE,
)
_LIMIT_TOO_LARGE = re.compile(
    r"max_(completion_|new_|output_)?tokens['`\"]* is too large", re.IGNORECASE
)
_ONE_REQUEST = re.compile(r"request too large", re.IGNORECASE)
_OVERFLOW_STATUS = frozenset({400, 422, 500})
_KEY_LIKE = re.compile(r"\b(sk-|Bearer\s+)[\w.*-]{6,}")
_LONGEST = 300
_TOO_LONG_HINT = "send less evidence, or use a model with a larger context window"


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What the body of an error answer says. `words` is all of it in one string, for matching."""

    message: str
    param: str | None = None
    words: str = ""


class BadRequest(ModelRefused):
    """A 400 or 422: the request as it was sent is not accepted. `complaint` may say why.

    The adapter may answer it with another request; to everybody else it is a refusal.
    """

    def __init__(self, message: str, *, complaint: Complaint, status: int) -> None:
        super().__init__(message, status=status, usage=requests_only(1))
        self.complaint = complaint


def complaint(body: object) -> Complaint:
    """Read an error body of any shape; the `input` a validator echoes is left out.

    Understood are `{"error": {...}}`, `{"error": "..."}`, `{"message": ...}`, and `{"detail":
    "..." | [{"loc": [...], "msg": "..."}]}`; anything else is taken as text.
    """
    if isinstance(body, Mapping):
        inner = body.get("error") or body.get("detail") or body
        return _from_mapping(inner) if isinstance(inner, Mapping) else _from_text(inner)
    return _from_text(body)


def failure(
    status: int, said: Complaint, *, where: str, retry_after_s: float | None = None
) -> ModelError:
    """Return the error for an answer with this status. `where` is the endpoint, for a person."""
    told = f"`{where}` answered {status}: {said.message or 'no reason given'}"
    cost = requests_only(1)
    if _overflows(status, said.words):
        return ContextTooLong(told, hint=_TOO_LONG_HINT, status=status, usage=cost)
    if status >= 500 or (status in _PASSING and not _QUOTA.search(said.words)):
        return ModelUnavailable(told, status=status, usage=cost, retry_after_s=retry_after_s)
    if status in (400, 422) and not _FILTER.search(said.words):
        return BadRequest(told, complaint=said, status=status)
    return ModelRefused(told, hint=_hint(status, said), status=status, usage=cost)


def is_too_long(words: str) -> bool:
    """Whether an endpoint says that the prompt does not fit its context window.

    An output limit that is too large for the model is no such thing: a shorter prompt would not
    help.
    """
    return bool(_TOO_LONG.search(words)) and not _LIMIT_TOO_LARGE.search(words)


def _overflows(status: int, words: str) -> bool:
    if status == 429:
        # One request above the tokens of a minute never passes; several of them do, later.
        return bool(_ONE_REQUEST.search(words))
    return status == 413 or (status in _OVERFLOW_STATUS and is_too_long(words))


def _hint(status: int, said: Complaint) -> str | None:
    if status in (402, 429):
        return "the account has no credit left"
    if _FILTER.search(said.words):
        return "the content filter of the endpoint refused the text"
    return {
        401: "check `OPENAI_API_KEY`",
        403: "the key may not use this model or path",
        404: "check the model's name, and that `OPENAI_BASE_URL` ends like `/v1`",
    }.get(status)


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds an endpoint asks to wait: `retry-after-ms`, or `retry-after` as number or date."""
    milliseconds = _number(headers.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    text = headers.get("retry-after")
    seconds = _number(text)
    return seconds if seconds is not None else _until(text, now)


def redacted(text: str, secret: str | None) -> str:
    """Return the text on one line, at most 300 characters, without the key or what looks like one.

    Endpoints echo the key they refuse; the echo must not reach a log.
    """
    if secret:
        text = text.replace(secret, "***")
    text = _KEY_LIKE.sub("***", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _from_mapping(body: Mapping[object, object]) -> Complaint:
    message = body.get("message") or body.get("error") or body.get("detail") or ""
    param = body.get("param")
    said = message if isinstance(message, str) else str(message)
    rest = [str(body[key]) for key in ("code", "type", "param") if body.get(key)]
    inner = body.get("innererror")
    if isinstance(inner, Mapping) and inner.get("code"):
        rest.append(str(inner["code"]))
    return Complaint(
        message=said or " ".join(rest),
        param=param if isinstance(param, str) else None,
        words=" ".join([said, *rest]),
    )


def _from_text(body: object) -> Complaint:
    if isinstance(body, list):
        body = "; ".join(_one_detail(item) for item in body)
    text = "" if body is None else str(body)
    return Complaint(message=text, words=text)


def _one_detail(item: object) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    place = item.get("loc")
    where = ".".join(map(str, place)) if isinstance(place, list) else ""
    return f"{where}: {item.get('msg', '')}"


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _until(text: str | None, now: datetime) -> float | None:
    try:
        moment = parsedate_to_datetime(text or "")
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - now).total_seconds())
