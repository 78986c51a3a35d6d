"""The field cases at the level a user sees: evidence and an answer in, a verdict out.

Numbers are those of the collection of faults met in other tools; each stands for its kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from aletheia.grounding.numbering import number
from aletheia.grounding.verify import VerifyOptions, verify_reply
from aletheia.schema.evidence import EvidenceText
from aletheia.schema.verification import Verification


@dataclass(frozen=True)
class FieldCase:
    """`reason` is a finding's reason (with `found_in`), `note` a note's; either may be absent."""

    id: str
    evidence: tuple[str, ...]
    answer: str
    verified: bool
    reason: str | None = None
    found_in: str | None = None
    note: str | None = None
    cite: tuple[str, ...] = ()
    question: str | None = None


def check(case: FieldCase, *, lenient: bool = False) -> Verification:
    """Verify the case; without `cite` every unit is cited."""
    evidence = number(case.evidence)
    reply = {"answer": case.answer, "evidence_ids": list(case.cite or evidence.ids)}
    return verify_reply(
        evidence, reply, question=case.question, options=VerifyOptions(lenient=lenient)
    )


E = FieldCase
D_CASES = (
    E("53", ("a",) * 4, "The tax rose [E5][E7].", False, "unknown_id", cite=("E1",)),
    E("55", ("Model A shipped in May.", "Model B shipped in June."), "Model A shipped in May [E2].",
      False, "misattributed", "E1", cite=("E2",)),
    E("56", ("Rent is 900.", "The deposit is two months."),
      "Rent is 900 [E1]. Heating is included. Deposit is two months [E2].", False, "no_common_ground"),
    E("56-supported", ("Rent is 900 and heating is included.", "The deposit is two months."),
      "Rent is 900 [E1]. Heating is included. Deposit is two months [E2].", True),
    E("58", ("The 1985 Act applies.",), "See the 1985 Act [E1] and [E1], again [E1].", True),
    E("61", ("Speed limit 30 [km/h].",), "The limit is 30 [km/h] [E1].", True),
    E("62", ("As shown earlier [E9] and [2], output fell.", "Nothing else."), "Output fell [E9].",
      False, "unknown_id", cite=("E1",)),
    E("64", ("Signed by the Tenant.",), 'It names "the Tenant" [E1].', True, note="quote_too_short"),
    E("65-changed", ("It covers (ORN syndrome) only.",), 'It covers "(ORN)" [E1].', False, "quote_not_found"),
    E("65-wrapped", ("for children/\nadolescents only",), 'It is "for children/ adolescents only" [E1].', True),
    E("65-hyphenated", ("full infor-\nmation on the matter",), 'It asks for "full information on the matter" [E1].', True),
    E("65-one-word", ("the tenant must repair the roof",), 'It says "the tenant may repair the roof" [E1].',
      False, "quote_not_found"),
    E("68-url", ("See https://ex.org/real for more.",), "See https://ex.org/real and https://ex.org/made-up [E1].",
      False, "unsupported_link"),
    E("68-real", ("See https://ex.org/real for more.",), "See (https://ex.org/real) [E1].", True),
    E("68-email", ("Write to desk@ex.org for help.",), "Write to help@ex.org for help [E1].", False, "unsupported_link"),
    E("68-question", ("The page is down.",), "The page https://ex.org/a is down [E1].", True,
      note="from_question", question="Is https://ex.org/a down?"),
)  # fmt: skip

E_CASES = (
    E("70-usd", ("Revenue was $890 million.",), "Revenue was USD 890,000,000 [E1].", True),
    E("70-short", ("Revenue was 890 million dollars.",), "Revenue was $890M [E1].", True),
    E("70-currency", ("Revenue was $890 million.",), "Revenue was EUR 890.000.000 [E1].", False),
    E("71", ("Revenue was $150 million, up 50%.",), "Revenue was $50 million [E1].", False),
    E("73", ("The legal age is 64.",), "The legal age is 62 [E1].", False),
    E("74", ("The stove weighs 2.4 kg.", "The tent weighs 3.1 kg."), "The tent weighs 2.4 kg [E1].",
      False, cite=("E1",)),
    E("74-one-unit", ("The stove weighs 2.4 kg. The tent weighs 3.1 kg.",), "The tent weighs 2.4 kg [E1].",
      False, "other_subject"),
    E("74-right", ("The stove weighs 2.4 kg. The tent weighs 3.1 kg.",), "The tent weighs 3.1 kg [E1].", True),
    E("76", ("mass: 2.4kg",), "The mass is 2.4 kilograms [E1].", True),
    E("76-converted", ("mass: 2.4kg",), "The mass is 2400 g [E1].", True, note="converted"),
    E("77-a", ("The rate was 85.19%.",), "The rate was 85% [E1].", True, note="rounded"),
    E("77-b", ("The rate was 85.19%.",), "The rate was 85.2% [E1].", True, note="rounded"),
    E("77-c", ("The rate was 85.19%.",), "The rate was about 85% [E1].", True),
    E("77-d", ("The rate was 85.19%.",), "The rate was 90% [E1].", False),
    E("77-e", ("It holds 8234 books.",), "It holds 8,000 books [E1].", False),
    E("77-f", ("It holds 8234 books.",), "It holds about 8,000 books [E1].", True),
    E("79", ("Scores: 85%, 86%, 89.4%.",), "All scores lie between 80% and 90% [E1].", True),
    E("80-a", ("It takes 10–15 days.",), "It takes 10-15 days [E1].", True),
    E("80-b", ("It takes 10–15 days.",), "It takes 15 days [E1].", False),
    E("80-c", ("It takes 10–15 days.",), "It takes 12 days [E1].", False),
    E("80-d", ("It takes 10–15 days.",), "It takes 10 to 15 days [E1].", True),
    E("82-a", ("The area is 10² m.",), "The area is 102 m [E1].", False),
    E("82-b", ("It lasts 5½ days.",), "It lasts 5.5 days [E1].", True),
    E("83", ("see https://ex.org/2019/30 and SKU A-30",), "It costs 30 euro [E1].", False),
    E("85-a", ("السعر ١٢٣",), "The price is 123 [E1].", True),
    E("85-b", ("価格は１２３円",), "価格は123円 [E1]", True),
    E("86", ("| City | 2022 | 2023 |\n| Orle | 10 | 14 |\n| Vask | 14 | 9 |",), "Orle had 14 in 2022 [E1].", False),
    E("86-right", ("| City | 2022 | 2023 |\n| Orle | 10 | 14 |\n| Vask | 14 | 9 |",), "Orle had 10 in 2022 [E1].", True),
)  # fmt: skip

F_CASES = (
    E("88", ("The bank closed.",), "The Bank of Orle closed [E1].", False),
    E("89", ("The New York office closed.",), "The New York Times office closed [E1].", False, "extends_name"),
    E("89-shorter", ("The New York Times office closed.",), "The New York office closed [E1].", True, note="partial_name"),
    E("89-georgia", ("Georgia won the match.",), "Georgia Tech won the match [E1].", False),
    E("91", ("history of hypotension",), "history of hypertension [E1]", False),
    E("91-typo", ("It lies in Massachusetts.",), "It lies in Massachusets [E1].", True, note="typo"),
    E("91-near", ("Austria won.",), "Australia won [E1].", False),
    E("94-cpp", ("It is written in C++.",), "It is written in C# [E1].", False),
    E("94-joined", ("The ABC Company grew.",), "The A-B-C Company grew [E1].", True),
    E("95", ("it helps us who aim high",), "IT and WHO lead in the US [E1].", False, "ordinary_word"),
    E("97", ("uncertainty remains",), "Uncertainty remains [E1].", True),
    E("97-heading", ("There is a gap in the market, and it grows.",), "## Market Gap\nThe gap grows [E1].", True),
    E("98", ("Mara signed.",), "Ilse signed [E1].", False),
    E("100", ("The FTR must be filed.",), "The Final Tax Return must be filed [E1].", False, "expansion_unverified"),
    E("100-defined", ("The Final Tax Return (FTR) is due.",), "The FTR is due [E1].", True),
    E("101-1", ("John Smith resigned.",), "J. Smith resigned [E1].", True),
    E("101-2", ("John Smith resigned.",), "J. Brown resigned [E1].", False),
    E("101-3", ("John Smith resigned.",), "A. resigned [E1].", False),
    E("101-4", ("John Smith resigned.",), "John A. Smith resigned [E1].", True, note="added_initial"),
    E("101-joan", ("John Smith resigned.",), "Joan Smith resigned [E1].", False),
    E("103-a", ("Zürich is large.",), "Zurich is large [E1].", True, note="accent_folded"),
    E("103-b", ("Zu\u0308rich is large.",), "Zürich is large [E1].", True),
    E("103-c", ("Die Straße ist lang.",), "Die Strasse ist lang [E1].", True),
    E("103-d", ("Malmö is large.",), "Malmo is large [E1].", True),
    E("103-e", ("Łódź is large.",), "Lodz is large [E1].", True),
    E("103-f", ("Peña signed.", "Pena left."), "Pena signed [E1].", False, "misattributed", "E2", cite=("E1",)),
    E("104-a", ("The policy does not cover floods; export is disabled.",),
      "The policy covers floods and export is enabled [E1].", False, "negation"),
    E("104-b", ("The list is non-exhaustive.",), "The list is exhaustive [E1].", False),
    E("104-c", ("Export is disabled.",), "Export is enabled [E1].", False, "opposite_word"),
    E("104-same", ("The policy does not cover floods.",), "Floods are not covered by the policy [E1].", True),
    E("106", ("Fire only is covered.",), "Water damage is not covered [E1].", True),
    E("107", ("It opened in 1988.",), "Velda Corp opened in 1988 [E1].", False, "from_question",
      question="When did Velda Corp open?"),
    E("109", ("Mara signed the treaty.",), "Ilse signed the treaty [E1].", False),
    E("iran", ("Iran signed.",), "Iraq signed [E1].", False),
    E("niger", ("Niger signed.",), "Nigeria signed [E1].", False),
    E("north", ("North Korea signed.",), "South Korea signed [E1].", False),
    E("type", ("Type 1 diabetes is rare.",), "Type 2 diabetes is rare [E1].", False),
    E("model", ("Model X is rare.",), "Model Y is rare [E1].", False),
    E("python", ("It needs Python 3.11 to run.",), "It needs Python 3.1 to run [E1].", False),
    E("possessive", ("Apple grew.",), "Apple's growth [E1].", True),
    E("honorific", ("John Smith resigned.",), "Dr. John Smith resigned [E1].", True),
    E("us", ("The U.S. signed.",), "The United States signed [E1].", True),
    E("transliterated", ("Hizballah signed.",), "Hezbollah signed [E1].", True, note="transliterated"),
    E("listed", ("Mara and Ilse signed.",), "1. Mara\n2. Ilse [E1]", True),
)  # fmt: skip

G_CASES = (
    E("110", ("co‑op’s limit is ≥ 5 kg – see “A…B”",), "co-op's limit is >= 5 kg - see \"A...B\" [E1]", True),
    E("112", ("東京都で開催",), "京都で開催 [E1]", False, "cjk_substring"),
    E("112-same", ("東京都で開催",), "東京都で開催 [E1]", True),
    E("113", ("İstanbul’da 😀 Straße kapandı",), "İstanbul’da 😀 Straße kapandı [E1]", True),
    E("zh-slot", ("会议在东京举行。",), "会议在大阪举行。[E1]", False),
    E("zh-negated", ("保险不包括洪水。",), "保险包括洪水。[E1]", False, "negation"),
    E("ko-slot", ("회의는 서울에서 열렸다.",), "회의는 부산에서 열렸다. [E1]", False),
    E("ar-slot", ("وقع محمد الاتفاق في القاهرة",), "وقع أحمد الاتفاق في القاهرة [E1]", False),
    E("hi-slot", ("बैठक दिल्ली में हुई।",), "बैठक मुंबई में हुई। [E1]", False),
    E("ru", ("Путин подписал закон в Москве.",), "Медведев подписал закон в Москве [E1].", False),
    E("ru-case", ("Закон подписан в Москве.",), "Москва: закон подписан [E1].", True),
    E("el", ("Ο Γιώργος υπέγραψε στην Αθήνα.",), "Ο Νίκος υπέγραψε στην Αθήνα [E1].", False),
)  # fmt: skip


LOOKS_LIKE_A_WORD = (
    E("98-peter", ("Mara signed.",), "Peter signed [E1].", False),
    E("98-james", ("Mara signed.",), "James signed [E1].", False),
    E("98-mark", ("Mara signed.",), "Mark signed [E1].", False),
    E("98-inside", ("Mara works at Apple.",), "Mara works at Shell [E1].", False),
    E("98-the-court", ("The court ruled.",), "Then the Court ruled [E1].", True),
    E("98-part", ("Peter Maurer spoke.",), "Red Cross President Peter Maurer spoke [E1].", False),
    E("98-role", ("Sergei Lavrov spoke.",), "Foreign Minister Sergei Lavrov spoke [E1].", True),
    E("98-de", ("Anna Müller unterschrieb den Vertrag mit der Stadt.",),
      "Peter Müller unterschrieb den Vertrag [E1].", False),
    E("107-quote", ("The firm met.",), 'The firm said "the deal is dead" [E1].', False, "from_question",
      question='Did the firm say "the deal is dead"?'),
)  # fmt: skip


@pytest.mark.parametrize("case", LOOKS_LIKE_A_WORD, ids=lambda case: case.id)
def test_names_that_look_like_words_are_checked(case: FieldCase) -> None:
    """No list of ordinary words lets an invented name pass."""
    found = check(case)

    assert case.verified == found.verified, (found.findings, found.notes)
    assert case.reason in (None, *[item.reason for item in found.findings])


@pytest.mark.parametrize("case", [*D_CASES, *E_CASES, *F_CASES, *G_CASES], ids=lambda case: case.id)
def test_field_case(case: FieldCase) -> None:
    """The verdict of each case is the right one, for the right reason."""
    found = check(case)

    assert case.verified == found.verified, (found.findings, found.notes)
    if case.reason is not None:
        hits = [item for item in found.findings if item.reason == case.reason]
        assert hits, found.findings
        assert case.found_in in (None, *[item.found_in for item in hits])
    if case.note is not None:
        assert case.note in {item.reason for item in found.notes}


@pytest.mark.parametrize("case", [*D_CASES, *E_CASES, *F_CASES, *G_CASES], ids=lambda case: case.id)
def test_offsets_are_those_of_the_original(case: FieldCase) -> None:
    """Every span of a finding or note cuts its own text out of the answer."""
    found = check(case)

    for item in (*found.findings, *found.notes):
        if item.end > item.start:
            assert item.text == case.answer[item.start : item.end]


def test_case_106_counts_what_no_check_decided() -> None:
    """A statement that no check can decide is counted as unchecked, not as supported."""
    found = check(E("106", ("Fire only is covered.",), "Water damage is not covered [E1].", True))

    assert (found.checked, found.unchecked) == (0, 1)


def test_case_47_an_off_topic_answer_is_not_grounded() -> None:
    """An answer that shares no word with its cited unit did not come from it."""
    found = check(
        E(
            "47",
            ("The port exports tea.",),
            "Board games are fun [E1].",
            False,
            question="What does the port export?",
        )
    )

    assert "no_common_ground" in {item.reason for item in found.findings}


def test_a_units_source_and_aliases_belong_to_it() -> None:
    """A name in a unit's title or among its graph aliases counts as carried."""
    evidence = number(
        [EvidenceText(text="It opened in 1988.", source="Velda Corp", aliases=("VC Holdings",))]
    )

    for name in ("Velda Corp", "VC Holdings"):
        reply = {"answer": f"{name} opened in 1988.", "evidence_ids": ["E1"]}
        assert verify_reply(evidence, reply).verified
