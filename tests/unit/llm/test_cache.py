"""The reply cache: what its key holds, what it never keeps, and how its file behaves."""

from __future__ import annotations

import logging
import os
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import anyio
import pytest
from stub_server import Rule, Step, StubServer, answer_json

from aletheia.errors import ModelError, ModelRefused, ModelUnavailable, StoreError
from aletheia.llm.base import EndpointIdentity
from aletheia.llm.cache import (
    CachingModel,
    DamagedRow,
    ReplyCache,
    StoredReply,
    cache_key,
    why_not_kept,
)
from aletheia.llm.openai_model import OpenAIChatModel
from aletheia.llm.record import CallLedger
from aletheia.llm.scripted import Line, ScriptedModel
from aletheia.llm.tracking import CostScope
from aletheia.schema.model import Prompt, Reply, Usage

SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
ANSWER_SCHEMA = {"required": ["answer", "evidence_ids", "reasoning"]}
PROMPT = Prompt(system="Be brief.", user="Who?", delimiter="abcdef0123456789")
HOME = EndpointIdentity(provider="openai", base_url="http://localhost/v1", model="m")
REPLY = Reply(
    text="Mara.",
    model="m-2026",
    finish_reason="stop",
    usage=Usage(prompt_tokens=11, completion_tokens=7),
    structured="json_schema",
    dropped=("temperature",),
)
KEY = cache_key(HOME, PROMPT)


def ask(model: CachingModel, *prompts: Prompt) -> list[Reply]:
    async def all_of_them() -> list[Reply]:
        return [await model.complete(prompt) for prompt in prompts]

    return anyio.run(all_of_them)


def caching(
    cache: ReplyCache, lines: Sequence[Line] | Callable[[Prompt], Line]
) -> tuple[CachingModel, ScriptedModel]:
    script = ScriptedModel(lines)
    return CachingModel(script, cache, HOME), script


@pytest.fixture
def cache(tmp_path: Path) -> ReplyCache:
    return ReplyCache(tmp_path / "aletheia.db")


def sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


# --- the key ----------------------------------------------------------------------------------


def test_whatever_decides_the_reply_is_in_the_key() -> None:
    with_schema = replace(PROMPT, schema=SCHEMA)
    asked = [
        (HOME, PROMPT),
        (replace(HOME, provider="azure"), PROMPT),
        (replace(HOME, base_url="http://localhost/v2"), PROMPT),
        (replace(HOME, model="n"), PROMPT),
        (replace(HOME, parameters=(("api-version", "2026-01-01"),)), PROMPT),
        (HOME, replace(PROMPT, system="Be long.")),
        (HOME, replace(PROMPT, user="What?")),
        (HOME, replace(PROMPT, temperature=0.5)),
        (HOME, replace(PROMPT, temperature=None)),
        (HOME, replace(PROMPT, max_output_tokens=9)),
        (HOME, replace(PROMPT, output_ceiling=9)),
        (HOME, with_schema),
        (HOME, replace(with_schema, schema_name="other")),
        (HOME, replace(PROMPT, repeat=1)),
    ]

    assert len({cache_key(identity, prompt) for identity, prompt in asked}) == len(asked)


@pytest.mark.parametrize(
    ("identity", "prompt"),
    [
        (replace(HOME, base_url="http://localhost/v1/"), PROMPT),
        (HOME, replace(PROMPT, purpose="judge")),
        (HOME, replace(PROMPT, delimiter=None)),
    ],
)
def test_what_does_not_decide_the_reply_is_not_in_the_key(
    identity: EndpointIdentity, prompt: Prompt
) -> None:
    assert cache_key(identity, prompt) == KEY


def test_two_calls_that_differ_in_their_random_token_have_one_key() -> None:
    tokens = ("a1b2c3d4e5f60718", "ffffffffffffffff")
    prompts = [Prompt(system=f"<{t}>", user=f"{t} hi {t}", delimiter=t) for t in tokens]

    assert cache_key(HOME, prompts[0]) == cache_key(HOME, prompts[1])


def test_a_judge_does_not_get_the_reply_of_another_judge(cache: ReplyCache) -> None:
    """Field case 161."""
    judges = [
        CachingModel(ScriptedModel([name]), cache, replace(HOME, model=name)) for name in "ab"
    ]

    assert [ask(judge, PROMPT)[0].text for judge in judges] == ["a", "b"]


# --- what is kept -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "schema", "kept"),
    [
        ("Plain words.", None, True),
        ('{"verdict": "Y"}', SCHEMA, True),
        ('Sure:\n```json\n{"verdict": "Y",}\n```', SCHEMA, True),
        ("<think>{}</think>{'verdict': 'Y'}", SCHEMA, True),
        ('{"result": {"verdict": "Y"}}', SCHEMA, True),
        ('[{"verdict": "Y"}]', SCHEMA, True),
        ('{"anything": 1}', {"type": "object"}, True),
        (answer_json("Tea.", ["E1"]), ANSWER_SCHEMA, True),
        ('{"answer": "Tea.", "citations": ["E1"], "Reasoning": ""}', ANSWER_SCHEMA, True),
        ("I cannot help with that.", SCHEMA, False),
        ('{"verdikt": "Y"}', SCHEMA, False),
        ('{"verdict": "Y"', SCHEMA, False),
        ('"verdict"', SCHEMA, False),
        ("[1, 2]", {"type": "object"}, False),
        ('{"type": "object", "properties": {"verdict": {"type": "string"}}}', SCHEMA, False),
        ('{"answer": "Tea."}', ANSWER_SCHEMA, False),
        ('{"answer": "string", "evidence_ids": ["string"], "reasoning": ""}', ANSWER_SCHEMA, False),
        (answer_json(" "), ANSWER_SCHEMA, False),
        (" \n\u200b", None, False),
        ("", None, False),
        ("[" * 100_000, SCHEMA, False),
    ],
)
def test_only_a_text_that_holds_what_was_asked_for_is_kept(
    text: str, schema: dict[str, object] | None, kept: bool
) -> None:
    reason = why_not_kept(replace(PROMPT, schema=schema), replace(REPLY, text=text))

    assert (reason is None) is kept, reason


@pytest.mark.parametrize(
    ("finish_reason", "kept"),
    [("stop", True), (None, True), ("length", False), ("content_filter", False), ("eos", False)],
)
def test_only_a_reply_that_came_to_its_end_is_kept(finish_reason: str | None, kept: bool) -> None:
    reason = why_not_kept(PROMPT, replace(REPLY, finish_reason=finish_reason))

    assert (reason is None) is kept, reason


@pytest.mark.parametrize(
    "bad",
    [
        ModelUnavailable("busy", status=429),
        ModelRefused("no", status=403),
        replace(REPLY, finish_reason="length"),
        "",
    ],
)
def test_what_went_wrong_is_asked_again(cache: ReplyCache, bad: Line) -> None:
    model, script = caching(cache, [bad, "Mara."])
    with suppress(ModelError):
        ask(model, PROMPT)

    assert ask(model, PROMPT)[0].text == "Mara."
    assert len(script.history) == 2


def test_a_prompt_that_is_repeated_on_purpose_is_asked_each_time(cache: ReplyCache) -> None:
    model, _ = caching(cache, ["one", "two"])
    prompts = [PROMPT, replace(PROMPT, repeat=1), PROMPT]

    assert [reply.text for reply in ask(model, *prompts)] == ["one", "two", "one"]


def test_a_hit_says_so_and_costs_nothing(cache: ReplyCache) -> None:
    """Field case 160: the reply is the same, and not counted a second time."""
    cache.put(KEY, HOME, PROMPT, REPLY)

    hit = cache.get(KEY)

    assert hit is not None
    assert hit.usage.calls == hit.usage.prompt_tokens == hit.usage.completion_tokens == 0
    assert replace(hit, source="endpoint", usage=REPLY.usage) == REPLY
    assert hit.source == "cache"


def test_a_hit_is_counted_as_a_cached_call_in_ledger_and_scope(cache: ReplyCache) -> None:
    cache.put(KEY, HOME, PROMPT, REPLY)
    ledger = CallLedger(keep_records=True)
    model = CachingModel(ScriptedModel([]), cache, HOME, ledgers=[ledger])

    with CostScope() as scope:
        ask(model, replace(PROMPT, purpose="judge"))

    for cost in (ledger.totals(), scope.cost):
        assert (cost.calls, cost.cached, cost.requests, cost.tokens, cost.usd) == (1, 1, 0, 0, 0.0)
    assert ledger.records[0].purpose == "judge"


ODD = "a\u2028b\x00c\ud800d\r\n\x1b[31m é😀"


def test_odd_text_comes_back_as_it_was(cache: ReplyCache) -> None:
    prompt = Prompt(system=ODD, user=ODD, schema={"required": []}, delimiter="abcdef")
    reply = replace(REPLY, text=ODD)
    odd = replace(HOME, model=ODD)
    cache.put("k", odd, prompt, reply)

    hit = cache.get("k")
    (row,) = cache.export()

    assert hit is not None
    assert hit.text == ODD
    assert isinstance(row, StoredReply)
    assert (row.prompt, row.reply) == (prompt, reply)
    assert row.to_line().isascii()
    assert cache.clear(model=ODD) == 1


# --- at once ----------------------------------------------------------------------------------


def test_equal_prompts_at_once_make_one_call(tmp_path: Path) -> None:
    """Over real HTTP; the others get the reply as a cached one."""
    cache = ReplyCache(tmp_path / "a.db")
    replies: list[Reply] = []

    async def all_at_once(model: CachingModel) -> None:
        async def one(user: str) -> None:
            replies.append(await model.complete(replace(PROMPT, user=user)))

        async with anyio.create_task_group() as tasks:
            for number in range(20):
                tasks.start_soon(one, f"q{number % 2}")

    with StubServer(answer=lambda request: request.body["messages"][-1]["content"]) as server:
        inner = OpenAIChatModel("stub", base_url=server.base_url)
        anyio.run(all_at_once, CachingModel(inner, cache, HOME))
        sent = len(server.chats)

    assert sent == 2
    assert sorted(reply.text for reply in replies) == ["q0"] * 10 + ["q1"] * 10
    assert [reply.source for reply in replies].count("cache") == 18
    assert sum(reply.usage.calls for reply in replies) == 2


def test_where_the_first_of_them_fails_the_next_tries(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "a.db")
    outcomes: list[str] = []

    async def all_at_once(model: CachingModel) -> None:
        async def one() -> None:
            try:
                outcomes.append((await model.complete(PROMPT)).text)
            except ModelError as error:
                outcomes.append(str(error.status))

        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(one)

    steps = [Step(status=500), Step(text="cut", finish_reason="length"), Step(text="good")]
    with StubServer(rules=[Rule(contains="Who", steps=steps)]) as server:
        inner = OpenAIChatModel("stub", base_url=server.base_url)
        anyio.run(all_at_once, CachingModel(inner, cache, HOME))
        sent = len(server.chats)

    assert sent == 3
    assert sorted(outcomes) == ["500", "cut", "good", "good", "good"]


class HangsOnce:
    """The first call never ends, the others do."""

    name = "hangs once"
    calls = 0

    async def complete(self, prompt: Prompt) -> Reply:
        self.calls += 1
        if self.calls == 1:
            await anyio.sleep_forever()
        return REPLY


def test_a_call_that_is_cancelled_does_not_hold_up_the_others(cache: ReplyCache) -> None:
    model = CachingModel(HangsOnce(), cache, HOME)
    replies: list[Reply] = []

    async def first(scope: anyio.CancelScope) -> None:
        with scope:
            await model.complete(PROMPT)

    async def second() -> None:
        replies.append(await model.complete(PROMPT))

    async def both() -> None:
        async with anyio.create_task_group() as tasks:
            scope = anyio.CancelScope()
            tasks.start_soon(first, scope)
            tasks.start_soon(second)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()

    anyio.run(both)

    assert replies == [REPLY]


def test_a_reply_that_was_paid_for_is_returned_where_it_cannot_be_written(
    cache: ReplyCache, caplog: pytest.LogCaptureFixture
) -> None:
    def drop_the_table(_prompt: Prompt) -> Line:
        sql(cache.path, "ALTER TABLE model_replies RENAME COLUMN tokens TO gone")
        return REPLY

    model, _ = caching(cache, drop_the_table)

    assert ask(model, PROMPT) == [REPLY]
    assert "was not cached" in caplog.text


# --- the file ---------------------------------------------------------------------------------


def test_a_fresh_path_becomes_a_cache_and_other_tables_stay(tmp_path: Path) -> None:
    """Field case 166."""
    path = tmp_path / "aletheia.db"
    sql(path, "CREATE TABLE traces (id INTEGER)", "INSERT INTO traces VALUES (7)")
    assert ReplyCache.existing(path) is None
    ReplyCache(path).put(KEY, HOME, PROMPT, REPLY)

    again = ReplyCache.existing(path)
    assert again is not None
    assert again.get(KEY) is not None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT id FROM traces").fetchall() == [(7,)]
        assert connection.execute("PRAGMA user_version").fetchone() == (0,)


def test_looking_for_a_cache_makes_no_file(tmp_path: Path) -> None:
    assert ReplyCache.existing(tmp_path / "none.db") is None
    assert list(tmp_path.iterdir()) == []


def broken(path: Path) -> None:
    ReplyCache(path).close()
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * (len(content) - 100))


def newer(path: Path) -> None:
    ReplyCache(path).close()
    sql(path, "UPDATE reply_cache_meta SET value = '99'")


@pytest.mark.parametrize(
    ("prepare", "said"),
    [
        (lambda path: path.mkdir(), "is a directory"),
        (lambda path: path.write_text("no database, " * 100), "is not a SQLite database"),
        (broken, "damaged"),
        (newer, "version 99"),
    ],
)
def test_a_file_that_cannot_be_used_is_one_clear_error(
    tmp_path: Path, prepare: Callable[[Path], object], said: str
) -> None:
    path = tmp_path / "aletheia.db"
    prepare(path)
    before = None if path.is_dir() else path.read_bytes()

    for make in (ReplyCache, ReplyCache.existing):
        with pytest.raises(StoreError, match=said) as caught:
            make(path)
        assert str(path) in caught.value.message
        assert caught.value.hint
    assert before is None or path.read_bytes() == before


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no directory"):
        ReplyCache(tmp_path / "none" / "a.db")


READ_ONLY = """
import os, sqlite3, sys
from aletheia.errors import StoreError
from aletheia.llm.cache import ReplyCache
if os.getuid() == 0:
    os.setuid(65534)
for make in (ReplyCache, ReplyCache.existing):
    try:
        make(sys.argv[1])
    except StoreError as error:
        print(error)
"""


@pytest.mark.parametrize(
    ("mode", "there", "said"),
    [
        (0o555, False, ["cannot be written"]),
        (0o555, True, ["cannot be"] * 2),
        (0, True, ["cannot be"] * 2),
    ],
)
def test_a_directory_without_permission_is_one_clear_error(
    mode: int, there: bool, said: list[str]
) -> None:
    """In a process of its own, as the superuser may write anywhere."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o755)
        locked = Path(directory) / "locked"
        locked.mkdir()
        if there:
            ReplyCache(locked / "a.db").close()
        locked.chmod(mode)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(locked / "a.db")],
            capture_output=True,
            text=True,
            check=False,
        )
        locked.chmod(0o755)

    assert done.stderr == ""
    lines = done.stdout.splitlines()
    assert len(lines) == len(said)
    assert all(word in line for word, line in zip(said, lines, strict=True))


def test_an_older_version_is_emptied_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.db"
    with closing(ReplyCache(path)) as cache:
        cache.put(KEY, HOME, PROMPT, REPLY)
    sql(path, "UPDATE reply_cache_meta SET value = '0'")

    with caplog.at_level(logging.WARNING):
        opened = ReplyCache(path)

    assert opened.get(KEY) is None
    assert "1 replies were removed" in caplog.text
    assert ReplyCache(path).stats().entries == 0
    assert caplog.text.count("removed") == 1


@pytest.mark.parametrize("damage", ["not json", "{}", '{"text": 1, "model": "m"}', "[" * 5000])
def test_a_damaged_row_is_a_miss_that_is_logged_and_replaced(
    cache: ReplyCache, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    cache.put(KEY, HOME, PROMPT, REPLY)
    sql(cache.path, f"UPDATE model_replies SET reply = '{damage}'")
    model, script = caching(cache, [REPLY])

    assert [type(row) for row in cache.export()] == [DamagedRow]
    assert ask(model, PROMPT, PROMPT)[1].source == "cache"
    assert len(script.history) == 1
    assert "damaged" in caplog.text


def test_threads_share_a_cache(cache: ReplyCache) -> None:
    wrong: list[object] = []

    def work(thread: int) -> None:
        for number in range(25):
            key = f"{thread}-{number}"
            cache.put(key, HOME, PROMPT, replace(REPLY, text=key))
            hit = cache.get(key)
            if hit is None or hit.text != key:
                wrong.append(hit)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert (cache.stats().entries, cache.stats().hits) == (200, 200)


def test_processes_share_a_cache_from_its_first_moment(tmp_path: Path) -> None:
    """Several begin on no file at all, write at once, and lose nothing."""
    path = tmp_path / "a.db"
    code = f"""
import sys
from aletheia.llm.base import EndpointIdentity
from aletheia.llm.cache import ReplyCache
from aletheia.schema.model import Prompt, Reply
sys.stdin.read()
home = EndpointIdentity(provider="openai", base_url="http://localhost/v1", model="m")
cache = ReplyCache({str(path)!r})
for number in range(50):
    key = f"{{sys.argv[1]}}-{{number}}"
    cache.put(key, home, Prompt(system="", user=key), Reply(text=key, model="m"))
    assert cache.get(key).text == key
"""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(number)],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    for process in running:
        assert process.stdin is not None
        process.stdin.close()
    errors = []
    for process in running:
        process.wait()
        assert process.stderr is not None
        errors.append(process.stderr.read())
        process.stderr.close()

    assert errors == [""] * 3
    assert ReplyCache(path).stats().entries == 150


def test_reading_does_not_wait_for_somebody_who_writes(tmp_path: Path) -> None:
    """Not even to count the hit, which is added later."""
    cache = ReplyCache(tmp_path / "a.db", busy_timeout_s=60.0)
    cache.put(KEY, HOME, PROMPT, REPLY)
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert cache.get(KEY) is not None
        assert cache.get(KEY) is not None
        other.execute("COMMIT")

    assert cache.stats().hits == 2


def test_a_file_that_stays_locked_is_one_clear_error(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path / "a.db", busy_timeout_s=0.01)
    with closing(sqlite3.connect(cache.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="in use by another program"):
            cache.put(KEY, HOME, PROMPT, REPLY)
        other.execute("COMMIT")
    cache.put(KEY, HOME, PROMPT, REPLY)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_and_its_parent_both_go_on(cache: ReplyCache) -> None:
    cache.put(KEY, HOME, PROMPT, REPLY)
    child = os.fork()
    if child == 0:
        good = cache.get(KEY) is not None
        cache.put("from the child", HOME, PROMPT, REPLY)
        cache.close()
        os._exit(0 if good else 1)

    assert os.waitpid(child, 0)[1] == 0
    assert cache.get("from the child") is not None
    assert cache.get(KEY) is not None


# --- looking after it -------------------------------------------------------------------------


def test_stats_count_by_model_and_endpoint(cache: ReplyCache) -> None:
    unknown = replace(REPLY, usage=Usage())
    cache.put("1", HOME, PROMPT, REPLY)
    cache.put("2", HOME, PROMPT, unknown)
    cache.put("3", replace(HOME, model="n"), PROMPT, REPLY)
    for key in ("1", "1", "2"):
        cache.get(key)

    stats = cache.stats()

    rows = [(g.model, g.entries, g.hits, g.tokens_saved, g.hits_unreported) for g in stats.groups]
    assert rows == [("m", 2, 3, 36, 1), ("n", 1, 0, 0, 0)]
    assert (stats.entries, stats.hits, stats.tokens_saved, stats.hits_unreported) == (3, 3, 36, 1)
    assert stats.size_bytes >= cache.path.stat().st_size


@pytest.mark.parametrize(
    ("model", "older_than", "left"),
    [
        (None, None, []),
        ("m", None, ["new n", "old n"]),
        (None, timedelta(days=30), ["new m", "new n"]),
        ("m", timedelta(days=30), ["new m", "new n", "old n"]),
        ("M", None, ["new m", "new n", "old m", "old n"]),
        (None, timedelta(days=400), ["new m", "new n", "old m", "old n"]),
    ],
)
def test_clear_takes_what_is_named(
    cache: ReplyCache, model: str | None, older_than: timedelta | None, left: list[str]
) -> None:
    for key in ("old m", "old n", "new m", "new n"):
        cache.put(key, replace(HOME, model=key[-1]), PROMPT, REPLY)
    sql(
        cache.path,
        "UPDATE model_replies SET created_at ="
        " strftime('%Y-%m-%dT%H:%M:%S.000000+00:00', 'now', '-40 days') WHERE key LIKE 'old%'",
    )

    removed = cache.clear(model=model, older_than=older_than)

    assert sorted(row.key for row in cache.export()) == left
    assert removed == 4 - len(left)


def test_clearing_gives_the_space_back(cache: ReplyCache) -> None:
    for number in range(50):
        cache.put(str(number), HOME, PROMPT, replace(REPLY, text="x" * 20_000))
    full = cache.stats().size_bytes

    cache.clear()

    assert cache.stats().size_bytes < full / 5


def test_export_gives_every_reply_in_order(cache: ReplyCache) -> None:
    """More than are read at a time."""
    for number in range(230):
        cache.put(f"{number:03}", HOME, PROMPT, REPLY)

    assert [row.key for row in cache.export()] == [f"{number:03}" for number in range(230)]
