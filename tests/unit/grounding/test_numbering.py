"""Evidence numbering: ids in order, keys bound to content, text untouched."""

import pytest

from aletheia.errors import DataError
from aletheia.grounding.numbering import content_key, is_blank, number
from aletheia.schema.evidence import EvidenceText


def test_ids_follow_display_order() -> None:
    found = number(["a", EvidenceText(text="b", source="S", aliases=("B",), facts=("f1",)), "c"])

    assert found.ids == ("E1", "E2", "E3")
    assert [unit.position for unit in found] == [0, 1, 2]
    assert found.units[1].source == "S"
    assert found.units[1].aliases == ("B",)
    assert found.units[1].facts == ("f1",)


@pytest.mark.parametrize(
    "blank",
    [
        "",
        " ",
        "\n\t",
        "\u200b\u200d",
        "\ufeff",
        "\x00\x1f",
        "\u00a0\u3000",
        "\u2800",
        "\u00ad",
        "\ufe0f",
    ],
)
def test_blank_items_are_dropped_and_listed(blank: str) -> None:
    found = number(["a", blank, "b"])

    assert is_blank(blank)
    assert found.ids == ("E1", "E2")
    assert found.dropped == (1,)
    assert found.units[1].position == 2


@pytest.mark.parametrize("text", ["a", "0", "。", "😀", "\ud83d", "\u200bx", "-", "\u0301"])
def test_anything_visible_is_kept(text: str) -> None:
    assert not is_blank(text)
    assert len(number([text])) == 1


def test_a_blank_item_with_a_source_is_still_blank() -> None:
    assert number([EvidenceText(text=" ", source="Title")]).dropped == (0,)


def test_duplicates_keep_their_id_and_name_the_first() -> None:
    found = number(["x", "y", "x", "x"])

    assert [unit.duplicate_of for unit in found] == [None, None, "E1", "E1"]
    assert found.units[0].key == found.units[2].key


def test_the_same_text_from_another_source_is_no_duplicate() -> None:
    found = number(["x", EvidenceText(text="x", source="S")])

    assert found.units[1].duplicate_of is None


def test_keys_are_the_same_in_every_place_run_and_version() -> None:
    key = "sha256:742ce274a2451def1ed07030a56d3894f6c2f22923d9c45f1cd55acc102084dd"

    assert content_key("Tent 3.1 kg.", None) == key
    assert number(["a", "Tent 3.1 kg."]).units[1].key == key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a1:b", None), ("a", "b")),
        (("\ud83d\ude00", None), ("😀", None)),
        (("Zu\u0308rich", None), ("Zürich", None)),
        (("a ", None), ("a", None)),
    ],
)
def test_different_content_has_different_keys(
    one: tuple[str, str | None], other: tuple[str, str | None]
) -> None:
    assert content_key(*one) != content_key(*other)


@pytest.mark.parametrize(
    "text", [" lead", "a\r\nb\u2028c", "\ud83d lone", "Zu\u0308rich", "[E9] x"]
)
def test_text_is_kept_byte_for_byte(text: str) -> None:
    assert number([text]).units[0].text == text


def test_a_plain_string_is_one_item() -> None:
    assert number("abc").ids == ("E1",)


@pytest.mark.parametrize("item", [None, 3, {"text": "a"}, b"a"])
def test_an_item_that_is_no_text_is_named(item: object) -> None:
    with pytest.raises(DataError, match=r"evidence\[1\]"):
        number(["a", item])  # type: ignore[list-item]
