"""pytest plugin: assert in a test that an answer came from its evidence.

pytest loads it by itself where this package is installed. It imports the verification when a test
first uses it, so a test run that does not use it pays nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from aletheia.schema.verification import Finding, Mode
    from aletheia.sdk.evidence import EvidenceLike
    from aletheia.sdk.result import VerifyResult

__all__ = ["AssertGrounded", "Verify", "aletheia_verify", "assert_grounded"]


class Verify(Protocol):
    """What the fixture `aletheia_verify` gives: `aletheia.verify`."""

    def __call__(
        self,
        evidence: EvidenceLike | None,
        reply: str | Mapping[str, object] | None,
        question: str | None = None,
        mode: Mode | str = ...,
        *,
        exempt_question_entities: bool = False,
    ) -> VerifyResult:
        """Verify a reply and return what was found."""
        ...


class AssertGrounded(Protocol):
    """What the fixture `assert_grounded` gives."""

    def __call__(
        self,
        evidence: EvidenceLike | None,
        reply: str | Mapping[str, object] | None,
        question: str | None = None,
        mode: Mode | str = "strict",
        *,
        exempt_question_entities: bool = False,
        allow_abstention: bool = True,
    ) -> VerifyResult:
        """Fail the test unless the cited evidence carries the reply; return what was found."""
        ...


@pytest.fixture(scope="session")
def aletheia_verify() -> Verify:
    """Return `aletheia.verify`: evidence and a reply in, what the evidence carries out."""
    from aletheia.sdk.api import verify

    return verify


@pytest.fixture(scope="session")
def assert_grounded(aletheia_verify: Verify) -> AssertGrounded:
    """Return a function that fails the test unless the cited evidence carries the reply.

    It judges the verdict itself: an answer that fails, fails the test in every mode; the mode
    only says how citations are read. `allow_abstention=False` also fails an abstention.
    """

    def check(
        evidence: EvidenceLike | None,
        reply: str | Mapping[str, object] | None,
        question: str | None = None,
        mode: Mode | str = "strict",
        *,
        exempt_question_entities: bool = False,
        allow_abstention: bool = True,
    ) -> VerifyResult:
        __tracebackhide__ = True
        found = aletheia_verify(
            evidence, reply, question, mode, exempt_question_entities=exempt_question_entities
        )
        if not found.verified:
            pytest.fail(failure_message(found), pytrace=True)
        if found.category == "insufficient_context" and not allow_abstention:
            pytest.fail("the reply abstains, and `allow_abstention` is False", pytrace=True)
        return found

    return check


def failure_message(found: VerifyResult) -> str:
    """Write why a reply failed: the reasons, then each finding with its place in the answer."""
    from aletheia.reports.visible import one_line
    from aletheia.reports.words import REASONS

    reasons = found.rejection_reasons or found.warnings
    lines = [
        "the reply is not grounded in the evidence it cites",
        f"  answer: {'none could be read' if found.answer is None else one_line(found.answer)}",
        f"  cited:  {', '.join(found.cited_ids) or 'nothing'}",
        *(f"  reason: {reason.value}: {REASONS[reason].meaning}" for reason in reasons),
        *(f"  {one_line(_finding(item))}" for item in found.findings),
    ]
    return "\n".join(lines)


def _finding(item: Finding) -> str:
    from aletheia.reports.words import finding_words, kind_words

    place = f" at {item.start}-{item.end}" if item.end else ""
    shown = f" `{item.text}`" if item.text else ""
    text = f"{kind_words(item.kind)}{shown}{place}: {finding_words(item.reason)}"
    if item.found_in is not None:
        text += f"; {item.found_in}, which is not cited, carries it"
    if item.nearest is not None:
        text += f"; the evidence has `{item.nearest}`"
    return text
