"""What a caller may give as evidence, and what is refused."""

from __future__ import annotations

from collections import UserString
from pathlib import Path

import pytest

from aletheia.errors import DataError
from aletheia.grounding.numbering import number
from aletheia.schema.evidence import EvidenceText
from aletheia.sdk.evidence import read_evidence


class Title(str):
    """A text of another library, such as `markupsafe.Markup`."""

    __slots__ = ()


@pytest.mark.parametrize(
    ("given", "texts"),
    [
        ("one text", ["one text"]),
        (["a", "b"], ["a", "b"]),
        (("a", "b"), ["a", "b"]),
        ((text for text in ("a", "b")), ["a", "b"]),
        ([{"text": "a"}, EvidenceText(text="b"), "c"], ["a", "b", "c"]),
        ([Title("a")], ["a"]),
        ([], []),
        (
            ["a | b", "x;y", "line1\nline2", "a\u2028b"],
            ["a | b", "x;y", "line1\nline2", "a\u2028b"],
        ),
        (number(["a", "b"]), ["a", "b"]),
    ],
)
def test_evidence_is_read_in_order_and_kept_as_it_is(given: object, texts: list[str]) -> None:
    units = read_evidence(given)  # type: ignore[arg-type]

    assert [unit.text for unit in units] == texts
    assert units.ids == tuple(f"E{n}" for n in range(1, len(texts) + 1))


def test_a_mapping_brings_source_and_aliases() -> None:
    units = read_evidence([{"text": "It opened.", "source": "Register", "aliases": ["PE", "P.E."]}])

    assert (units.units[0].source, units.units[0].aliases) == ("Register", ("PE", "P.E."))


@pytest.mark.parametrize("value", [None, []])
def test_empty_source_and_aliases_mean_none(value: object) -> None:
    units = read_evidence([{"text": "a", "source": None, "aliases": value}])

    assert (units.units[0].source, units.units[0].aliases) == (None, ())


def test_blank_units_are_left_out_and_their_places_told() -> None:
    units = read_evidence(["a", " \n", {"text": ""}, "b"])

    assert [(unit.id, unit.text, unit.position) for unit in units] == [
        ("E1", "a", 0),
        ("E2", "b", 3),
    ]
    assert units.dropped == (1, 2)


def test_keys_of_other_tools_are_not_read() -> None:
    units = read_evidence([{"text": "a", "rank": 0, "score": 0.5, "metadata": {}}])

    assert units.units[0].text == "a"


@pytest.mark.parametrize(
    ("given", "field", "message"),
    [
        (None, "evidence", "null"),
        (5, "evidence", "`int`"),
        (b"bytes", "evidence", "`bytes`"),
        ({"text": "a"}, "evidence", "`dict`"),
        ({"E1": "a"}, "evidence", "`dict`"),
        ({"a", "b"}, "evidence", "`set`"),
        ([None], "evidence[0]", "null"),
        (["a", 5], "evidence[1]", "`int`"),
        ([b"a"], "evidence[0]", "`bytes`"),
        ([["a"]], "evidence[0]", "`list`"),
        ([Path("a")], "evidence[0]", "not text"),
        ([UserString("a")], "evidence[0]", "not text"),
        ([{}], "evidence[0]", "no `text`"),
        ([{"source": "x"}], "evidence[0]", "no `text`"),
        ([{"text": None}], "evidence[0].text", "null"),
        ([EvidenceText(text=None)], "evidence[0].text", "null"),  # type: ignore[arg-type]
        ([{"text": "a", "source": 5}], "evidence[0].source", "`int`"),
        ([{"text": "a", "aliases": "PE"}], "evidence[0].aliases", "list"),
        ([{"text": "a", "aliases": ["PE", 5]}], "evidence[0].aliases[1]", "`int`"),
        ([{"text": "a", "alias": ["PE"]}], "evidence[0]", "did you mean `aliases`"),
        ([{"text": "a", "Source": "x"}], "evidence[0]", "did you mean `source`"),
        ([{"txt": "a"}], "evidence[0]", "did you mean `text`"),
    ],
)
def test_what_is_no_evidence_is_an_error_that_names_the_place(
    given: object, field: str, message: str
) -> None:
    with pytest.raises(DataError) as caught:
        read_evidence(given)  # type: ignore[arg-type]

    assert caught.value.field == field
    assert message in str(caught.value)
