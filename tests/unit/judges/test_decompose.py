"""Query into sub-questions, response into claims: nothing added, nothing left out, spans true."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.judges.scripts import trace

from aletheia.judges.base import Judged, ResponsePieces
from aletheia.judges.decompose import ALTERED, GAP, Unread, read_query, read_response
from aletheia.judges.locate import introduction, locate, word_count
from aletheia.schema.model import Reply


def split(response: str, *claims: Any, query: str | None = "What?") -> Judged[ResponsePieces]:
    found = read_response(trace(response, "x", query=query), json.dumps({"claims": list(claims)}))
    assert isinstance(found, Judged)
    for claim in found.value.claims:
        assert 0 <= claim.start < claim.end <= len(response)
    assert [claim.id for claim in found.value.claims] == list(range(len(found.value.claims)))
    return found


def piece(quote: str, text: str | None = None, kind: str = "answer") -> dict[str, str]:
    return {"quote": quote, "text": text or quote, "kind": kind}


def test_a_claim_has_the_span_of_its_quote_and_the_text_that_stands_alone() -> None:
    response = "Ada wrote it. She was 27."
    found = split(response, piece("Ada wrote it."), piece("She was 27.", "Ada was 27."))
    assert [(c.text, response[c.start : c.end]) for c in found.value.claims] == [
        ("Ada wrote it.", "Ada wrote it."),
        ("Ada was 27.", "She was 27."),
    ]
    assert (found.findings, found.value.discarded) == ((), ())


def test_a_sentence_that_stands_twice_gives_two_spans() -> None:
    response = "It is red. It is red."
    found = split(response, piece("It is red."), piece("It is red."))
    assert [(c.start, c.end) for c in found.value.claims] == [(0, 10), (11, 21)]


def test_the_signs_of_the_response_come_back_where_the_prompt_showed_look_alikes() -> None:
    response = "It is <data> and\n[2] wide."
    (claim,) = split(response, piece("It is ‹data› and ⏎ ⟦2⟧ wide.")).value.claims
    assert claim.text == "It is <data> and [2] wide"


def test_a_claim_on_no_span_is_discarded_and_counted() -> None:
    """Field case 47: claims come from the answer, not from the question."""
    found = split("Board games are fun.", piece("The port exports tea."))
    assert found.value.discarded == ("The port exports tea.",)
    assert [claim.text for claim in found.value.claims] == ["Board games are fun."]
    assert found.findings == (GAP,)


@pytest.mark.parametrize("listed", [[], [piece("Heating is included.")]])
def test_a_statement_the_model_leaves_out_is_a_claim_all_the_same(listed: list[Any]) -> None:
    """A response that talks its decomposer into silence is still judged, sentence by sentence."""
    response = "Rent is 900. Heating is included. Deposit is two months."
    found = split(response, *listed)
    assert [claim.text for claim in found.value.claims] == [
        "Rent is 900.",
        "Heating is included.",
        "Deposit is two months.",
    ]
    assert found.findings == (GAP,)


def test_a_figure_outside_every_claim_brings_its_sentence_back() -> None:
    response = "It opened in May and has 40 staff."
    found = split(response, piece("It opened in May"))
    assert [claim.text for claim in found.value.claims] == ["It opened in May", response]


def test_a_number_the_model_corrected_is_taken_back() -> None:
    found = split("It opened in 1991.", piece("It opened in 1991.", "It opened in 1974."))
    assert [claim.text for claim in found.value.claims] == ["It opened in 1991."]
    assert found.findings == (ALTERED,)


@pytest.mark.parametrize(
    ("response", "query", "quote", "text"),
    [
        ("Yes.", "Is the pump blue?", "Yes.", "Is the pump blue? Yes."),
        ("Quito [E1]", "Capital of Ecuador?", "Quito", "Capital of Ecuador? Quito"),
        ("- Leeds [E1]\n- York", "Which cities?", "Leeds", "Which cities? Leeds"),
        ("Offices are in:\n- Leeds\n- York", "Where?", "York", "Offices are in: York"),
        ("1. New York City\n2. Leeds", "Which?", "New York City", "Which? New York City"),
        ("Ada wrote it.", "Who?", "Ada wrote it.", "Ada wrote it."),
    ],
)
def test_bare_answers_and_items_become_statements(
    response: str, query: str, quote: str, text: str
) -> None:
    """Field cases 125 and 127: the stem of a list or the question is put before them."""
    found = split(response, piece(quote), query=query)
    assert text in [claim.text for claim in found.value.claims]


def test_each_item_of_a_list_is_a_claim() -> None:
    found = split("- Leeds [E1]\n- York [E1]\n- Hull", query="Which cities?")
    assert [claim.text for claim in found.value.claims] == [
        "Which cities? Leeds",
        "Which cities? York",
        "Which cities? Hull",
    ]


def test_courtesies_are_kept_and_not_graded_whatever_the_model_says() -> None:
    """Field case 49: one checkable claim."""
    response = "Hi! Happy to help. The clinic opens at 8 [E1]. Anything else?"
    quotes = ("Hi!", "Happy to help.", "The clinic opens at 8", "Anything else?")
    found = split(response, *map(piece, quotes))
    graded = [claim.text for claim in found.value.claims if claim.kind != "conversational"]
    assert graded == ["The clinic opens at 8"]
    assert len(found.value.claims) == 4


@pytest.mark.parametrize("text", ["By the way, it costs 900.", "Of course Anna Berg chairs it."])
def test_a_fact_does_not_become_small_talk_by_its_label(text: str) -> None:
    (claim,) = split(text, piece(text, kind="conversational")).value.claims
    assert claim.kind == "elaboration"


def test_a_disclaimer_does_not_hide_the_claim_beside_it() -> None:
    """Field case 46."""
    response = "I have nothing on the pilot, but the 40% figure is wrong."
    found = split(response)
    assert any("the 40% figure is wrong" in claim.text for claim in found.value.claims)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty_reply"),
        ("no json", "unreadable"),
        ('{"answer": "x"}', "missing"),
        ('{"claims": [{"quote": "It is', "truncated"),
        ('{"claims": []} {"claims": ["It is red."]}', "ambiguous"),
    ],
)
def test_a_reply_without_claims_is_no_decomposition(text: str, problem: str) -> None:
    assert read_response(trace("It is red.", "x"), text) == Unread(problem=problem)


def test_a_list_that_ended_at_its_length_is_no_decomposition() -> None:
    reply = Reply(text='{"claims": ["It is red."]}', model="m", finish_reason="length")
    assert read_response(trace("It is red.", "x"), reply) == Unread(problem="truncated")


@given(st.text(max_size=80), st.lists(st.text(max_size=20), max_size=4))
def test_spans_are_true_for_any_text(response: str, quotes: list[str]) -> None:
    split(response, *map(piece, quotes))


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ('{"sub_questions": ["Who?", "When?"]}', ["Who?", "When?"]),
        ('["Who?", "When?"]', ["Who?", "When?"]),
        ('{"result": {"sub-questions": [{"text": "Who?"}]}}', ["Who?"]),
        ('{"sub_questions": ["Who?", "Who?"]}', ["Who?"]),
        ('{"sub_questions": []}', "no_sub_questions"),
        ('{"sub_questions": ["Who?", " "]}', "blank_sub_question"),
        ('{"sub_questions": ["Who?", 3]}', "blank_sub_question"),
        ('{"sub_questions": ["Who led it in 2019?"]}', "sub_question_adds_number"),
        ('{"sub_questions": "Who?"}', "missing"),
    ],
)
def test_sub_questions_are_read_or_the_reply_is_none(reply: str, expected: object) -> None:
    found = read_query(trace("x", "x", query="Who, and when?"), reply)
    if isinstance(expected, str):
        assert found == Unread(problem=expected)
    else:
        assert isinstance(found, Judged)
        assert [item.text for item in found.value] == expected


@pytest.mark.parametrize(
    ("quote", "response", "found"),
    [
        ("red", "It is red.", "red"),
        ("IT IS  “RED”", "So: It is red.", "It is red"),
        ("opens at eight daily", "The clinic opens at 8 daily.", None),
        ("the clinic opens daily at noon", "The clinic opens every day at noon.", None),
        ("the clinic closes at six", "The clinic opens at noon, on Mondays at six.", None),
        ("The clinic, in the big house by the lake, opens at noon", "The clinic in the house by the lake opens at noon.", "The clinic in the house by the lake opens at noon"),
        ("東京の人口", "はい、東京の人口は多い。", "東京の人口"),
        ("", "It is red.", None),
        ("...", "It is red.", None),
        ("green", "It is red.", None),
    ],
)  # fmt: skip
def test_quotes_are_found_as_written_by_words_or_nearly(
    quote: str, response: str, found: str | None
) -> None:
    span = locate(quote, response)
    assert (None if span is None else response[span[0] : span[1]]) == found


def test_the_place_after_the_last_one_wins() -> None:
    assert locate("a b", "a b, a b", after=2) == (5, 8)
    assert locate("a b", "a b, c", after=2) == (0, 3)
    assert locate("A, B", "a b x a b", after=2) == (6, 9)


def test_the_line_above_a_list_introduces_its_items() -> None:
    text = "Intro:\n- a\n- b\nOutro."
    assert introduction(text, text.index("b\n")) == "Intro:"
    assert introduction(text, text.index("Outro")) is None
    assert introduction("- a", 2) == ""


@pytest.mark.parametrize(
    ("text", "count"), [("a b-c", 3), ("東京", 2), ("Zürich 12", 2), ("--", 0)]
)
def test_words_are_counted_in_any_script(text: str, count: int) -> None:
    assert word_count(text) == count
