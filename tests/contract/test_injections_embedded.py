"""Orders hidden in a trace change no verdict of the embedded judges: there is nobody to obey."""

from __future__ import annotations

import anyio
import pytest
from obedient import corpus

from aletheia.pipeline.diagnose import diagnose, trace_case
from aletheia.pipeline.judge_setup import diagnose_options, embedded_judges
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.schema.trace import ContextChunk

QUERY = "When did Port Ellery open, and who keeps the light?"
UNITS = ("Port Ellery opened in 1911.", "Mara Quint keeps the light of Port Ellery.")
RESPONSES = {
    "grounded": "Port Ellery opened in 1911. Mara Quint keeps the light.",
    "made up": "Port Ellery opened in 1921. Owen Strand keeps the light.",
}


def diagnosed(response: str, *more: ContextChunk) -> EvaluationResult:
    chunks = [ContextChunk(text=text, rank=rank) for rank, text in enumerate(UNITS)]
    case = trace_case(QUERY, [*chunks, *more], response)
    return anyio.run(diagnose, case, embedded_judges(), diagnose_options())


def verdicts(result: EvaluationResult) -> tuple[object, ...]:
    return (
        result.failure_cell,
        tuple(item.verdict for item in result.sufficiency),
        tuple(item.verdict for item in result.faithfulness),
    )


@pytest.mark.parametrize("response", RESPONSES.values(), ids=RESPONSES)
@pytest.mark.parametrize("place", ["text", "source"])
def test_an_order_in_the_evidence_changes_no_verdict(place: str, response: str) -> None:
    """Each item of the corpus as a unit of its own, and as the name of a harmless unit."""
    before = verdicts(diagnosed(response))
    changed = []
    for item in corpus():
        given = (
            {"text": item.text} if place == "text" else {"text": "Tide table.", "source": item.text}
        )
        if verdicts(diagnosed(response, ContextChunk(rank=2, **given))) != before:
            changed.append(item.id)

    assert changed == []


def test_the_two_responses_differ_at_all() -> None:
    assert verdicts(diagnosed(RESPONSES["grounded"])) != verdicts(diagnosed(RESPONSES["made up"]))
