"""Field cases of section A, reading replies: what the parser decides, one row per case.

Cases 8, 16, 17, 19 and 20 are about a judge's verdicts. Here they say that a reply of that shape is
never read as an answer, and that nothing is scraped from prose.
"""

import pytest

from aletheia.grounding.parse import parse_reply
from aletheia.schema.answer import ParsedAnswer, ParseProblem

READ = [
    (1, '```json\n{"answer": "The pump runs at 40 Hz.", "citations": ["E1"]}\n```', "The pump runs at 40 Hz.", "fence"),
    (2, 'Sure, here you go:\n```json\n{"answer":"Yes.","citations":["E1"]}\n```\nLet me know if you need more {details}.', "Yes.", "fence"),
    (4, 'checking {E1}... fine.\n</think>\n{"answer":"Fine.","evidence_ids":["E1"]}', "Fine.", "reasoning_block"),
    (5, '{"answer":"The tag <think> marks hidden reasoning.","citations":["E1"]}', "The tag <think> marks hidden reasoning.", "key_alias"),
    (10, "{'answer': 'Blue', 'evidence_ids': ['E1'], 'reasoning': None}", "Blue", "python_literal"),
    (11, '{"answer":"Blue","citations":["E1",],', "Blue", "trailing_comma"),
    (11, '{"answer":"Blue","citations":["E1",],', "Blue", "missing_brace"),
    (13, '{"answer": 5, "evidence_ids": [1]}', "5", "number_as_text"),
    (13, '{"answer": "5", "evidence_ids": ["1"]}', "5", None),
]  # fmt: skip

REFUSED = [
    (4, 'checking {E1}... fine.\n</think>\n{"verdict":"supported"}', "missing_answer"),
    (7, '{"results":[{"claim":0,"verdict":"Y"},{"claim":1,"verd', "truncated"),
    (7, '{"answer":"The pump runs at 4', "truncated"),
    (8, "yes, yes", "no_object"),
    (10, "{'verdict': True, 'reason': None}", "missing_answer"),
    (13, '{"answer": true, "evidence_ids": ["E1"]}', "wrong_type"),
    (14, '{"type":"object","properties":{"answer":{"type":"string"}}}', "schema_echo"),
    (16, "1. Yes. 2. Yes.", "no_object"),
    (16, "No, the text never says yes. No.", "no_object"),
    (17, "label: ungrounded, explanation: a grounded answer would name E1", "no_object"),
    (19, "GRADE: CI", "no_object"),
    (20, "There are 5 reasons for a 9.", "no_object"),
    (20, "This is a B.", "no_object"),
]


@pytest.mark.parametrize(("case", "raw", "answer", "repair"), READ)
def test_replies_that_are_read(case: int, raw: str, answer: str, repair: str | None) -> None:
    """The verdict on a repaired reply is that on the clean one, and the repair is recorded."""
    parsed = parse_reply(raw)

    assert isinstance(parsed, ParsedAnswer), case
    assert (parsed.answer, parsed.evidence_ids) == (answer, ("E1",))
    assert repair in parsed.repairs if repair else parsed.repairs == ()


@pytest.mark.parametrize(("case", "raw", "code"), REFUSED)
def test_replies_that_are_refused(case: int, raw: str, code: str) -> None:
    """What cannot be read is said to be so, and why."""
    parsed = parse_reply(raw)

    assert isinstance(parsed, ParseProblem), case
    assert parsed.code == code
    assert parsed.message
