"""Plain words for codes."""

import ast
from pathlib import Path
from typing import get_args

import pytest

import aletheia
from aletheia.reports import words
from aletheia.schema.answer import ProblemCode
from aletheia.schema.report import METRICS, AbstentionKind
from aletheia.schema.verification import Category, FindingKind, RejectionReason


@pytest.mark.parametrize(
    ("codes", "table"),
    [
        (list(RejectionReason), words.REASONS),
        (get_args(ProblemCode), words.FINDINGS),
        (get_args(FindingKind), words.KINDS),
        (get_args(Category), words.CATEGORIES),
        (get_args(AbstentionKind), words.ABSTENTIONS),
        (METRICS, words.METRICS),
    ],
)
def test_every_code_of_the_schema_has_words(codes, table):
    assert set(codes) <= set(table)


def _reason_codes():
    """String constants given as `reason=` to anything in the grounding package."""
    for file in (Path(aletheia.__file__).parent / "grounding").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "reason":
                value = node.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


def test_every_code_that_verification_names_has_words():
    assert sorted(set(_reason_codes()) - set(words.FINDINGS) - set(words.NOTES)) == []


def test_an_unknown_code_is_shown_readably():
    assert words.finding_words("some_new_code") == "some new code"
    assert words.kind_words("some_new_kind") == "some new kind"
    assert words.finding_words("") == "not named"
