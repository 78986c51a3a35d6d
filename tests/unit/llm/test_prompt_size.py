"""A prompt that was cut in silence is noticed; small and odd numbers accuse nobody."""

from __future__ import annotations

import pytest

from aletheia.errors import ModelBadReply
from aletheia.llm.prompt_size import PromptSizes, least_tokens
from aletheia.schema.model import Usage

CYRILLIC = "порт вывозит чай и соль "
CHINESE = "港口出口茶叶和盐"


def words(count: int, first: str = "") -> str:
    """A text of `count` different words."""
    return first + " ".join(f"word{n}" for n in range(count))


def read(tokens: int | None, *, cached: int | None = None) -> Usage:
    return Usage(prompt_tokens=tokens, completion_tokens=5, cached_prompt_tokens=cached)


def is_cut(sizes: PromptSizes, text: str, usage: Usage) -> bool:
    try:
        sizes.check(text, usage)
    except ModelBadReply:
        return True
    return False


@pytest.mark.parametrize(
    ("text", "least"),
    [
        ("", 0),
        (" \n\t ", 0),
        ("one", 1),
        ("one two\nthree\u00a0four", 4),
        ("- -- *** ...", 0),
        ("it's 3.14 (really)!", 3),
        ("café ЧАЙ 한국어 문장", 4),
        (CHINESE, 2),
        (f"tea {CHINESE * 10} salt", 22),
        ("ก" * 40, 10),
        ("x" * 5000, 1),
    ],
)
def test_the_bound_counts_words_and_a_part_of_unspaced_letters(text: str, least: int) -> None:
    assert least_tokens(text) == least


@pytest.mark.parametrize(
    ("count", "usage", "cut"),
    [
        (5000, read(4096), True),
        (5000, read(2048), True),
        (5000, read(256), True),
        (5000, read(6500), False),
        (5000, read(4600), False),
        (5000, read(4096, cached=1024), False),
        (5000, read(2048, cached=1024), True),
        (5000, read(None), False),
        (5000, read(0), False),
        (5000, read(11), False),
        (5000, read(255), False),
        (250, read(256), False),
    ],
)
def test_a_count_clearly_below_the_bound_is_a_cut_prompt(
    count: int, usage: Usage, cut: bool
) -> None:
    """None and 0 are not reported; a number below 256 is no window."""
    assert is_cut(PromptSizes(), words(count), usage) is cut


def test_the_message_names_both_numbers_and_the_cost_is_kept() -> None:
    with pytest.raises(ModelBadReply, match=r"only 2048 of at least 5000 .*num_ctx") as caught:
        PromptSizes().check(words(5000), read(2048))
    assert caught.value.usage == read(2048)
    assert caught.value.text is None


def test_every_cut_prompt_is_told_not_only_the_first() -> None:
    sizes = PromptSizes()
    assert [is_cut(sizes, words(5000, f"{n} "), read(2048)) for n in range(3)] == [True] * 3
    assert is_cut(sizes, words(5000), read(2048))
    assert is_cut(sizes, words(5000), read(2048))


def test_a_server_that_counts_only_what_is_new_is_not_accused() -> None:
    """It reports less than before, and enough for what the prompt does not share with others."""
    sizes = PromptSizes()
    shared = words(3000)
    assert not is_cut(sizes, f"{shared} first", read(4000))
    assert not is_cut(sizes, f"{shared} {words(900, 'x')}", read(1200))
    assert is_cut(sizes, f"{shared} {words(2000, 'y')}", read(1200))


def test_far_fewer_tokens_a_byte_than_the_model_needed_before_is_a_cut_prompt() -> None:
    """Where the bound is far below the truth, as in a script of long words."""
    sizes = PromptSizes()
    for n in range(3):
        text = f"{n} " + CYRILLIC.replace(" ", "") * (100 + n)
        assert not is_cut(sizes, text, read(1400 + 10 * n))
    long = CYRILLIC.replace(" ", "") * 380
    assert least_tokens(long) == 1
    assert is_cut(sizes, long, read(1500))
    assert not is_cut(sizes, long, read(5000))


def test_one_number_for_prompts_of_different_length_is_a_cut_prompt() -> None:
    sizes = PromptSizes()
    assert not is_cut(sizes, words(1200), read(2048))
    assert not is_cut(sizes, words(1600), read(2048))
    assert is_cut(sizes, words(2000), read(2048))


@pytest.mark.parametrize("tokens", [11, 100, 1000, 100_000])
def test_made_up_numbers_for_short_prompts_accuse_nobody(tokens: int) -> None:
    sizes = PromptSizes()
    for n in (3, 30, 300, 301, 302):
        assert not is_cut(sizes, words(n), read(tokens))


def test_the_same_prompt_again_has_the_same_size() -> None:
    sizes = PromptSizes()
    for _ in range(10):
        assert not is_cut(sizes, words(1900), read(2048))
