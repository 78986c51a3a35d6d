"""The decision of a gate for a terminal: at most 80 columns, and nothing from data acts on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.gate import GateCheck, GateResult, Status
from aletheia.reports.gate_facts import RejectedQuestion
from aletheia.reports.text import Line, Style, unstyled
from aletheia.reports.visible import cells, one_line, wrap

WIDTH: Final = 80
SIGNS: Final[dict[Status, str]] = {"met": "ok", "not_met": "FAIL", "unmeasured": "NONE"}


def headline(result: GateResult) -> str:
    """Say the decision in one sentence; every rendering begins with it."""
    total = len(result.checks)
    if result.passed:
        return f"Gate passed: {numbers.plural(total, 'rule')} met."
    failed = sum(check.status == "not_met" for check in result.checks)
    missing = sum(check.status == "unmeasured" for check in result.checks)
    parts = [f"{failed} not met"] * bool(failed) + [f"{missing} without a value"] * bool(missing)
    return f"Gate failed: of {numbers.plural(total, 'rule')}, {' and '.join(parts)}."


def sentence(check: GateCheck) -> str:
    """Write a rule and what was found on one line."""
    return f"{check.name}: {check.value}, {check.rule}" + f" ({check.detail})" * bool(check.detail)


def rejection(item: RejectedQuestion) -> str:
    """Write a question whose reply failed, and why."""
    return f"{item.id}: {item.reason}" + (f" ({item.finding})" if item.finding else "")


def failed_title(result: GateResult) -> str:
    """Name the list of what failed."""
    if result.kind == "rows":
        return "Traces with an unsupported claim"
    return "Replies that failed verification"


def render_gate(result: GateResult, *, style: Style = unstyled) -> str:
    """Write the decision; lines end in line feeds and hold no control characters from data."""
    return "".join(f"{style(line, role)}\n" for line, role in _lines(result))


def _lines(result: GateResult) -> Iterator[Line]:
    yield headline(result), "good" if result.passed else "poor"
    yield from _wrapped(result.report, "  report    ")
    if result.baseline is not None:
        yield from _wrapped(result.baseline, "  baseline  ")
    for check in result.checks:
        yield from _wrapped(sentence(check), f"  {SIGNS[check.status]:<6}")
    if not result.passed and result.rejected:
        yield "", "plain"
        yield failed_title(result), "heading"
        for item in result.rejected:
            yield from _wrapped(rejection(item), "  - ")


def _wrapped(text: str, lead: str) -> Iterator[Line]:
    for number, line in enumerate(wrap(one_line(text), WIDTH - cells(lead))):
        yield _inert(f"{' ' * cells(lead) if number else lead}{line}"), "plain"


def _inert(line: str) -> str:
    """Keep a line of data from being read as a command of a CI system."""
    if line.lstrip().startswith("::"):
        line = line.replace("::", ": :", 1)
    return line.replace("##[", "# #[").replace("##vso[", "# #vso[")
