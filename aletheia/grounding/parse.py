"""Read any reply text into a cited answer, or say why that is not possible.

Strict JSON is tried first and left as it is. What follows are mechanical repairs, each recorded
in `repairs`; none can shorten, alter or guess the answer or its citations. A reply without an
object is a problem even where it is the bare abstention literal: the contract asks for the
object, and words found in free text would let a reply abstain that only talks about it.
"""

from __future__ import annotations

from collections.abc import Mapping

from aletheia.grounding.cited_ids import normalise_id, number_text
from aletheia.grounding.numbering import is_blank
from aletheia.grounding.relaxed_json import UNREAD, NumberText, Pairs, strict_loads
from aletheia.grounding.reply_object import (
    DEEPEST_WRAPPER,
    field_of,
    objects_in,
    problem,
    read_value,
)
from aletheia.grounding.reply_scan import Broken, Candidate, Scan, scan
from aletheia.schema.answer import ABSTENTION, ParsedAnswer, ParsedReply, ParseProblem

__all__ = ["normalise_id", "parse_reply"]


def parse_reply(raw: str | Mapping[str, object] | None) -> ParsedReply:
    """Read the answer in `raw` (a model's text, or an object already read), or the problem with it.

    Never raises, whatever the text.
    """
    if raw is None:
        return problem("empty_reply", "there is no reply")
    try:
        return _parse_text(raw) if isinstance(raw, str) else _parse_object(raw)
    except RecursionError:
        return problem("no_object", "the reply is nested too deeply")


def _parse_object(raw: object) -> ParsedReply:
    value = _plain_value(raw, 0)
    if not isinstance(value, Pairs | list):
        return problem("no_object", f"the reply is a `{type(raw).__name__}`, not a JSON object")
    return read_value(value, [])


def _parse_text(raw: str) -> ParsedReply:
    try:
        value = strict_loads(raw)
    except (ValueError, RecursionError):
        return _recover(raw)
    if isinstance(value, str):
        return _nested_text(value, [])
    return read_value(value, [])


def _nested_text(text: str, repairs: list[str]) -> ParsedReply:
    """Read an object that was written into a JSON string."""
    try:
        value = strict_loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, Pairs):
        return read_value(value, [*repairs, "json_string"])
    return problem("no_object", "the reply is a JSON string, not a JSON object", repairs)


def _recover(raw: str) -> ParsedReply:
    """Look for the one object in a text that is more, or a little less, than JSON."""
    if is_blank(raw):
        return problem("empty_reply", "the reply holds no visible character")
    found = scan(raw)
    read = [(candidate, _read_candidate(candidate)) for candidate in found.objects]
    answers = [pair for pair in read if _has_answer(pair[1])]
    if answers:
        return _one_of(answers, found.broken)
    for broken in found.broken:
        if broken.cut and broken.partial:
            return problem("truncated", f"{broken.message}, at character {broken.position}")
    for _, parsed in read:
        return parsed
    return _no_object(raw, found)


def _no_object(raw: str, found: Scan) -> ParseProblem:
    if found.unfinished_thought:
        return problem("truncated", "the text ends inside the model's reasoning")
    for broken in found.broken:
        if broken.partial:
            message = f"the object is no JSON: {broken.message} at character {broken.position}"
            return problem("no_object", message)
    bare = raw.strip().strip("\"'`*_.").upper()
    if bare == ABSTENTION:
        return problem("no_object", f"the reply is the bare word {ABSTENTION}, not a JSON object")
    return problem("no_object", "the reply holds no readable JSON object")


def _read_candidate(candidate: Candidate) -> ParsedReply:
    parsed = read_value(candidate.value, list(candidate.repairs))
    if not candidate.unclosed or isinstance(parsed, ParseProblem):
        return parsed
    # Where the object was not closed, a field that is missing may have been cut off.
    names = {field_of(key)[0] for pairs in objects_in(candidate.value) for key, _ in pairs}
    if "evidence_ids" in names:
        return parsed
    return problem("truncated", "the text ends before `evidence_ids`", candidate.repairs)


def _has_answer(parsed: ParsedReply) -> bool:
    return isinstance(parsed, ParsedAnswer) or parsed.code not in (
        "missing_answer",
        "schema_echo",
        "no_object",
    )


def _one_of(
    answers: list[tuple[Candidate, ParsedReply]], broken: tuple[Broken, ...]
) -> ParsedReply:
    """Return the only answer there is; several that differ are ambiguous."""
    first = answers[0][1]
    same = all(_reading(parsed) == _reading(first) for _, parsed in answers)
    others = [_partial_answer(item.partial) for item in broken]
    if same and all(other is None or other == _reading(first)[0] for other in others):
        return first
    return problem("ambiguous", "the reply holds several objects with different answers")


def _reading(parsed: ParsedReply) -> tuple[object, ...]:
    if isinstance(parsed, ParsedAnswer):
        return parsed.answer, parsed.evidence_ids
    return parsed.answer, parsed.code


def _partial_answer(partial: Pairs) -> object:
    """Return the answer an unreadable object began with; None for a placeholder such as `...`."""
    for key, value in partial:
        if field_of(key)[0] == "answer":
            placeholder = isinstance(value, str) and not any(map(str.isalnum, value))
            return None if placeholder or _is_template(value) else value
    return None


def _is_template(value: object) -> bool:
    return isinstance(value, str) and value[:1] == "<" and value[-1:] == ">"


def _plain_value(value: object, depth: int) -> object:
    """Bring a Python value into the shape the decoder gives: pairs, lists, written numbers."""
    if depth > DEEPEST_WRAPPER * 2:
        return UNREAD
    if isinstance(value, Mapping):
        return Pairs((str(key), _plain_value(item, depth + 1)) for key, item in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain_value(item, depth + 1) for item in value]
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return NumberText(number_text(value))
    return UNREAD
