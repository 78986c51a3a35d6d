"""What a judge may answer, stricter than ragas asks for.

ragas counts whatever the judge sends: fewer verdicts than statements shrink the denominator, and
a 2 or a -1 counts as a yes. The shapes and checks here make such a reply a bad reply.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict

from aletheia.grounding.text import fold

_SHORT = 12
"""Letters and digits of an answer up to which "no statements" is believed at once."""


def _number(value: object) -> object:
    """Read `"1"`, `1.0` and `true` as 1; leave everything else to the validation."""
    if isinstance(value, bool | float) and value in (0, 1):
        return int(value)
    return int(value) if isinstance(value, str) and value.strip() in ("0", "1") else value


Binary = Annotated[Literal[0, 1], BeforeValidator(_number)]


class Shape(BaseModel):
    """Base of the shapes: the schema is closed, as strict structured output wants it.

    Where an endpoint cannot enforce that, a field too many does no harm and is left out.
    """

    model_config = ConfigDict(frozen=True, json_schema_extra={"additionalProperties": False})


class UnitVerdict(Shape):
    """Was one unit useful for the gold answer."""

    reason: str
    verdict: Binary


class GoldVerdict(Shape):
    """Can one statement of the gold answer be attributed to the evidence."""

    statement: str
    reason: str
    attributed: Binary


class GoldVerdicts(Shape):
    """All statements of the gold answer."""

    classifications: list[GoldVerdict]


class Statements(Shape):
    """The answer, split."""

    statements: list[str]


class StatementVerdict(Shape):
    """Does one statement of the answer follow from the evidence."""

    statement: str
    reason: str
    verdict: Binary


class StatementVerdicts(Shape):
    """All statements of the answer."""

    statements: list[StatementVerdict]


SHAPES: dict[str, type[Shape]] = {
    "ContextPrecisionOutput": UnitVerdict,
    "ContextRecallOutput": GoldVerdicts,
    "StatementGeneratorOutput": Statements,
    "NLIStatementOutput": StatementVerdicts,
}
"""Our shape for each response model of ragas, by its class name."""


def problem(reply: Shape, earlier: Sequence[Shape], answer: str) -> str | None:
    """Say what is wrong with a reply of the right shape, or None.

    `earlier` are the accepted replies of the same metric and row, `answer` is the one judged.
    """
    match reply:
        case GoldVerdicts(classifications=[]):
            return "`classifications` is empty, the gold answer is not"
        case Statements(statements=statements):
            return _statements_problem(statements, answer)
        case StatementVerdicts(statements=judged):
            asked = [text for split in earlier for text in getattr(split, "statements", [])]
            return _verdicts_problem(asked, [item.statement for item in judged])
    return None


def _statements_problem(statements: list[str], answer: str) -> str | None:
    if any(not statement.strip() for statement in statements):
        return "a statement is blank"
    size = sum(char.isalnum() for char in answer)
    return "`statements` is empty, the answer is not" if not statements and size > _SHORT else None


def _verdicts_problem(asked: list[str], judged: list[str]) -> str | None:
    if Counter(map(_key, asked)) == Counter(map(_key, judged)):
        return None
    return (
        f"{len(asked)} statements were asked and {len(judged)} answered, and they must be the "
        "same ones word by word"
    )


def _key(statement: str) -> str:
    return " ".join(fold(statement).text.casefold().split()).rstrip(".")
