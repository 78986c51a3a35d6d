"""A run of verification over many lines: rows out, counts kept, one exit status at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from aletheia.schema.verification import Mode
from aletheia.sdk.records import UTF16_MARKS, CheckedLine, check_line, to_line

__all__ = ["Totals", "Verifier"]

_REPEATS_NAMED: Final = 5
_UNREAD_NAMED: Final = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Verifier:
    """Checks lines one by one and holds nothing of them but counts.

    `name` stands for the file in messages, `say` takes each message. Reading stops once more than
    `max_bad_rows` lines were bad.
    """

    name: str
    say: Callable[[str], None]
    mode: Mode = Mode.STRICT
    exempt_question_entities: bool = False
    max_bad_rows: int | None = None

    def run(self, lines: Iterable[bytes], write: Callable[[bytes], object]) -> Totals:
        """Check every line that is not blank, `write` its row, and count."""
        totals = Totals()
        for number, raw in enumerate(lines, start=1):
            if not raw.strip():
                totals.blank += 1
                continue
            checked = self._check(raw, number)
            self._report(checked, totals)
            write(to_line(checked.row()))
            if self._is_over(raw, totals):
                totals.stopped_at = number
                break
        return totals

    def _check(self, raw: bytes, number: int) -> CheckedLine:
        return check_line(
            raw,
            number,
            file=self.name,
            mode=self.mode,
            exempt_question_entities=self.exempt_question_entities,
        )

    def _report(self, checked: CheckedLine, totals: Totals) -> None:
        if totals.add(checked) and totals.repeated <= _REPEATS_NAMED:
            place = f"{self.name}:{checked.number}"
            self.say(f"{place}: id {checked.id!r} stands on an earlier line too")
        if checked.error is not None:
            self.say(str(checked.error))

    def _is_over(self, raw: bytes, totals: Totals) -> bool:
        too_many = self.max_bad_rows is not None and totals.bad > self.max_bad_rows
        return too_many or (totals.lines == 1 and raw.startswith(UTF16_MARKS))


@dataclass(slots=True)
class Totals:
    """What a run came to. The ids are kept as hashes, to see which stand twice."""

    categories: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    warned: int = 0
    renumbered: int = 0
    repeated: int = 0
    blank: int = 0
    stopped_at: int | None = None
    unread: Counter[str] = field(default_factory=Counter)
    _seen: set[int] = field(default_factory=set, repr=False)

    @property
    def lines(self) -> int:
        """Lines that were not blank."""
        return self.categories.total()

    @property
    def bad(self) -> int:
        """Lines that held no record."""
        return self.categories["error"]

    @property
    def rejected(self) -> int:
        """Records that did not pass."""
        return self.categories["rejected"]

    @property
    def exit_code(self) -> int:
        """Exit status: without a record 1, else 2 for a bad line, 3 for a rejection."""
        if self.lines == self.bad:
            return 1
        if self.bad:
            return 2
        return 3 if self.rejected else 0

    def add(self, checked: CheckedLine) -> bool:
        """Count a line. True if its id was there before."""
        result = checked.result
        self.categories["error" if result is None else result.category] += 1
        if result is not None:
            self.reasons.update(result.rejection_reasons[:1])
            self.warned += bool(result.warnings)
            self.renumbered += bool(result.dropped)
        for key in checked.unread:
            if key in self.unread or len(self.unread) < _UNREAD_NAMED:
                self.unread[key] += 1
        return result is not None and self._is_repeated(checked.id)

    def _is_repeated(self, record_id: object) -> bool:
        key = hash(record_id)
        if key in self._seen:
            self.repeated += 1
            return True
        self._seen.add(key)
        return False

    def summary(self, name: str, mode: Mode) -> Iterator[str]:
        """Lines for a person."""
        records = self.lines - self.bad
        passed = records - self.rejected
        yield f"{name}, {mode.value}: {passed} of {records} records passed"
        for label, counts in (("categories", self.categories), ("reasons", self.reasons)):
            if counts:
                yield f"{label}: " + ", ".join(f"{key} {n}" for key, n in counts.most_common())
        if self.warned:
            yield f"passed with a warning that strict mode rejects: {self.warned}"
        yield from self._remarks()

    def _remarks(self) -> Iterator[str]:
        if self.bad:
            yield f"lines without a valid record: {self.bad} of {self.lines}"
        if self.blank:
            yield f"blank lines skipped: {self.blank}"
        if self.renumbered:
            yield (
                f"records with blank evidence: {self.renumbered}; a blank unit has no number, "
                "the units after it move up"
            )
        if self.repeated:
            yield f"ids that stood on an earlier line: {self.repeated}; `line` tells the rows apart"
        if self.unread:
            keys = ", ".join(f"`{key}`" for key in self.unread)
            yield f"keys that are not read: {keys}"
        if self.stopped_at is not None:
            yield f"stopped at line {self.stopped_at}; what follows was not read"
