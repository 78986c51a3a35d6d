"""Attribution over every combination of observations: rules that no table line may break."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from aletheia.diagnosis.attribution import (
    Base,
    ClosedBook,
    Counterfactual,
    Observations,
    Removal,
    attribute,
)
from aletheia.schema.attribution import ATTRIBUTIONS


def some(kind: object) -> st.SearchStrategy[object]:
    return st.sampled_from([None, *get_args(kind)])


maybe = st.sampled_from([None, True, False])
observations = st.builds(
    Observations,
    base=some(Base),
    closed_book=some(ClosedBook),
    counterfactual=some(Counterfactual),
    cited_removed=some(Removal),
    still_held=maybe,
    holding_removed=some(Removal),
    irrelevant_removed=some(Removal),
    shuffled=some(Removal),
    verified=maybe,
)


@given(observations)
def test_decided_or_undecided_with_a_reason(seen):
    found = attribute(seen)

    assert (found.attribution is None) == (found.undecided is not None)
    assert set(found.possible) <= set(ATTRIBUTIONS)
    assert found.attribution is None or found.possible == (found.attribution,)
    assert found.attribution is not None or len(found.possible) > 1


@given(observations)
def test_evidence_is_only_named_where_memory_was_asked_and_the_evidence_was_changed(seen):
    """No missing observation stands for grounding."""
    if attribute(seen).attribution == "from_evidence":
        assert seen.closed_book in ("other", "abstained")
        went = {seen.cited_removed, seen.holding_removed} & {"changed", "abstained"}
        assert seen.counterfactual == "followed" or went
        assert seen.counterfactual == "followed" or "same" in (
            seen.irrelevant_removed,
            seen.shuffled,
        )


@given(observations)
def test_memory_is_only_named_where_it_was_seen(seen):
    if attribute(seen).attribution == "from_memory":
        signs = (seen.closed_book, seen.cited_removed, seen.holding_removed)
        assert seen.counterfactual == "kept" or "same" in signs


@given(observations)
def test_without_any_probe_nothing_is_decided_but_an_abstention(seen):
    bare = Observations(base=seen.base, verified=seen.verified)

    assert attribute(bare).attribution == ("neither" if seen.base == "abstained" else None)


@given(observations)
def test_without_the_closed_book_nothing_is_from_evidence(seen):
    assert attribute(replace(seen, closed_book=None)).attribution != "from_evidence"
