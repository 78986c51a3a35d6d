"""`aletheia probe` as a user runs it: offline, over HTTP, out of budget, badly used; and its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from e2e.program import Done, here, process
from stub_server import Rule, Step, StubServer, answer_json

pytestmark = pytest.mark.e2e

CHROMIUM = Path("/usr/bin/chromium")
PORTS = ("Orle", "Vask", "Tarn")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three ports, when each was founded, and a question about it."""
    directory = tmp_path_factory.mktemp("world")
    nodes = [
        {"id": name.lower(), "name": name, "type": "Port", "founded": str(1801 + n)}
        for n, name in enumerate(PORTS)
    ]
    asked = [
        {"id": f"q{n}", "question": f"When was {name} founded?", "answer": str(1801 + n)}
        for n, name in enumerate(PORTS)
    ]
    (directory / "graph.json").write_text(json.dumps({"nodes": nodes, "links": []}))
    (directory / "questions.json").write_text(json.dumps({"questions": asked}))
    return directory


def options_of(world: Path, out: Path, *options: str) -> tuple[str, ...]:
    return (
        *("probe", "--knowledge-graph", str(world / "graph.json")),
        *("--questions", str(world / "questions.json"), "--output-dir", str(out), *options),
    )


def probe(world: Path, out: Path, *options: str, **more: str) -> Done:
    given = {"ALETHEIA_DB_PATH": str(out.with_suffix(".db")), **more}
    return here(*options_of(world, out, *options), cwd=out.parent, **given)


def report(out: Path) -> dict[str, Any]:
    (path,) = out.glob("probe_*.json")
    return json.loads(path.read_text(encoding="utf-8"))


def remembering() -> list[Rule]:
    """A model that knows the years by heart."""
    return [
        Rule(
            contains=f"When was {name} founded?",
            steps=[Step(text=answer_json(str(1801 + n), ["E1"]), times=None)],
        )
        for n, name in enumerate(PORTS)
    ]


def test_offline_every_answer_is_from_evidence(world, tmp_path):
    done = process(*options_of(world, tmp_path / "out"), cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "from evidence                  3" in done.stdout
    assert max(map(len, done.stdout.splitlines()[:-2])) <= 80
    assert len(list((tmp_path / "out").glob("probe_*.html"))) == 1
    assert report(tmp_path / "out")["cost"]["calls"] == 0


def test_a_model_that_remembers_is_seen_counted_and_cached(world, tmp_path):
    with StubServer(rules=remembering()) as server:
        urls = {"OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": "k"}
        done = probe(world, tmp_path / "out", "--json", **urls)
        again = probe(
            world, tmp_path / "again", "-q", **urls, ALETHEIA_DB_PATH=str(tmp_path / "out.db")
        )

    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [item["attribution"] for item in found["questions"]] == ["from_memory"] * 3
    assert found["summary"]["contamination"]["rate"]["numerator"] == 3
    assert found["cost"]["calls"] > 6
    assert again.returncode == 0
    cost = report(tmp_path / "again")["cost"]
    assert cost["cached"] == cost["calls"]
    assert cost["requests"] == 0


def test_the_budget_stops_the_run_and_the_rest_is_undecided(world, tmp_path):
    with StubServer(rules=remembering()) as server:
        done = probe(
            world,
            tmp_path / "out",
            *("--budget", "0", "--concurrency", "1"),
            OPENAI_BASE_URL=server.base_url,
            OPENAI_API_KEY="k",
            ALETHEIA_PRICE_INPUT_USD="1",
            ALETHEIA_PRICE_OUTPUT_USD="1",
        )

    assert done.returncode == 1
    found = report(tmp_path / "out")
    assert found["stopped"]
    assert found["summary"]["undecided"] == 3
    assert found["cost"]["requests"] == 0


def test_the_dry_run_tells_the_cost_of_each_probe_and_writes_nothing(world, tmp_path):
    done = probe(world, tmp_path / "out", "--dry-run", "--model", "gpt-4o-mini")

    assert done.returncode == 0, done.stderr
    for name in ("base", "closed-book", "counterfactual", "ablation", "shuffle"):
        assert f"probe: {name}, by `gpt-4o-mini`" in done.stdout
    assert "price not known" not in done.stdout
    assert not (tmp_path / "out").exists()


def test_only_chosen_probes_are_estimated(world, tmp_path):
    done = probe(
        world, tmp_path / "out", "--dry-run", "--json", "--probes", "closed-book", "--model", "m"
    )

    lines = json.loads(done.stdout)["lines"]
    assert [line["purpose"] for line in lines] == ["probe: base", "probe: closed-book"]
    assert lines[1]["usd"] is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--probes", "open-book"), "there is no probe `open-book`"),
        (("--probes", ","), "`--probes` names no probe"),
        (("--generator", "llm"), "asks for a model"),
    ],
)
def test_bad_use_is_one_line_and_2(world, tmp_path, options, message):
    done = probe(world, tmp_path / "out", *options)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.chromium
@pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs a browser at {CHROMIUM}")
@pytest.mark.parametrize("width", [360, 1280])
def test_the_page_fits_the_screen_and_runs_nothing(world, tmp_path, width):
    """A page that is wider than the screen would have a picture wider than asked for."""
    from e2e.test_report_pages import Browser

    probe(world, tmp_path / "out", "-q")
    (page,) = (tmp_path / "out").glob("*.html")
    page.write_text(page.read_text("utf-8").replace("<details", "<details open"), "utf-8")
    browser = Browser(tmp_path / "profile")
    try:
        browser.show(page, width)
        assert browser.content_width() <= width
        assert browser.of("Log.entryAdded") == []
        assert len(browser.of("Network.requestWillBeSent")) == 1
    finally:
        browser.close()
