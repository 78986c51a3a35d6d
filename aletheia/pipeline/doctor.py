"""What works on this machine: one finding for each part, none of them an exception."""

from __future__ import annotations

import platform
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final, Literal

from aletheia import __version__
from aletheia.config import Settings, unknown_variables
from aletheia.errors import AletheiaError
from aletheia.llm import build
from aletheia.llm.cache import ReplyCache
from aletheia.llm.embedded import MODEL_SHA256, MiniLM
from aletheia.llm.pricing import Pricer
from aletheia.llm.probe import Fact, probe
from aletheia.pipeline import assemble, locate
from aletheia.pipeline.setup import PACKAGES, package_versions
from aletheia.reports import numbers
from aletheia.schema.model import Usage

State = Literal["ok", "warn", "fail"]

_STATES: Final[dict[str, State]] = {
    "ok": "ok",
    "warning": "warn",
    "skipped": "warn",
    "failed": "fail",
}
_MILLIONS: Final = (
    Usage(prompt_tokens=1_000_000, completion_tokens=0),
    Usage(prompt_tokens=0, completion_tokens=1_000_000),
)
# Read by the command line itself, so it is no setting.
_OTHER_VARIABLES: Final = ("ALETHEIA_DEBUG",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One line: what was looked at, how it stands, and a sentence for a person."""

    name: str
    state: State
    detail: str


async def examine(settings: Settings) -> tuple[Finding, ...]:
    """Look at everything a run needs. The endpoint is asked once, if one is set."""
    return (
        *_versions(),
        *_embedded(),
        await _ragas(),
        _graphs(settings),
        *_variables(),
        *await _endpoint(settings),
        *_used(settings),
        *_prices(settings),
        _cache(settings),
    )


def healthy(findings: Sequence[Finding]) -> bool:
    """Tell whether nothing failed."""
    return all(finding.state != "fail" for finding in findings)


def _versions() -> Iterator[Finding]:
    python = platform.python_version()
    supported = sys.version_info >= (3, 11)
    yield Finding(name="python", state="ok" if supported else "fail", detail=python)
    yield Finding(name="aletheia", state="ok", detail=__version__)
    for name, version in package_versions(PACKAGES).items():
        state: State = "fail" if version == "not installed" else "ok"
        yield Finding(name=f"package {name}", state=state, detail=version)


def _embedded() -> Iterator[Finding]:
    name = "embedded model"
    try:
        vectors = MiniLM().embed(["one", "two"])
    except (AletheiaError, ImportError) as error:
        yield Finding(name=name, state="fail", detail=str(error))
        return
    detail = f"{MiniLM().name}, {vectors.shape[1]} dimensions, sha256 {MODEL_SHA256[:12]}…"
    yield Finding(name=name, state="ok", detail=detail)


async def _ragas() -> Finding:
    from aletheia.ragas_bridge.library import aload, via_ragas

    try:
        await aload()
    except AletheiaError as error:
        return Finding(name="ragas", state="fail", detail=str(error))
    return Finding(name="ragas", state="ok", detail=f"imports ({via_ragas()})")


def _graphs(settings: Settings) -> Finding:
    from aletheia.graph.loading import available

    names = [path.stem for path in available(locate.graph_dirs(settings.graph_path))]
    if not names:
        detail = "none found; give `--knowledge-graph` a path"
        return Finding(name="knowledge graphs", state="warn", detail=detail)
    return Finding(name="knowledge graphs", state="ok", detail=", ".join(names))


def _variables() -> Iterator[Finding]:
    for name, near in unknown_variables():
        if name in _OTHER_VARIABLES:
            continue
        detail = "is no setting" + (f"; did you mean `{near}`?" if near else "")
        yield Finding(name=f"variable {name}", state="warn", detail=detail)


async def _endpoint(settings: Settings) -> tuple[Finding, ...]:
    described = build.describe(settings)
    if not described.usable:
        return (Finding(name="endpoint", state="warn", detail=str(described)),)
    where = Finding(name="endpoint", state="ok", detail=str(described))
    adapter = build.build_adapter(settings)
    found = await probe(adapter, has_key=described.has_key)
    return (where, *(_finding(fact) for fact in found.facts))


def _finding(fact: Fact) -> Finding:
    return Finding(name=f"probe {fact.name}", state=_STATES[fact.status], detail=fact.detail)


def _used(settings: Settings) -> Iterator[Finding]:
    for name, value in assemble.plan(settings, assemble.Choice()).lines():
        yield Finding(name=f"will use: {name}", state="ok", detail=value)


def _prices(settings: Settings) -> Iterator[Finding]:
    pricer, base_url = Pricer(settings), build.describe(settings).base_url
    for model in assemble.plan(settings, assemble.Choice()).asks:
        prices = [pricer.price(model, base_url, usage) for usage in _MILLIONS]
        known = [price for price in prices if price is not None]
        if len(known) < len(prices):
            detail = "not known: set `ALETHEIA_PRICE_INPUT_USD` and `ALETHEIA_PRICE_OUTPUT_USD`"
            yield Finding(name=f"price of {model}", state="warn", detail=detail)
            continue
        sent, received = (numbers.money(price.usd) for price in known)
        detail = f"{sent} in, {received} out for a million tokens ({known[0].basis})"
        yield Finding(name=f"price of {model}", state="ok", detail=detail)


def _cache(settings: Settings) -> Finding:
    name = "reply cache"
    if not settings.cache_enabled:
        return Finding(name=name, state="ok", detail="off: every call is sent")
    try:
        cache = ReplyCache.existing(settings.db_path)
        if cache is None:
            detail = f"`{settings.db_path}` is made when a model is asked"
            return Finding(name=name, state="ok", detail=detail)
        with closing(cache):
            held = numbers.plural(cache.stats().entries, "reply", "replies")
    except AletheiaError as error:
        return Finding(name=name, state="fail", detail=str(error))
    return Finding(name=name, state="ok", detail=f"{held} in `{settings.db_path}`")
