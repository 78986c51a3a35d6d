"""The gold answer against answer and evidence: one matcher for all three questions."""

from __future__ import annotations

import pytest

from aletheia.grounding.numbering import number
from aletheia.pipeline import gold
from aletheia.pipeline.references import with_references
from aletheia.schema.evidence import EvidenceText
from aletheia.schema.question import Question
from aletheia.schema.report import AbstentionKind


def asked(answer: str, *aliases: str, facts: tuple[str, ...] = (), real: bool = True) -> Question:
    return Question(
        id="q",
        question="?",
        answer=answer,
        answer_aliases=aliases,
        supporting_facts=facts,
        answerable=real,
    )


@pytest.mark.parametrize(
    ("question", "answer", "right"),
    [
        pytest.param(asked("Leeds"), "It stands in Leeds [E1].", True, id="gold inside"),
        pytest.param(asked("Leeds"), "It stands in Leedsville.", False, id="whole words only"),
        pytest.param(asked("Málaga"), "MALAGA", True, id="folded"),
        pytest.param(asked("x", "River Ithrel"), "The river Ithrel.", True, id="alias"),
        pytest.param(asked("Ann and Bo"), "Bo and Ann founded it.", True, id="list, any order"),
        pytest.param(asked("Ann and Bo"), "Ann founded it.", False, id="list, a part missing"),
        pytest.param(asked("1903-05-06"), "on 6 May 1903", True, id="date in words"),
        pytest.param(asked("240"), "It has 1,240 beds.", False, id="digits decide"),
        pytest.param(asked("Yes", "Star II"), "Yes. Star II is a ship.", True, id="yes"),
        pytest.param(asked("Yes", "Star II"), "No, Star II is unknown.", False, id="no for yes"),
        pytest.param(asked("No"), "No.", True, id="no"),
        pytest.param(asked("Yes", "Star II"), "Star II is a ship.", True, id="yes without yes"),
        pytest.param(asked("Yes"), "It exists.", None, id="cannot be told"),
        pytest.param(asked("Leeds"), None, None, id="no answer"),
        pytest.param(asked("INSUFFICIENT_CONTEXT", real=False), "Leeds", False, id="made up"),
    ],
)
def test_correctness(question: Question, answer: str | None, right: bool | None) -> None:
    assert gold.is_correct(question, answer) is right


LEEDS = EvidenceText(text="The port is in Leeds.", facts=("port|is_in|leeds",))
TEA = EvidenceText(text="Tea is sold.", facts=("tea|sold|yes",))


@pytest.mark.parametrize(
    ("question", "units", "held", "kind"),
    [
        pytest.param(asked("Leeds"), [TEA, LEEDS], True, "over_refusal", id="words there"),
        pytest.param(asked("Leeds"), [TEA], False, "warranted", id="words missing"),
        pytest.param(
            asked("Yes", facts=("port|is_in|leeds",)), [LEEDS], True, "over_refusal", id="facts"
        ),
        pytest.param(
            asked("Leeds", facts=("port|is_in|leeds", "x|y|z")),
            [LEEDS],
            False,
            "warranted",
            id="a fact of the chain missing",
        ),
        pytest.param(asked("Yes"), [LEEDS], None, "undecided", id="yes without facts"),
        pytest.param(asked("Leeds"), [], False, "warranted", id="nothing retrieved"),
        pytest.param(
            asked("INSUFFICIENT_CONTEXT", real=False), [LEEDS], False, "warranted", id="no answer"
        ),
    ],
)
def test_an_abstention_is_judged_by_what_was_retrieved(
    question: Question, units: list[EvidenceText], held: bool | None, kind: AbstentionKind
) -> None:
    evidence = number(units)

    assert gold.gold_in_evidence(question, evidence) is held
    assert gold.abstention_kind(question, evidence, abstained=True) == kind
    assert gold.abstention_kind(question, evidence, abstained=False) is None


@pytest.mark.parametrize(
    ("reference", "fact", "same"),
    [
        ("a|founded", "a|founded|1901", True),
        ("a|founded", "a|founded_by|b", False),
        ("a|founded", "ab|founded|1901", False),
        ("a|aliases", "a|alias|The A", True),
        ("a|aliases", "a|aliases|The A", True),
        ("a|name", "a|name|A", True),
        ("a|name", "a|type|Town", True),
        ("a|knows|b", "a|knows|b", True),
        ("a|knows|b", "a|knows|b#2", True),
        ("a|knows|b", "a|knows|bo", False),
        ("e17", "e17", True),
        ("e1", "e17", False),
    ],
)
def test_a_supporting_fact_is_found_under_the_name_the_graph_gives_it(
    reference: str, fact: str, same: bool
) -> None:
    unit = EvidenceText(text="t", facts=(fact,))

    found = with_references([unit, EvidenceText(text="u")], [reference])

    assert (reference in found[0].facts) is same
    assert found[0].facts[0] == fact
    assert found[1].facts == ()
