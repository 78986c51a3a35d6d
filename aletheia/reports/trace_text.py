"""One diagnosed trace for a terminal: at most 80 columns, no escape from data reaches it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.text import WIDTH, Line, Role, Style, unstyled
from aletheia.reports.visible import cells, fit, one_line, wrap
from aletheia.reports.words import spoken
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult, FailureCell
from aletheia.schema.judgement import FaithfulnessJudgment, Judgment
from aletheia.schema.trace import Claim

_INDENT: Final = "  "
_SIGNS: Final = {"Y": "yes", "N": "no", None: "?"}
_SUPPORT: Final = {"Y": "carried", "N": "not carried", None: "unmeasured"}
_MARKS: Final = 13
"""Columns of the verdict before a claim."""

_FLAGS: Final = {
    "missing": "a part of the query is not covered",
    "extra": "the response says what was not asked",
    "ungrounded": "a claim is not carried by the evidence",
    "miscited": "a claim is carried, but not by what it cites",
    "abstained": "the response refuses to answer",
    "over_refused": "it refuses although the evidence is sufficient",
    "conflict": "the evidence contradicts itself",
}


def render_trace(result: EvaluationResult, *, style: Style = unstyled) -> str:
    """Write what is known of a trace; lines end in line feeds and hold nothing that acts."""
    return "".join(f"{style(line, role)}\n" for line, role in _lines(result))


def verdict_line(diagnosis: Diagnosis) -> tuple[str, Role]:
    """Say in one line where a trace stands, and how that line is coloured."""
    doubt = " (tentative)" if diagnosis.tentative else ""
    match diagnosis.failure_cell:
        case None if diagnosis.empty_response:
            return "Empty response", "poor"
        case None:
            return "Not diagnosed", "unmeasured"
        case FailureCell.COMPLETE_GROUNDED as cell:
            return f"{cell.plain_name} [{cell}]{doubt}", "moderate" if doubt else "good"
        case FailureCell.EXTRA_GROUNDED | FailureCell.INCOMPLETE_GROUNDED as cell:
            return f"{cell.plain_name} [{cell}]{doubt}", "moderate"
        case cell:
            return f"{cell.plain_name} [{cell}]{doubt}", "poor"


def _lines(result: EvaluationResult) -> Iterator[Line]:
    diagnosis = result.diagnosis
    yield verdict_line(diagnosis)
    for problem in diagnosis.problems:
        yield from _item("- ", problem, role="unmeasured")
    if diagnosis.tentative and "judge_error" in result.making:
        yield from _item("- ", f"tentative: {result.making['judge_error']}", role="unmeasured")
    if result.query is not None:
        yield from _section("Query")
        yield from _item("", result.query)
    yield from _section("Response")
    yield from _item("", result.response or "(empty)")
    if result.sub_questions:
        yield from _section("Does the evidence answer it?")
        yield from _questions(result)
    if result.claims:
        yield from _section("Does the evidence carry it?")
        for claim in result.claims:
            yield from _claim(claim, result)
    yield from _flags(diagnosis)
    yield from _advice(result)
    yield from _making(result)


def _section(title: str) -> Iterator[Line]:
    yield "", "plain"
    yield fit(one_line(title), WIDTH), "heading"


def _item(lead: str, text: str, *, role: Role = "plain") -> Iterator[Line]:
    """Write a text after `lead`; its further lines stand under its first word."""
    first = f"{_INDENT}{lead}"
    for at, line in enumerate(wrap(one_line(text), WIDTH - cells(first))):
        yield f"{' ' * cells(first) if at else first}{line}".rstrip(), role


def _questions(result: EvaluationResult) -> Iterator[Line]:
    judged = {item.sub_question_id: item for item in result.sufficiency}
    for question in result.sub_questions:
        judgment = judged.get(question.id)
        verdict = None if judgment is None else judgment.verdict
        lead = f"{_SIGNS[verdict]:<{_MARKS}}"
        yield from _item(lead, question.text, role=_role(judgment))
        yield from _detail(judgment)
    diagnosis = result.diagnosis
    if diagnosis.sufficiency_level is not None and diagnosis.threshold is not None:
        doubt = ", tentative" if diagnosis.level_tentative else ""
        share = numbers.score(diagnosis.sufficiency_fraction)
        needs = numbers.score(diagnosis.threshold)
        yield from _item(
            "",
            f"sufficiency {share}: {diagnosis.sufficiency_level}{doubt} "
            f"(high from {needs}, {spoken(diagnosis.threshold_source or '')})",
            role="dim",
        )


def _claim(claim: Claim, result: EvaluationResult) -> Iterator[Line]:
    found = next((item for item in result.faithfulness if item.claim_id == claim.id), None)
    if claim.kind == "conversational":
        yield from _item(f"{'not graded':<{_MARKS}}", claim.text, role="dim")
        return
    verdict = None if found is None else found.verdict
    yield from _item(f"{_SUPPORT[verdict]:<{_MARKS}}", claim.text, role=_role(found))
    yield from _detail(found)
    if found is not None:
        yield from _unsupported(found, claim, result.response)


def _unsupported(judgment: FaithfulnessJudgment, claim: Claim, response: str) -> Iterator[Line]:
    """Quote what nothing carries, unless that is the whole claim."""
    spans = [span for span in judgment.unsupported if span != (claim.start, claim.end)]
    if spans:
        quoted = ", ".join(f'"{response[start:end]}"' for start, end in spans)
        yield from _item(" " * _MARKS, f"nothing carries {quoted}", role="dim")


def _detail(judgment: Judgment | None) -> Iterator[Line]:
    if judgment is None:
        return
    parts = []
    if judgment.evidence_ids:
        parts.append(", ".join(judgment.evidence_ids))
    if judgment.score is not None and not judgment.reasoning.startswith("score "):
        parts.append(f"score {numbers.score(judgment.score)}")
    if judgment.confidence == "low":
        parts.append("tentative")
    if judgment.agreement is not None:
        parts.append(f"{numbers.percent_of(judgment.agreement)} of repeats agree")
    parts += [spoken(warning) for warning in judgment.warnings]
    if judgment.problem is not None:
        parts.append(f"unmeasured: {spoken(judgment.problem)}")
    if judgment.reasoning:
        parts.append(judgment.reasoning)
    if parts:
        yield from _item(" " * _MARKS, "; ".join(parts), role="dim")


def _role(judgment: Judgment | None) -> Role:
    if judgment is None or judgment.verdict is None:
        return "unmeasured"
    if judgment.confidence == "low":
        return "moderate"
    return "good" if judgment.verdict == "Y" else "poor"


def _flags(diagnosis: Diagnosis) -> Iterator[Line]:
    flags = diagnosis.flags.model_dump()
    raised = [text for name, text in _FLAGS.items() if flags[name]]
    unknown = [spoken(name) for name in ("missing", "extra", "ungrounded") if flags[name] is None]
    if not raised and not unknown:
        return
    yield from _section("What is true of it")
    for text in raised:
        yield from _item("- ", text)
    if unknown:
        yield from _item("- ", f"not known: {', '.join(unknown)}", role="unmeasured")


def _advice(result: EvaluationResult) -> Iterator[Line]:
    advice = result.suggestion
    if advice is None:
        return
    yield from _section(advice.title)
    yield from _item("", advice.body)
    for number, action in enumerate(advice.actions, start=1):
        yield from _item(f"{number}. ", action)


def _making(result: EvaluationResult) -> Iterator[Line]:
    yield from _section("How it was made")
    for metric, message in result.errors.items():
        yield from _item("", f"{metric} failed: {message}", role="poor")
    for finding in result.findings:
        code, colon, detail = finding.partition(":")
        yield from _item("", f"finding: {spoken(code)}{colon}{detail}", role="moderate")
    yield from _item("", f"judged by {_judge(result.making)}", role="dim")
    cost = result.cost
    if cost.calls:
        money = numbers.money(cost.usd, "price not known")
        floor = " at least" if cost.unpriced and cost.usd is not None else ""
        calls = numbers.plural(cost.calls, "call")
        yield from _item("", f"{calls} to models,{floor} {money}", role="dim")


def _judge(making: Mapping[str, str]) -> str:
    kind = making.get("judge") or making.get("faithfulness_judge", "an unknown judge")
    model = making.get("judge_model")
    named = model is None or kind.endswith(f" {model}")
    return spoken(kind) if named else f"{spoken(kind)}, {model}"
