"""What a generator replied, before anything is verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ABSTENTION = "INSUFFICIENT_CONTEXT"
"""The literal answer with which a generator abstains."""

ProblemCode = Literal[
    "empty_reply",  # nothing, or only white space
    "no_object",  # no JSON object in the text
    "ambiguous",  # several different objects that would all do
    "truncated",  # the object is cut inside a field
    "schema_echo",  # the model returned the schema it was shown
    "missing_answer",  # an object without the field `answer`
    "wrong_type",  # a field has a type that cannot be read safely
    "empty_answer",  # `answer` is blank: neither an answer nor an abstention
    "duplicate_key",  # a key stands twice with different values
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """A reply that is an answer.

    `evidence_ids` are canonical (`E<n>`) where the form was understood, else verbatim, in order,
    without repeats. `normalised` pairs each form that was rewritten with its canonical id.
    `repairs` names every mechanical repair that was needed to read the reply.
    """

    answer: str
    evidence_ids: tuple[str, ...] = ()
    reasoning: str | None = None
    normalised: tuple[tuple[str, str], ...] = ()
    repairs: tuple[str, ...] = ()
    kind: Literal["answer"] = "answer"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseProblem:
    """A reply that is not an answer. `code` says what is wrong, `message` says it to a person."""

    code: ProblemCode
    message: str
    answer: str | None = None
    repairs: tuple[str, ...] = ()
    kind: Literal["problem"] = "problem"


ParsedReply = ParsedAnswer | ParseProblem
