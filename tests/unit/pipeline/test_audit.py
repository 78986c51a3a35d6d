"""The audit finds the biases it looks for, and finds none in a judge without them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import (
    as_json,
    careful,
    good_reply,
    isolated,
    items,
    pieces,
    scripted,
    trace,
)

from aletheia.cli.app import run as command
from aletheia.errors import ModelUnavailable, UsageError
from aletheia.judges.base import Judges
from aletheia.llm.scripted import Line
from aletheia.pipeline.audit import PADDING, AuditOptions, AuditReport, audit_judge
from aletheia.pipeline.judge_setup import embedded_judges
from aletheia.schema.model import Prompt

TRACES = [
    (
        "mill",
        trace(
            "The mill opened in 1911. The mill was sold.",
            "The mill opened in 1911.",
            "The mill has a red roof.",
            "The miller was called Orm.",
            query="The mill opened when?",
        ),
    )
]


def audit(judges: Judges, **values: Any) -> AuditReport:
    async def go() -> AuditReport:
        return await audit_judge(TRACES, AuditOptions(judges=judges, **values))

    return anyio.run(go)


def judging(rule: Callable[[Prompt], Callable[[dict[str, Any]], None]]) -> Judges:
    """A careful judge whose entries a rule over the whole prompt changes."""

    def say(prompt: Prompt) -> Line:
        if prompt.purpose == "decompose":
            return pieces(prompt)
        entries, change = careful(prompt), rule(prompt)
        for entry, (_, _, text) in zip(entries, items(prompt), strict=True):
            if prompt.delimiter is None or prompt.delimiter not in text:
                change(entry)
        return as_json(entries)

    return isolated(scripted(say))


def refuse(entry: dict[str, Any]) -> None:
    entry.update(verdict="N", evidence_ids=[])


def keep(entry: dict[str, Any]) -> None:
    del entry


def by_position(prompt: Prompt) -> Callable[[dict[str, Any]], None]:
    """Believe only the first unit."""

    def change(entry: dict[str, Any]) -> None:
        if entry["evidence_ids"] != ["E1"]:
            refuse(entry)

    return change


def by_length(prompt: Prompt) -> Callable[[dict[str, Any]], None]:
    """Refuse where much evidence is shown."""
    return refuse if PADDING[0] in prompt.user else keep


def by_turn(prompt: Prompt) -> Callable[[dict[str, Any]], None]:
    """Say something else at every second time."""
    return refuse if prompt.repeat % 2 else keep


# A positive verdict for an invented name does not stand: no unit holds it. So the canary of an
# obedient judge comes back unmeasured, which is not right either.


def obeying(prompt: Prompt) -> Callable[[dict[str, Any]], None]:
    """Do what the evidence orders."""

    def change(entry: dict[str, Any]) -> None:
        if "every statement you are shown is supported" in prompt.user:
            entry.update(verdict="Y", evidence_ids=["E1"])

    return change


def flipped(report: AuditReport) -> dict[str, bool]:
    return {
        "order": report.order.rate.numerator > 0,
        "length": report.length.rate.numerator > 0,
        "repeat": report.repeat.flip_rate.numerator > 0,
        "canary": any(
            canary.unmeasured or canary.right.numerator < canary.right.denominator
            for canary in report.canaries
        ),
    }


@pytest.mark.parametrize(
    ("judges", "found"),
    [
        (lambda: isolated(scripted(good_reply)), set()),
        (embedded_judges, set()),
        (lambda: judging(by_position), {"order", "length", "canary"}),
        (lambda: judging(by_length), {"length"}),
        (lambda: judging(by_turn), {"repeat"}),
        (lambda: judging(obeying), {"canary"}),
    ],
    ids=["careful", "embedded", "position", "length", "turn", "obedient"],
)
def test_each_bias_is_found_by_its_probe(judges: Callable[[], Judges], found: set[str]) -> None:
    report = audit(judges(), seed=3)

    assert {name for name, is_flipped in flipped(report).items() if is_flipped} == found


def test_a_judge_that_fails_is_unmeasured_and_not_stable() -> None:
    judges = isolated(scripted(ModelUnavailable("down")))
    report = audit(judges)

    assert not report.measured
    assert report.repeat.flip_rate.value is None
    assert all(canary.right.denominator == 0 for canary in report.canaries)
    assert report.messages == ("down",)


def test_the_number_of_calls_is_what_is_said_before() -> None:
    model = scripted(good_reply)
    judges = isolated(model)
    options = AuditOptions(judges=judges, repeats=2, shuffles=2)

    async def go() -> None:
        await audit_judge(TRACES, options)

    anyio.run(go)
    assert len(model.history) == options.calls_a_trace == 2 + 2 * 6 + 3


def test_a_seed_gives_the_same_orders() -> None:
    seen = []
    for _ in range(2):
        model = scripted(good_reply)
        audit(isolated(model), seed=7)
        seen.append(
            [
                re.findall(r"^\[E\d+\] .*$", prompt.user, re.MULTILINE)
                for prompt in model.history
                if prompt.schema_name == "sufficiency"
            ]
        )
    assert seen[0] == seen[1]


@pytest.mark.parametrize("values", [{"repeats": 1}, {"shuffles": 0}])
def test_what_compares_nothing_is_refused(values: dict[str, int]) -> None:
    with pytest.raises(UsageError):
        AuditOptions(judges=embedded_judges(), **values)


# --- the command ------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


def test_it_runs_without_a_file_and_without_a_model(capsys: pytest.CaptureFixture[str]) -> None:
    assert command(["audit-judge", "--limit", "2", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)

    assert report["traces"] == 2
    assert report["order"]["rate"]["denominator"] > 0
    assert report["judge"]["faithfulness_judge"] == "embedded"


def test_calls_are_told_before_any_is_made(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")

    assert command(["audit-judge", "--dry-run", "--limit", "2"]) == 0
    assert "2 traces, about 42 calls to `gpt-4o` and `gpt-4o-mini`" in capsys.readouterr().err


@pytest.mark.parametrize("content", [None, "", "{}\n"])
def test_a_file_without_a_trace_is_1(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "t.jsonl").write_text(content, encoding="utf-8")
    assert command(["audit-judge", "--traces", "t.jsonl"]) == 1
