"""A comparison for a terminal: at most 80 columns, and nothing from data acts on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from aletheia.reports import numbers
from aletheia.reports.text import Line, Role, Style, unstyled
from aletheia.reports.visible import cells, fit, one_line, pad, wrap
from aletheia.reports.words import spoken
from aletheia.schema.comparison import (
    Comparison,
    Flip,
    Matching,
    MeanDifference,
    ModesComparison,
    ModeView,
    PairComparison,
    RateDifference,
    RunsComparison,
    Side,
    Sign,
    Source,
)
from aletheia.schema.report import MetricSummary, Rate

WIDTH: Final = 80
_INDENT: Final = "  "
_NAME: Final = 18


def render_comparison(comparison: Comparison, *, style: Style = unstyled) -> str:
    """Write the comparison; lines end in line feeds and hold no control characters from data."""
    return "".join(f"{style(line, role)}\n" for line, role in _lines(comparison))


def _lines(comparison: Comparison) -> Iterator[Line]:
    match comparison:
        case ModesComparison():
            yield from _modes(comparison)
        case RunsComparison():
            for number, pair in enumerate(comparison.pairs):
                if number:
                    yield "", "plain"
                yield from _pair(pair)


def _section(title: str, lines: Iterable[str], role: Role = "plain") -> Iterator[Line]:
    yield "", "plain"
    yield title, "heading"
    for line in lines:
        yield fit(line.rstrip(), WIDTH), role


def _wrapped(text: str, lead: str = _INDENT) -> Iterator[str]:
    """Break a text over lines; those after the first stand below the first's text."""
    for number, line in enumerate(wrap(one_line(text), WIDTH - cells(lead))):
        yield f"{' ' * cells(lead) if number else lead}{line}"


def _items(texts: Iterable[str]) -> Iterator[str]:
    for text in texts:
        yield from _wrapped(text, f"{_INDENT}- ")


def _source(name: str, source: Source) -> Iterator[str]:
    made = f"{source.generator}; metrics by {source.metrics_by}; {source.mode}"
    yield from _wrapped(source.file, f"{_INDENT}{name:<8}")
    yield from _wrapped(f"{made}; {numbers.plural(source.questions, 'question')}", " " * 10)


# --- one run in three modes -------------------------------------------------------------------


def _modes(found: ModesComparison) -> Iterator[Line]:
    yield "One run in three modes", "title"
    for line in _source("report", found.report):
        yield line, "plain"
    yield from _section("Replies", _mode_table(found.views))
    yield from _section("Metrics (accepted answers)", _mode_metrics(found.views))
    yield from _section("Reading of citations", _readings(found))
    yield from _section("Signs of memory", _signs(found.signs))
    yield from _section("Verdict", _items(found.verdict))


def _row(name: str, values: Sequence[str]) -> str:
    return f"{_INDENT}{pad(fit(name, 22), 22)}" + "".join(f"{value:>18}" for value in values)


def _mode_table(views: Sequence[ModeView]) -> Iterator[str]:
    yield _row("", [view.mode.value for view in views])
    for name, field in (
        ("kept", "kept"),
        ("rejected", "rejected"),
        ("kept although failed", "kept_failed"),
        ("without a verdict", "unverified"),
        ("no reply", "errors"),
    ):
        yield _row(name, [numbers.count(getattr(view, field)) for view in views])
    for name, field in (
        ("verification passed", "pass_rate"),
        ("right or rightly abst.", "accuracy"),
        ("right when answered", "accuracy_when_answered"),
        ("abstained", "abstention"),
    ):
        yield _row(name, [_share(getattr(view, field)) for view in views])


def _mode_metrics(views: Sequence[ModeView]) -> Iterator[str]:
    yield _row("", [view.mode.value for view in views])
    for name in views[0].metrics:
        yield _row(one_line(spoken(name)), [_mean(view.metrics[name]) for view in views])


def _mean(metric: MetricSummary) -> str:
    return f"{numbers.score(metric.mean)}  {metric.measured}/{metric.total}"


def _readings(found: ModesComparison) -> Iterator[str]:
    if found.reread:
        count = numbers.plural(found.reread, "reply was", "replies were")
        yield from _wrapped(f"{count} read again, strictly and leniently.")
    if found.not_reread:
        count = numbers.plural(found.not_reread, "reply", "replies")
        yield from _wrapped(
            f"{count} could not be read again: a run in the other mode may read citations such as "
            "`(E1)` differently."
        )
    if found.reread and not found.readings:
        yield from _wrapped("Both readings come to the same verdict over each.")
    for item in found.readings:
        strict, lenient = item.strict or "passed", item.lenient or "passed"
        yield from _items([f"{item.id}: strict {strict}, lenient {lenient}"])
    if found.changed:
        yield from _wrapped(
            "This version gives another verdict than the file holds, and its own is shown: "
            f"{', '.join(found.changed)}"
        )


def _share(rate: Rate) -> str:
    share = numbers.percent(rate.numerator, rate.denominator)
    return f"{share}  {rate.numerator}/{rate.denominator}"


def _rate(rate: Rate) -> str:
    text = f"{numbers.percent(rate.numerator, rate.denominator)} of {rate.denominator}"
    if rate.low is None:
        return text
    return f"{text} [{numbers.percent_of(rate.low)}–{numbers.percent_of(rate.high)}]"


def _signs(signs: Sequence[Sign]) -> Iterator[str]:
    for sign in signs:
        rate = sign.rate
        counts = numbers.count_of(rate.numerator, rate.denominator)
        span = "" if rate.low is None else f", 95%: {_span(rate)}"
        yield from _wrapped(f"{counts}{span}: {sign.meaning}", f"{_INDENT}- ")
        if sign.ids:
            yield from _wrapped(", ".join(sign.ids), f"{_INDENT}    ")


def _span(rate: Rate) -> str:
    return f"{numbers.percent_of(rate.low)} to {numbers.percent_of(rate.high)}"


# --- two runs ---------------------------------------------------------------------------------


def _pair(pair: PairComparison) -> Iterator[Line]:
    yield "Two runs over the same questions (second minus first)", "title"
    for name, source in (("first", pair.first), ("second", pair.second)):
        for line in _source(name, source):
            yield line, "plain"
    if pair.notes:
        yield from _section("What else differs", _items(pair.notes))
    yield from _section("Questions", _matching(pair.matching))
    yield from _section("Rates (95% intervals, exact McNemar test)", _rates(pair.rates))
    yield from _section("Metrics (95% bootstrap, paired permutation test)", _means(pair.metrics))
    yield from _section("Signs of memory, first run", _signs(pair.first_signs))
    yield from _section("Signs of memory, second run", _signs(pair.second_signs))
    changed = numbers.plural(len(pair.flips), "question")
    yield from _section(f"Changed: {changed}", _flips(pair.flips))
    yield from _section("Verdict", _items(pair.verdict))


def _matching(found: Matching) -> Iterator[str]:
    yield f"{_INDENT}{numbers.count_of(found.matched, found.total)} matched by id"
    for title, ids in (
        ("only in the first", found.only_first),
        ("only in the second", found.only_second),
        ("one id, another question", found.other_text),
    ):
        if ids:
            yield from _wrapped(f"{title} ({len(ids)}): {', '.join(ids)}")


def _rates(rates: Sequence[RateDifference]) -> Iterator[str]:
    for item in rates:
        values = f"{_rate(item.first)} → {_rate(item.second)}"
        yield f"{_INDENT}{spoken(item.name):<{_NAME}}{values}"
        yield from _difference(item, f"{item.gained} gained, {item.lost} lost")


def _means(metrics: Sequence[MeanDifference]) -> Iterator[str]:
    for item in metrics:
        values = f"{numbers.score(item.first)} → {numbers.score(item.second)}"
        reach = f"{numbers.count_of(item.n, item.total)} pairs"
        yield f"{_INDENT}{pad(fit(one_line(spoken(item.name)), _NAME - 1), _NAME)}{values}  {reach}"
        yield from _difference(item)
        if len(item.implementations) > 1:
            yield from _wrapped(f"scored by {' and '.join(item.implementations)}", " " * 20)


def _difference(item: MeanDifference | RateDifference, extra: str = "") -> Iterator[str]:
    parts = [item.verdict]
    if item.difference is not None:
        span = numbers.signed_interval(item.low, item.high)
        parts = [
            f"{numbers.signed(item.difference)} [{'no interval' if item.low is None else span}]",
            numbers.p_value(item.p_value, "no test"),
            *([extra] if extra else []),
            item.verdict,
        ]
    if item.detectable is not None and item.verdict not in ("higher", "lower"):
        parts.append(f"could detect {numbers.score(min(item.detectable, 1.0))}")
    yield from _wrapped(", ".join(parts), " " * (_NAME + 2))


def _flips(flips: Sequence[Flip]) -> Iterator[str]:
    for flip in flips:
        yield from _wrapped(f"{flip.id} ({', '.join(flip.changed)}): {flip.question}")
        for name, side in (("first", flip.first), ("second", flip.second)):
            yield from _wrapped(_side(side), f"{_INDENT}  {name:<8}")


def _side(side: Side) -> str:
    if side.error is not None:
        return f"no reply: {side.error}"
    passed = {True: "passed", False: "failed", None: "not verified"}[side.passed]
    right = "right" if side.correct else "not right"
    why = "".join(f", {part}" for part in (side.reason, side.finding) if part)
    return f"{passed}{why}, {right}: {side.answer or 'no answer'}"
