"""A judge beside labels of people: what is counted, corrected, and never compared."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from unit.judges.scripts import Entry, changed, good_reply, isolated, scripted

from aletheia.cli.app import run as command
from aletheia.errors import UsageError
from aletheia.judges.base import Judges
from aletheia.pipeline.calibration import (
    CalibrationOptions,
    CalibrationReport,
    KindReport,
    calibrate_judge,
)
from aletheia.pipeline.calibration_text import (
    against,
    calibration_json,
    calibration_lines,
    gate_failures,
)
from aletheia.pipeline.evaluate_many import ManyOptions, TraceItem, TraceOutcome, evaluate_many
from aletheia.pipeline.judge_setup import diagnose_options, identity
from aletheia.sdk.labels import LabelFile, read_labels

CONTEXT = ["The mill opened in 1911.", "The mill has a red roof."]


def line(number: int, **fields: object) -> bytes:
    usual = {
        "id": f"t{number}",
        "query": "The mill opened when?",
        "context": CONTEXT,
        "response": "The mill opened in 1911.",
    }
    return json.dumps({**usual, **fields}).encode() + b"\n"


def labels(*lines: bytes) -> LabelFile:
    return read_labels(lines, file="gold.jsonl")


def gold(positive: int, negative: int) -> LabelFile:
    """Responses that people call supported and not; all of them stand in the evidence."""
    marks = ["Y"] * positive + ["N"] * negative
    return labels(*[line(n, label=mark) for n, mark in enumerate(marks)])


def judged_as(verdict: Callable[[str], str], name: str = "judge") -> Judges:
    """A judge that says of a claim what a rule over its text gives."""

    def change(entry: Entry) -> Entry:
        if entry["verdict"] == "Y" and entry["id"][0] == "C":
            entry["verdict"] = verdict(entry["id"])
        return entry

    model = scripted(changed(change))
    model._name = name
    return isolated(model)


def report_of(
    found: LabelFile, judges: Judges, rows: Any = (), digest: str = "sha256:gold"
) -> CalibrationReport:
    options = CalibrationOptions(
        judges=judges, diagnose=diagnose_options(), labels=digest, policy=found.policy
    )

    async def go() -> CalibrationReport:
        return await calibrate_judge(found.traces, options, rows)

    return anyio.run(go)


def only(report: CalibrationReport) -> KindReport:
    (kind,) = report.kinds
    return kind


def always_yes() -> Judges:
    return judged_as(lambda _: "Y")


# --- figures ----------------------------------------------------------------------------------


def test_raw_agreement_does_not_flatter_a_judge_that_always_says_yes() -> None:
    """Field case 134: 45 rows, 30 positive, the judge says yes always."""
    found = only(report_of(gold(30, 15), always_yes())).agreement

    assert (found.raw.numerator, found.raw.denominator) == (30, 45)
    assert found.kappa.value == 0
    assert None not in (found.kappa.low, found.kappa.high)
    assert found.constant == pytest.approx(30 / 45)
    assert found.base_rate.numerator == 30
    assert (found.confusion.true_positive, found.confusion.false_positive) == (30, 15)
    assert len(found.disagreements) == 15


def test_the_report_shows_all_of_it() -> None:
    text = "\n".join(calibration_lines(report_of(gold(30, 15), always_yes()), disagreements=10))

    for shown in ("kappa", "base rate", "always one label", "confusion", "disagreements: 15"):
        assert shown in text
    assert "and 5 more: see `--json`" in text
    assert "policy: not stated" in text


def test_an_unmeasured_label_is_listed_and_in_no_figure() -> None:
    def no_claims(entry: Entry) -> Entry | None:
        return None if entry["id"][0] == "C" else entry

    report = report_of(gold(2, 1), isolated(scripted(changed(no_claims))))
    found = only(report).agreement

    assert (found.total, found.confusion.measured, report.unmeasured) == (3, 0, 3)
    assert found.kappa.value is None


def test_claims_and_evidence_have_figures_of_their_own() -> None:
    response = "The mill opened in 1911. Nobody ever said such things."
    file = labels(
        line(
            1,
            response=response,
            claims=[
                {"start": 0, "end": 24, "label": "Y"},
                {"text": "Nobody ever said such things.", "label": "unsupported"},
            ],
        ),
        line(2, sufficient="Y"),
        line(3, query="Who sold the old boats then?", sufficient="insufficient"),
    )
    report = report_of(file, isolated(scripted(good_reply)))

    assert [(kind.kind, kind.agreement.total) for kind in report.kinds] == [
        ("claim", 2),
        ("sufficiency", 2),
    ]
    assert [kind.agreement.raw.value for kind in report.kinds] == [1.0, 1.0]


def test_without_evidence_a_claim_is_unsupported_without_a_judge() -> None:
    model = scripted(good_reply)
    file = labels(line(1, context=[], claims=[{"text": "The mill opened in 1911.", "label": "N"}]))
    report = report_of(file, isolated(model))

    assert only(report).agreement.raw.value == 1.0
    assert model.history == []


# --- corrected rates, one judge only ----------------------------------------------------------


def rows_of(judges: Judges, responses: list[str]) -> list[Mapping[str, Any]]:
    file = labels(*[line(n, response=text, label="Y") for n, text in enumerate(responses)])
    rows: list[Mapping[str, Any]] = []

    def commit(outcome: TraceOutcome) -> None:
        rows.append(outcome.row)

    async def go() -> None:
        items = [TraceItem(line=n, case=trace.case) for n, trace in enumerate(file.traces, 1)]
        options = ManyOptions(judges=judges, diagnose=diagnose_options())
        await evaluate_many(items, options, commit=commit)

    anyio.run(go)
    return rows


def test_the_rate_of_rows_is_corrected_by_the_errors_of_the_judge() -> None:
    """Field case 133: a judge that finds half of what is wrong finds twice as little."""
    responses = ["The mill opened in 1911."] * 8 + ["Nobody has ever said such things."] * 2
    judges = isolated(scripted(good_reply))
    marks = [("The mill opened in 1911.", "Y")] * 20 + [("The mill opened in 1911.", "N")] * 10
    marks += [("Nobody has ever said such things.", "N")] * 10
    file = labels(*[line(n, response=text, label=mark) for n, (text, mark) in enumerate(marks)])
    (rate,) = only(report_of(file, judges, rows_of(judges, responses))).rates

    assert (rate.apparent.numerator, rate.apparent.denominator) == (2, 10)
    assert rate.corrected.value == pytest.approx(0.4)
    low, high = rate.corrected.low, rate.corrected.high
    assert (low or 0) < 0.4 < (high or 0)


def test_one_half_is_corrected_by_the_errors_on_the_other() -> None:
    marks = [("The mill opened in 1911.", "Y")] * 30 + [("Nobody said such things.", "N")] * 30
    file = labels(*[line(n, response=text, label=mark) for n, (text, mark) in enumerate(marks)])
    check = only(report_of(file, isolated(scripted(good_reply)))).check

    assert check is not None
    assert check.labelled is not None
    assert check.corrected.value == pytest.approx(check.labelled.value, abs=1e-3)


@pytest.mark.parametrize(
    "other",
    [
        lambda: judged_as(lambda _: "Y", name="another-model"),
        lambda: isolated(scripted(good_reply), prompts=_other_prompts()),
    ],
    ids=["model", "prompt"],
)
def test_rows_of_another_judge_are_refused(other: Callable[[], Judges]) -> None:
    """Field case 130: the errors of one judge say nothing of another."""
    rows = rows_of(isolated(scripted(good_reply)), ["The mill opened in 1911."])
    with pytest.raises(UsageError, match="another judge"):
        report_of(gold(2, 2), other(), rows)


def _other_prompts() -> Any:
    from importlib import resources

    from aletheia.judges.prompts import PromptSet

    source = (resources.files("aletheia.judges") / "prompts" / "faithfulness.md").read_text("utf-8")
    return PromptSet({"faithfulness": source.replace("nothing else.", "nothing but them.", 1)})


def test_an_earlier_report_of_the_same_judge_is_compared() -> None:
    judges = always_yes()
    earlier = calibration_json(report_of(gold(5, 5), judges))
    (said,) = against(report_of(gold(5, 5), judges), json.loads(json.dumps(earlier)))

    assert said.endswith("no detectable difference")


@pytest.mark.parametrize("change", ["judge", "labels", "policy"])
def test_an_earlier_report_of_anything_else_is_refused(change: str) -> None:
    report = report_of(gold(5, 5), always_yes())
    earlier = calibration_json(report)
    earlier[change] = {"judge": "llm", "judge_model": "old"} if change == "judge" else "other"

    with pytest.raises(UsageError, match="judge" if change == "judge" else change):
        list(against(report, earlier))


def test_two_judges_of_opposite_bias_are_told_apart_by_the_gate() -> None:
    """Field case 130: 20 gold rows, one judge says yes always, the other no."""
    good = [("The mill opened in 1911.", "Y")] * 10 + [("Nobody said such things.", "N")] * 10
    file = labels(*[line(n, response=text, label=mark) for n, (text, mark) in enumerate(good)])
    careful = report_of(file, isolated(scripted(good_reply)))
    refusing = report_of(file, judged_as(lambda _: "N"))

    assert gate_failures(careful, 0.4) == ()
    assert len(gate_failures(refusing, 0.4)) == 1
    assert identity(isolated(scripted(good_reply))) == dict(careful.judge)


# --- the file of labels -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "needs at least one label"),
        ({"label": "maybe"}, "no label"),
        ({"label": True}, "no label"),
        ({"label": "y"}, "no label"),
        ({"claims": [{"text": "x"}]}, "no `label`"),
        ({"claims": [{"start": 0, "end": 99, "label": "Y"}]}, "outside the response"),
        ({"claims": "x"}, "give a list"),
        ({"sufficient": "Y", "query": None}, "`sufficient` speaks of it"),
        ({"label": "Y", "context": None}, "context"),
    ],
)
def test_a_line_that_is_no_label_is_an_error_with_its_place(
    fields: dict[str, Any], message: str
) -> None:
    found = labels(line(1, **fields))

    assert found.traces == []
    assert re.search(rf"gold.jsonl:1.*{message}", str(found.errors[0]))


def test_the_policy_is_part_of_the_file_and_there_is_one() -> None:
    """Field case 134: labels of two rules do not belong into one figure."""
    head = b'{"policy": "strict"}\n'
    assert labels(head, line(1, label="Y")).policy == "strict"
    mixed = labels(head, line(1, label="Y"), line(2, label="Y", policy="loose"))
    assert (len(mixed.traces), len(mixed.errors)) == (1, 1)


def test_an_id_that_stands_twice_is_an_error() -> None:
    assert len(labels(line(1, label="Y"), line(1, label="N")).errors) == 1


# --- the command ------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


MARKS = [("The mill opened in 1911.", "Y"), ("The mill was sold in 1950 to a bank.", "N")]


@pytest.mark.parametrize(
    ("extra", "options", "code"),
    [
        (b"", [], 0),
        (b"{\n", [], 2),
        (b"", ["--min-kappa", "1"], 3),
        (b"", ["--min-kappa", "0.2"], 0),
        (b"", ["--judge", "llm"], 2),
        (b"", ["--rows", "nothing.jsonl"], 2),
    ],
)
def test_the_command_ends_with_what_it_found(
    here: Path, capsys: pytest.CaptureFixture[str], extra: bytes, options: list[str], code: int
) -> None:
    lines = [line(n, response=text, label=mark) for n, (text, mark) in enumerate(MARKS * 10)]
    (here / "gold.jsonl").write_bytes(b"".join(lines) + extra)

    assert command(["calibrate", "--labels", "gold.jsonl", *options]) == code
    if code in (0, 3):
        assert "confusion" in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"{}\n"])
def test_a_file_without_a_record_is_1(here: Path, content: bytes | None) -> None:
    if content is not None:
        (here / "gold.jsonl").write_bytes(content)
    assert command(["calibrate", "--labels", "gold.jsonl"]) == 1


def test_the_report_as_json_can_be_held_against_a_later_one(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [line(n, response=text, label=mark) for n, (text, mark) in enumerate(MARKS * 10)]
    (here / "gold.jsonl").write_bytes(b"".join(lines))
    command(["calibrate", "--labels", "gold.jsonl", "--json"])
    (here / "before.json").write_text(capsys.readouterr().out, encoding="utf-8")

    assert command(["calibrate", "--labels", "gold.jsonl", "--against", "before.json"]) == 0
    assert "no detectable difference" in capsys.readouterr().out
