"""The extractive generator answers every type of question from graph units, and cites them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest

from aletheia.generators.base import Generation, Generator
from aletheia.generators.extractive import ExtractiveGenerator
from aletheia.grounding.numbering import number
from aletheia.grounding.parse import parse_reply
from aletheia.grounding.verify import verify_reply
from aletheia.schema.answer import ABSTENTION, ParsedAnswer
from aletheia.schema.evidence import EvidenceSet, EvidenceText
from aletheia.schema.verification import Mode

BREWERY = (
    "Brightwater Brewery is a company. Brightwater Brewery is also known as Old Copper. "
    "Brewer of dark ales."
)


def unit(text: str, source: str | None = None, *aliases: str) -> EvidenceText:
    return EvidenceText(text=text, source=source, aliases=aliases)


COMPANY = number(
    [
        unit(BREWERY, "Brightwater Brewery", "Old Copper"),
        unit("Brightwater Brewery was founded by Ada Kell.", "Brightwater Brewery", "Old Copper"),
        unit("Brightwater Brewery was founded in 1904.", "Brightwater Brewery", "Old Copper"),
        unit("Brightwater Brewery is based in Norhaven.", "Brightwater Brewery"),
        unit("The number of employees of Brightwater Brewery are 312.", "Brightwater Brewery"),
        unit(
            "Brightwater Brewery is headed by Tom Arden (from 2011, until 2019).",
            "Brightwater Brewery",
        ),
        unit("Brightwater Brewery owns Kell Malthouse.", "Brightwater Brewery"),
        unit("Ada Kell was born in Lostwick.", "Ada Kell"),
        unit("Ada Kell was born on 1871-02-03.", "Ada Kell"),
        unit("The date of death of Ada Kell is 1940.", "Ada Kell"),
        unit("Ada Kell is a person. Chemist who brewed the first stout.", "Ada Kell"),
        unit("Norhaven is in the district of Saltmere.", "Norhaven"),
    ]
)

LAND = number(
    [
        unit("River Ost is a river. Wide river of the plain.", "River Ost"),
        unit("The length of River Ost is 310 km.", "River Ost"),
        unit("River Ost flows into Bay of Carn.", "River Ost"),
        unit("River Ost rises on Mount Tell.", "River Ost"),
        unit("The elevation of Mount Tell is 2,410 m.", "Mount Tell"),
        unit("Mount Tell was first climbed by Ivo Brandt (on 1888-07-02).", "Mount Tell"),
        unit("Lies on River Ost: Carnport and Feldmere.", "River Ost"),
        unit("Carnport is a town. Harbour town of ropemakers.", "Carnport"),
        unit("The population of Carnport is 41,200.", "Carnport"),
        unit("Carnport is the capital of Ostmark.", "Carnport"),
    ]
)

GROUPS = number(
    [
        unit(
            "Order of the Lamp was recognised by Norland (on 1997-10-08); Sudia (from 2001-03-29, "
            "until 2012); Westfold.",
            "Order of the Lamp",
        ),
        unit("Order of the Lamp operates in Westfold and Eastfold.", "Order of the Lamp"),
        unit("Order of the Lamp split from Guild of Candles (in 1987).", "Order of the Lamp"),
        unit("Order of the Lamp was dissolved in 2010.", "Order of the Lamp"),
        unit("Guild of Candles was founded in 1952.", "Guild of Candles"),
        unit("Karl Voss is a son of Mira Voss.", "Karl Voss"),
        unit("Mira Voss studied at Tarn College.", "Mira Voss"),
        unit("Karl Voss studied at Norland Academy.", "Karl Voss"),
    ]
)


def generate(question: str, evidence: EvidenceSet) -> Generation:
    return asyncio.run(ExtractiveGenerator().generate(question, evidence, mode=Mode.STRICT))


def answer(question: str, evidence: EvidenceSet) -> ParsedAnswer:
    """The parsed reply; what is answered must pass strict verification."""
    reply = generate(question, evidence).reply
    verdict = verify_reply(evidence, reply, question=question)
    assert verdict.verified, verdict.findings
    parsed = parse_reply(reply)
    assert isinstance(parsed, ParsedAnswer)
    return parsed


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        # alias
        ("Which company is known as Old Copper?", ["E1"]),
        ("What other name does Brightwater Brewery go by?", ["E1"]),
        ("By what nickname is Brightwater Brewery known?", ["E1"]),
        # relation, with and without the word of the unit
        ("Who founded Brightwater Brewery?", ["E2"]),
        ("Who set up Brightwater Brewery?", ["E2"]),
        ("Where is Brightwater Brewery headquartered?", ["E4"]),
        ("In which town does Brightwater Brewery have its seat?", ["E4"]),
        ("Who is in charge of Brightwater Brewery?", ["E6"]),
        ("What does Brightwater Brewery own?", ["E7"]),
        # attribute
        ("How many people work for Brightwater Brewery?", ["E5"]),
        ("How large is the workforce of Brightwater Brewery?", ["E5"]),
        # time
        ("When was Brightwater Brewery established?", ["E3"]),
        ("In which year was Ada Kell born?", ["E9"]),
        ("When did Ada Kell pass away?", ["E10"]),
        ("When did Tom Arden stop leading Brightwater Brewery?", ["E6"]),
        # place of a person, against the date of the same verb
        ("Where was Ada Kell born?", ["E8"]),
        # description
        ("Who was Ada Kell?", ["E11"]),
        ("Who's Ada Kell?", ["E11"]),
        ("What can you tell me about Brightwater Brewery?", ["E1"]),
        ("Where’s Brightwater Brewery based?", ["E4"]),
        ("What kind of company is Brightwater Brewery?", ["E1"]),
        ("Give a short description of Ada Kell.", ["E11"]),
        # several hops, the question's units first
        ("Where was the founder of Brightwater Brewery born?", ["E2", "E8"]),
        ("In what year did the founder of Brightwater Brewery die?", ["E2", "E10"]),
        ("In which district is the town where Brightwater Brewery has its seat?", ["E4", "E12"]),
        # existence and confirmation
        ("Is there a company called Brightwater Brewery?", ["E1"]),
        ("Does Brightwater Brewery exist?", ["E1"]),
        ("Was Brightwater Brewery founded by Ada Kell?", ["E2"]),
        # a question in lower case
        ("who founded brightwater brewery", ["E2"]),
        # an alias instead of the name
        ("Who founded Old Copper?", ["E2"]),
    ],
)
def test_company_questions_cite_the_units_that_say_it(question: str, ids: Sequence[str]) -> None:
    parsed = answer(question, COMPANY)
    assert sorted(parsed.evidence_ids) == sorted(ids), parsed


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("How long is the River Ost?", ["E2"]),
        ("Into what does the River Ost empty?", ["E3"]),
        ("Where is the source of the River Ost?", ["E4"]),
        ("How high is the mountain on which the River Ost rises?", ["E4", "E5"]),
        (
            "How long is the river that rises on the mountain climbed by Ivo Brandt?",
            ["E2", "E4", "E6"],
        ),
        ("Which mountain is 2,410 m high?", ["E5"]),
        ("Which town has a population of 41,200?", ["E9"]),
        ("Which towns lie on the River Ost?", ["E7"]),
        ("What is the capital of Ostmark?", ["E10"]),
        ("What is Carnport the capital of?", ["E10"]),
        ("When was Mount Tell first climbed?", ["E6"]),
    ],
)
def test_land_questions_cite_the_units_that_say_it(question: str, ids: Sequence[str]) -> None:
    assert sorted(answer(question, LAND).evidence_ids) == sorted(ids)


@pytest.mark.parametrize(
    ("question", "ids"),
    [
        ("When did Norland recognise the Order of the Lamp?", ["E1"]),
        ("Until when was the Order of the Lamp recognised by Sudia?", ["E1"]),
        ("In which year did the Order of the Lamp break away from the Guild of Candles?", ["E3"]),
        ("When was the group that the Order of the Lamp split from founded?", ["E3", "E5"]),
        ("When did the Order of the Lamp disband?", ["E4"]),
        ("At which school did the mother of Karl Voss study?", ["E6", "E7"]),
    ],
)
def test_group_questions_cite_the_units_that_say_it(question: str, ids: Sequence[str]) -> None:
    assert sorted(answer(question, GROUPS).evidence_ids) == sorted(ids)


@pytest.mark.parametrize(
    ("question", "evidence"),
    [
        # the subject is there, the relation is not
        ("What is the turnover of Brightwater Brewery?", COMPANY),
        ("Who owns Brightwater Brewery?", COMPANY),
        ("When was Brightwater Brewery closed?", COMPANY),
        ("How many children did Ada Kell have?", COMPANY),
        ("Who was Ada Kell's husband?", COMPANY),
        ("What nickname did Ada Kell have?", COMPANY),
        ("How deep is the River Ost?", LAND),
        ("Who is the mayor of Carnport?", LAND),
        ("What is the population of Feldmere?", LAND),
        # the relation is there, the subject is not
        ("Who founded Darkwater Brewery?", COMPANY),
        ("Is there a company called Brightwater Bakery?", COMPANY),
        ("Who was Edda Kell?", COMPANY),
        ("How long is the River Osk?", LAND),
        # roles the other way round, another object
        ("Who is the son of Karl Voss?", GROUPS),
        ("Was Brightwater Brewery founded by Tom Arden?", COMPANY),
        ("Is Mount Tell a river?", LAND),
        # the date belongs to another item of the list, or is of the other end
        ("When did Westfold recognise the Order of the Lamp?", GROUPS),
        ("When did Ivo Brandt die?", LAND),
        # one hop is missing
        ("Where was the founder of Kell Malthouse born?", COMPANY),
        ("How high is the mountain on which the River Carn rises?", LAND),
    ],
)
def test_near_misses_are_abstained(question: str, evidence: EvidenceSet) -> None:
    parsed = answer(question, evidence)
    assert (parsed.answer, parsed.evidence_ids) == (ABSTENTION, ()), parsed


@pytest.mark.parametrize(
    ("question", "opening"),
    [
        ("Is there a company called Brightwater Brewery?", "Yes. "),
        ("Was Brightwater Brewery founded by Ada Kell?", "Yes. "),
        # what it is called is there, but not that it is a river: no yes
        ("Is there a river called Brightwater Brewery?", "Brightwater Brewery is a company."),
    ],
)
def test_yes_is_said_only_where_all_is_confirmed(question: str, opening: str) -> None:
    assert answer(question, COMPANY).answer.startswith(opening)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What replaced Model 4?", "Model 4 replaced Model 2."),
        ("Who acquired Acme?", "Acme acquired Bolt in 2001."),
        ("When was Star II launched?", "Star I was launched in 1961."),
        ("When was Star launched?", "Star II was launched in 1961."),
        ("What is the capital of Austria?", "The capital of Australia is Canberra."),
        ("Who came to Acme?", "Acme is a company. Maker of lamps."),
        ("Who founded Acme?", "Acme was not founded by Ann Bo."),
        ("Who is the mayor of Tarn?", "Ann Bo was mayor of Carn and lives in Tarn."),
    ],
)
def test_a_sentence_that_looks_right_and_says_something_else_is_left(
    question: str, text: str
) -> None:
    assert answer(question, number([text])).answer == ABSTENTION


def test_a_question_for_several_lists_every_unit_that_says_it() -> None:
    units = ["Ann Bo works at Acme.", "Cid Day works at Acme.", "Eve Fox works at Bolt."]
    parsed = answer("Which people work at Acme?", number(units))
    assert parsed.evidence_ids == ("E1", "E2")
    assert parsed.answer == "Ann Bo works at Acme. Cid Day works at Acme."


def test_the_reply_is_the_contract_object_and_the_same_every_time() -> None:
    replies = {generate("Who founded Brightwater Brewery?", COMPANY).reply for _ in range(3)}
    assert len(replies) == 1
    assert list(json.loads(replies.pop())) == ["answer", "evidence_ids", "reasoning"]


def test_the_reasoning_says_what_met_and_that_no_model_was_used() -> None:
    found = answer("Who set up Brightwater Brewery?", COMPANY).reasoning or ""
    missing = answer("What is the turnover of Brightwater Brewery?", COMPANY).reasoning or ""
    assert "without a language model" in found
    assert "E2" in found
    assert "`set up`" in found
    assert "`turnover`" in missing


def test_it_is_a_generator_and_names_itself_honestly() -> None:
    generator = ExtractiveGenerator()
    assert isinstance(generator, Generator)
    assert (generator.name, generator.model) == ("extractive", "extractive")


def test_the_mode_makes_no_difference() -> None:
    generator = ExtractiveGenerator()
    question = "Who founded Brightwater Brewery?"
    replies = {asyncio.run(generator.generate(question, COMPANY, mode=mode)).reply for mode in Mode}
    assert len(replies) == 1
