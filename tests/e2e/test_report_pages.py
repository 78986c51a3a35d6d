"""The HTML report in a real browser: nothing runs, nothing is loaded, nothing overflows.

The browser is driven through its debugging pipe, so no script of ours is in the page either.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from unit.reports.samples import sample_report, sample_rows

from aletheia.reports.html import render_html

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

pytestmark = [
    pytest.mark.chromium,
    pytest.mark.skipif(not CHROMIUM.exists(), reason=f"needs a browser at {CHROMIUM}"),
]


class Browser:
    """Chromium behind a pair of pipes: JSON messages, each ended by a zero byte."""

    def __init__(self, profile: Path) -> None:
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        # The shell puts the pipes where the browser expects them: 3 to read, 4 to write.
        command = f'exec "$@" 3<&{read_there} 4>&{write_there}'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "browser", str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}",
             "--remote-debugging-pipe", "about:blank"],
            pass_fds=(read_there, write_there),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(read_there)
        os.close(write_there)
        self.reader, self.writer = read_here, write_here
        self.buffer, self.number = b"", 0
        self.events: list[dict[str, Any]] = []
        self.session: str | None = None

    def receive(self) -> dict[str, Any]:
        while b"\0" not in self.buffer:
            part = os.read(self.reader, 1 << 20)
            if not part:
                raise RuntimeError("the browser closed its pipe")
            self.buffer += part
        message, _, self.buffer = self.buffer.partition(b"\0")
        return json.loads(message)

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writer, json.dumps(message).encode() + b"\0")
        while (answer := self.receive()).get("id") != self.number:
            self.events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def show(self, page: Path, width: int) -> None:
        """Open a page at a width, in a fresh tab whose events are recorded from the start."""
        self.session, self.events = None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self.session = attached["sessionId"]
        for domain in ("Page", "Log", "Network", "Runtime"):
            self.call(f"{domain}.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800,
                  deviceScaleFactor=1, mobile=width < 600)  # fmt: skip
        self.call("Page.navigate", url=page.as_uri())
        while not self.of("Page.loadEventFired"):
            self.events.append(self.receive())

    def of(self, method: str) -> list[dict[str, Any]]:
        return [event["params"] for event in self.events if event.get("method") == method]

    def content_width(self) -> int:
        return self.call("Page.getLayoutMetrics")["cssContentSize"]["width"]

    def close(self) -> None:
        self.session = None
        self.call("Browser.close")
        self.process.wait(20)
        os.close(self.reader)
        os.close(self.writer)


@pytest.fixture(scope="module")
def browser(tmp_path_factory) -> Iterator[Browser]:
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


def write(folder: Path, html: str) -> Path:
    page = folder / "report.html"
    page.write_text(html, encoding="utf-8")
    return page


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("page"), render_html(sample_report()))


@pytest.fixture(scope="module")
def opened(tmp_path_factory) -> Path:
    """The same page with every section unfolded, as a reader would do by hand."""
    html = render_html(sample_report())
    return write(tmp_path_factory.mktemp("open"), html.replace("<details", "<details open"))


def test_hostile_text_stays_text(report, tmp_path):
    """The loaded document has no element from data, and no script changed it."""
    done = subprocess.run(
        [str(CHROMIUM), *FLAGS, f"--user-data-dir={tmp_path}", "--dump-dom", report.as_uri()],
        capture_output=True,
        timeout=120,
        check=True,
    )
    dom = done.stdout.decode()

    assert "4 of 11 replies are answers that came from the evidence" in dom
    assert "owned</title>" not in dom
    assert 'id="owned"' not in dom
    assert "<script" not in dom
    assert "<img" not in dom
    assert "default-src 'none'" in dom


def test_nothing_is_loaded_and_nothing_is_blocked(browser, report):
    browser.show(report, 1280)

    requests = [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")]
    assert requests == [report.as_uri()]
    assert browser.of("Log.entryAdded") == []
    assert browser.of("Runtime.exceptionThrown") == []
    assert browser.of("Runtime.consoleAPICalled") == []
    assert browser.of("Page.javascriptDialogOpening") == []


def test_the_policy_stops_a_script_that_got_in(browser, report, tmp_path):
    """Even if escaping failed, an injected script would not run and its picture not load."""
    html = report.read_text(encoding="utf-8").replace(
        "<main>", "<main><script>document.title='owned'</script><img src='https://example.org/x'>"
    )
    browser.show(write(tmp_path, html), 1280)

    assert "owned</title>" not in html
    info = browser.call("Target.getTargetInfo")["targetInfo"]
    assert info["title"] != "owned"
    assert "Content Security Policy" in json.dumps(browser.of("Log.entryAdded"))


@pytest.mark.parametrize("width", [320, 360, 768, 1280])
@pytest.mark.parametrize("page", ["report", "opened"])
def test_no_page_is_wider_than_the_screen(browser, page, width, request):
    browser.show(request.getfixturevalue(page), width)

    assert browser.content_width() <= width


def test_a_link_to_a_failure_unfolds_it(browser, report):
    """Without scripts: the browser opens the section that holds the target."""
    browser.show(report, 1280)
    before = browser.call("Page.getLayoutMetrics")["cssContentSize"]["height"]
    browser.call("Page.navigate", url=f"{report.as_uri()}#q5")
    after = browser.call("Page.getLayoutMetrics")["cssContentSize"]["height"]

    assert after > before


def test_printing_unfolds_everything(browser, report):
    browser.show(report, 1280)
    before = browser.call("Page.getLayoutMetrics")["cssContentSize"]["height"]
    browser.call("Emulation.setEmulatedMedia", media="print")
    after = browser.call("Page.getLayoutMetrics")["cssContentSize"]["height"]

    assert after > 1.5 * before


def test_a_run_of_2000_questions_opens(browser, tmp_path):
    rows = sample_rows()
    many = [rows[number % len(rows)] for number in range(2000)]
    page = write(tmp_path, render_html(sample_report(many)))
    browser.show(page, 360)

    assert page.stat().st_size < 20_000_000
    assert browser.content_width() <= 360
