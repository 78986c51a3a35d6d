"""The checks. Each takes a case and yields findings (they fail the answer) and notes (they do not).

Every check asks the same question of its kind of thing: do the cited units carry it? Where they do
not, the uncited units are searched too, to say which one would have carried it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from aletheia.grounding import literals
from aletheia.grounding.case import Case, EvidenceIndex
from aletheia.grounding.lexicon import FUNCTION_WORDS, MONTHS_AND_DAYS
from aletheia.grounding.literals import LiteralMatch, LiteralMention
from aletheia.grounding.name_match import NameMatch, match_name
from aletheia.grounding.names import Name, names
from aletheia.grounding.quantities import DateMention, Quantity, check_date, check_quantity
from aletheia.grounding.scripts import stands_for, uncased_findings
from aletheia.grounding.small_counts import is_value_of_unknown
from aletheia.grounding.tables import cell_conflict, row_conflict
from aletheia.grounding.text import lowered, plain
from aletheia.schema.verification import Finding, FindingKind, Note

Result = Finding | Note
Check = Callable[[Case], Iterator[Result]]


def finding(
    case: Case,
    kind: FindingKind,
    span: tuple[int, int],
    reason: str,
    *,
    found_in: str | None = None,
    nearest: str | None = None,
) -> Finding:
    """A finding over a folded span, with offsets of the answer."""
    start, end = case.original(*span)
    return Finding(
        kind=kind, text=case.answer[start:end], start=start, end=end, reason=reason,
        found_in=found_in, nearest=nearest,
    )  # fmt: skip


def note(
    case: Case, kind: str, span: tuple[int, int], reason: str, detail: str | None = None
) -> Note:
    """A note over a folded span, with offsets of the answer."""
    start, end = case.original(*span)
    text = case.answer[start:end]
    return Note(kind=kind, text=text, start=start, end=end, reason=reason, detail=detail)


# --- literals ---------------------------------------------------------------------------------


def check_links(case: Case) -> Iterator[Result]:
    """Every URL, DOI and e-mail stands in the cited units, or in the question."""
    for mention in literals.links(case.text):
        case.masks.add(mention.start, mention.end)
        if case.question and literals.match_link(mention, case.question_index).carried:
            yield note(case, "link", (mention.start, mention.end), "from_question")
        else:
            yield from _literal(case, mention, literals.match_link)


def check_identifiers(case: Case) -> Iterator[Result]:
    """Every part number, code span, version and designated thing stands in the cited units."""
    for mention in literals.identifiers(case.text, case.words):
        if case.masks.cover(mention.start):
            continue
        case.masks.add(mention.start, mention.end)
        yield from _literal(case, mention, literals.match_identifier)


def check_quotations(case: Case) -> Iterator[Result]:
    """Every quotation stands in one cited unit in one piece."""
    for mention in literals.quotations(case.text):
        yield from _literal(case, mention, literals.match_quotation)


def _literal(
    case: Case,
    mention: LiteralMention,
    match: Callable[[LiteralMention, EvidenceIndex], LiteralMatch],
) -> Iterator[Result]:
    span = (mention.start, mention.end)
    case.decided.append(span)
    found = match(mention, case.cited)
    if not found.carried:
        elsewhere = next(
            (i.units[0].id for i in case.uncited_units() if match(mention, i).carried), None
        )
        reason = "misattributed" if elsewhere else found.reason
        if not elsewhere and case.question and match(mention, case.question_index).carried:
            reason = "from_question"
        yield finding(case, mention.kind, span, reason, found_in=elsewhere, nearest=found.nearest)
        return
    if found.note is not None:
        yield note(case, mention.kind, span, found.note)
    scope = case.scope_of(mention.start)
    if scope is not None and not match(mention, scope).carried:
        yield finding(
            case,
            mention.kind,
            span,
            "misattributed",
            found_in=_carrier(case, lambda i: match(mention, i).carried),
        )


def _carrier(case: Case, carries: Callable[[EvidenceIndex], bool]) -> str | None:
    """The first presented unit that carries something by itself."""
    for unit in (*case.cited.units, *case.others.units):
        if carries(case.single(unit)):
            return unit.id
    return None


# --- names ------------------------------------------------------------------------------------


def check_names(case: Case) -> Iterator[Result]:
    """Every name stands in the cited units, under the guards of `name_match`."""
    dated = [(mention.start, mention.end) for mention in case.numeric.dates]
    # Four characters on either side hold the code of a currency: `USD 890`.
    money = [(q.start - 4, q.end + 4) for q in case.numeric.quantities if q.currency is not None]
    for name in names(case.text, masks=[*case.masks, *dated, *money]):
        found = _accented(case, name, match_name(name, case.cited))
        case.decided.append((name.start, name.end))
        if found.note == "ordinary_noun" and name.opener:
            found = _german_opener(case, name, found)
        if not found.carried:
            yield from _missing_name(case, name, found.reason, found.nearest)
        elif found.note is not None or case.has_scopes:
            yield from _carried_name(case, name, found)


def _carried_name(case: Case, name: Name, found: NameMatch) -> Iterator[Result]:
    """Notes on a name the cited units carry; a finding where another unit spells it better."""
    span = (name.start, name.end)
    if found.note is not None:
        if found.note in ("accent_folded", "transliterated", "typo"):
            other = _exact_elsewhere(case, name)
            if other is not None:
                yield finding(case, "name", span, "misattributed", found_in=other)
                return
        yield note(case, "name", span, found.note, found.nearest)
    scope = case.scope_of(name.start)
    if scope is not None and not match_name(name, scope).carried:
        yield note(case, "name", span, "cited_elsewhere")


def _german_opener(case: Case, name: Name, found: NameMatch) -> NameMatch:
    """A German opener may be any noun, unless the evidence sentence has another in its place."""
    sentence = case.sentence_at(name.start)
    if sentence is None:
        return found
    span = (name.start, name.end)
    other = stands_for(case.text, sentence.start, sentence.end, span, case.cited)
    if other is None:
        return found
    return NameMatch(carried=False, reason="other_name", nearest=other)


_NUMBERED = re.compile(r"([A-Z](?<![\w.].)[A-Za-z]{2,}) (\d{1,3}(?:\.\d+)*)(?![\w%]|[.,]\d)")


def check_numbered(case: Case) -> Iterator[Result]:
    """`Windows 11` fails where the evidence numbers the same thing otherwise, and never so."""
    numbered: dict[str, list[str]] = {}
    for match in _NUMBERED.finditer(case.text):
        word = match.group(1)
        if word.lower() in FUNCTION_WORDS or word.lower() in MONTHS_AND_DAYS:
            continue
        if case.masks.cover(match.start()):
            continue
        if word not in numbered:
            numbered[word] = _numbers_after(word, case.cited.folded)
        seen = numbered[word]
        if seen and match.group(2) not in seen:
            yield finding(
                case, "identifier", match.span(), "other_designator", nearest=f"{word} {seen[0]}"
            )


def _numbers_after(word: str, folded: str) -> list[str]:
    """The numbers that stand right after `word` in the evidence."""
    if f"{word} " not in folded:
        return []
    pattern = rf"(?<!\w){re.escape(word)} (\d{{1,3}}(?:\.\d+)*)(?![\w%]|[.,]\d)"
    return re.findall(pattern, folded)


def _accented(case: Case, name: Name, found: NameMatch) -> NameMatch:
    """Names are looked up without accents; say so where that is how this one was found."""
    if not found.carried or found.note is not None:
        return found
    if case.text.isascii() and case.cited.folded.isascii():
        return _PARTIAL_NAME if _is_part(case, name) else found
    spelled = lowered(case.text[name.start : name.end])
    if spelled in case.cited.lower_folded or (spelled.isascii() and case.cited.folded.isascii()):
        return _PARTIAL_NAME if _is_part(case, name) else found
    same_letters = plain(spelled) in plain(case.cited.lower_folded)
    return replace(found, note="accent_folded") if same_letters else found


_PARTIAL_NAME = NameMatch(carried=True, note="partial_name")


def _is_part(case: Case, name: Name) -> bool:
    """Whether the evidence only has the name inside a longer one (`New York` in `New York Times`)."""
    text = case.cited.folded
    spelled = case.text[name.start : name.end]
    place = text.find(spelled)
    if place < 0:
        return False
    end = place + len(spelled)
    return text[end : end + 1] == " " and text[end + 1 : end + 2].isupper()


def _missing_name(case: Case, name: Name, reason: str, nearest: str | None) -> Iterator[Result]:
    span = (name.start, name.end)
    elsewhere = next(
        (i.units[0].id for i in case.uncited_units() if match_name(name, i).carried), None
    )
    if elsewhere is not None:
        reason = "misattributed"
    elif case.question and match_name(name, case.question_index).carried:
        reason = "from_question"
    yield finding(case, "name", span, reason, found_in=elsewhere, nearest=nearest)


def _exact_elsewhere(case: Case, name: Name) -> str | None:
    """The uncited unit that spells the name exactly as the answer does: exact spelling wins."""
    spelled = case.text[name.start : name.end].lower()
    if spelled in case.cited.spelled:
        return None
    return next((unit.id for unit in case.others.units if spelled in unit.spelled), None)


def check_uncased(case: Case) -> Iterator[Result]:
    """Names in scripts without capitals."""
    if case.text.isascii():
        return
    for sentence in case.sentences:
        for item in uncased_findings(case.text, sentence.start, sentence.end, case.cited):
            span = (item.start, item.end)
            if item.reason != "negation" and _is_numeric(case, span):
                continue
            words = case.text[item.start : item.end]
            elsewhere = None
            if item.reason != "cjk_substring":
                elsewhere = next((u.id for u in case.others.units if words in u.folded.text), None)
            yield finding(
                case, "polarity" if item.reason == "negation" else "name", span,
                "misattributed" if elsewhere else item.reason,
                found_in=elsewhere, nearest=item.nearest,
            )  # fmt: skip


def _is_numeric(case: Case, span: tuple[int, int]) -> bool:
    return case.numeric_spans.overlap(*span)


# --- numbers and dates ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """How the evidence stands to a number or date, in one form for both kinds."""

    supported: bool
    outcome: str
    nearest: str | None = None
    soft: bool = False


def check_numbers(case: Case) -> Iterator[Result]:
    """Every quantity stands in the cited units, by value, unit and sign, and in its own cell."""
    for claimed in case.numeric.quantities:
        yield from _numeric(case, "number", claimed, _quantity_outcome)


def check_dates(case: Case) -> Iterator[Result]:
    """Every date stands in the cited units at its own precision or a finer one."""
    for claimed in case.numeric.dates:
        yield from _numeric(case, "date", claimed, _date_outcome)


M = TypeVar("M", Quantity, DateMention)


def _quantity_outcome(claimed: Quantity, index: EvidenceIndex) -> _Outcome:
    found = check_quantity(claimed, index.numeric)
    nearest = None
    if (
        found.index is not None
        and not found.supported
        and found.index < len(index.numeric.quantities)
    ):
        nearest = index.numeric.quantities[found.index].text
    reason = str(found.outcome) if found.supported else (found.note or str(found.outcome))
    return _Outcome(
        supported=found.supported, outcome=reason, nearest=nearest, soft=found.soft or claimed.soft
    )


def _date_outcome(claimed: DateMention, index: EvidenceIndex) -> _Outcome:
    found = check_date(claimed, index.numeric)
    nearest = None
    if found.index is not None and not found.supported and found.index < len(index.numeric.dates):
        nearest = index.numeric.dates[found.index].text
    return _Outcome(
        supported=found.supported, outcome=str(found.outcome), nearest=nearest, soft=claimed.soft
    )


def _numeric(
    case: Case,
    kind: Literal["number", "date"],
    claimed: M,
    outcome: Callable[[M, EvidenceIndex], _Outcome],
) -> Iterator[Result]:
    span = (claimed.start, claimed.end)
    case.decided.append(span)
    found = outcome(claimed, case.cited)
    if not found.supported:
        yield from _missing_value(case, kind, claimed, found, outcome)
        return
    cell = _cell(case, claimed)
    if cell is not None:
        yield finding(case, kind, span, "other_cell", nearest=cell)
        return
    if found.outcome != "exact":
        yield note(case, kind, span, found.outcome)
    scope = case.scope_of(claimed.start)
    if scope is not None and not outcome(claimed, scope).supported:
        where = _carrier(case, lambda index: outcome(claimed, index).supported)
        yield finding(case, kind, span, "misattributed", found_in=where)


def _missing_value(
    case: Case,
    kind: Literal["number", "date"],
    claimed: M,
    found: _Outcome,
    outcome: Callable[[M, EvidenceIndex], _Outcome],
) -> Iterator[Result]:
    span = (claimed.start, claimed.end)
    case.missing.add(span)
    if found.soft and not _is_value_of_unknown(case, claimed):
        yield note(case, kind, span, "uncounted", found.nearest)
        return
    elsewhere = next(
        (index.units[0].id for index in case.uncited_units() if outcome(claimed, index).supported),
        None,
    )
    reason = "misattributed" if elsewhere else found.outcome
    yield finding(case, kind, span, reason, found_in=elsewhere, nearest=found.nearest)


def _is_value_of_unknown(case: Case, claimed: Quantity | DateMention) -> bool:
    """Whether a number counts nothing and is said of what the cited units never name.

    `The fee is 10.` is no count that somebody made from the units, unlike `The number of ports is
    3.` and `There are 3 ports.`
    """
    sentence = case.sentence_at(claimed.start)
    return sentence is not None and is_value_of_unknown(
        case.text, (claimed.start, claimed.end), sentence.start, case.cited
    )


def _cell(case: Case, claimed: Quantity | DateMention) -> str | None:
    """What the table cell holds that the sentence names by row and column, if another value."""
    if not case.cited.tables:
        return None
    sentence = case.sentence_at(claimed.start)
    if sentence is None:
        return None
    text = case.text[sentence.start : sentence.end]
    found = case.cited.tables
    verdict = cell_conflict(text, claimed, found, sentence.start) or row_conflict(
        text, claimed, found, sentence.start
    )
    if verdict is None or verdict.outcome != "contradicted":
        return None
    return f"{verdict.row} / {verdict.column}: {verdict.cell.text}"
