"""What makes a run of `aletheia eval` that very run, so that it can be gone on with."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from aletheia.cli.eval_options import EvalOptions

if TYPE_CHECKING:
    from aletheia.diagnosis.calibrate import Threshold, ThresholdSource
    from aletheia.judges.base import Judges
    from aletheia.pipeline.evaluate_keep import Before
    from aletheia.pipeline.evaluate_many import TraceItem, TraceOutcome
    from aletheia.pipeline.row_journal import RowJournal
    from aletheia.store import TraceStore

THRESHOLD: Final = "threshold"
"""Key of a journal's note on the threshold of its run, which a resumed one keeps."""

Earlier = Callable[["TraceItem"], "TraceOutcome | None"]
"""Gives the outcome of a row that was judged before, None for one that was not."""


@dataclass(frozen=True, kw_only=True)
class EvalIdentity:
    """The judges, the data and the options that decide what the rows say."""

    options: EvalOptions
    digest: str
    judges: Judges

    @cached_property
    def fingerprint(self) -> dict[str, str]:
        """Return what must be the same for a run to go on."""
        from aletheia import __version__
        from aletheia.pipeline.judge_setup import identity

        options = self.options
        return {
            "data": f"sha256:{self.digest}",
            "aletheia": __version__,
            "coverage": options.coverage,
            "repeat": str(options.repeat),
            "decompose": str(options.decompose),
            "map": ", ".join(f"{name}={key}" for name, key in sorted(options.names.items())),
            "redact": options.settings.redact,
            **{f"judges: {name}": value for name, value in identity(self.judges).items()},
        }

    @cached_property
    def run_id(self) -> str:
        """Return the fingerprint in few letters, for results in a store."""
        lines = (f"{name}={value}\n" for name, value in sorted(self.fingerprint.items()))
        return hashlib.sha256("".join(lines).encode()).hexdigest()[:16]

    @property
    def making(self) -> dict[str, str]:
        """Return what every result says of the run that made it."""
        from aletheia.pipeline.evaluate_keep import RUN

        options = self.options
        given = {"coverage": (options.coverage, "grounded"), "repeat": (str(options.repeat), "1")}
        made = {name: value for name, (value, usual) in given.items() if value != usual}
        if not options.persist:
            return {"persisted": "no", **made}
        return {"persisted": options.settings.project, RUN: self.run_id, **made}

    def journal(self, say: Callable[[str], None]) -> RowJournal | None:
        """Open the journal beside the output, a new one or that of the unfinished run.

        Raises `UsageError` where that was another run.
        """
        from aletheia.pipeline.row_journal import RowJournal

        target, resume = self.options.target, self.options.resume
        if target is None:
            return None
        path = target.with_name(f"{target.name}.partial")
        if resume and path.exists():
            return _same_run(path, self.fingerprint)
        if resume:
            say(f"there is no unfinished run in `{path}`: this is a new one")
        elif path.exists() and self.options.file is not None:
            say(f"the unfinished run in `{path}` is replaced; `--resume` would go on with it")
        return RowJournal.create(path, self.fingerprint)

    def before(self, store: TraceStore | None, journal: RowJournal | None) -> Before | None:
        """Look up what an unfinished run over this file has left in the store."""
        if not self.options.resume or store is None or journal is not None:
            return None
        from aletheia.pipeline.evaluate_keep import Before

        return Before.of(store, self.options.settings.project, self.digest)

    def earlier(self, store: TraceStore | None, before: Before | None) -> Earlier | None:
        """Return what gives the outcomes of rows that this run has judged before."""
        if store is None or before is None:
            return None
        return partial(_earlier, before, store, self.run_id)

    def threshold(
        self, store: TraceStore | None, journal: RowJournal | None, before: Before | None
    ) -> Threshold:
        """Read the threshold once, so that neither order nor processes change a level.

        A run that is gone on with keeps its own: its results have changed what would be read.
        """
        held = None
        if journal is not None:
            held = _noted(journal.extra)
        elif before is not None and store is not None:
            held = before.threshold(store, self.run_id)
        if held is None:
            held = self._read(store)
        if journal is not None and not journal.extra:
            journal.note({THRESHOLD: f"{held.value!r} {held.source} {held.traces}"})
        return held

    def _read(self, store: TraceStore | None) -> Threshold:
        from aletheia.pipeline.judge_setup import judge_id
        from aletheia.pipeline.stored import in_memory, threshold_for

        now, judge = self.options.settings, judge_id(self.judges.making)
        if store is None:
            return in_memory(now)(now.project, judge)
        return threshold_for(store, now, now.project, judge)


def _same_run(path: Path, fingerprint: Mapping[str, str]) -> RowJournal:
    from aletheia.errors import UsageError
    from aletheia.pipeline.journal import differences
    from aletheia.pipeline.row_journal import RowJournal

    journal, earlier = RowJournal.reopen(path)
    changed = differences(earlier, fingerprint)
    if changed:
        with journal:
            raise UsageError(
                f"the unfinished run in `{path}` was another one: {'; '.join(changed)}",
                hint="without `--resume` it is replaced",
            )
    return journal


def _noted(extra: Mapping[str, str]) -> Threshold | None:
    from aletheia.diagnosis.calibrate import Threshold

    written = extra.get(THRESHOLD)
    if written is None:
        return None
    value, source, traces = written.split()
    return Threshold(value=float(value), source=cast("ThresholdSource", source), traces=int(traces))


def _earlier(before: Before, store: TraceStore, run: str, item: TraceItem) -> TraceOutcome | None:
    """Return the outcome of a row that this run has judged before."""
    from aletheia.pipeline.evaluate_many import judged_before

    if item.trace is None or item.trace.external_id is None:
        return None
    result = before.result(store, item.trace.external_id, run)
    return None if result is None else judged_before(item, result)
