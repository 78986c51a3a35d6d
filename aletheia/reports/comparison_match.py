"""May two runs be compared at all, and which of their rows belong together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from aletheia.errors import DataError
from aletheia.schema.comparison import Allowance, Matching
from aletheia.schema.report import METRICS, BenchmarkReport, DetailedResult

RowPair = tuple[DetailedResult, DetailedResult]
"""One question in the first run and in the second."""

NamedReport = tuple[str, BenchmarkReport]
"""A report and the file it came from."""


def check_comparable(
    first: NamedReport, second: NamedReport, allowed: Collection[Allowance] = ()
) -> None:
    """Refuse runs over other questions, over another graph, or scored by another judge."""
    one, two = first[1].provenance, second[1].provenance
    for allowance, field in (("questions", "questions_digest"), ("graph", "graph_digest")):
        if allowance not in allowed and getattr(one, field) != getattr(two, field):
            raise _refused(first, second, allowance, f"provenance.{field}", f"other {allowance}")
    if "judge" in allowed:
        return
    if one.metrics_by != two.metrics_by:
        raise _refused(
            first,
            second,
            "judge",
            "provenance.metrics_by",
            f"metrics by `{two.metrics_by}`, there by `{one.metrics_by}`",
        )
    judge, other = _judges(first[1]), _judges(second[1])
    if judge is not None and other is not None and judge != other:
        named = f"diagnosed by {_listed(other.values())}, there by {_listed(judge.values())}"
        raise _refused(first, second, "judge", "diagnosis_report.judge", named)
    for metric in METRICS:
        makers, others = (_makers(report, metric) for _, report in (first, second))
        if makers and others and makers != others:
            raise _refused(
                first,
                second,
                "judge",
                f"aggregate_details.{metric}",
                f"scored by {_listed(others)}, there by {_listed(makers)}",
            )


def _judges(report: BenchmarkReport) -> dict[str, str] | None:
    return None if report.diagnosis_report is None else report.diagnosis_report.judge


def _refused(
    first: NamedReport, second: NamedReport, allowance: str, field: str, what: str
) -> DataError:
    names = {"questions": "question sets", "graph": "graphs", "judge": "judges"}
    return DataError(
        f"it cannot be compared with `{first[0]}`: {what}",
        file=second[0],
        field=field,
        hint=f"figures over different {names[allowance]} differ for that reason alone; "
        f"`aletheia compare --allow-different {allowance}` compares them all the same",
    )


def _makers(report: BenchmarkReport, metric: str) -> frozenset[str]:
    found = (row.metrics.get(metric) for row in report.detailed_results)
    return frozenset(item.implementation for item in found if item and item.status == "measured")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in sorted(names))


def match_rows(first: NamedReport, second: NamedReport) -> tuple[list[RowPair], Matching]:
    """Pair rows by id, in the order of the first; one id with two questions makes no pair."""
    one, two = rows_by_id(first), rows_by_id(second)
    both = [(row, two[identifier]) for identifier, row in one.items() if identifier in two]
    same = [pair for pair in both if pair[0].question == pair[1].question]
    other = tuple(mine.id for mine, theirs in both if mine.question != theirs.question)
    matching = Matching(
        matched=len(same),
        total=len(one.keys() | two.keys()),
        only_first=tuple(identifier for identifier in one if identifier not in two),
        only_second=tuple(identifier for identifier in two if identifier not in one),
        other_text=other,
    )
    return same, matching


def rows_by_id(named: NamedReport) -> dict[str, DetailedResult]:
    """Return the rows of a report by id, in order. Raises `DataError` for an id that repeats."""
    file, report = named
    found: dict[str, DetailedResult] = {}
    for at, row in enumerate(report.detailed_results):
        if row.id in found:
            raise DataError(
                f"the id {row.id!r} stands twice, so rows cannot be matched",
                file=file,
                field=f"detailed_results.{at}.id",
            )
        found[row.id] = row
    return found


def notes(first: BenchmarkReport, second: BenchmarkReport) -> Iterator[str]:
    """Name what differs besides; whether it is the point of the comparison only the user knows."""
    one, two = first.provenance, second.provenance
    for label, field in (
        ("mode", "mode"),
        ("generator", "generator"),
        ("model", "generator_model"),
        ("prompt", "prompt_digest"),
        ("version", "aletheia_version"),
        ("metrics by", "metrics_by"),
        ("question set", "questions_digest"),
        ("graph", "graph_digest"),
    ):
        mine, theirs = getattr(one, field), getattr(two, field)
        if mine != theirs:
            yield f"{label}: {_short(mine)} against {_short(theirs)}"
    for name in sorted(one.settings.keys() | two.settings.keys()):
        mine, theirs = one.settings.get(name), two.settings.get(name)
        if mine != theirs:
            yield f"setting `{name}`: {_short(mine)} against {_short(theirs)}"


def _short(value: object) -> str:
    text = "not set" if value is None else str(value)
    return text[:19] + "…" if text.startswith("sha256:") else text
