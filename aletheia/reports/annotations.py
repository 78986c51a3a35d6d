"""The decision of a gate as GitHub workflow commands: one line a rule that is not met."""

from __future__ import annotations

from aletheia.reports.gate import GateResult
from aletheia.reports.gate_text import headline, sentence
from aletheia.reports.visible import visible

_TITLE = "Aletheia gate"


def render_annotations(result: GateResult) -> tuple[str, ...]:
    """Return the commands; each is one line, and nothing in the data ends or changes it."""
    if result.passed:
        return (f"::notice title={_TITLE}::{_data(headline(result))}",)
    place = f"file={_property(result.report)},title={_TITLE}"
    return tuple(
        f"::error {place}::{_data(sentence(check))}"
        for check in result.checks
        if check.status != "met"
    )


def _data(text: str) -> str:
    text = visible(text, keep="\n\r")
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
