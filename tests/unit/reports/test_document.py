"""The result file: what is written can be read back, and nothing else can be read."""

import json
import logging
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.reports.samples import GROUNDED, HOSTILE, row, sample_report, sample_rows

from aletheia.errors import DataError
from aletheia.reports.document import dump_json, load_json, stem
from aletheia.reports.visible import without_surrogates


def test_the_stem_carries_the_time():
    assert stem(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == "ragas_20260102_030405"


def test_top_level_and_detailed_results_carry_the_keys_of_the_contract():
    data = json.loads(dump_json(sample_report()))

    assert {"aggregate_scores", "grounding_report", "detailed_results"} <= set(data)
    assert set(data["grounding_report"]) == {
        "summary",
        "response_categories",
        "rejection_breakdown",
    }
    assert {"question", "grounding_rejected", "rejection_reason"} <= set(
        data["detailed_results"][0]
    )
    assert list(data["aggregate_scores"]) == [
        "context_precision",
        "context_recall",
        "faithfulness",
        "answer_similarity",
    ]


def test_what_is_written_reads_back_the_same():
    text = dump_json(sample_report())

    assert dump_json(load_json(text, "r.json")) == text


def test_unpaired_surrogates_are_replaced_one_for_one_and_logged(caplog):
    with caplog.at_level(logging.WARNING):
        text = dump_json(sample_report())
    read = load_json(text, "r.json")

    assert text.encode()
    assert read.detailed_results[5].raw_reply == without_surrogates(HOSTILE)[0]
    assert len(read.detailed_results[5].raw_reply) == len(HOSTILE)
    assert "surrogates in the report were replaced" in caplog.text


def test_no_character_that_a_terminal_obeys_stands_raw_in_the_text():
    text = dump_json(sample_report())

    assert not any(char < " " and char != "\n" for char in text)
    assert not any("\x7f" <= char <= "\x9f" or char in "\u202e\u2028\u2066" for char in text)


@settings(deadline=None, max_examples=50)
@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_any_text_survives(text):
    report = sample_report([row("r", "q?", "g", **GROUNDED, answer=text, raw_reply=text)])
    read = load_json(dump_json(report), "r.json")

    assert read.detailed_results[0].answer == text
    assert read.detailed_results[0].raw_reply == text


def test_the_order_of_free_keys_does_not_change_the_file():
    first = sample_rows()[0]
    turned = first.model_copy(update={"timings_ms": dict(reversed(first.timings_ms.items()))})

    assert dump_json(sample_report([first])) == dump_json(sample_report([turned]))


def test_a_setting_that_is_not_a_number_is_refused():
    with pytest.raises(DataError, match="cannot be written as JSON"):
        dump_json(sample_report(settings={"threshold": float("nan")}))


def broken(**changes):
    data = json.loads(dump_json(sample_report()))
    data.update(changes)
    return json.dumps(data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"r\.json:1: not JSON"),
        ('{\n"a": }', r"r\.json:2: not JSON"),
        ("[1]", "one JSON object"),
        ("{}", "`schema_version` is None"),
        (broken(schema_version=99), "`schema_version` is 99, this program reads 1"),
        (broken(schema_version=True), "`schema_version` is True"),
        (broken(extra=1), "field `extra`"),
        (
            broken(aggregate_scores={"faithfulness": "high"}),
            "field `aggregate_scores.faithfulness`",
        ),
        (broken(detailed_results=[{}]), r"field `detailed_results\.0\.id`.* and 4 more"),
        ('{"schema_version": NaN}', "`NaN` is not a JSON number"),
        ("[" * 100_000, "r.json"),
    ],
)
def test_a_wrong_file_is_one_clear_error(text, message):
    with pytest.raises(DataError, match=message):
        load_json(text, "r.json")


def test_counts_that_do_not_add_up_are_refused():
    report = json.loads(dump_json(sample_report()))["grounding_report"]
    report["summary"]["verification_passed"] += 1

    with pytest.raises(DataError, match=r"passed \+ failed is not `total_verified`"):
        load_json(broken(grounding_report=report), "r.json")


def test_a_byte_order_mark_is_no_error():
    assert load_json("\ufeff" + dump_json(sample_report()), "r.json").schema_version == 1
