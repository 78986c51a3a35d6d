"""Plain words for the codes of a result file. An unknown code is shown as it is, readably."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from aletheia.schema.report import AbstentionKind
from aletheia.schema.verification import Category, RejectionReason


@dataclass(frozen=True, slots=True, kw_only=True)
class ReasonWords:
    """A rejection reason: its short name, what it means, what to do about it."""

    label: str
    meaning: str
    advice: str


REASONS: Mapping[RejectionReason, ReasonWords] = MappingProxyType(
    {
        RejectionReason.PARSE_ERROR: ReasonWords(
            label="unreadable reply",
            meaning="the reply is not the JSON object that was asked for",
            advice="Look at the raw replies. Ask the endpoint for structured output, raise its "
            "output limit, or use a model that keeps to the format.",
        ),
        RejectionReason.ANSWER_WITHOUT_CITATIONS: ReasonWords(
            label="answer without citations",
            meaning="an answer was given and no evidence was cited for it",
            advice="Say in the prompt that every answer names its evidence. Answers without any "
            "often come from the model's memory.",
        ),
        RejectionReason.INSUFFICIENT_CONTEXT_WITH_CITATIONS: ReasonWords(
            label="abstained with citations",
            meaning="the reply says that the evidence is not enough and cites some anyway",
            advice="Say in the prompt that an abstention cites nothing, then look whether the "
            "cited units held the answer after all.",
        ),
        RejectionReason.INVALID_CITATION_IDS: ReasonWords(
            label="citation of unknown evidence",
            meaning="the reply cites evidence that was not shown to it",
            advice="Look whether the ids are invented or copied from the text of a source.",
        ),
        RejectionReason.UNCITED_ENTITIES: ReasonWords(
            label="not in the cited evidence",
            meaning="the answer holds names, numbers or dates that the cited evidence lacks",
            advice="Read the marked words. Where another unit carries them, only the citation is "
            "wrong. Where none does, retrieval missed it or the model added it.",
        ),
    }
)

FINDINGS: Mapping[str, str] = MappingProxyType(
    {
        # replies
        "empty_reply": "the reply is empty",
        "no_object": "the reply holds no JSON object",
        "ambiguous": "the reply holds several different objects, and nothing says which one counts",
        "truncated": "the reply is cut off",
        "schema_echo": "the model returned the schema instead of an answer",
        "missing_answer": "the object has no field `answer`",
        "wrong_type": "a field of the object has the wrong type",
        "empty_answer": "the answer is empty, which is neither an answer nor an abstention",
        "duplicate_key": "a field stands twice in the object, with different values",
        # citations
        "answer_without_citations": "an answer that cites nothing",
        "insufficient_context_with_citations": "an abstention that cites evidence",
        "invalid_citation_ids": "this evidence was not shown to the model",
        "no_citations": "an answer that cites nothing",
        "no_citation": "an answer that cites nothing",
        "unknown_id": "this evidence was not shown to the model",
        "malformed_range": "this range of evidence cannot be read",
        "abstention_with_citations": "an abstention that cites evidence",
        # names
        "not_in_evidence": "the cited evidence does not carry it",
        "not_in_cited": "the cited evidence does not carry it",
        "uncited_entities": "the cited evidence does not carry it",
        "found_elsewhere": "another unit carries it, not a cited one",
        "misattributed": "another unit carries it, not a cited one",
        "other_name": "the cited evidence has another name in its place",
        "other_designator": "the cited evidence names another one of the same kind",
        "extends_name": "the cited evidence carries only a part of this name",
        "words_not_together": "the words stand in the cited evidence, but not as one name",
        "ordinary_word": "the cited evidence has it as an ordinary word, not as a name",
        "expansion_unverified": "the cited evidence has the short form, never this long form",
        "cjk_substring": "it only occurs inside a longer word of the cited evidence",
        # numbers and dates
        "absent": "the cited evidence does not carry this value",
        "contradicted": "the cited evidence gives another value",
        "within_range": "the cited evidence gives a range, and this is one value of it",
        "invented_precision": "this is more exact than the cited evidence",
        "hedge_dropped": "the cited evidence says it only roughly",
        "hedge_changed": "the cited evidence limits the value in another way",
        "sign_differs": "the cited evidence has the opposite sign",
        "currency_differs": "the cited evidence has another currency",
        "unit_differs": "the cited evidence has another unit",
        # quotations, links, statements
        "quote_not_found": "the cited evidence does not hold these words in this order",
        "unsupported_link": "this address is not in the cited evidence",
        "negation": "the answer says yes where the evidence says no, or the other way round",
        "opposite_word": "the cited evidence says the opposite",
        "near_word": "the cited evidence has a similar word that means something else",
        "no_common_ground": "this statement shares nothing with the cited evidence",
        "nothing_to_check": "the answer states nothing that evidence could carry",
        "from_question": "it comes from the question, not from the cited evidence",
    }
)
"""What each finding code means. Codes without an entry are shown by `finding_words`."""

NOTES: Mapping[str, str] = MappingProxyType(
    {
        "abstained_in_words": "abstained in own words",
        "accent_folded": "same word with other accents",
        "acronym": "short form of a name in the evidence",
        "added_initial": "an initial more than the evidence has",
        "cited_elsewhere": "carried by another cited unit",
        "coarser": "less exact than the evidence",
        "combined": "put together from several places",
        "converted": "another unit, same value",
        "derived": "follows from values in the evidence",
        "from_question": "taken from the question",
        "injection_suspected": "reads like an order to a model; it changed no verdict",
        "misattributed": "carried by another unit than the one cited beside it",
        "normalised": "same value in another form",
        "partial_name": "part of a longer name",
        "quote_empty": "an empty quotation",
        "quote_normalised": "quotation with other punctuation or spacing",
        "quote_too_short": "quotation too short to prove anything",
        "rounded": "rounded",
        "scattered_words": "the words stand apart in the evidence",
        "transliterated": "same name in another script or spelling",
        "typo": "same word, one letter off",
        "unchecked": "nothing here could be checked",
        "uncounted": "a count that could not be checked",
    }
)
"""What each note code means; notes fail nothing."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "reply": "reply",
        "citation": "citation",
        "name": "name",
        "number": "number",
        "date": "date or time",
        "quotation": "quotation",
        "link": "link",
        "identifier": "identifier",
        "polarity": "opposite statement",
        "claim": "statement",
    }
)

CATEGORIES: Mapping[Category, str] = MappingProxyType(
    {
        "grounded_answer": "Grounded",
        "insufficient_context": "Abstained",
        "rejected": "Rejected",
        "error": "No reply",
    }
)

ABSTENTIONS: Mapping[AbstentionKind, str] = MappingProxyType(
    {
        "warranted": "right to abstain: the evidence does not hold the answer",
        "over_refusal": "should have answered: the evidence holds the answer",
        "undecided": "it could not be decided whether the evidence holds the answer",
    }
)

METRICS: Mapping[str, str] = MappingProxyType(
    {
        "context_precision": "useful evidence ranks ahead of useless evidence",
        "context_recall": "the evidence holds what the gold answer needs",
        "faithfulness": "the answer follows from the evidence",
        "answer_similarity": "the answer means the same as the gold answer",
    }
)


def spoken(code: str) -> str:
    """Write a code as words: `accent_folded` becomes `accent folded`."""
    return code.replace("_", " ").strip() or "not named"


def finding_words(code: str) -> str:
    """Say what a finding code means."""
    return FINDINGS.get(code) or spoken(code)


def note_words(code: str) -> str:
    """Say what a note code means."""
    return NOTES.get(code) or spoken(code)


def kind_words(kind: str) -> str:
    """Return the plain name of a kind of finding."""
    return KINDS.get(kind) or spoken(kind)


def metric_name(metric: str) -> str:
    """`context_precision` as a heading: `Context precision`."""
    return sentence(spoken(metric))


def sentence(text: str) -> str:
    """Begin `text` with a capital and leave the rest as it is."""
    return text[:1].upper() + text[1:]
