"""The decision of a gate as Markdown, for the summary of a CI job. Data never becomes markup."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from aletheia.reports.gate import GateResult, Status
from aletheia.reports.gate_text import failed_title, headline
from aletheia.reports.visible import one_line

_MARKS: Final = re.compile(
    r"[\\`*_\[\]#|~@$]"  # emphasis, code, links, tables, mentions, mathematics
    r"|:(?=/)|(?<!\d)\.|\.(?!\d)"  # bare addresses become links of their own accord
)
_NAMES: Final[dict[Status, str]] = {
    "met": "met",
    "not_met": "**not met**",
    "unmeasured": "**no value**",
}


def render_markdown(result: GateResult) -> str:
    """Write a heading, a table of the rules, and the replies that failed."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: GateResult) -> Iterator[str]:
    yield f"## {escape(headline(result))}"
    yield ""
    yield f"Report: {code(result.report)}"
    if result.baseline is not None:
        yield ""
        yield f"Baseline: {code(result.baseline)}"
    yield ""
    yield "| rule | wanted | found | decision | |"
    yield "|---|---|---|---|---|"
    for check in result.checks:
        cells = (escape(check.name), escape(check.rule), escape(check.value))
        yield f"| {' | '.join(cells)} | {_NAMES[check.status]} | {escape(check.detail)} |"
    if result.rejected:
        yield ""
        rows = result.kind == "rows"
        yield f"### {failed_title(result)}: {len(result.rejected)}"
        yield ""
        yield f"| {'trace' if rows else 'question'} | reason | first {'claim' if rows else 'finding'} |"
        yield "|---|---|---|"
    for item in result.rejected:
        finding = code(item.finding) if item.finding else ""
        yield f"| {code(item.id)} | {escape(item.reason)} | {finding} |"


def escape(text: str) -> str:
    """Return text that shows as it is: one line, no markup, no HTML, no links."""
    text = one_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return _MARKS.sub(lambda match: f"&#{ord(match[0])};", text)


def code(text: str) -> str:
    """Return text as code, in which mentions and references do nothing either."""
    return f"<code>{escape(text)}</code>"
