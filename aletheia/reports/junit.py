"""The decision of a gate as JUnit XML: one test case a rule, valid whatever the data holds."""

from __future__ import annotations

import logging
import re
from typing import Final
from xml.etree import ElementTree as ET

from aletheia.reports.gate import GateCheck, GateResult
from aletheia.reports.gate_text import headline, rejection, sentence
from aletheia.reports.visible import REPLACEMENT, visible

_log = logging.getLogger(__name__)

_ILLEGAL: Final = re.compile(
    "[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"  # the characters XML 1.0 leaves out
)


def render_junit(result: GateResult, *, name: str = "aletheia gate") -> str:
    """Write the document: as many failures as rules that are not met."""
    replaced = 0

    def text(value: str) -> str:
        nonlocal replaced
        replaced += len(_ILLEGAL.findall(value))
        return _ILLEGAL.sub(REPLACEMENT, visible(value))

    suite = ET.Element("testsuite", _counts(result, text(name)))
    properties = ET.SubElement(suite, "properties")
    for key, value in (("report", result.report), ("baseline", result.baseline)):
        if value is not None:
            ET.SubElement(properties, "property", {"name": key, "value": text(value)})
    for check in result.checks:
        case = {"classname": "aletheia.gate", "name": text(check.name), "time": "0"}
        _case(ET.SubElement(suite, "testcase", case), check, text(sentence(check)))
    lines = [headline(result), *map(rejection, result.rejected)] if result.rejected else []
    ET.SubElement(suite, "system-out").text = text("\n".join(lines or [headline(result)]))
    root = ET.Element("testsuites", _counts(result, text(name)))
    root.append(suite)
    ET.indent(root)
    if replaced:
        _log.warning("%d characters that XML cannot hold were replaced", replaced)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _counts(result: GateResult, name: str) -> dict[str, str]:
    failed = sum(check.status != "met" for check in result.checks)
    return {
        "name": name,
        "tests": str(len(result.checks)),
        "failures": str(failed),
        "errors": "0",
        "skipped": "0",
        "time": "0",
    }


def _case(case: ET.Element, check: GateCheck, said: str) -> None:
    if check.status == "met":
        ET.SubElement(case, "system-out").text = said
        return
    failure = ET.SubElement(case, "failure", {"message": said, "type": check.status})
    failure.text = said
