"""The use case: a question set under the conditions of probes, to a report."""

from __future__ import annotations

import os
import platform
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from aletheia import __version__
from aletheia.errors import StoreError
from aletheia.llm.budget import Budget, budget_scope
from aletheia.llm.build import ModelServices
from aletheia.pipeline import events, outcome
from aletheia.pipeline.answer import Options
from aletheia.pipeline.probe_judging import Reread
from aletheia.pipeline.probe_question import Probed, ProbeStages, not_asked, probe_question
from aletheia.pipeline.runner import run_bounded
from aletheia.pipeline.setup import PACKAGES, package_versions
from aletheia.reports.attribution_html import render_probe_page
from aletheia.reports.attribution_tally import summarise, verdict
from aletheia.reports.attribution_views import cell_counts, probe_flips, probe_views
from aletheia.reports.comparison_document import to_json
from aletheia.reports.comparison_modes import show_modes
from aletheia.schema.attribution import (
    PROBES,
    ProbeModes,
    ProbeProvenance,
    ProbeReport,
    QuestionProbe,
)
from aletheia.schema.cost import total
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.question import Question, QuestionSet
from aletheia.schema.verification import Category

if TYPE_CHECKING:
    from aletheia.graph.knowledge import KnowledgeGraph


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSetup:
    """A probe run before it begins. `close` ends what its models share.

    After `stop_after` identical failures of base answers in a row no further question is asked (0 =
    never stop). `budget_usd` bounds what all questions may cost (None = no bound).
    """

    graph: KnowledgeGraph
    questions: QuestionSet
    stages: ProbeStages
    options: Options
    output_dir: Path
    now: Callable[[], datetime]
    concurrency: int = 4
    stop_after: int = 5
    note: str | None = None
    command: tuple[str, ...] = ()
    settings: Mapping[str, str] = field(default_factory=dict)
    prompt_digests: Mapping[str, str] = field(default_factory=dict)
    budget_usd: float | None = None
    services: ModelServices | None = None

    def close(self) -> None:
        """Close what the models share."""
        if self.services is not None:
            self.services.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbesFinished:
    """What a probe run left behind. `unmeasured` counts questions that lack a reply."""

    report: ProbeReport
    json_path: Path
    html_path: Path
    unmeasured: int

    @property
    def complete(self) -> bool:
        """Whether every question has all the replies that were asked for."""
        return self.unmeasured == 0


async def run_probes(
    setup: ProbeSetup, *, listener: events.Listener = events.ignore
) -> ProbesFinished:
    """Probe all questions and write `probe_YYYYMMDD_HHMMSS.json` and `.html`.

    Replies are kept in the reply cache, so that a run that was stopped costs nothing twice. Raises
    `StoreError` where the report cannot be written, and what a setting or package makes impossible.
    """
    run = _Run(setup=setup, listener=listener)
    with budget_scope(_budget(setup)):
        await run.all()
    report = run.report(setup.now())
    page, text = _written(setup, {".html": render_probe_page(report), ".json": to_json(report)})
    return ProbesFinished(report=report, json_path=text, html_path=page, unmeasured=run.unmeasured)


def _budget(setup: ProbeSetup) -> Budget | None:
    if setup.budget_usd is None:
        return None
    return Budget(setup.budget_usd, scope="run", unknown_price=setup.options.unknown_price)


@dataclass(slots=True, kw_only=True)
class _Run:
    """One probe run on its way."""

    setup: ProbeSetup
    listener: events.Listener
    done: dict[int, Probed] = field(default_factory=dict)
    failure: str | None = None
    failures: int = 0
    stopped: str | None = None

    async def all(self) -> None:
        """Probe the questions in order, several at once."""
        questions = self.setup.questions.questions
        # There is no journal: what was paid for is in the reply cache.
        self.listener(events.RunStarted(total=len(questions), resumed=0, journal=""))
        indexes = range(len(questions))
        await run_bounded(indexes, self._ask, limit=self.setup.concurrency, commit=self._commit)
        left = len(questions) - len(self.done)
        if self.stopped is not None and left:
            self.listener(events.RunStopped(reason=self.stopped, left=left))

    def _ask(self, index: int) -> Awaitable[Probed]:
        question = self.setup.questions.questions[index]
        return probe_question(question, self.setup.stages, self.setup.options)

    async def _commit(self, index: int, made: Probed) -> bool:
        self.done[index] = made
        base = made.probe.condition("base")
        self.listener(
            events.RowDone(
                index=index,
                id=made.probe.id,
                category=_category(made.probe),
                done=len(self.done),
                total=len(self.setup.questions.questions),
                seconds=0.0,
                error=base.reason if base.raw_reply is None else None,
            )
        )
        return self._may_go_on(made)

    def _may_go_on(self, made: Probed) -> bool:
        if made.over_budget is not None:
            self.stopped = made.over_budget
            return False
        if made.failure is None or made.failure != self.failure:
            self.failures = 0
        self.failure = made.failure
        self.failures += made.failure is not None
        if not self.setup.stop_after or self.failures < self.setup.stop_after:
            return True
        self.stopped = f"{self.failures} failures of one kind in a row, the last: {made.failure}"
        return False

    @property
    def unmeasured(self) -> int:
        missing = len(self.setup.questions.questions) - len(self.done)
        return missing + sum(item.incomplete for item in self.done.values())

    def _modes(self) -> ProbeModes:
        """Show the base answers in every mode, from the same replies."""
        questions = enumerate(self.setup.questions.questions)
        found = [
            self.done[at].base if at in self.done else _not_asked(question, "not asked")
            for at, question in questions
        ]
        shown = show_modes(
            [item.row for item in found], {i.row.id: i.read for i in found if i.read}
        )
        return ProbeModes(
            views=shown.views, gap=shown.gap, signs=shown.signs, verdict=shown.verdict
        )

    def report(self, at: datetime) -> ProbeReport:
        """Put the report together."""
        reason = f"not asked, the run had stopped: {self.stopped}"
        rows = tuple(
            self.done[index].probe if index in self.done else not_asked(question, reason)
            for index, question in enumerate(self.setup.questions.questions)
        )
        summary = summarise(rows)
        return ProbeReport(
            modes=self._modes(),
            views=probe_views(rows),
            cells=cell_counts(rows),
            flips=tuple(probe_flips(rows)),
            provenance=_provenance(self.setup, at),
            summary=summary,
            verdict=tuple(verdict(summary)),
            cost=total(row.cost for row in rows),
            stopped=self.stopped if len(self.done) < len(rows) else None,
            questions=rows,
        )


def _not_asked(question: Question, reason: str) -> Reread:
    return Reread(row=outcome.error_row(question, EvidenceSet(), reason, {}), read={})


def _category(probe: QuestionProbe) -> Category:
    base = probe.condition("base")
    if base.raw_reply is None:
        return "error"
    if base.abstained:
        return "insufficient_context"
    return "grounded_answer" if base.verified else "rejected"


def _provenance(setup: ProbeSetup, at: datetime) -> ProbeProvenance:
    stages = setup.stages
    return ProbeProvenance(
        aletheia_version=__version__,
        created_at=at.isoformat(timespec="seconds"),
        command=setup.command,
        graph=setup.graph.name,
        graph_digest=setup.graph.digest or "",
        questions=setup.questions.name,
        questions_digest=setup.questions.digest,
        generator=stages.generator.name,
        generator_model=stages.generator.model,
        note=setup.note,
        probes=tuple(name for name in PROBES if name in stages.probes),
        seed=stages.seed,
        hops=setup.options.hops,
        max_units=setup.options.max_units,
        concurrency=setup.concurrency,
        prompt_digests=dict(setup.prompt_digests),
        settings=dict(setup.settings),
        packages=package_versions(PACKAGES),
        python=platform.python_version(),
        judge=stages.judging.identity,
    )


def question_texts(questions: Iterable[Question]) -> list[str]:
    """Return the texts in which no new name may occur."""
    return [text for q in questions for text in (q.question, q.answer, *q.answer_aliases)]


def _written(setup: ProbeSetup, texts: Mapping[str, str]) -> tuple[Path, ...]:
    """Write the files under the first second that is free; none of them is ever half a file."""
    at = setup.now()
    while any(_path(setup, at, suffix).exists() for suffix in texts):
        at += timedelta(seconds=1)
    return tuple(_write(_path(setup, at, suffix), text) for suffix, text in texts.items())


def _path(setup: ProbeSetup, at: datetime, suffix: str) -> Path:
    return setup.output_dir / f"probe_{at:%Y%m%d_%H%M%S}{suffix}"


def _write(path: Path, text: str) -> Path:
    temporary: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            "w", encoding="utf-8", newline="\n", dir=path.parent, prefix=".probe_", delete=False
        ) as handle:
            temporary = Path(handle.name)
            handle.write(text)
            handle.flush()
            os.fsync(handle.fileno())
        temporary.chmod(0o644)
        temporary.replace(path)
    except OSError as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        raise StoreError(f"`{path}` cannot be written: {error.strerror}") from None
    return path
