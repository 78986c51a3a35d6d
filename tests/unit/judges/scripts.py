"""A judge that follows a script: it reads the prompt like a model would, and answers by rule."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import anyio

from aletheia.grounding.numbering import number
from aletheia.grounding.sentences import sentences
from aletheia.judges.asking import Asker
from aletheia.judges.base import Judges, TraceCase
from aletheia.judges.llm import LLMDecomposer, LLMJudge
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.schema.model import ChatModel, Prompt
from aletheia.schema.trace import Claim, SubQuestion

TOKEN = "Bamatogireludofa"
OTHER_TOKEN = "Kinopavuzemigora"

_ITEM = re.compile(r"^([QC]\d+) \(([a-z]{4})\) (.*)$", re.MULTILINE)
_UNIT = re.compile(r"^\[(E\d+)\] (.*)$", re.MULTILINE)

Entry = dict[str, Any]


def trace(response: str, *units: str, query: str | None = "What happened?") -> TraceCase:
    return TraceCase(query=query, evidence=number(list(units)), response=response)


def claims_of(response: str, *texts: str) -> tuple[Claim, ...]:
    """Claims that copy their span; without texts, one for each sentence."""
    spans = [(response.index(text), response.index(text) + len(text)) for text in texts]
    return tuple(
        Claim(id=at, text=response[start:end], start=start, end=end)
        for at, (start, end) in enumerate(spans or sentences(response))
    )


def questions(*texts: str) -> tuple[SubQuestion, ...]:
    return tuple(SubQuestion(id=at, text=text) for at, text in enumerate(texts))


def items(prompt: Prompt) -> list[tuple[str, str, str]]:
    """Key, check and text of every item shown."""
    return _ITEM.findall(prompt.user)


def is_canary(prompt: Prompt, text: str) -> bool:
    return prompt.delimiter is not None and prompt.delimiter in text


def careful(prompt: Prompt) -> list[Entry]:
    """Y on the unit that shares most words, N where none shares half of them or for a canary."""
    units = _UNIT.findall(prompt.user)
    shown = items(prompt)
    asked = [key for key, _, text in shown if key[0] == "Q" and not is_canary(prompt, text)]
    entries = []
    for key, check, text in shown:
        words = set(re.findall(r"\w+", text.lower()))
        shared = [
            (len(words & set(re.findall(r"\w+", unit.lower()))), name) for name, unit in units
        ]
        best = max(shared, default=(0, ""))
        canary = is_canary(prompt, text)
        good = not canary and best[0] * 2 >= len(words)
        entries.append(
            {
                "id": key,
                "check": check,
                "verdict": "Y" if good else "N",
                "evidence_ids": [best[1]] if good else [],
                "answers": [] if canary else asked[:1],
                "off_topic": "Y" if canary else "N",
            }
        )
    return entries


def as_json(entries: Sequence[Entry]) -> str:
    return json.dumps(
        {
            "questions": [entry for entry in entries if entry["id"][0] == "Q"],
            "claims": [entry for entry in entries if entry["id"][0] == "C"],
        }
    )


def pieces(prompt: Prompt) -> str:
    """Cut by sentence; the query is one sub-question."""
    found: dict[str, Any] = {}
    query = re.search(r"^QUESTION: (.*)$", prompt.user, re.MULTILINE)
    response = re.search(r"^RESPONSE: (.*)$", prompt.user, re.MULTILINE)
    if prompt.schema_name != "decompose_response" and query:
        found["sub_questions"] = [query.group(1)]
    if response:
        text = response.group(1)
        found["claims"] = [
            {"quote": text[a:b], "text": text[a:b], "kind": "answer"} for a, b in sentences(text)
        ]
    return json.dumps(found)


def good_reply(prompt: Prompt) -> str:
    """What a model that does its work says."""
    return pieces(prompt) if prompt.purpose == "decompose" else as_json(careful(prompt))


def changed(change: Callable[[Entry], Entry | None]) -> Callable[[Prompt], Line]:
    """A careful judge whose entries go through `change`; None leaves one out."""

    def say(prompt: Prompt) -> str:
        if prompt.purpose == "decompose":
            return pieces(prompt)
        entries = [change(dict(entry)) for entry in careful(prompt)]
        return as_json([entry for entry in entries if entry is not None])

    return say


def scripted(*lines: Line | Callable[[Prompt], Line]) -> ScriptedModel:
    """A model that follows one line or function a call; the last one for ever."""
    left = list(lines)

    def say(prompt: Prompt) -> Line:
        line = left.pop(0) if len(left) > 1 else left[0]
        return line(prompt) if callable(line) else line

    return ScriptedModel(say)


def asker(model: ChatModel, **options: Any) -> Asker:
    return Asker(model=model, delimiter=lambda: TOKEN, **options)


def isolated(model: ChatModel, **options: Any) -> Judges:
    judge = LLMJudge(asker(model, **options))
    return Judges(
        decomposer=LLMDecomposer(asker(model, **options)),
        sufficiency=judge,
        faithfulness=judge,
        completeness=judge,
    )


def wait(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run one coroutine function to its end."""
    return anyio.run(function, *arguments)
