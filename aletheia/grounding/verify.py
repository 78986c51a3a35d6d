"""Verification: a reply against its evidence, deterministic and without a model.

The five reasons are checked in the order of `RejectionReason`; all that apply are listed, and the
first is the rejection reason. Everything here is a function of its arguments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from aletheia.grounding import checks
from aletheia.grounding.case import Case, build_case
from aletheia.grounding.citations import Marker, find_markers
from aletheia.grounding.injection import KnownWords, injection_notes
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.refusal import idle_spans, is_abstention_literal, refusal, statements
from aletheia.grounding.slots import check_slots
from aletheia.grounding.statements_check import check_statements
from aletheia.schema.answer import ParsedAnswer, ParseProblem
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.verification import Finding, Note, RejectionReason, Verification

CHECKS: tuple[checks.Check, ...] = (
    checks.check_links,
    checks.check_identifiers,
    checks.check_names,
    checks.check_numbered,
    checks.check_uncased,
    checks.check_numbers,
    checks.check_dates,
    check_slots,
    checks.check_quotations,
    check_statements,
)
"""In order: links and identifiers mask what they cover from the checks after them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyOptions:
    """How a reply is read and what is exempt.

    `lenient` reads every form of inline marker that people use, not only the declared ones.
    `exempt_question_entities` lets names of the question pass unsupported (off by default:
    the question is not evidence).
    """

    lenient: bool = False
    exempt_question_entities: bool = False


DEFAULT_OPTIONS = VerifyOptions()


def verify_reply(
    evidence: EvidenceSet,
    reply: str | Mapping[str, object] | None,
    *,
    question: str | None = None,
    options: VerifyOptions = DEFAULT_OPTIONS,
) -> Verification:
    """Parse `reply` and verify it against `evidence`. Never raises for any reply.

    What looks like an order to a model is noted, wherever it stands, and decides nothing.
    """
    parsed = parse_reply(reply)
    if isinstance(parsed, ParseProblem):
        found, case = _unparsed(parsed), None
    else:
        found, case = _verified(evidence, parsed, question, options)
    known = None if case is None else _known_words(case)
    notes = injection_notes(evidence, question=question, answer=found.answer, known=known)
    return replace(found, notes=(*found.notes, *notes)) if notes else found


def _known_words(case: Case) -> KnownWords:
    units = [unit.id for unit in case.cited.units]
    return KnownWords(cited=case.cited.vocabulary, units=units, answer=case.words)


def _unparsed(problem: ParseProblem) -> Verification:
    return Verification(
        verified=False,
        abstained=False,
        answer=problem.answer,
        reasons=(RejectionReason.PARSE_ERROR,),
        findings=(
            Finding(
                kind="reply", text="", start=0, end=0, reason=problem.code, nearest=problem.message
            ),
        ),
        repairs=problem.repairs,
        problem=problem.code,
    )


def verify_answer(
    evidence: EvidenceSet,
    parsed: ParsedAnswer,
    *,
    question: str | None = None,
    options: VerifyOptions = DEFAULT_OPTIONS,
) -> Verification:
    """Verify a parsed answer against `evidence`."""
    return _verified(evidence, parsed, question, options)[0]


def _verified(
    evidence: EvidenceSet, parsed: ParsedAnswer, question: str | None, options: VerifyOptions
) -> tuple[Verification, Case | None]:
    """Verify an answer; the case is None for an abstention, which is not checked further."""
    markers = find_markers(parsed.answer, len(evidence), lenient=options.lenient)
    cited = _cited(parsed, markers)
    invalid = _invalid(parsed, markers, evidence)
    literal = is_abstention_literal(parsed.answer)
    if literal or refusal(parsed.answer) is not None:
        return _abstention(parsed, cited, invalid, literal=literal), None
    case = build_case(parsed.answer, markers, evidence, cited, question)
    findings, notes = _run(case, options)
    reasons: list[RejectionReason] = []
    if not cited and not invalid:
        reasons.append(RejectionReason.ANSWER_WITHOUT_CITATIONS)
        invalid.append(_citation("", 0, 0, "no_citation"))
    elif invalid:
        reasons.append(RejectionReason.INVALID_CITATION_IDS)
    if findings:
        reasons.append(RejectionReason.UNCITED_ENTITIES)
    checked, unchecked = _coverage(case)
    found = Verification(
        verified=not reasons,
        abstained=False,
        answer=parsed.answer,
        cited_ids=cited,
        reasons=tuple(reasons),
        findings=(*invalid, *findings),
        notes=notes,
        repairs=parsed.repairs,
        normalised=_normalised(parsed, markers),
        checked=checked,
        unchecked=unchecked,
    )
    return found, case


def _run(case: Case, options: VerifyOptions) -> tuple[tuple[Finding, ...], tuple[Note, ...]]:
    findings: list[Finding] = []
    notes: list[Note] = []
    for check in CHECKS:
        for result in check(case):
            if isinstance(result, Note):
                notes.append(result)
            elif result.reason == "from_question" and options.exempt_question_entities:
                notes.append(
                    Note(
                        kind=result.kind,
                        text=result.text,
                        start=result.start,
                        end=result.end,
                        reason="from_question",
                    )
                )
            else:
                findings.append(result)
    if not findings and not case.decided and not _has_claim(case.answer):
        findings.append(_no_claim(case))
    findings.sort(key=lambda item: (item.start, item.end))
    notes.sort(key=lambda item: (item.start, item.end))
    return tuple(findings), tuple(notes)


def _has_claim(answer: str) -> bool:
    idle = idle_spans(answer)
    return any((item.start, item.end) not in idle for item in statements(answer))


def _no_claim(case: Case) -> Finding:
    return Finding(
        kind="claim", text=case.answer, start=0, end=len(case.answer), reason="nothing_to_check"
    )


def _cited(parsed: ParsedAnswer, markers: Sequence[Marker]) -> tuple[str, ...]:
    """Every cited id once, the listed ones first, then those of markers in the text."""
    ids = dict.fromkeys(parsed.evidence_ids)
    for marker in markers:
        ids.update(dict.fromkeys(marker.ids))
    return tuple(ids)


def _invalid(
    parsed: ParsedAnswer, markers: Sequence[Marker], evidence: EvidenceSet
) -> list[Finding]:
    """One finding per cited id that was not presented, at its marker where it has one."""
    found: list[Finding] = []
    seen: set[str] = set()
    for marker in markers:
        if not marker.valid_form:
            found.append(_citation(marker.text, marker.start, marker.end, "malformed_range"))
        for unit_id in marker.ids:
            if unit_id not in evidence:
                seen.add(unit_id)
                found.append(_citation(marker.text, marker.start, marker.end, "unknown_id"))
    unknown = [one for one in parsed.evidence_ids if one not in evidence and one not in seen]
    return found + [_citation(unit_id, 0, 0, "unknown_id") for unit_id in unknown]


def _citation(text: str, start: int, end: int, reason: str) -> Finding:
    return Finding(kind="citation", text=text, start=start, end=end, reason=reason)


def _abstention(
    parsed: ParsedAnswer, cited: tuple[str, ...], invalid: list[Finding], *, literal: bool
) -> Verification:
    reasons: list[RejectionReason] = []
    if cited or invalid:
        reasons.append(RejectionReason.INSUFFICIENT_CONTEXT_WITH_CITATIONS)
    if invalid:
        reasons.append(RejectionReason.INVALID_CITATION_IDS)
    span = (0, len(parsed.answer))
    findings = [_citation(", ".join(cited), 0, 0, "abstention_with_citations")] if reasons else []
    notes = (
        ()
        if literal
        else (
            Note(
                kind="claim", text=parsed.answer, start=0, end=span[1], reason="abstained_in_words"
            ),
        )
    )
    return Verification(
        verified=not reasons,
        abstained=not reasons,
        answer=parsed.answer,
        cited_ids=cited,
        reasons=tuple(reasons),
        findings=(*findings, *invalid),
        notes=notes,
        repairs=parsed.repairs,
        normalised=parsed.normalised,
    )


def _normalised(parsed: ParsedAnswer, markers: Sequence[Marker]) -> tuple[tuple[str, str], ...]:
    pairs = dict.fromkeys(parsed.normalised)
    for marker in markers:
        canonical = f"[{', '.join(marker.ids)}]"
        if marker.ids and marker.text != canonical:
            pairs[(marker.text, ", ".join(marker.ids))] = None
    return tuple(pairs)


def _coverage(case: Case) -> tuple[int, int]:
    """How many sentences held something that a check could decide, and how many did not."""
    decided = sorted(case.decided)
    checked = waiting = reached = 0
    for sentence in case.sentences:
        while waiting < len(decided) and decided[waiting][0] < sentence.end:
            reached = max(reached, decided[waiting][1])
            waiting += 1
        checked += reached > sentence.start
    return checked, len(case.sentences) - checked
