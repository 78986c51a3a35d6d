"""No text makes the parser raise, and no noise around a reply changes what it says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from aletheia.grounding.parse import normalise_id, parse_reply
from aletheia.schema.answer import ParsedAnswer, ParseProblem

ANY_TEXT = st.text(alphabet=st.characters(codec=None), max_size=200)
PIECES = st.lists(
    st.sampled_from(
        [
            "{", "}", "[", "]", '"', "'", ",", ":", "\\", "\n", "answer", "evidence_ids", '"answer":', '"E1"',
            "<think>", "</think>", "```", "NaN", "-Infinity", "9" * 400, "null", "True", "\ud83d", "\ufeff", "//",
            "/*", "“", "”", "：", "(E1)", "1e999", "E1-E9", "properties", " ",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)
NOISE = st.text(alphabet=st.sampled_from("abc .,!?\n:;-E1()'é。"), max_size=30)
ANSWERS = st.text(min_size=1, max_size=60).filter(lambda text: any(map(str.isalnum, text)))
IDS = st.lists(st.integers(1, 40).map(lambda number: f"E{number}"), max_size=4, unique=True)


@given(ANY_TEXT | PIECES)
def test_any_text_is_read_or_refused(raw: str) -> None:
    assert isinstance(parse_reply(raw), ParsedAnswer | ParseProblem)


@given(st.dictionaries(st.sampled_from(["answer", "evidence_ids", "citations", "x"]), JSON_VALUES))
def test_any_mapping_is_read_or_refused(reply: dict[str, object]) -> None:
    assert isinstance(parse_reply(reply), ParsedAnswer | ParseProblem)


@given(JSON_VALUES | ANY_TEXT)
def test_any_id_is_canonical_or_not_understood(raw: object) -> None:
    ids = normalise_id(raw)
    assert ids is None or (len(ids) <= 200 and all("E" in unit_id for unit_id in ids))


@given(
    ANSWERS,
    IDS,
    NOISE,
    NOISE,
    st.sampled_from(["{}", "```json\n{}\n```", "<think>x</think>{}", "{}\n{}"]),
)
def test_noise_around_a_reply_changes_nothing(
    answer: str, ids: list[str], before: str, after: str, frame: str
) -> None:
    reply = json.dumps({"answer": answer, "evidence_ids": ids, "reasoning": "r"})
    parsed = parse_reply(before + frame.replace("{}", reply) + after)

    assert isinstance(parsed, ParsedAnswer), parsed
    assert (parsed.answer, parsed.evidence_ids) == (answer, tuple(ids))


@given(ANSWERS, IDS, st.data())
def test_a_cut_reply_never_loses_a_part_unseen(
    answer: str, ids: list[str], data: st.DataObject
) -> None:
    reply = json.dumps({"answer": answer, "evidence_ids": ids, "reasoning": "r"})
    parsed = parse_reply(reply[: data.draw(st.integers(0, len(reply)))])

    if isinstance(parsed, ParsedAnswer):
        assert (parsed.answer, parsed.evidence_ids) == (answer, tuple(ids))


@given(ANSWERS, IDS)
def test_a_python_literal_says_the_same(answer: str, ids: list[str]) -> None:
    parsed = parse_reply(repr({"answer": answer, "evidence_ids": ids}))

    if isinstance(parsed, ParsedAnswer):
        assert (parsed.answer, parsed.evidence_ids) == (answer, tuple(ids))
