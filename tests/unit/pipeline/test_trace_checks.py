"""Warnings of claims that code decides: conflicts, citations, judges that a fact contradicts."""

from __future__ import annotations

import pytest
from unit.judges.scripts import changed, isolated, scripted, trace, wait

from aletheia.judges.base import Judges
from aletheia.pipeline.diagnose import diagnose
from aletheia.pipeline.judge_setup import diagnose_options, embedded_judges
from aletheia.pipeline.trace_checks import check_claims
from aletheia.reports.trace_json import trace_row
from aletheia.reports.trace_text import render_trace
from aletheia.schema.diagnosis import EvaluationResult, FailureCell
from aletheia.schema.judgement import FaithfulnessJudgment
from aletheia.schema.trace import Claim

TENT = ("Tent 3.1 kg.", "The stove is red.", "Tent, revised: 2.8 kg.")
WEIGHS = "The tent weighs 3.1 kg [E1]."


def diagnosed(
    response: str, *units: str, query: str | None = None, judges: Judges | None = None
) -> EvaluationResult:
    case = trace(response, *units, query=query)
    found: EvaluationResult = wait(diagnose, case, judges or embedded_judges(), diagnose_options())
    return found


def test_a_claim_the_evidence_contests_stays_supported_and_is_told() -> None:
    """Field case 136."""
    found = diagnosed(WEIGHS, *TENT, query="What does the tent weigh?")
    [judgment] = found.faithfulness
    assert (judgment.verdict, judgment.evidence_ids) == ("Y", ("E1",))
    assert "conflict" in judgment.warnings
    assert found.findings == ("conflict: E1 says `3.1 kg`, E3 says `2.8 kg`; E3 is newer",)
    assert found.failure_cell is FailureCell.COMPLETE_GROUNDED
    assert found.diagnosis.flags.conflict is True


def test_its_advice_asks_for_disclosure_and_every_report_shows_it() -> None:
    found = diagnosed(WEIGHS, *TENT, query="What does the tent weigh?")
    assert found.suggestion is not None
    assert "sources disagree" in found.suggestion.body
    text = render_trace(found)
    assert "the evidence contradicts itself" in text
    assert "finding: conflict: E1 says `3.1 kg`, E3 says `2.8 kg`; E3 is newer" in text
    row = trace_row(found)
    assert row["flags"]["conflict"] is True
    assert row["faithfulness"][0]["warnings"] == ["conflict"]


@pytest.mark.parametrize(
    ("units", "conflict"),
    [
        (("The tent weighs 3.1 kg.", "The stove weighs 2.8 kg."), False),
        (("The tent weighs 3.1 kg.", "The titanium tent weighs 2.8 kg."), None),
        (("The tent weighs 3.1 kg.",), None),
    ],
)
def test_the_flag_is_false_only_where_it_was_looked_for(
    units: tuple[str, ...], conflict: bool | None
) -> None:
    assert diagnosed("The tent weighs 3.1 kg [E1].", *units).diagnosis.flags.conflict is conflict


@pytest.mark.parametrize(
    ("response", "denied"),
    [
        ("The pump runs at 40 Hz [E1].", "The pump does not run at 40 Hz."),
        ("The pump does not run at 40 Hz [E1].", "The pump runs at 40 Hz."),
        ("The export is enabled [E1].", "The export is disabled."),
    ],
)
def test_a_unit_that_denies_a_claim_takes_nothing_from_the_one_that_states_it(
    response: str, denied: str
) -> None:
    """Whatever the judge made of the other one."""
    found = diagnosed(response, response.replace(" [E1]", ""), denied)
    assert (found.faithfulness[0].verdict, found.faithfulness[0].evidence_ids[:1]) == ("Y", ("E1",))
    assert found.diagnosis.flags.conflict is True


CITING = [
    ("Model A shipped in May [E2].", True),
    ("Model A shipped in May [2].", True),
    ("Model A shipped in May [E1].", False),
    ("Model A shipped in May [1].", False),
    ("Model A shipped in May [E1][E2].", False),
    ("Model A shipped in May. [E2]", True),
    ("Model A shipped in May.", None),
    ("Model A shipped in May [E9].", None),
]
UNITS = ("Model A shipped in May.", "Model B shipped in June.")


@pytest.mark.parametrize(("response", "miscited"), CITING)
def test_a_claim_that_cites_another_unit_than_the_one_that_carries_it(
    response: str, miscited: bool | None
) -> None:
    """Field case 55: supported, and cited wrongly. Without a citation nothing is known."""
    found = diagnosed(response, *UNITS)
    [judgment] = found.faithfulness
    assert judgment.verdict == "Y"
    assert ("miscited" in judgment.warnings) is (miscited is True)
    assert found.diagnosis.flags.miscited is miscited


@pytest.mark.parametrize(
    ("cited", "miscited"), [(("E2",), True), (("E1",), False), (("E1", "E2"), False), ((), None)]
)
def test_units_cited_beside_the_text_count_where_the_text_cites_none(
    cited: tuple[str, ...], miscited: bool | None
) -> None:
    case = trace("Model A shipped in May.", *UNITS)
    claim = Claim(id=0, text=case.response, start=0, end=len(case.response))
    judgment = FaithfulnessJudgment(claim_id=0, verdict="Y", evidence_ids=("E1",))
    assert check_claims(case, [claim], [judgment], cited=cited).miscited is miscited


def test_each_claim_is_held_against_its_own_citation() -> None:
    response = "Model A shipped in May [E2]. Model B shipped in June [E2]."
    found = diagnosed(response, *UNITS)
    assert ["miscited" in item.warnings for item in found.faithfulness] == [True, False]
    assert found.diagnosis.flags.miscited is True


def judgment(**values: object) -> FaithfulnessJudgment:
    return FaithfulnessJudgment.model_validate({"claim_id": 0, **values})


@pytest.mark.parametrize(
    ("evidence", "overruled"),
    [
        # The score alone would carry it; the sign is another one.
        ("The museum is open to visitors on Monday.", True),
        ("The museum is not open to visitors on Monday.", False),
        # It would not carry this, whatever the sign.
        ("Ferries leave the harbour every morning.", False),
    ],
)
def test_a_score_that_a_fact_held_back_is_a_finding(evidence: str, overruled: bool) -> None:
    found = diagnosed("The museum is not open to visitors on Monday.", evidence)
    (judged,) = found.faithfulness
    assert ("judge_overruled" in judged.warnings) is overruled
    told = [item for item in found.findings if item.startswith("judge_overruled: claim 0: ")]
    assert bool(told) is overruled
    assert all("the judge gave 0." in item and "negation" in item for item in told)


def test_a_model_that_says_yes_where_its_units_lack_the_number_is_overruled_and_told() -> None:
    """A chat model judges; the number of the claim is in none of the units it names."""
    model = scripted(changed(lambda entry: {**entry, "verdict": "Y", "evidence_ids": ["E1"]}
                             if "verdict" in entry and entry["verdict"] == "Y" else entry))  # fmt: skip
    found = diagnosed(
        "The legal age is 62.", "The legal age is 64.", query=None, judges=isolated(model)
    )
    [judged] = found.faithfulness
    assert (judged.verdict, judged.problem) == (None, "citation_lacks_literals")
    assert "judge_overruled" in judged.warnings
    why = "judge_overruled: claim 0: the judge said Y on E1, which lacks `62`"
    assert why in found.findings


def test_without_evidence_or_judgments_nothing_is_said() -> None:
    case = trace("The legal age is 62.")
    claim = Claim(id=0, text=case.response, start=0, end=len(case.response))
    for units, items in ((), (judgment(verdict="N"),)), (("a",), ()):
        found = check_claims(trace(case.response, *units), [claim], items)
        assert (found.findings, found.miscited, found.conflict) == ((), None, None)
