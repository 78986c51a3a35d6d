"""Replies: strict JSON first, mechanical repairs recorded, everything doubtful a problem."""

import json
from typing import Any

import pytest

from aletheia.grounding.parse import normalise_id, parse_reply
from aletheia.schema.answer import ParsedAnswer, ParseProblem

GOOD = '{"answer": "Blue", "evidence_ids": ["E1"]}'


def read(raw: Any) -> ParsedAnswer:
    parsed = parse_reply(raw)
    assert isinstance(parsed, ParsedAnswer), parsed
    return parsed


def refused(raw: Any) -> ParseProblem:
    parsed = parse_reply(raw)
    assert isinstance(parsed, ParseProblem), parsed
    return parsed


def test_a_valid_reply_needs_no_repair() -> None:
    raw = '{"answer": "Blue", "evidence_ids": ["E1", "E2"], "reasoning": "E1 says so."}'

    assert parse_reply(raw) == ParsedAnswer(
        answer="Blue", evidence_ids=("E1", "E2"), reasoning="E1 says so."
    )


def test_a_mapping_reads_like_its_text() -> None:
    reply = {"answer": "Blue", "evidence_ids": ["e01", 2], "reasoning": None}

    assert parse_reply(reply) == parse_reply(json.dumps(reply))


@pytest.mark.parametrize(
    "answer",
    [
        "The tag <think> marks reasoning.", "ends </think> here", " padded \n", "```json", '{"answer": 1}',
        "\ud83d", "\ufeffx", "a\u2028b", "{E1} [E1]", "Zu\u0308rich", "a\x00", "'single'", "None", "\\n",
    ],
)  # fmt: skip
def test_the_answer_of_valid_json_stays_byte_identical(answer: str) -> None:
    for ascii_only in (True, False):
        raw = json.dumps({"answer": answer, "evidence_ids": ["E1"]}, ensure_ascii=ascii_only)

        assert read(raw).answer == answer
        assert read(raw).repairs == ()


@pytest.mark.parametrize(
    ("raw", "repairs"),
    [
        (f"\ufeff{GOOD}", ("bom",)),
        (f"```json\n{GOOD}\n```", ("fence",)),
        (f"```\n{GOOD}\n```", ("fence",)),
        (f"~~~JSON\n{GOOD}\n~~~", ("fence",)),
        (f"'''json\n{GOOD}\n'''", ("fence",)),
        (f"```json\n{GOOD}", ("fence",)),
        (f"```json {GOOD} ```", ("fence",)),
        (f"Sure:\n```json\n{GOOD}\n```\nMore {{details}}?", ("fence", "surrounding_text")),
        (f"Here: {GOOD} Done }}.", ("surrounding_text",)),
        (f"json\n{GOOD}", ("surrounding_text",)),
        (f"<answer>{GOOD}</answer>", ("surrounding_text",)),
        (f"{GOOD}}}", ("surrounding_text",)),
        (f"{GOOD}\n{GOOD}", ("surrounding_text",)),
        (f'Use {{"answer": "...", "evidence_ids": [...]}}: {GOOD}', ("surrounding_text",)),
        (f'{{"verdict": 1}} {GOOD}', ("surrounding_text",)),
        (f"<think>hm {{E1}}</think>{GOOD}", ("reasoning_block",)),
        (f"hm\n</think>\n{GOOD}", ("reasoning_block",)),
        (f"</thinking>{GOOD}", ("reasoning_block",)),
        (f"<thought>a</thought><reasoning>b</reasoning>{GOOD}", ("reasoning_block",)),
        (f"[THINK]a[/THINK]{GOOD}", ("reasoning_block",)),
        (f"◁think▷a◁/think▷{GOOD}", ("reasoning_block",)),
        (f"<seed:think>a</seed:think>{GOOD}", ("reasoning_block",)),
        (
            f"<|channel|>analysis<|message|>a<|end|><|channel|>final<|message|>{GOOD}",
            ("reasoning_block",),
        ),
        ('<think>{"answer": "Red", "evidence_ids": []}</think>' + GOOD, ("reasoning_block",)),
        (f"<think>hm\n{GOOD}", ("unclosed_reasoning", "surrounding_text")),
        ('{"answer": "Blue", "evidence_ids": ["E1"],}', ("trailing_comma",)),
        ('{"answer": "Blue", "evidence_ids": ["E1",]}', ("trailing_comma",)),
        ('{"answer": "Blue", "evidence_ids": ["E1"]', ("missing_brace",)),
        ('{"answer": "Blue", "evidence_ids": ["E1",],', ("trailing_comma", "missing_brace")),
        ('{"evidence_ids": ["E1"], "answer": "Blue"', ("missing_brace",)),
        ('```json\n{"answer": "Blue", "evidence_ids": ["E1"]\n```', ("fence", "missing_brace")),
        ('{"answer": "Blue", "evidence_ids": ["E1"}', ("missing_bracket",)),
        ('[{"answer": "Blue", "evidence_ids": ["E1"]}', ("missing_bracket", "wrapper")),
        ("{'answer': 'Blue', 'evidence_ids': ['E1']}", ("python_literal",)),
        ('{"answer": "Blue", "evidence_ids": ["E1"], "x": None}', ("python_literal",)),
        ("{“answer”: “Blue”, “evidence_ids”: [“E1”]}", ("typographic_quotes",)),
        ('{"answer"："Blue"，"evidence_ids"：["E1"]}', ("full_width_sign",)),
        ('{answer: "Blue", evidence_ids: ["E1"]}', ("unquoted_key",)),
        ('{"answer": "Blue", // why\n "evidence_ids": ["E1"]}', ("comment",)),
        ('{"response": {"answer": "Blue", "evidence_ids": ["E1"]}}', ("wrapper",)),
        (f"[{GOOD}]", ("wrapper",)),
        (f"[{GOOD}, {GOOD}]", ("wrapper",)),
        (f'{{"name": "reply", "arguments": {json.dumps(GOOD)}}}', ("wrapper",)),
        (
            '{"type": "object", "properties": {"answer": "Blue", "evidence_ids": ["E1"]}}',
            ("wrapper",),
        ),
        (json.dumps(GOOD), ("json_string",)),
        ('{"Answer": "Blue", "EVIDENCE_IDS": ["E1"]}', ("key_form",)),
        ('{"ANSWER": "Blue", "evidenceIds": ["E1"]}', ("key_form",)),
        ('{"answer ": "Blue", "evidence-ids": ["E1"]}', ("key_form",)),
        ('{"answer": "Blue", "citations": ["E1"]}', ("key_alias",)),
        ('{"answer": "Blue", "Citations": ["E1"]}', ("key_alias",)),
        ('{"answer": "Blue", "evidence_ids": "E1"}', ("ids_not_listed",)),
        ('{"answer": "Blue", "evidence_ids": [["E1"]]}', ()),
        ('{"answer": "Blue", "evidence_ids": ["E1", "E1"]}', ()),
        ('{"answer": "Blue", "evidence_ids": ["E1"], "confidence": 0.9, "z": {"y": [1]}}', ()),
        ('{"answer": "Blue", "evidence_ids": ["E1"], "answer": "Blue"}', ()),
        ('{"answer": "Blue", "evidence_ids": ["E1"], "citations": ["[E01]"]}', ("key_alias",)),
        ('{"answer": "Blue", "evidence_ids": null, "citations": ["E1"]}', ("key_alias",)),
    ],
)
def test_repairs_that_change_nothing_are_made_and_named(raw: str, repairs: tuple[str, ...]) -> None:
    found = read(raw)

    assert (found.answer, found.evidence_ids) == ("Blue", ("E1",))
    assert found.repairs == repairs


@pytest.mark.parametrize(
    ("raw", "answer"),
    [
        ('{"answer": "two\nlines\tx", "evidence_ids": ["E1"]}', "two\nlines\tx"),
        (
            "{'answer': 'It\\'s \"Blue\"\\n\\x41\\u00e9', 'evidence_ids': ['E1']}",
            'It\'s "Blue"\nAé',
        ),
        ("{'answer': \"It's\", 'evidence_ids': ['E1']}", "It's"),
        ('{"answer": "It\\\'s", "evidence_ids": ["E1"]}', "It's"),
        (
            '<think>a</think>{"answer": "see </think> tag", "evidence_ids": ["E1"]}',
            "see </think> tag",
        ),
        ('{"answer": "a, ]} b", "evidence_ids": ["E1"],}', "a, ]} b"),
        ('x {"answer": "😀 \\ud83d\\ude00", "evidence_ids": ["E1"]}', "😀 😀"),
        ('x {"answer": "// no /* comment */", "evidence_ids": ["E1"]}', "// no /* comment */"),
    ],
)
def test_a_repair_leaves_the_answer_as_it_was_meant(raw: str, answer: str) -> None:
    assert read(raw).answer == answer


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (None, "empty_reply"),
        ("", "empty_reply"),
        (" \n\u200b", "empty_reply"),
        ("INSUFFICIENT_CONTEXT", "no_object"),
        ("The answer is Blue [E1].", "no_object"),
        ("null", "no_object"),
        ("[]", "no_object"),
        ('["E1"]', "no_object"),
        ('"Blue"', "no_object"),
        ("3", "no_object"),
        ("{}", "missing_answer"),
        ('{"verdict": "supported"}', "missing_answer"),
        ('{"answers": "Blue"}', "missing_answer"),
        ('{"type": "object", "properties": {"answer": {"type": "string"}}}', "schema_echo"),
        ('{"answer": {"type": "string"}, "evidence_ids": {"type": "array"}}', "schema_echo"),
        ('{"$schema": "x", "title": "reply"}', "schema_echo"),
        ('{"answer": "string", "evidence_ids": ["string"], "reasoning": "string"}', "schema_echo"),
        (
            '{"schema": {"type": "object", "properties": {"answer": {"type": "string"}}}}',
            "schema_echo",
        ),
        ('{"answer": true}', "wrong_type"),
        ('{"answer": null}', "wrong_type"),
        ('{"answer": ["Blue"]}', "wrong_type"),
        ('{"answer": {"text": "Blue"}}', "wrong_type"),
        ('{"answer": 1e999}', "wrong_type"),
        ('{"answer": "Blue", "evidence_ids": [true]}', "wrong_type"),
        ('{"answer": "Blue", "evidence_ids": [null]}', "wrong_type"),
        ('{"answer": "Blue", "evidence_ids": true}', "wrong_type"),
        ('{"answer": "Blue", "evidence_ids": {"E1": "quote"}}', "wrong_type"),
        ('{"answer": ""}', "empty_answer"),
        ('{"answer": " \\n", "evidence_ids": ["E1"]}', "empty_answer"),
        ('{"answer": "\\u200b"}', "empty_answer"),
        ('{"answer": "a", "answer": "b"}', "duplicate_key"),
        ('{"answer": "a", "Answer": "b"}', "duplicate_key"),
        ('{"answer": "a", "evidence_ids": ["E1"], "evidence_ids": ["E2"]}', "duplicate_key"),
        ('{"answer": "a", "evidence_ids": ["E1"], "citations": []}', "duplicate_key"),
        ("{'answer': 'a', 'answer': 'b'}", "duplicate_key"),
        ('{"answer": NaN}', "no_object"),
        ('{"answer": "Blue", "evidence_ids": ["E1"], "score": Infinity}', "no_object"),
        (f'{GOOD} {{"answer": "Red", "evidence_ids": ["E1"]}}', "ambiguous"),
        (f'{GOOD} {{"answer": "Blue", "evidence_ids": ["E2"]}}', "ambiguous"),
        (f'[{GOOD}, {{"answer": "Red"}}]', "ambiguous"),
        ('{"a": {"answer": "Blue"}, "b": {"answer": "Red"}}', "ambiguous"),
        (f'{GOOD} {{"answer": "Red and', "ambiguous"),
        ('{"answer": "Red", oops {"answer": "Blue", "evidence_ids": ["E1"]}', "ambiguous"),
        (f"<think>draft {GOOD} but wait", "truncated"),
        ('{"answer": "He said "yes"", "evidence_ids": ["E1"]}', "no_object"),
        ("{'answer': 'It's', 'evidence_ids': ['E1']}", "no_object"),
        ("{'answer': 'It''s', 'evidence_ids': ['E1']}", "no_object"),
        ('{"answer": "5 \\$", "evidence_ids": ["E1"]}', "no_object"),
        ('{"answer": "Blue" "evidence_ids": ["E1"]}', "no_object"),
        ('{"answer": ..., "evidence_ids": [...]}', "no_object"),
    ],
)
def test_what_would_need_a_guess_is_a_problem(raw: str | None, code: str) -> None:
    assert refused(raw).code == code


FULL = '{"answer": "Blue sky", "evidence_ids": ["E1", "E2"], "reasoning": "it is"}'


@pytest.mark.parametrize("length", range(1, len(FULL)))
def test_a_cut_reply_is_whole_or_a_problem(length: int) -> None:
    """No cut may shorten the answer or the citations: both fields have to be closed."""
    parsed = parse_reply(FULL[:length])

    complete = FULL.index("]") + 1 <= length <= FULL.index("]") + 3 or length >= len(FULL) - 1
    if complete and not FULL[:length].endswith('"reasoning'):
        assert isinstance(parsed, ParsedAnswer)
        assert (parsed.answer, parsed.evidence_ids) == ("Blue sky", ("E1", "E2"))
    else:
        assert isinstance(parsed, ParseProblem)
        assert parsed.code in ("truncated", "no_object")


@pytest.mark.parametrize(
    "raw",
    [
        '{"answer": "Blue', '{"answer": "Blue"', '{"answer": "Blue",', '{"answer": "Blue", "evidence_ids"',
        '{"answer": "Blue", "evidence_ids": [', '{"answer": "Blue", "evidence_ids": ["E1"',
        '{"answer": "Blue", "evidence_ids": ["E1",', '{"answer": "Blue", "evidence_ids": ["E1", "E',
        '{"answer": "Blue", "evidence_ids": [{"id": "E1"}', '{"evidence_ids": ["E1"], "answer": 4',
        '{"evidence_ids": ["E1"], "answer": "Bl', '{"answer": "INSUFFICIENT_CONTEXT"',
        '{"answer": "Blue", "evidence_ids": ["E1"], "reasoning": "bec', "{'answer': 'Blue', 'evidence_ids': ['E1'",
        '{"response": {"answer": "Blue"', '```json\n{"answer": "Blue", "evidence_ids": ["E1"\n```',
    ],
)  # fmt: skip
def test_a_cut_inside_a_field_is_truncated(raw: str) -> None:
    assert refused(raw).code == "truncated"


@pytest.mark.parametrize(
    ("value", "answer"),
    [("5", "5"), ("-3", "-3"), ("1.50", "1.50"), ("1e3", "1e3"), ("9" * 5000, "9" * 5000)],
)
def test_a_number_is_an_answer_as_it_was_written(value: str, answer: str) -> None:
    found = read(f'{{"answer": {value}, "evidence_ids": ["E1"]}}')

    assert found.answer == answer
    assert found.repairs == ("number_as_text",)


@pytest.mark.parametrize(
    ("value", "reasoning"),
    [
        ('"because"', "because"),
        ("null", None),
        ("true", None),
        ("3", "3"),
        ('["a", "b"]', "a\nb"),
        ('{"a": 1}', None),
        ('""', ""),
    ],
)
def test_reasoning_may_be_anything(value: str, reasoning: str | None) -> None:
    raw = f'{{"answer": "Blue", "evidence_ids": ["E1"], "reasoning": {value}}}'

    assert read(raw).reasoning == reasoning


@pytest.mark.parametrize(
    ("value", "ids"),
    [
        ("[]", ()),
        ("null", ()),
        ('""', ()),
        ('"none"', ()),
        ('["N/A"]', ()),
        ('"E1, E2"', ("E1", "E2")),
        ('"[E1][E2]"', ("E1", "E2")),
        ('["E2", "E1", "e02"]', ("E2", "E1")),
        ('[1, "1", "E1", "e1", 1.0]', ("E1",)),
        ('["E1-E3"]', ("E1", "E2", "E3")),
        ('["E3-E1", "E1-E900"]', ("E3-E1", "E1-E900")),
        ('["the report", "E1"]', ("the report", "E1")),
        ('[-1, 1.5, ""]', ("-1", "1.5", "")),
        ('[{"id": "E1", "quote": "x"}]', ("E1",)),
        ("1", ("E1",)),
    ],
)
def test_citation_lists(value: str, ids: tuple[str, ...]) -> None:
    assert read(f'{{"answer": "Blue", "evidence_ids": {value}}}').evidence_ids == ids


def test_every_rewritten_form_is_recorded() -> None:
    found = read('{"answer": "Blue", "evidence_ids": ["E1", "[e02]", 3, "E4, E5"]}')

    assert found.normalised == (("[e02]", "E2"), ("3", "E3"), ("E4, E5", "E4"), ("E4, E5", "E5"))


@pytest.mark.parametrize(
    ("raw", "ids"),
    [
        ("E1", ("E1",)), ("e01", ("E1",)), (1, ("E1",)), ("1", ("E1",)), ("[E1]", ("E1",)), ("(E1)", ("E1",)),
        ("Evidence 1", ("E1",)), ("evidence:1", ("E1",)), ("E1, E2", ("E1", "E2")), ("E1 and E2", ("E1", "E2")),
        ("[E1] and [E2]", ("E1", "E2")), ("【E1】", ("E1",)), ("Ｅ１", ("E1",)), ("E٣", ("E3",)), ("#1", ("E1",)),
        ("E-1", ("E1",)), ("E 1", ("E1",)), ("^1", ("E1",)), ("`E1`", ("E1",)), ("E1.", ("E1",)), (1.0, ("E1",)),
        ("1-3", ("E1", "E2", "E3")), ("T1.E1", ("T1.E1",)), ("E0", ("E0",)), ("[E1] The pump runs.", ("E1",)),
        ("E3-E1", None), ("E1-E900", None), ("E1: foo", None), ("", None), (" ", None), (True, None),
        (None, None), (-1, None), (1.5, None), ("²", None), ("E1E2", None), ("[E1] as in E2", None),
        (float("nan"), None), ([], None), ("km/h", None), ("E", None), ("2019 report", None),
    ],
)  # fmt: skip
def test_normalise_id(raw: object, ids: tuple[str, ...] | None) -> None:
    assert normalise_id(raw) == ids


@pytest.mark.parametrize(
    "raw",
    [
        '{"a":' * 50000, "[" * 100000, "{" * 100000, '{"a":"' * 20000, "{'" * 20000, "<think>" * 10000,
        "</think>{}" * 5000, "{a:/*" * 20000, '"' * 50000 + '{"a":"' + "\\" * 50001, "[{" * 50000,
        '{"answer":"x",' * 5000, "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900,
        '{"reasoning":' + "[" * 900 + "]" * 900 + ',"reasoning":' + "[" * 900 + "]" * 900 + "}",
    ],
)  # fmt: skip
def test_hostile_text_is_a_problem_in_reasonable_time(raw: str) -> None:
    assert isinstance(parse_reply(raw), ParseProblem)


def test_a_mapping_of_other_things_is_a_problem() -> None:
    assert refused({"answer": object()}).code == "wrong_type"
    assert refused({"answer": float("nan")}).code == "wrong_type"
    assert refused({1: "x"}).code == "missing_answer"
    assert refused(b"{}").code == "no_object"


def test_messages_say_where() -> None:
    assert "at character 21" in refused('{"answer": "He said "yes""}').message
    assert "`verdict`" in refused('{"verdict": 1}').message
    assert "a boolean" in refused('{"answer": true}').message


def test_an_integer_too_long_to_print_is_no_id() -> None:
    assert normalise_id(10**5000) is None
