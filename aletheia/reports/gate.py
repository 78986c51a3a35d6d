"""A gate: rules over the figures of a run, decided once for text, files and exit code.

Nothing that is missing passes: a rule over a figure that the report does not have is not met.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Decimal
from typing import Final, Literal

from aletheia.reports import numbers
from aletheia.reports.gate_facts import Facts, Measure, RejectedQuestion
from aletheia.reports.words import spoken
from aletheia.schema.report import Record

PASSED: Final = 0
NOT_MET: Final = 3
DEFAULT_COVERAGE: Final = 0.9
"""Least share measured of what a rule looks at, where no `--min-coverage` is given."""

CONTAMINATION: Final = "contamination"
VERDICTS: Final = "verdicts"
HEALTHY: Final = "healthy rate"
UNGROUNDED: Final = "ungrounded"
Status = Literal["met", "not_met", "unmeasured"]


class GateCheck(Record):
    """One rule: what it asks, what the report holds, whether that is enough."""

    name: str
    status: Status
    rule: str
    value: str
    detail: str = ""


class GateResult(Record):
    """The decision. `exit_code` is 0 where every rule is met, else 3.

    `kind` says what was held against the rules: the questions of a report, or the traces of a file
    of rows. `rejected` are replies that failed verification, or traces with an unsupported claim.
    """

    schema_version: int = 1
    kind: Literal["report", "rows"] = "report"
    report: str
    baseline: str | None = None
    passed: bool
    exit_code: int
    checks: tuple[GateCheck, ...]
    rejected: tuple[RejectedQuestion, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is asked; None asks nothing. Rates and scores are 0..1, bounds are inclusive."""

    min_pass_rate: float | None = None
    min_accuracy: float | None = None
    min_healthy_rate: float | None = None
    min_coverage: float | None = None
    max_unmeasured: float | None = None
    max_rejections: int | None = None
    max_ungrounded: float | None = None
    max_contamination: float | None = None
    min_metrics: Mapping[str, float] = field(default_factory=dict)
    use_interval: bool = False
    confident_only: bool = False

    @property
    def asks(self) -> bool:
        """Whether there is any rule at all."""
        single = (
            self.min_pass_rate,
            self.min_accuracy,
            self.min_healthy_rate,
            self.min_coverage,
            self.max_unmeasured,
            self.max_rejections,
            self.max_ungrounded,
            self.max_contamination,
        )
        return bool(self.min_metrics) or any(rule is not None for rule in single)


def decide(
    facts: Facts,
    rules: Rules,
    *,
    against: Sequence[GateCheck] = (),
    baseline: str | None = None,
    compared: Sequence[str] = (),
) -> GateResult:
    """Hold a run against the rules; `against` are the checks against the baseline.

    `compared` names the metrics that those rest on: they have to be measured as well.
    """
    checks = (*_checks(facts, rules, [*compared]), *against)
    passed = bool(checks) and all(check.status == "met" for check in checks)
    return GateResult(
        kind="rows" if facts.rows else "report",
        report=facts.file,
        baseline=baseline,
        passed=passed,
        exit_code=PASSED if passed else NOT_MET,
        checks=checks,
        rejected=facts.rejected,
    )


def _checks(facts: Facts, rules: Rules, compared: Sequence[str]) -> Iterator[GateCheck]:
    if rules.min_pass_rate is not None:
        yield _at_least("pass rate", facts.verdicts, rules.min_pass_rate, rules)
    if rules.min_accuracy is not None:
        yield _at_least("accuracy", facts.accuracy, rules.min_accuracy, rules)
    if rules.min_healthy_rate is not None:
        yield _at_least(HEALTHY, _cells(facts, rules), rules.min_healthy_rate, rules)
    for name, bound in rules.min_metrics.items():
        yield _at_least(spoken(name), facts.metrics.get(name), bound, rules)
    if rules.max_ungrounded is not None:
        yield _at_most(UNGROUNDED, _claims(facts, rules), rules.max_ungrounded, rules)
    if rules.max_contamination is not None:
        yield _at_most(CONTAMINATION, facts.contamination, rules.max_contamination, rules)
    if rules.max_rejections is not None:
        yield _rejections(facts, rules.max_rejections)
    if rules.max_unmeasured is not None:
        yield _unmeasured(facts, rules.max_unmeasured)
    if rules.confident_only and facts.confident_healthy is None:
        yield _missing("confidence", "tentative cells count as none", None)
    coverage = _coverage(facts, rules, compared)
    if coverage is not None:
        yield coverage


def _at_least(name: str, measure: Measure | None, bound: float, rules: Rules) -> GateCheck:
    rule = f"at least {plain(bound)}" + (" (lower bound)" if rules.use_interval else "")
    if measure is None or measure.value is None:
        return _missing(name, rule, measure)
    value = measure.low if rules.use_interval else measure.value
    return _decided(name, rule, measure, value, bound, met=value is not None and value >= bound)


def _at_most(name: str, measure: Measure | None, bound: float, rules: Rules) -> GateCheck:
    rule = f"at most {plain(bound)}" + (" (upper bound)" if rules.use_interval else "")
    if measure is None or measure.value is None:
        return _missing(name, rule, measure)
    value = measure.high if rules.use_interval else measure.value
    return _decided(name, rule, measure, value, bound, met=value is not None and value <= bound)


def _decided(
    name: str, rule: str, measure: Measure, value: float | None, bound: float, *, met: bool
) -> GateCheck:
    span = numbers.interval(measure.low, measure.high, "no interval")
    counts = "" if measure.count is None else f"{numbers.count_of(measure.count, measure.n)}, "
    return GateCheck(
        name=name,
        status="met" if met else "not_met",
        rule=rule,
        value=numbers.MISSING if value is None else plain(value, bound),
        detail=f"{counts}95%: {span}, measured {numbers.count_of(measure.n, measure.total)}",
    )


def _missing(name: str, rule: str, measure: Measure | None) -> GateCheck:
    if measure is None:
        detail = "not in this report"
    elif measure.note is not None:
        detail = measure.note
    else:
        detail = f"nothing was measured ({numbers.count_of(measure.n, measure.total)})"
    return GateCheck(
        name=name, status="unmeasured", rule=rule, value=numbers.MISSING, detail=detail
    )


def _rejections(facts: Facts, bound: int) -> GateCheck:
    rule = f"at most {numbers.count(bound)}"
    if facts.failed is None:
        return _missing("rejections", rule, facts.verdicts)
    return GateCheck(
        name="rejections",
        status="met" if facts.failed <= bound else "not_met",
        rule=rule,
        value=numbers.count(facts.failed),
        detail=f"of {numbers.plural(facts.verdicts.n, 'verified reply', 'verified replies')}",
    )


def _cells(facts: Facts, rules: Rules) -> Measure | None:
    return facts.confident_healthy if rules.confident_only else facts.healthy


def _claims(facts: Facts, rules: Rules) -> Measure | None:
    return facts.confident_ungrounded if rules.confident_only else facts.ungrounded


def _unmeasured(facts: Facts, bound: float) -> GateCheck:
    rule, lacking = f"at most {plain(bound)}", len(facts.incomplete)
    name = f"unmeasured {'traces' if facts.rows else 'questions'}"
    what = "a cell" if facts.rows else "a reply, a verdict or a score"
    if not facts.questions:
        return _missing(name, rule, facts.verdicts)
    share = lacking / facts.questions
    counts = numbers.count_of(lacking, facts.questions)
    named = f": {', '.join(facts.incomplete)}" if facts.incomplete else ""
    return GateCheck(
        name=name,
        status="met" if share <= bound else "not_met",
        rule=rule,
        value=plain(share, bound),
        detail=f"{counts} lack {what}{named}",
    )


def _coverage(facts: Facts, rules: Rules, compared: Sequence[str]) -> GateCheck | None:
    """Check the least measured of all measures, or of those that some rule looks at."""
    given = rules.min_coverage is not None
    bound = rules.min_coverage if rules.min_coverage is not None else DEFAULT_COVERAGE
    measures = _measures(facts, rules)
    if not given:
        looked_at = set(_looked_at(rules, compared))
        if rules.min_accuracy is not None:
            measures["accuracy"] = facts.accuracy
        measures = {name: item for name, item in measures.items() if name in looked_at}
        if not measures:
            return None
    rule = f"at least {plain(bound)}" + ("" if given else " (default)")
    shares = {name: item.n / item.total for name, item in measures.items() if item.total}
    if not shares:
        return _missing("coverage", rule, facts.verdicts)
    least = min(shares, key=lambda name: shares[name])
    short = [name for name, share in shares.items() if share < bound]
    reach = numbers.count_of(measures[least].n, measures[least].total)
    return GateCheck(
        name="coverage",
        status="not_met" if short else "met",
        rule=rule,
        value=plain(shares[least], bound),
        detail=f"least measured: {spoken(least)} ({reach})"
        + (f"; too little of {', '.join(map(spoken, short))}" if short else ""),
    )


def _measures(facts: Facts, rules: Rules) -> dict[str, Measure]:
    found = {VERDICTS: facts.verdicts, **facts.metrics}
    optional = {
        HEALTHY: _cells(facts, rules),
        UNGROUNDED: _claims(facts, rules),
        CONTAMINATION: facts.contamination,
    }
    return found | {name: item for name, item in optional.items() if item is not None}


def _looked_at(rules: Rules, compared: Sequence[str]) -> Iterator[str]:
    """Name the measures that some rule rests on."""
    yield from (*rules.min_metrics, *compared)
    if rules.max_contamination is not None:
        yield CONTAMINATION
    if rules.min_healthy_rate is not None or rules.confident_only:
        yield HEALTHY
    if rules.max_ungrounded is not None:
        yield UNGROUNDED
    if compared or rules.min_pass_rate is not None or rules.max_rejections is not None:
        yield VERDICTS
    if rules.min_accuracy is not None:
        yield "accuracy"


def plain(value: float, bound: float | None = None) -> str:
    """Write a figure with as few decimals as tell it from the bound it is held against."""
    for digits in (2, 4, 8):
        step = Decimal(1).scaleb(-digits)
        text = str(Decimal(repr(value)).quantize(step, rounding=ROUND_HALF_UP))
        exact = bound is None and float(text) == value
        if exact or (bound is not None and (float(text) != bound or value == bound)):
            return text
    return repr(value)
