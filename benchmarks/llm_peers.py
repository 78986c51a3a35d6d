"""Other tools over the stand-in endpoint of `llm.py`: their drivers, and replies that fit them.

    PYTHON benchmarks/llm_peers.py NAME URL TRACES

`llm.py --peers DIR` runs this with the interpreter of an environment that has the tool, so nothing
but the standard library is imported here, and the tool inside its driver. Each driver judges
faithfulness, and whether the question is answered and the context enough for it, as far as the
tool has such a metric. One JSON line comes out: seconds of a run as the tool does it when nothing
is said, seconds with eight traces (or calls) at once, and processor time.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import re
import sys
import time
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

AT_ONCE = 8
ROUNDS = 3
_LISTED = 5
_LABEL = re.compile(r"^\[([QR])(\d+)\] ", re.MULTILINE)
_STOP = re.compile(r"(?<=[.!?]) ")
_SHOWN_SCHEMA = re.compile(r"json_schema:\s*(?=\{)")

Row = dict[str, Any]


# --- replies ----------------------------------------------------------------------------------


def reply(asked: Row) -> tuple[Row, int]:
    """Return a message that fits the request, and the bytes of the schema sent beside the text."""
    texts = [_text(message.get("content")) for message in asked["messages"]]
    for tool in asked.get("tools") or ():
        function = tool["function"]
        call = {"name": function["name"], "arguments": json.dumps(_example(function["parameters"]))}
        calls = [{"id": "call_1", "type": "function", "function": call}]
        return {"role": "assistant", "content": None, "tool_calls": calls}, len(json.dumps(tool))
    schema = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
    size = len(json.dumps(schema)) if schema else 0
    if schema is None:
        shown = _SHOWN_SCHEMA.search("\n".join(texts))
        if shown is None:
            found = _indexed("\n".join(texts[1:]))
            return {"role": "assistant", "content": json.dumps(found)}, size
        schema = json.JSONDecoder().raw_decode("\n".join(texts), shown.end())[0]
    return {"role": "assistant", "content": json.dumps(_example(schema))}, size


def _text(content: object) -> str:
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content or "")


def _indexed(user: str) -> Row:
    """Answer a prompt that numbers sub-questions `[Q0]` and claims `[R0]`."""
    labels = _LABEL.findall(user)
    claims = [int(at) for family, at in labels if family == "R"]
    questions = [int(at) for family, at in labels if family == "Q"]
    verdict = {"verdict": "Y", "reasoning": "as written"}
    if claims and questions:
        pairs = [{"claim_idx": at, "covers_sub_question_idx": at % len(questions)} for at in claims]
        return {"claim_assignments": pairs, "reasoning": "as written"}
    if claims:
        found = [{"claim_idx": at, **verdict, "grounding_chunk_ranks": [0]} for at in claims]
        return {"results": found}
    if questions:
        first = [
            {"sub_question_idx": at, **verdict, "supporting_chunk_ranks": [0]} for at in questions
        ]
        return {"results": first}
    _, _, text = user.partition("\n")
    if user.startswith("Query:"):
        return {"sub_questions": text.strip().split(", and ")}
    pieces = [piece for piece in _STOP.split(text.strip()) if piece]
    return {"claims": [{"text": piece, "type": "answer"} for piece in pieces]}


def _example(schema: Row, root: Row | None = None) -> object:
    """Return a value that a JSON schema allows: lists of five, the first choice of each enum."""
    root = schema if root is None else root
    if "$ref" in schema:
        found: Any = root
        for key in schema["$ref"].removeprefix("#/").split("/"):
            found = found[key]
        return _example(found, root)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return _example(schema[key][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    return _of_type(schema, root)


def _of_type(schema: Row, root: Row) -> object:
    kind = schema.get("type", "object")
    match kind[0] if isinstance(kind, list) else kind:
        case "object":
            fields = schema.get("properties", {})
            return {name: _field(name, inner, root) for name, inner in fields.items()}
        case "array":
            return [_example(schema["items"], root)] * _LISTED
        case "string":
            return "The company began by making tinned mackerel."
        case "boolean":
            return True
        case "null":
            return None
    return max(1, schema.get("minimum", 1))


def _field(name: str, schema: Row, root: Row) -> object:
    # A verdict is a word or a number, and no schema says which words.
    plain = "$ref" not in schema and schema.get("type") == "string" and "enum" not in schema
    return "yes" if name == "verdict" and plain else _example(schema, root)


# --- drivers ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Driver:
    """How one tool judges traces: by its default, with eight at once, and one after another."""

    default: Callable[[Sequence[Row]], object]
    at_once: Callable[[Sequence[Row]], object]
    serial: Callable[[Sequence[Row]], object]


def veralith(_url: str) -> Driver:
    import tiktoken
    from veralith import evaluate  # type: ignore[import-not-found]

    # It counts tokens before each trace with a vocabulary from the network; here by bytes.
    counter = SimpleNamespace(encode=lambda text: text.encode()[::4])
    tiktoken.encoding_for_model = lambda _model: counter

    def one(row: Row) -> None:
        found = evaluate(row["query"], row["context"], row["response"], persist=False)
        assert not found.errors, found.errors

    def serial(rows: Sequence[Row]) -> None:
        for row in rows:
            one(row)

    def at_once(rows: Sequence[Row]) -> None:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(one, rows))

    return Driver(serial, at_once, serial)


def ragas(url: str) -> Driver:
    from openai import AsyncOpenAI
    from ragas.embeddings import OpenAIEmbeddings
    from ragas.llms import llm_factory
    from ragas.metrics.collections import AnswerRelevancy, ContextRelevance, Faithfulness

    def made() -> list[tuple[Any, tuple[str, ...]]]:
        client = AsyncOpenAI(base_url=url, api_key="unused", max_retries=0)
        llm = llm_factory("peer", client=client)
        embeddings = OpenAIEmbeddings(client=client)
        return [
            (Faithfulness(llm=llm), ("user_input", "response", "retrieved_contexts")),
            (AnswerRelevancy(llm=llm, embeddings=embeddings), ("user_input", "response")),
            (ContextRelevance(llm=llm), ("user_input", "retrieved_contexts")),
        ]

    def fields(row: Row, names: Sequence[str]) -> Row:
        values = {
            "user_input": row["query"],
            "response": row["response"],
            "retrieved_contexts": row["context"],
        }
        return {name: values[name] for name in names}

    async def bounded(rows: Sequence[Row], most: int) -> None:
        limit, metrics = asyncio.Semaphore(most), made()

        async def one(row: Row) -> None:
            async with limit:
                await asyncio.gather(*(m.ascore(**fields(row, names)) for m, names in metrics))

        await asyncio.gather(*map(one, rows))

    async def all_metrics(rows: Sequence[Row]) -> None:
        for metric, names in made():
            await metric.abatch_score([fields(row, names) for row in rows])

    return Driver(
        lambda rows: asyncio.run(all_metrics(rows)),
        lambda rows: asyncio.run(bounded(rows, AT_ONCE)),
        lambda rows: asyncio.run(bounded(rows, 1)),
    )


def deepeval(_url: str) -> Driver:
    from deepeval import evaluate  # type: ignore[import-not-found]
    from deepeval.evaluate import (  # type: ignore[import-not-found]
        AsyncConfig,
        CacheConfig,
        DisplayConfig,
    )
    from deepeval.metrics import (  # type: ignore[import-not-found]
        AnswerRelevancyMetric,
        ContextualRelevancyMetric,
        FaithfulnessMetric,
    )
    from deepeval.test_case import LLMTestCase  # type: ignore[import-not-found]

    quiet = DisplayConfig(show_indicator=False, print_results=False, inspect_after_run=False)

    def run(rows: Sequence[Row], how: object) -> None:
        cases = [
            LLMTestCase(
                input=row["query"], actual_output=row["response"], retrieval_context=row["context"]
            )
            for row in rows
        ]
        kinds = (FaithfulnessMetric, AnswerRelevancyMetric, ContextualRelevancyMetric)
        evaluate(
            cases,
            [kind(model="gpt-4o") for kind in kinds],
            async_config=how,
            display_config=quiet,
            cache_config=CacheConfig(write_cache=False),
        )

    return Driver(
        lambda rows: run(rows, AsyncConfig()),
        lambda rows: run(rows, AsyncConfig(max_concurrent=AT_ONCE)),
        lambda rows: run(rows, AsyncConfig(max_concurrent=1)),
    )


def phoenix(url: str) -> Driver:
    import pandas as pd
    from phoenix.evals import (  # type: ignore[import-not-found]
        LLM,
        async_evaluate_dataframe,
        evaluate_dataframe,
    )
    from phoenix.evals.metrics import (  # type: ignore[import-not-found]
        CorrectnessEvaluator,
        FaithfulnessEvaluator,
        RetrievalRelevanceEvaluator,
    )

    llm = LLM(provider="openai", model="gpt-4o", base_url=url, api_key="unused")
    kinds = (FaithfulnessEvaluator, CorrectnessEvaluator, RetrievalRelevanceEvaluator)
    judges = [kind(llm=llm) for kind in kinds]

    def frame(rows: Sequence[Row]) -> pd.DataFrame:
        texts = ["\n\n".join(row["context"]) for row in rows]
        return pd.DataFrame(
            {
                "input": [row["query"] for row in rows],
                "output": [row["response"] for row in rows],
                "context": texts,
            }
        )

    def many(rows: Sequence[Row], concurrency: int | None) -> None:
        asyncio.run(
            async_evaluate_dataframe(
                dataframe=frame(rows),
                evaluators=judges,
                concurrency=concurrency,
                hide_tqdm_bar=True,
                exit_on_error=True,
            )
        )

    return Driver(
        lambda rows: many(rows, None),
        lambda rows: many(rows, AT_ONCE),
        lambda rows: evaluate_dataframe(
            dataframe=frame(rows), evaluators=judges, hide_tqdm_bar=True, exit_on_error=True
        ),
    )


DRIVERS: dict[str, Callable[[str], Driver]] = {
    "veralith": veralith,
    "ragas": ragas,
    "deepeval": deepeval,
    "phoenix": phoenix,
}


def measured(name: str, url: str, rows: Sequence[Row]) -> Row:
    """Measure a tool: calls and tokens are counted by the endpoint over the default run."""
    _get(url, "/latency/0.0")
    driver = DRIVERS[name](url)
    driver.serial(rows[:1])
    _get(url, "/latency/0.2")
    _get(url, "/counts")
    default = _seconds(driver.default, rows)
    seen = _get(url, "/counts")
    at_once = _seconds(driver.at_once, rows)
    _get(url, "/latency/0.0")
    spent = []
    for _ in range(ROUNDS):
        start = time.process_time()
        driver.serial(rows)
        spent.append((time.process_time() - start) / len(rows) * 1000)
    return {"default": default, "at_once": at_once, "cpu": min(spent), **seen}


def _seconds(run: Callable[[Sequence[Row]], object], rows: Sequence[Row]) -> float:
    start = time.perf_counter()
    run(rows)
    return time.perf_counter() - start


def _get(url: str, path: str) -> Row:
    with urllib.request.urlopen(url.removesuffix("/v1") + path) as answer:
        return dict(json.loads(answer.read()))


def main() -> None:
    name, url, path = sys.argv[1:]
    os.environ |= {
        "OPENAI_BASE_URL": url,
        "OPENAI_API_KEY": "unused",
        "RAGAS_DO_NOT_TRACK": "true",
        "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
        "DEEPEVAL_UPDATE_WARNING_OPT_OUT": "YES",
        "VERALITH_DB_PATH": os.devnull,
    }
    rows = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines()]
    # What a tool prints is not what is read here.
    with contextlib.redirect_stdout(io.StringIO()):
        found = measured(name, url, rows)
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
