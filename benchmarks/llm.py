"""What a diagnosis over a chat model costs: calls, round trips, tokens, time, memory.

    python benchmarks/llm.py [--only plans|cpu|scale|peers] [--traces FILE] [--rows 10000]
        [--peers DIR]

A stand-in endpoint runs in a process of its own (`python benchmarks/llm.py serve`): a small
asyncio server that reads the prompts of the judges and answers as asked, after a set wait. It
says nothing about the quality of a judge. Tokens are bytes of messages and schema divided by
four, as no vocabulary is at hand without the network; the same on all sides.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import re
import resource
import struct
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import anyio
import llm_peers

from aletheia.config import Settings
from aletheia.judges.asking import Asker
from aletheia.judges.base import FusedJudge, Judges, TraceCase
from aletheia.judges.llm import LLMDecomposer, LLMFusedJudge, LLMJudge
from aletheia.llm.build import ModelServices, build_model
from aletheia.llm.ledger import CallLedger
from aletheia.llm.limit import AdaptiveLimiter
from aletheia.llm.pricing import Pricer
from aletheia.llm.scripted import ScriptedModel
from aletheia.pipeline.diagnose import DiagnoseOptions, diagnose, trace_case
from aletheia.schema.diagnosis import Diagnosis, EvaluationResult
from aletheia.schema.model import ChatModel, Prompt
from aletheia.schema.trace import ContextChunk

if TYPE_CHECKING:
    from openai import AsyncOpenAI

ROOT = Path(__file__).resolve().parent.parent
TRACES = ROOT.parent / "shared" / "bench" / "traces.jsonl"
LATENCY = 0.2
MODEL = "stand-in"
Plan = Literal["isolated", "fused"]
PLANS: tuple[Plan, ...] = ("isolated", "fused")

# --- the stand-in endpoint --------------------------------------------------------------------

_ITEM = re.compile(r"^([QC]\d+) \((\w{4})\) (.*)$", re.MULTILINE)
_UNIT = re.compile(r"^\[(E\d+)\] (.*)$", re.MULTILINE)
_TOKEN = re.compile(r"<data-([A-Za-z0-9_-]+)>")
_WORD = re.compile(r"\w+")
_STOP = re.compile(r"(?<=[.!?]) ")


def answer(system: str, user: str) -> str:
    """Answer a prompt of the judges the way a careful reader of words would."""
    if "You split" in system:
        return json.dumps(_pieces(system, user))
    canary = _TOKEN.search(user)
    token = canary.group(1) if canary else "\0"
    units = [(unit, set(_WORD.findall(text.lower()))) for unit, text in _UNIT.findall(user)]
    items = _ITEM.findall(user)
    asked = [key for key, _, text in items if key[0] == "Q" and token not in text]
    judged = [_judged(key, check, text, token, units, asked) for key, check, text in items]
    return json.dumps(
        {
            "questions": [item for item in judged if item["id"][0] == "Q"],
            "claims": [item for item in judged if item["id"][0] == "C"],
        }
    )


def _pieces(system: str, user: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "into the questions" in system:
        query = user.split("QUESTION: ", 1)[1].split("\n", 1)[0]
        first, _, second = query.partition(", and ")
        found["sub_questions"] = [first, second] if second else [first]
    if "RESPONSE: " in user:
        response = user.split("RESPONSE: ", 1)[1].split("\n", 1)[0]
        texts = [text for text in _STOP.split(response) if text]
        found["claims"] = [{"quote": text, "text": text, "kind": "answer"} for text in texts]
    return found


def _judged(
    key: str,
    check: str,
    text: str,
    token: str,
    units: Sequence[tuple[str, set[str]]],
    asked: Sequence[str],
) -> dict[str, Any]:
    words = set(_WORD.findall(text.lower()))
    _, *following = _WORD.findall(text)
    strict = {word.lower() for word in following if word.isdigit() or word[0].isupper()}
    fits = [(len(words & have), unit) for unit, have in units if strict <= have]
    good = bool(fits) and token not in text
    return {
        "id": key,
        "check": check,
        "verdict": "Y" if good else "N",
        "evidence_ids": [max(fits)[1]] if good else [],
        "answers": list(asked[:1]) if token not in text else [],
        "off_topic": "Y" if token in text else "N",
    }


@dataclass(slots=True)
class Counts:
    """What the endpoint saw."""

    calls: int = 0
    embeddings: int = 0
    bytes: int = 0
    now: int = 0
    most: int = 0


class Endpoint:
    """One keep-alive HTTP server, enough of the protocol for a client of chat completions."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.counts = Counts()

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve one connection until it is closed."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                found = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
                body = await reader.readexactly(int(found.group(1)) if found else 0)
                reply = await self.reply(head.split(b" ", 2)[1].decode(), body)
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
                    + str(len(reply)).encode()
                    + b"\r\n\r\n"
                    + reply
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def reply(self, path: str, body: bytes) -> bytes:
        """Answer one request."""
        if path == "/counts":
            seen = self.counts
            self.counts = Counts()
            return json.dumps(asdict(seen)).encode()
        if path.startswith("/latency/"):
            self.latency = float(path.rpartition("/")[2])
            return b"{}"
        if path.endswith("/embeddings"):
            return await self.embeddings(json.loads(body))
        return await self.completion(json.loads(body))

    async def completion(self, asked: dict[str, Any]) -> bytes:
        """Answer a chat, after the wait, and count it."""
        counts = self.counts
        counts.now += 1
        counts.most = max(counts.most, counts.now)
        message, extra = self.message(asked)
        texts = [str(message["content"]) for message in asked["messages"]]
        size = sum(len(text.encode()) for text in texts) + extra
        counts.calls += 1
        counts.bytes += size
        if self.latency:
            await asyncio.sleep(self.latency)
        counts.now -= 1
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        usage = {"prompt_tokens": size // 4, "completion_tokens": len(json.dumps(message)) // 4}
        usage["total_tokens"] = sum(usage.values())
        return json.dumps(
            {
                "id": "stub",
                "object": "chat.completion",
                "created": 0,
                "model": asked["model"],
                "choices": [choice],
                "usage": usage,
            }
        ).encode()

    def message(self, asked: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Return the message that answers, and the bytes of the schema asked with."""
        if asked["model"] != MODEL:
            return llm_peers.reply(asked)
        texts = [message["content"] for message in asked["messages"]]
        schema = (asked.get("response_format") or {}).get("json_schema", {}).get("schema")
        message = {"role": "assistant", "content": answer(texts[0], texts[-1]), "refusal": None}
        return message, len(json.dumps(schema)) if schema else 0

    async def embeddings(self, asked: dict[str, Any]) -> bytes:
        """Answer with the same vector for every text."""
        self.counts.embeddings += 1
        if self.latency:
            await asyncio.sleep(self.latency)
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        packed = base64.b64encode(struct.pack("<4f", 0.5, 0.5, 0.5, 0.5)).decode()
        vector = packed if asked.get("encoding_format") == "base64" else [0.5] * 4
        data = [
            {"object": "embedding", "index": at, "embedding": vector} for at in range(len(texts))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        return json.dumps(
            {"object": "list", "model": asked["model"], "data": data, "usage": usage}
        ).encode()


async def serve(latency: float) -> None:
    server = await asyncio.start_server(Endpoint(latency).handle, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        await server.serve_forever()


@dataclass(frozen=True, slots=True)
class Stub:
    """The endpoint as this process sees it."""

    port: int

    @property
    def base_url(self) -> str:
        """Where a client is pointed."""
        return f"http://127.0.0.1:{self.port}/v1"

    def get(self, path: str) -> dict[str, Any]:
        """Ask the endpoint itself."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}") as reply:
            return dict(json.loads(reply.read()))

    def latency(self, seconds: float) -> None:
        """Set the wait, and begin to count."""
        self.get(f"/latency/{seconds}")
        self.get("/counts")


@contextmanager
def stub() -> Iterator[Stub]:
    process = subprocess.Popen(
        [sys.executable, __file__, "serve", "--latency", str(LATENCY)], stdout=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        yield Stub(int(process.stdout.readline()))
    finally:
        process.terminate()
        process.wait()


# --- what is measured -------------------------------------------------------------------------


def undiagnosed(**_outcomes: object) -> Diagnosis:
    """Stand in for the classifier, which costs no call."""
    return Diagnosis()


OPTIONS = DiagnoseOptions(classify=undiagnosed)


def read_cases(path: Path) -> list[TraceCase]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [
        trace_case(
            row["query"],
            [ContextChunk(text=text, rank=rank) for rank, text in enumerate(row["context"])],
            row["response"],
        )
        for row in rows
    ]


def judges_of(plan: Plan, model: ChatModel) -> Judges | FusedJudge:
    asker = Asker(model=model)
    if plan == "fused":
        return LLMFusedJudge(asker)
    judge = LLMJudge(asker)
    return Judges(
        decomposer=LLMDecomposer(asker), sufficiency=judge, faithfulness=judge, completeness=judge
    )


def model_at(url: str, *, calls_at_once: int, ledger: CallLedger | None = None) -> ChatModel:
    """The whole stack but the cache: it would answer everything after the first round."""
    settings = Settings(
        openai_base_url=url, openai_api_key="unused", cache_enabled=False, model=MODEL
    )
    limiter = AdaptiveLimiter(calls_at_once, None)
    services = ModelServices(limiter=limiter, pricer=Pricer(settings), ledger=ledger)
    return build_model(settings, services=services)


async def run(
    cases: Sequence[TraceCase], judges: Judges | FusedJudge, at_once: int
) -> list[EvaluationResult]:
    """Diagnose all, `at_once` under way; results in the order in which they end."""
    waiting = iter(cases)
    done: list[EvaluationResult] = []

    async def worker() -> None:
        for case in waiting:
            result = await diagnose(case, judges, OPTIONS)
            done.append(result)

    async with anyio.create_task_group() as group:
        for _ in range(at_once):
            group.start_soon(worker)
    return done


def plans(cases: Sequence[TraceCase], server: Stub) -> None:
    """Calls, round trips, tokens and wall time, at 200 ms a call."""
    print(f"{len(cases)} traces, {LATENCY * 1000:.0f} ms a call; best of 3\n")
    print("plan      calls  tokens  round trips  8 calls at once: wall / bound  8 traces at once")
    for plan in PLANS:
        # One trace with a second a call: what is no wait is a small part of it.
        server.latency(1.0)
        trips = anyio.run(_timed, cases[:1], plan, server, 1, 64)
        server.latency(LATENCY)
        bounded = _best(cases, plan, server, len(cases), 8)
        seen = server.get("/counts")
        free = _best(cases, plan, server, 8, 64)
        bound = seen["calls"] * LATENCY / 8
        print(
            f"{plan:9} {seen['calls'] / len(cases):5.2f} {seen['bytes'] / 4 / len(cases):7.0f}"
            f"  {trips:11.2f}  {bounded:7.2f} s / {bound:4.2f} s = {bounded / bound:4.2f}"
            f"        {free:8.2f} s"
        )


def _best(cases: Sequence[TraceCase], plan: Plan, server: Stub, at_once: int, calls: int) -> float:
    return min(anyio.run(_timed, cases, plan, server, at_once, calls) for _ in range(3))


async def _timed(
    cases: Sequence[TraceCase], plan: Plan, server: Stub, at_once: int, calls: int
) -> float:
    """Wall seconds of a run, with the client made and connected before."""
    judges = judges_of(plan, model_at(server.base_url, calls_at_once=calls))
    await run(cases[:1], judges, 1)
    server.get("/counts")
    start = time.perf_counter()
    done = await run(cases, judges, at_once)
    spent = time.perf_counter() - start
    assert len(done) == len(cases)
    assert not any(result.errors for result in done), [result.errors for result in done]
    return spent


def cpu(cases: Sequence[TraceCase], server: Stub) -> None:
    """CPU of this process for a warm trace, at no latency, and whose it is."""
    server.latency(0.0)
    print("CPU ms a warm trace (best of 7 rounds, user + system of this process)\n")
    print("plan      all    without HTTP (ours)   bare openai client, same calls")
    for plan in PLANS:
        whole = anyio.run(_cpu_of_run, cases, plan, server.base_url)
        ours, stubbed = anyio.run(_cpu_scripted, cases, plan)
        bare = anyio.run(_cpu_bare, cases, plan, server.base_url)
        print(f"{plan:9} {whole:5.2f}  {ours - stubbed:8.2f}              {bare:8.2f}")


async def _cpu_of_run(cases: Sequence[TraceCase], plan: Plan, url: str) -> float:
    judges = judges_of(plan, model_at(url, calls_at_once=8))
    await run(cases, judges, 1)
    return await _rounds(cases, judges)


async def _rounds(cases: Sequence[TraceCase], judges: Judges | FusedJudge) -> float:
    rounds = []
    for _ in range(7):
        start = _cpu_seconds()
        await run(cases, judges, 1)
        rounds.append((_cpu_seconds() - start) / len(cases) * 1000)
    return min(rounds)


async def _cpu_scripted(cases: Sequence[TraceCase], plan: Plan) -> tuple[float, float]:
    """Ours with the stand-in's answers made in this process, and what making them costs."""
    made: list[tuple[str, str]] = []

    def say(prompt: Prompt) -> str:
        made.append((prompt.system, prompt.user))
        return answer(prompt.system, prompt.user)

    judges = judges_of(plan, ScriptedModel(say))
    await run(cases, judges, 1)
    prompts = list(made)
    ours = await _rounds(cases, judges)
    start = _cpu_seconds()
    for system, user in prompts:
        answer(system, user)
    return ours, (_cpu_seconds() - start) / len(cases) * 1000


async def _cpu_bare(cases: Sequence[TraceCase], plan: Plan, url: str) -> float:
    """The same requests through the openai client and nothing else."""
    from openai import AsyncOpenAI

    model = ScriptedModel(lambda prompt: answer(prompt.system, prompt.user))
    await run(cases, judges_of(plan, model), 1)
    rounds = []
    async with AsyncOpenAI(base_url=url, api_key="unused", max_retries=0) as client:
        for _ in range(7):
            start = _cpu_seconds()
            for prompt in model.history:
                await _send(client, prompt)
            rounds.append((_cpu_seconds() - start) / len(cases) * 1000)
    return min(rounds)


async def _send(client: AsyncOpenAI, prompt: Prompt) -> None:
    form = {"name": prompt.schema_name, "schema": prompt.schema, "strict": True}
    await client.chat.completions.create(
        model=MODEL,
        messages=[
            {"role": "system", "content": prompt.system},
            {"role": "user", "content": prompt.user},
        ],
        temperature=0.0,
        response_format={"type": "json_schema", "json_schema": form},
    )


def _cpu_seconds() -> float:
    # The sum of user and system that `os.times` gives, in nanoseconds instead of ticks.
    return time.process_time()


def scale(cases: Sequence[TraceCase], server: Stub, rows: int) -> None:
    """Many traces at once: nothing lost, nothing left open, memory that stays."""
    server.latency(0.0)
    print(f"{rows} traces, 64 at once, no latency, fused plan\n")
    open_before = _descriptors()
    ledger = CallLedger()
    tally = anyio.run(_scale, cases, server.base_url, rows, ledger)
    seen = server.get("/counts")
    cost = ledger.totals()
    print(f"rows asked {rows}, ended {tally.ended}, with an error {tally.errors}")
    print(f"calls counted here {cost.calls}, answered by the endpoint {seen['calls']}")
    for count, mebibytes in tally.peaks.items():
        print(f"peak memory after {count} traces: {mebibytes:.0f} MiB")
    print(f"open descriptors before {open_before}, after {_descriptors()}")
    print(f"{tally.ended / tally.seconds:.0f} traces a second")


@dataclass(slots=True)
class Tally:
    """Counts of a long run; no result is kept."""

    peaks: dict[int, float]
    ended: int = 0
    errors: int = 0
    seconds: float = 0.0


async def _scale(cases: Sequence[TraceCase], url: str, rows: int, ledger: CallLedger) -> Tally:
    judges = judges_of("fused", model_at(url, calls_at_once=64, ledger=ledger))
    tally = Tally({})
    marks = {rows // 10, rows // 2, rows}
    waiting = iter(range(rows))

    async def worker() -> None:
        for number in waiting:
            case = cases[number % len(cases)]
            # Every trace is another one, so that nothing can be remembered of it.
            result = await diagnose(
                replace(case, query=f"{case.query} (file {number})"), judges, OPTIONS
            )
            tally.ended += 1
            tally.errors += bool(result.errors)
            if tally.ended in marks:
                tally.peaks[tally.ended] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    start = time.perf_counter()
    async with anyio.create_task_group() as group:
        for _ in range(64):
            group.start_soon(worker)
    tally.seconds = time.perf_counter() - start
    return tally


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def peers(cases: Sequence[TraceCase], server: Stub, traces: Path, folder: Path | None) -> None:
    """Ours and those of other tools that are installed below `folder`, in one run."""
    print(f"{len(cases)} traces, {LATENCY * 1000:.0f} ms a call; CPU at no latency\n")
    print("tool                calls  embeddings  tokens  default  8 at once  CPU ms a trace")
    for plan in PLANS:
        _print_row(f"aletheia, {plan}", len(cases), _ours(cases, plan, server))
    for name in llm_peers.DRIVERS:
        python = Path(sys.executable) if name == "ragas" else (folder or ROOT) / name / "bin/python"
        if name != "ragas" and (folder is None or not python.exists()):
            print(f"{name}: not below `--peers`, skipped")
            continue
        command = [str(python), str(ROOT / "benchmarks/llm_peers.py")]
        done = subprocess.run(
            [*command, name, server.base_url, str(traces)], capture_output=True, text=True
        )
        if done.returncode:
            print(f"{name}: did not run: {(done.stderr.strip() or '?').splitlines()[-1]}")
        else:
            _print_row(name, len(cases), json.loads(done.stdout.splitlines()[-1]))


def _ours(cases: Sequence[TraceCase], plan: Plan, server: Stub) -> dict[str, Any]:
    settings = Settings()
    server.latency(LATENCY)
    default = anyio.run(_timed, cases, plan, server, settings.concurrency, 64)
    seen = server.get("/counts")
    at_once = anyio.run(_timed, cases, plan, server, 8, 64)
    server.latency(0.0)
    spent = anyio.run(_cpu_of_run, cases, plan, server.base_url)
    return {"default": default, "at_once": at_once, "cpu": spent, **seen}


def _print_row(name: str, traces: int, row: dict[str, Any]) -> None:
    tokens = row["bytes"] / 4 / traces
    print(
        f"{name:18} {row['calls'] / traces:6.2f}  {row['embeddings'] / traces:10.2f} {tokens:7.0f}"
        f"  {row['default']:5.2f} s    {row['at_once']:5.2f} s  {row['cpu']:14.2f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("command", nargs="?", choices=("serve",))
    parser.add_argument("--latency", type=float, default=LATENCY)
    parser.add_argument("--only", choices=("plans", "cpu", "scale", "peers"))
    parser.add_argument("--traces", type=Path, default=TRACES)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--peers", type=Path, help="folder of environments: DIR/NAME/bin/python")
    arguments = parser.parse_args()
    if arguments.command == "serve":
        asyncio.run(serve(arguments.latency))
        return
    if not arguments.traces.exists():
        sys.exit(f"{arguments.traces} is not there: this benchmark needs it")
    cases = read_cases(arguments.traces)
    with stub() as server:
        steps = {
            "plans": lambda: plans(cases, server),
            "cpu": lambda: cpu(cases, server),
            "scale": lambda: scale(cases, server, arguments.rows),
            "peers": lambda: peers(cases, server, arguments.traces, arguments.peers),
        }
        for name, step in steps.items():
            if arguments.only in (None, name):
                step()
                print()


if __name__ == "__main__":
    main()
