"""A gate over the rows of `aletheia eval`: what counts, what is refused, and tests for a drop."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from scipy.stats import binomtest

from aletheia.cli.app import run
from aletheia.errors import DataError, UsageError
from aletheia.reports.annotations import render_annotations
from aletheia.reports.gate import GateResult, Rules, decide
from aletheia.reports.gate_baseline import row_regression
from aletheia.reports.gate_rows import (
    check_row_rules,
    is_rows,
    judges_of,
    load_rows,
    row_facts,
    rows_by_id,
)
from aletheia.reports.gate_text import render_gate
from aletheia.reports.junit import render_junit
from aletheia.reports.markdown import render_markdown
from aletheia.reports.trace_json import ROW_KEYS, error_row
from aletheia.schema.diagnosis import Diagnosis, FailureCell, Flags

HERE = Path("rows.jsonl")
JUDGE = {"package": "0.1.0", "faithfulness_judge": "embedded", "persisted": "no"}
HEALTHY = FailureCell.COMPLETE_GROUNDED
MADE_UP = FailureCell.COMPLETE_UNGROUNDED


def line(name: str | None, cell: FailureCell | None = HEALTHY, **more: Any) -> dict[str, Any]:
    """A row as the command writes it."""
    bad = cell is not None and cell.value.endswith("_ungrounded")
    flags = more.pop("flags", None) or Flags(ungrounded=None if cell is None else bad)
    diagnosis = Diagnosis(
        failure_cell=cell, flags=flags, empty_response=more.pop("empty_response", False)
    )
    claim = {"claim": f"claim of {name}", "kind": "answer", "verdict": "N" if bad else "Y"}
    made = {
        **error_row("", record_id=name),
        "failure_cell": cell,
        "tentative": False,
        "sufficiency_score": 0.8,
        "faithfulness": [] if cell is None else [claim],
        "faithfulness_score": None if cell is None else (0.2 if bad else 0.9),
        "diagnosis": diagnosis.model_dump(mode="json"),
        "errors": {},
        "making": JUDGE,
        "line": 1,
        **more,
    }
    assert made.keys() == set(ROW_KEYS)
    return made


def text(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def facts(*rows: dict[str, Any]) -> Any:
    return row_facts(load_rows(text(*rows), HERE), "rows.jsonl")


def gate(*rows: dict[str, Any], **rules: Any) -> GateResult:
    return decide(facts(*rows), Rules(**rules))


def statuses(result: Any) -> dict[str, str]:
    return {
        check.name.removesuffix(" against the baseline"): check.status for check in result.checks
    }


TEN = [line(f"a{n}") for n in range(8)] + [line(f"b{n}", MADE_UP) for n in range(2)]
NOBODY_ASKED = line("c", None, flags=Flags(ungrounded=False))
EMPTY = line("d", None, empty_response=True)
FAILED = {**error_row("the judge is gone", record_id="e", metric="judge_faithfulness"), "line": 7}


@pytest.mark.parametrize(
    ("rules", "name", "status"),
    [
        ({"min_healthy_rate": 0.8}, "healthy rate", "met"),
        ({"min_healthy_rate": 0.81}, "healthy rate", "not_met"),
        ({"min_healthy_rate": 0.8, "use_interval": True}, "healthy rate", "not_met"),
        ({"min_pass_rate": 0.8}, "pass rate", "met"),
        ({"min_pass_rate": 0.81}, "pass rate", "not_met"),
        ({"max_ungrounded": 0.2}, "ungrounded", "met"),
        ({"max_ungrounded": 0.19}, "ungrounded", "not_met"),
        ({"max_unmeasured": 0}, "unmeasured traces", "met"),
        ({"min_metrics": {"faithfulness": 0.76}}, "faithfulness", "met"),
        ({"min_metrics": {"faithfulness": 0.77}}, "faithfulness", "not_met"),
    ],
)
def test_rules_over_ten_traces(rules, name, status):
    """Eight healthy with 0.9, two made up with 0.2: a mean of 0.76."""
    assert statuses(gate(*TEN, **rules))[name] == status


def test_what_has_no_cell_is_unmeasured_and_an_empty_response_is_not_healthy():
    found = facts(*TEN, NOBODY_ASKED, EMPTY, FAILED)

    assert (found.healthy.count, found.healthy.n, found.healthy.total) == (8, 11, 13)
    # the empty response has no claim, the failed trace no verdict
    assert (found.verdicts.count, found.verdicts.n, found.verdicts.total) == (9, 11, 12)
    assert (found.ungrounded.count, found.ungrounded.n, found.ungrounded.total) == (2, 11, 12)
    assert found.incomplete == ("c", "e")


def test_a_rate_over_the_measured_half_is_no_pass():
    found = statuses(gate(line("a"), FAILED, min_healthy_rate=1.0))

    assert found == {"healthy rate": "met", "coverage": "not_met"}


def test_without_any_cell_the_healthy_rate_has_no_value():
    assert statuses(gate(FAILED, min_healthy_rate=0.0))["healthy rate"] == "unmeasured"
    assert statuses(decide(row_facts((), "r"), Rules(max_unmeasured=1.0))) == {
        "unmeasured traces": "unmeasured"
    }


def test_a_tentative_cell_counts_as_none_where_that_is_asked():
    rows = [line("a"), line("b", MADE_UP, tentative=True)]
    found = facts(*rows)

    assert (found.confident_healthy.count, found.confident_healthy.n) == (1, 1)
    assert (found.confident_ungrounded.count, found.confident_ungrounded.n) == (0, 1)
    result = gate(*rows, max_ungrounded=0.0, confident_only=True)
    assert statuses(result) == {"ungrounded": "met", "coverage": "not_met"}


def test_a_refusal_has_no_claim_to_grade():
    refusal = line(
        "r",
        FailureCell.INCOMPLETE_GROUNDED,
        flags=Flags(ungrounded=False, abstained=True),
        faithfulness=[],
        faithfulness_score=None,
    )
    found = facts(*TEN, refusal).metrics["faithfulness"]

    assert (found.n, found.total, round(found.value, 6)) == (10, 10, 0.76)


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        ({"min_accuracy": 0.5}, "`--min-accuracy`"),
        ({"max_rejections": 0}, "`--max-rejections`"),
        ({"max_contamination": 0.5}, "`--max-contamination`"),
        ({"min_metrics": {"context_recall": 0.5}}, "`--min-context-recall`"),
    ],
)
def test_rules_about_what_rows_do_not_hold_are_refused(rules, named):
    with pytest.raises(UsageError, match=named):
        check_row_rules(Rules(**rules))


# --- reading ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (text(line("a")), True),
        ("\n" + text(line("a\u2028b")), True),
        (text(FAILED), True),
        ("{\n}", False),
        ('{"id": "a", "query": "q", "context": [], "response": "r"}\n', False),
        ("", False),
        ("[1]\n", False),
    ],
)
def test_rows_are_told_from_other_files(body, found):
    assert is_rows(body) is found


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (text(line("a")) + "{oops\n", r"rows\.jsonl:2: this is no row"),
        (text({**line("a"), "failure_cell": "fine"}), r"rows\.jsonl:1: field `failure_cell`"),
        (text({**line("a"), "faithfulness_score": "x"}), "field `faithfulness_score`"),
    ],
)
def test_a_broken_row_is_named(body, message):
    with pytest.raises(DataError, match=message):
        load_rows(body, HERE)


# --- against a baseline -----------------------------------------------------------------------


def against(new: list[dict[str, Any]], old: list[dict[str, Any]], alpha: float = 0.05) -> Any:
    return row_regression(
        ("new.jsonl", load_rows(text(*new), HERE)),
        ("old.jsonl", load_rows(text(*old), HERE)),
        alpha=alpha,
    )


def many(healthy: int, made_up: int) -> list[dict[str, Any]]:
    """Twenty traces; which are made up stands at the end."""
    cells = [HEALTHY] * healthy + [MADE_UP] * made_up
    return [line(f"t{n}", cell) for n, cell in enumerate(cells)]


def test_the_same_rows_are_no_regression():
    found = against(many(18, 2), many(18, 2))

    assert set(statuses(found).values()) == {"met"}


def test_a_drop_is_found_by_the_exact_test():
    """Eight of twenty traces turn made up: one-sided McNemar gives 1/256 for each rate."""
    found = against(many(12, 8), many(20, 0))
    (check,) = (item for item in found.checks if item.name.startswith("healthy rate"))

    assert binomtest(0, 8, alternative="less").pvalue == 0.5**8
    assert check.status == "not_met"
    assert check.value == "−0.40"
    assert "p = 0.004" in check.detail
    assert statuses(found)["faithfulness"] == "not_met"
    assert statuses(found)["sufficiency"] == "met"


def test_one_trace_more_that_fails_is_no_regression():
    assert statuses(against(many(17, 3), many(18, 2)))["healthy rate"] == "met"


def test_a_run_that_leaves_traces_out_is_not_better_for_it():
    found = against(many(15, 0), many(18, 2))

    assert statuses(found)["traces of the baseline"] == "not_met"
    assert "t15" in found.checks[0].detail


def test_few_pairs_are_no_pass():
    assert statuses(against([line("a")], [line("a")]))["healthy rate"] == "unmeasured"


@pytest.mark.parametrize(
    ("new", "old", "message"),
    [
        ([line(None)], [line("a")], "no id"),
        ([line("a"), line("a")], [line("a")], "stands twice"),
        ([line("b")], [line("a")], "no id in common"),
        (
            [line("a", making={**JUDGE, "faithfulness_judge": "llm"})],
            [line("a")],
            "another judge: `faithfulness_judge` embedded, llm",
        ),
        (
            [line("a"), line("b", making={**JUDGE, "coverage": "topical"})],
            [line("a")],
            "different judges",
        ),
    ],
)
def test_what_cannot_be_compared_is_refused(new, old, message):
    with pytest.raises(DataError, match=message):
        against(new, old)


def test_another_version_or_store_is_no_other_judge():
    rows = load_rows(text(line("a", making={**JUDGE, "package": "9", "persisted": "p"})), HERE)

    assert judges_of(rows, "r") == {"faithfulness_judge": "embedded"}


def test_a_line_without_a_record_is_matched_with_nothing():
    rows = load_rows(text(line("a"), error_row("not JSON", line=2)), HERE)

    assert list(rows_by_id(rows, "r")) == ["a"]


# --- files and exit codes ---------------------------------------------------------------------


def test_every_rendering_says_the_same():
    result = gate(*TEN, max_ungrounded=0.1)
    shown = render_gate(result)

    assert result.kind == "rows"
    assert "Traces with an unsupported claim" in shown
    assert "b0: 1 of 1 claims are not supported (claim of b0)" in shown
    assert max(map(len, shown.splitlines())) <= 80
    assert "### Traces with an unsupported claim: 2" in render_markdown(result)
    suite = ET.fromstring(render_junit(result))
    assert (suite.get("tests"), suite.get("failures")) == ("2", "1")
    assert "ungrounded" in render_annotations(result)[0]


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "new.jsonl").write_text(text(*many(18, 2)), encoding="utf-8")
    (tmp_path / "old.jsonl").write_text(text(*many(20, 0)), encoding="utf-8")
    (tmp_path / "bad.jsonl").write_text(text(line("a")) + "oops\n", encoding="utf-8")
    (tmp_path / "none.json").write_text("{}", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["new.jsonl", "--min-healthy-rate", "0.9"], 0),
        (["new.jsonl", "--min-healthy-rate", "0.91"], 3),
        (["new.jsonl", "--baseline", "old.jsonl"], 0),
        (["new.jsonl", "--max-ungrounded", "0.1", "--max-unmeasured", "0"], 0),
        (["new.jsonl", "--max-ungrounded", "nan"], 2),
        (["new.jsonl", "--min-accuracy", "1"], 2),
        (["new.jsonl", "--min-pass-rate", "0", "--probes", "none.json"], 2),
        (["new.jsonl", "--baseline", "none.json"], 2),
        (["bad.jsonl", "--min-pass-rate", "0"], 2),
        (["none.json", "--min-pass-rate", "0"], 2),
        (["new.jsonl"], 2),
    ],
)
def test_exit_codes(files, arguments, code):
    assert run(["gate", *arguments]) == code


def test_the_decision_as_json(files, capsys):
    run(["gate", "new.jsonl", "--max-ungrounded", "0", "--json", "--github"])
    out = capsys.readouterr()

    assert json.loads(out.out)["kind"] == "rows"
    assert json.loads(out.out)["exit_code"] == 3
    assert "::error" in out.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["compare", "new.jsonl"], "this is a file of rows of `aletheia eval`"),
        (["compare", "probe.json"], "this is a result of `aletheia probe`"),
        (["gate", "probe.json", "--min-pass-rate", "0"], "`aletheia gate REPORT --probes FILE`"),
        (["gate", "asked.json", "--min-pass-rate", "0"], "this is a question set"),
        (["gate", "new.jsonl", "--baseline", "none.json"], "it holds no rows of `aletheia eval`"),
        (["gate", "bad.jsonl", "--max-unmeasured", "0"], "bad.jsonl:2: this is no row"),
    ],
)
def test_another_file_of_ours_is_named(files, arguments, said, capsys):
    (files / "probe.json").write_text('{"kind": "probe"}', encoding="utf-8")
    (files / "asked.json").write_text('{"questions": []}', encoding="utf-8")

    assert run(arguments) == 2
    assert said in capsys.readouterr().err
