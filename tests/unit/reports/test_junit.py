"""JUnit XML: valid under XML 1.0 whatever the data holds, and it agrees with the decision."""

from __future__ import annotations

import logging
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.reports.samples import HOSTILE, sample_report

from aletheia.reports.gate import GateCheck, GateResult, Rules, decide
from aletheia.reports.gate_facts import RejectedQuestion, facts_of
from aletheia.reports.junit import render_junit


def parsed(result: GateResult) -> ET.Element:
    """Read the document as a CI system would: from UTF-8 bytes."""
    return ET.fromstring(render_junit(result).encode("utf-8"))


def with_text(text: str) -> GateResult:
    check = GateCheck(name=text, status="not_met", rule=text, value=text, detail=text)
    rejected = RejectedQuestion(id=text, reason=text, finding=text)
    return GateResult(
        report=text, baseline=text, passed=False, exit_code=3, checks=(check,), rejected=(rejected,)
    )


@pytest.mark.parametrize(
    "text",
    [
        HOSTILE,
        "row\nid",
        "]]>",
        "<![CDATA[",
        "\ud83d",
        "\x00\x0b\x1f",
        "\ufffe\uffff",
        "a\rb",
        "\x85",
    ],
)
def test_hostile_text_stays_text(text: str) -> None:
    root = parsed(with_text(text))

    assert [element.tag for element in root.iter()] == [
        *("testsuites", "testsuite", "properties", "property", "property", "testcase", "failure"),
        "system-out",
    ]


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_any_text_is_valid_xml(text: str) -> None:
    parsed(with_text(text))


def test_what_xml_cannot_hold_is_counted_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        render_junit(with_text("\x00\ud83d"))

    assert "characters that XML cannot hold were replaced" in caplog.text


def test_a_clean_run_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    render_junit(with_text("clean"))

    assert caplog.text == ""


def test_the_counts_are_those_of_the_decision() -> None:
    result = decide(
        facts_of(sample_report(), "r.json"),
        Rules(min_pass_rate=0.1, max_rejections=0, max_contamination=0.5),
    )
    root = parsed(result)
    suite = root[0]
    failures = [
        case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None
    ]

    assert suite.get("tests") == str(len(result.checks))
    assert suite.get("failures") == str(len(failures))
    assert failures == [check.name for check in result.checks if check.status != "met"]
    assert "f-005: uncited_entities" in (suite.findtext("system-out") or "")
