"""Questions of a benchmark."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

QuestionType = Literal[
    "alias_lookup",
    "entity_existence",
    "entity_description",
    "relationship",
    "attribute_filter",
    "multi_hop",
    "temporal",
]
"""The seven types the shipped sets cover; other strings are kept as they are."""

NonBlank = Annotated[str, Field(min_length=1, pattern=r"\S")]


class Question(BaseModel):
    """One question with its gold answer.

    `answerable=False` marks a question the graph holds no answer to; its gold answer is the
    abstention literal. `supporting_facts` are ids of the graph facts that answer it. Unknown
    fields are kept.
    """

    model_config = ConfigDict(frozen=True, extra="allow")

    id: NonBlank
    question: NonBlank
    answer: str
    answer_aliases: tuple[str, ...] = ()
    type: str | None = None
    answerable: bool = True
    supporting_facts: tuple[str, ...] = ()


class QuestionSet(BaseModel):
    """A file of questions. `name` is the file's stem, `digest` is `sha256:<hex>` of its bytes."""

    model_config = ConfigDict(frozen=True)

    name: str
    digest: str
    questions: tuple[Question, ...]
