"""Find out what an endpoint can do: one fact a line, and no failure stops the others."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from aletheia.errors import ModelError, ModelUnavailable
from aletheia.llm.base import ModelLister
from aletheia.schema.model import ChatModel, Prompt, Reply

Status = Literal["ok", "warning", "failed", "skipped"]

_PROMPT: Final = Prompt(
    system='Reply with the JSON object {"ready": true} and nothing else.',
    user="Are you ready? Reply in JSON.",
    schema={
        "type": "object",
        "properties": {"ready": {"type": "boolean"}},
        "required": ["ready"],
        "additionalProperties": False,
    },
    schema_name="ready",
    output_ceiling=1024,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing found out. `name` is a fixed word, `detail` a sentence for a person."""

    name: Literal["endpoint", "key", "model", "reply", "structured"]
    status: Status
    detail: str

    def __str__(self) -> str:
        return f"{self.name}: {self.status}, {self.detail}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """All facts, in a fixed order. `latency_s` is the time of the one short completion.

    `structured` is what the endpoint took: `json_schema`, `json_object` or `none`; None where
    there was no reply.
    """

    facts: tuple[Fact, ...]
    structured: str | None = None
    latency_s: float | None = None

    @property
    def ok(self) -> bool:
        """Whether a run with this endpoint can work."""
        return all(fact.status != "failed" for fact in self.facts)


async def probe(
    model: ChatModel, *, has_key: bool = True, clock: Callable[[], float] = time.monotonic
) -> ProbeResult:
    """Ask the endpoint for its models and for one short reply.

    Give it the bare adapter: inside the retries a wrong URL takes long to show. Raises nothing;
    every failure of the endpoint is a fact.
    """
    listed = await _listed(model)
    if _unreachable(listed):
        return ProbeResult(facts=_facts(model.name, listed, None, has_key=has_key))
    started = clock()
    reply = await _replied(model)
    seconds = clock() - started
    facts = _facts(model.name, listed, reply, has_key=has_key)
    if isinstance(reply, Reply):
        return ProbeResult(facts=facts, structured=reply.structured, latency_s=seconds)
    return ProbeResult(facts=facts)


Listed = tuple[str, ...] | ModelError | None
"""Models of the endpoint, why they could not be had, or None where there is nothing to ask."""


async def _listed(model: ChatModel) -> Listed:
    if not isinstance(model, ModelLister):
        return None
    try:
        return await model.list_models()
    except ModelError as error:
        return error


async def _replied(model: ChatModel) -> Reply | ModelError:
    try:
        return await model.complete(_PROMPT)
    except ModelError as error:
        return error


def _facts(
    name: str, listed: Listed, reply: Reply | ModelError | None, *, has_key: bool
) -> tuple[Fact, ...]:
    return (
        _endpoint(listed, reply),
        _key(listed, reply, has_key=has_key),
        _model(name, listed, reply),
        _reply(reply),
        _structured(reply),
    )


def _unreachable(outcome: object) -> bool:
    return isinstance(outcome, ModelUnavailable) and outcome.status is None


def _endpoint(listed: Listed, reply: Reply | ModelError | None) -> Fact:
    outcomes = [item for item in (listed, reply) if item is not None]
    if all(map(_unreachable, outcomes)):
        return Fact(name="endpoint", status="failed", detail=str(outcomes[0]))
    return Fact(name="endpoint", status="ok", detail="it answers")


def _key(listed: Listed, reply: Reply | ModelError | None, *, has_key: bool) -> Fact:
    denied = [o for o in (reply, listed) if isinstance(o, ModelError) and o.status in (401, 403)]
    if denied and not isinstance(reply, Reply):
        return Fact(name="key", status="failed", detail=str(denied[0]))
    if not isinstance(reply, Reply) and not isinstance(listed, tuple):
        return Fact(name="key", status="skipped", detail="nothing came back that would tell")
    return Fact(name="key", status="ok", detail="accepted" if has_key else "none set, none needed")


def _model(name: str, listed: Listed, reply: Reply | ModelError | None) -> Fact:
    if isinstance(reply, Reply):
        served = "" if reply.model == name else f" as `{reply.model}`"
        return Fact(name="model", status="ok", detail=f"`{name}` answers{served}")
    if not isinstance(listed, tuple) or not listed:
        return Fact(name="model", status="skipped", detail=f"`{name}`: the endpoint lists none")
    if name in listed:
        return Fact(name="model", status="ok", detail=f"`{name}` is listed")
    near = get_close_matches(name, listed, n=3, cutoff=0.4) or sorted(listed)[:3]
    offers = ", ".join(f"`{item}`" for item in near)
    detail = f"`{name}` is not among the {len(listed)} models listed, such as {offers}"
    return Fact(name="model", status="failed", detail=detail)


def _reply(reply: Reply | ModelError | None) -> Fact:
    if reply is None:
        return Fact(name="reply", status="skipped", detail="not asked")
    if isinstance(reply, ModelError):
        return Fact(name="reply", status="failed", detail=str(reply))
    lost = f", without {', '.join(reply.dropped)}" if reply.dropped else ""
    return Fact(name="reply", status="ok", detail=f"a short prompt was answered{lost}")


def _structured(reply: Reply | ModelError | None) -> Fact:
    if not isinstance(reply, Reply):
        return Fact(name="structured", status="skipped", detail="no reply to look at")
    if not _is_object(reply.text):
        detail = f"`{reply.structured}` was taken, but the reply is no JSON object"
        return Fact(name="structured", status="warning", detail=detail)
    if reply.structured == "none":
        detail = "no constraint is taken; replies are read as plain text"
        return Fact(name="structured", status="warning", detail=detail)
    return Fact(name="structured", status="ok", detail=f"`{reply.structured}`")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
