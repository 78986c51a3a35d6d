"""The judges over real HTTP: what is sent, what is counted, what a cache saves, what a fault costs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from stub_server import Recorded, Rule, Step, StubServer
from unit.judges.scripts import Entry, changed, good_reply, trace

from aletheia.config import Settings
from aletheia.judges.asking import Asker
from aletheia.judges.base import FusedJudge, Judges
from aletheia.judges.llm import LLMDecomposer, LLMFusedJudge, LLMJudge
from aletheia.llm.build import ModelServices, build_model, make_services
from aletheia.llm.ledger import CallLedger
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose
from aletheia.schema.cost import Cost
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult
from aletheia.schema.model import Prompt

RESPONSE = "The mill opened in 1911. The mill has a red roof."
CASE = trace(RESPONSE, *RESPONSE.split(". "), query="The mill opened when?")
DOWN = Step(status=500, times=None)


def prompt_of(request: Recorded) -> Prompt:
    """The prompt as it arrived."""
    system, user = (message["content"] for message in request.body["messages"])
    form = request.body["response_format"]
    token = re.search(r"<data-(\w+)>", user)
    name = form["json_schema"]["name"] if "json_schema" in form else "judge"
    return Prompt(
        system=system,
        user=user,
        schema_name=name,
        delimiter=token.group(1) if token else None,
        purpose="decompose" if name.startswith("decompose") else "judge",
    )


def working(request: Recorded) -> str:
    return good_reply(prompt_of(request))


@pytest.fixture
def server() -> Iterator[StubServer]:
    with StubServer(answer=working) as running:
        yield running


def judges(plan: str, settings: Settings, services: ModelServices) -> Judges | FusedJudge:
    asker = Asker(model=build_model(settings, model="judge", services=services))
    if plan == "fused":
        return LLMFusedJudge(asker)
    judge = LLMJudge(asker)
    return Judges(
        decomposer=LLMDecomposer(asker), sufficiency=judge, faithfulness=judge, completeness=judge
    )


def run(
    server: StubServer, path: Path, plan: str = "isolated", **values: Any
) -> tuple[EvaluationResult, Cost]:
    settings = Settings(
        openai_base_url=server.base_url, openai_api_key="k", db_path=path / "a.db", max_retries=0, **values
    )  # fmt: skip
    services = make_services(settings, ledger=CallLedger())
    try:
        options = DiagnoseOptions(classify=lambda **_: Diagnosis())
        result = anyio.run(diagnose, CASE, judges(plan, settings, services), options)
        assert services.ledger is not None
        return result, services.ledger.totals()
    finally:
        services.close()


@pytest.mark.parametrize(("plan", "calls"), [("isolated", 5), ("fused", 2)])
def test_a_second_identical_run_makes_no_call(
    server: StubServer, tmp_path: Path, plan: str, calls: int
) -> None:
    """Tokens and canaries differ from run to run, and the replies are found again."""
    first, cost = run(server, tmp_path, plan)
    assert len(server.chats) == cost.calls == calls
    second, again = run(server, tmp_path, plan)
    assert len(server.chats) == calls
    assert (again.cached, again.requests, again.usd) == (calls, 0, 0.0)
    assert second.faithfulness == first.faithfulness
    assert [item.verdict for item in second.faithfulness] == ["Y", "Y"]


def test_every_call_carries_its_own_token_and_its_schema(
    server: StubServer, tmp_path: Path
) -> None:
    run(server, tmp_path)
    prompts = [prompt_of(request) for request in server.chats]
    assert len({prompt.delimiter for prompt in prompts}) == 5
    assert {prompt.schema_name for prompt in prompts} == {
        *("decompose_query", "decompose_response"),
        *("sufficiency", "faithfulness", "completeness"),
    }
    assert all(request.body["response_format"]["json_schema"]["strict"] for request in server.chats)


@pytest.mark.parametrize(
    ("heading", "metric"),
    [
        ("You say whether numbered evidence", "sufficiency"),
        ("You check claims", "faithfulness"),
        ("You say which claims", "completeness"),
    ],
)
def test_one_judge_that_fails_leaves_the_others(tmp_path: Path, heading: str, metric: str) -> None:
    rule = Rule(contains=heading, steps=[DOWN])
    with StubServer(rules=[rule], answer=working) as server:
        result, cost = run(server, tmp_path, cache_enabled=False)
    assert set(result.errors) == {metric}
    assert (cost.calls, cost.failed) == (5, 1)


@pytest.mark.parametrize("refused", [["json_schema"], ["json_schema", "json_object"]])
def test_an_endpoint_without_schemas_is_judged_by_the_prompt_alone(
    tmp_path: Path, refused: list[str]
) -> None:
    """Field case 121. The prompts name every field, so that a model needs no schema."""

    def answer(request: Recorded) -> str:
        form = {"response_format": {"type": "text"}} | request.body
        body = Recorded(method="POST", path=request.path, headers={}, body=form, at=0.0)
        return good_reply(_named_by_its_text(prompt_of(body)))

    with StubServer(refuses=refused, answer=answer) as server:  # type: ignore[arg-type]
        result, _ = run(server, tmp_path, cache_enabled=False)
    assert result.errors == {}
    assert [item.verdict for item in result.faithfulness] == ["Y", "Y"]


def _named_by_its_text(prompt: Prompt) -> Prompt:
    cuts = {
        "You split a question into": "decompose_query",
        "You split a response": "decompose_response",
    }
    name = next((name for text, name in cuts.items() if text in prompt.system), "judge")
    purpose = "decompose" if name != "judge" else "judge"
    return Prompt(system=prompt.system, user=prompt.user, schema_name=name, delimiter=prompt.delimiter, purpose=purpose)  # fmt: skip


def test_a_model_that_obeys_its_evidence_supports_nothing(tmp_path: Path) -> None:
    """Field case 118: the reply an injection asks for is worth nothing."""

    def obey(entry: Entry) -> Entry:
        return {**entry, "verdict": "Y", "evidence_ids": ["E1"]}

    def answer(request: Recorded) -> str:
        reply = changed(obey)(prompt_of(request))
        assert isinstance(reply, str)
        return reply

    with StubServer(answer=answer) as server:
        result, _ = run(server, tmp_path, cache_enabled=False)
    assert [item.verdict for item in (*result.faithfulness, *result.sufficiency)] == [None] * 3
    assert "judge_obeyed_injection" in result.findings


def test_a_reply_cut_at_its_length_is_finished_by_one_more_call(tmp_path: Path) -> None:
    """Field case 7: with more room first, then about what is missing only."""

    def cut(request: Recorded) -> Step:
        text = working(request)
        asked = prompt_of(request).schema_name
        if asked == "faithfulness" and len(_faithfulness(server)) < 3:
            return Step(text=text[:-60], finish_reason="length")
        return Step(text=text)

    with StubServer(answer=cut) as server:
        result, _ = run(server, tmp_path, cache_enabled=False)
        asked = _faithfulness(server)
    assert [item.verdict for item in result.faithfulness] == ["Y", "Y"]
    assert len(asked) == 3


def _faithfulness(server: StubServer) -> list[Recorded]:
    return [item for item in server.chats if prompt_of(item).schema_name == "faithfulness"]
