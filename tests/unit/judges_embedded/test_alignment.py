"""Cutting and aligning without a model: own cases over many topics, each with what is right.

A case is a query, a response, for each sub-question its text and words of a claim that answers it
(None where nothing does), and words of each claim that is about another topic. Examples, caveats,
formulas and the history of what was asked are no extras.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import pytest

from aletheia.grounding.numbering import number
from aletheia.judges.base import Judged, TraceCase
from aletheia.judges.embedded import EmbeddedCompletenessJudge, EmbeddedDecomposer
from aletheia.schema.judgement import CompletenessJudgment
from aletheia.schema.trace import Claim, SubQuestion


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One query and response, with the right answer."""

    query: str
    response: str
    asked: tuple[tuple[str, str | None], ...]
    extras: tuple[str, ...] = ()


def case(
    query: str, response: str, *asked: tuple[str, str | None], extras: tuple[str, ...] = ()
) -> Case:
    return Case(query=query, response=response, asked=asked, extras=extras)


CASES = (
    # One question, and what stands beside its answer.
    case("What is photosynthesis?",
         "Photosynthesis is how plants turn light into sugar. For example, maize does so very fast. However, it slows down in the cold.",
         ("What is photosynthesis?", "turn light into sugar")),
    case("What is the P/E ratio?",
         "The P/E ratio is the share price divided by earnings per share. P/E = price / EPS. The measure became popular in the 1930s.",
         ("What is the P/E ratio?", "divided by earnings")),
    case("When was the Corvane Bridge opened?",
         "It was opened in 1962. Penguins eat krill.",
         ("When was the Corvane Bridge opened?", "1962"), extras=("Penguins",)),
    case("What is the capital of Norway?",
         "The capital of Norway is Oslo. Stockholm is the capital of Sweden.",
         ("What is the capital of Norway?", "Oslo"), extras=("Stockholm",)),
    case("How many moons does Mars have?",
         "Mars has two moons. They are called Phobos and Deimos. The recipe for bread needs flour and yeast.",
         ("How many moons does Mars have?", "two moons"), extras=("recipe",)),
    case("How do I reset my router?",
         "Hold the reset button for ten seconds. Wait until the light turns green. Note that your settings will be lost.",
         ("How do I reset my router?", "Hold the reset button")),
    case("Why is the sky blue?",
         "Air scatters short wavelengths of sunlight more than long ones. At sunset the path is longer, so reds remain.",
         ("Why is the sky blue?", "scatters")),
    case("Is aspirin safe during pregnancy?",
         "Aspirin is not recommended in the last three months of pregnancy. Ask your doctor before you take it.",
         ("Is aspirin safe during pregnancy?", "not recommended")),
    case("Who painted the Night Watch?",
         "Rembrandt painted it in 1642. Tomatoes are rich in vitamin C.",
         ("Who painted the Night Watch?", "Rembrandt"), extras=("Tomatoes",)),
    case("Where is the Belmont Clinic?",
         "The Belmont Clinic is in Leeds. It has 46 nurses.",
         ("Where is the Belmont Clinic?", "Leeds")),
    case("What does a heat pump cost?",
         "A heat pump costs between 8,000 and 15,000 euros. Prices depend on the size of the house. Volcanoes erupt when magma rises.",
         ("What does a heat pump cost?", "8,000"), extras=("Volcanoes",)),
    case("Which languages are spoken in Belgium?",
         "- Dutch\n- French\n- German",
         ("Which languages are spoken in Belgium?", "Dutch")),
    case("When did the strike end?",
         "The union and the company agreed on new wages.",
         ("When did the strike end?", None)),
    case("Who chairs the board of Tellmark?",
         "The board meets four times a year.",
         ("Who chairs the board of Tellmark?", None)),
    case("How long is the warranty?",
         "Two years. Batteries are covered for six months only.",
         ("How long is the warranty?", "Two years")),
    # Two questions.
    case("What is inflation and what is deflation?",
         "Inflation is a rise in the general price level. Deflation is a fall in it.",
         ("What is inflation", "rise in the general"), ("what is deflation?", "fall in it")),
    case("Who founded Calder Optics and when?",
         "Calder Optics was founded by Mira Calder. It started in 1987.",
         ("Who founded Calder Optics", "Mira"), ("when was Calder Optics founded?", "1987")),
    case("Who wrote the report and when?",
         "Captain Solberg wrote it.",
         ("Who wrote the report", "Solberg"), ("when was the report written?", None)),
    case("Where was Ada Brandt born, and when did she die?",
         "Ada Brandt was born in Lucca. She died in 1934.",
         ("Where was Ada Brandt born", "Lucca"), ("when did Ada Brandt die?", "1934")),
    case("How tall is Mount Orsa and who climbed it first?",
         "Mount Orsa is 3,412 metres high. The first ascent was made by Jon Sever.",
         ("How tall is Mount Orsa", "3,412"), ("who climbed Mount Orsa first?", "Sever")),
    case("What is the deadline? How do I apply?",
         "The deadline is 3 May. Send the form by post to the office.",
         ("What is the deadline?", "3 May"), ("How do I apply?", "Send the form")),
    case("When was the opera first performed and who composed it?",
         "It was first performed on 12 October 1905. Edda Krull is its composer.",
         ("When was the opera first performed", "1905"), ("who composed the opera?", "Krull")),
    case("Who runs the museum and how much is a ticket?",
         "The director of the museum is Ida Moor. Adults pay 9 euros. Children get in free.",
         ("Who runs the museum", "Ida Moor"), ("how much is a ticket?", "9 euros")),
    case("Where does the Tarn rise and how long is it?",
         "The Tarn has its source in the hills above Brekk. Its length is 310 km.",
         ("Where does the Tarn rise", "source"), ("how long is the Tarn?", "310")),
    case("What causes rust and how can I prevent it?",
         "Rust forms when iron meets water and oxygen. Paint or oil keeps the metal dry.",
         ("What causes rust", "iron meets"), ("how can I prevent rust?", "Paint")),
    case("What is the population of Brekk, and who is its mayor?",
         "About 52,000 people live in Brekk. Lena Ostrow has been mayor since 2015.",
         ("What is the population of Brekk", "52,000"), ("who is Brekk's mayor?", "Ostrow")),
    case("Who acquired Norling Air and why?",
         "Hadley Jets acquired Norling Air in 2019.",
         ("Who acquired Norling Air", "Hadley"), ("why was Norling Air acquired?", None)),
    case("What does the Arden engine run on and how much does it weigh?",
         "It runs on hydrogen and weighs 140 kilograms.",
         ("What does the Arden engine run on", "hydrogen"), ("how much does the Arden engine weigh?", "140")),
    case("Which team won the 1998 final and where was it played?",
         "Ystad won the 1998 final. The match took place in Lund. Jupiter is the largest planet.",
         ("Which team won the 1998 final", "Ystad"), ("where was it played (Which team won the 1998 final)?", "Lund"),
         extras=("Jupiter",)),
    case("How does the vaccine work, and what are its side effects?",
         "The vaccine teaches the immune system to spot the virus. Fever and fatigue are common after the shot.",
         ("How does the vaccine work", "teaches"), ("what are the vaccine's side effects?", "Fever")),
    # Three questions.
    case("Who founded Calder Optics and when, and who leads the company today?",
         "Mira Calder founded Calder Optics in 1987. The current chief executive is Owen Strand.",
         ("Who founded Calder Optics", "Mira"), ("when was Calder Optics founded?", "1987"),
         ("who leads the company today (Calder Optics)?", "Strand")),
    case("When was Norling Air founded, where is it based and how many planes does it have?",
         "Norling Air was set up in 1971. Its head office is in Vaasa. The fleet counts 26 aircraft.",
         ("When was Norling Air founded", "1971"), ("where is Norling Air based?", "Vaasa"),
         ("how many planes does Norling Air have?", "26")),
    case("What is malaria? How is it spread? Can it be cured?",
         "Malaria is a disease caused by parasites. Mosquitoes carry it from person to person. Most patients recover fully with the right drugs.",
         ("What is malaria?", "parasites"), ("How is malaria spread?", "Mosquitoes"), ("Can malaria be cured?", "recover")),
    case("Who directed the film, when did it come out and how long is it?",
         "The film was directed by Nadia Brook. It runs for 98 minutes.",
         ("Who directed the film", "Brook"), ("when did the film come out?", None), ("how long is the film?", "98 minutes")),
    # Sentences with two facts.
    case("When was the mill built?",
         "The mill was built in 1911, and penguins eat krill.",
         ("When was the mill built?", "1911"), extras=("penguins",)),
    case("Who led the expedition and who wrote the report?",
         "Captain Rhea Solberg led the expedition, and Tomas Quint wrote the report.",
         ("Who led the expedition", "Solberg"), ("who wrote the report?", "Quint")),
    # Other languages.
    case("Wer gründete Calder Optik und wann?",
         "Mira Calder gründete Calder Optik im Jahr 1987. Pinguine fressen Krill.",
         ("Wer gründete Calder Optik", "Mira"), ("wann (Wer gründete Calder Optik)?", "1987"), extras=("Pinguine",)),
    case("Was ist Inflation und wie wird sie gemessen?",
         "Inflation ist ein Anstieg des Preisniveaus. Gemessen wird sie mit einem Warenkorb.",
         ("Was ist Inflation", "Anstieg"), ("wie wird sie gemessen (Was ist Inflation)?", "Warenkorb")),
    case("¿Quién fundó la clínica Belmont y cuándo?",
         "La clínica Belmont fue fundada por Anika Rawal en 1988.",
         ("¿Quién fundó la clínica Belmont", "Rawal"), ("cuándo (¿Quién fundó la clínica Belmont)?", "1988")),
    case("¿Cuál es la capital de Noruega?",
         "La capital de Noruega es Oslo. Los pingüinos comen kril.",
         ("¿Cuál es la capital de Noruega?", "Oslo"), extras=("pingüinos",)),
    case("科尔万大桥是什么时候开通的？谁主持了开通仪式？",
         "科尔万大桥于1962年开通。开通仪式由市长莱娜主持。",
         ("科尔万大桥是什么时候开通的？", "1962"), ("谁主持了开通仪式？", "莱娜")),
    case("什么是通货膨胀？",
         "通货膨胀是指物价水平持续上涨。企鹅吃磷虾。",
         ("什么是通货膨胀？", "物价"), extras=("企鹅",)),
    # Written after the rules stood, and judged once before anything was changed for them.
    case("When did the Halden dam break, and how many people died?",
         "The Halden dam broke on 4 June 1959. 112 people lost their lives.",
         ("When did the Halden dam break", "1959"), ("how many people died?", "112")),
    case("Who invented the zip fastener?",
         "The zip fastener was invented by Gideon Sundback. Early versions came apart easily. Giraffes sleep very little.",
         ("Who invented the zip fastener?", "Sundback"), extras=("Giraffes",)),
    case("What are the symptoms of flu and how long do they last?",
         "Flu brings fever, cough and aching muscles. Most people feel better after a week.",
         ("What are the symptoms of flu", "fever"), ("how long do the symptoms of flu last?", "week")),
    case("What does the warranty cover?",
         "The warranty covers the motor and the frame. Scratches are excluded. Our office in Ghent opened in May.",
         ("What does the warranty cover?", "motor"), extras=("Ghent",)),
    case("How do I cancel my subscription, and will I get a refund?",
         "Open Settings and choose Cancel. Refunds are paid within 14 days.",
         ("How do I cancel my subscription", "Settings"), ("will I get a refund?", "Refunds")),
    case("Which planet is the largest and which is the smallest?",
         "Jupiter is the largest planet. Mercury is the smallest one.",
         ("Which planet is the largest", "Jupiter"), ("which is the smallest?", "Mercury")),
    case("Why did the factory in Brno close, and what happened to its workers?",
         "The Brno factory closed because orders had fallen. About 300 workers lost their jobs.",
         ("Why did the factory in Brno close", "orders"), ("what happened to Brno's workers?", "300")),
    case("Where do puffins nest?",
         "Puffins nest in burrows on sea cliffs. They return each spring. Wheat prices rose last year.",
         ("Where do puffins nest?", "burrows"), extras=("Wheat",)),
    case("Who owns the mill, since when, and what is the rent?",
         "The mill belongs to the Teig family.",
         ("Who owns the mill", "Teig"), ("since when (Who owns the mill)?", None), ("what is the rent?", None)),
    case("Who owned the old mill of Brekk, and which architect from Vienna drew up the plans?",
         "The old mill of Brekk belonged to the Teig family. It burned down in 1911.",
         ("Who owned the old mill of Brekk", "Teig"), ("which architect from Vienna drew up the plans?", None)),
    case("How is cheese made?",
         "Milk is curdled with rennet. The curds are then pressed and aged.",
         ("How is cheese made?", "rennet")),
    case("Is the museum open on Mondays and can I take photos?",
         "The museum is closed on Mondays. Photography is allowed without flash.",
         ("Is the museum open on Mondays", "closed"), ("can I take photos?", "Photography")),
    case("What is the boiling point of ethanol?",
         "78 °C.",
         ("What is the boiling point of ethanol?", "78")),
    case("When was the treaty signed and by whom?",
         "The treaty was signed in 1648.",
         ("When was the treaty signed", "1648"), ("by whom was the treaty signed?", None)),
    case("Wann wurde die Brücke eröffnet und wie lang ist sie?",
         "Die Brücke wurde 1962 eröffnet. Sie ist 310 Meter lang. Tomaten sind reich an Vitaminen.",
         ("Wann wurde die Brücke eröffnet", "1962"), ("wie lang ist sie (Wann wurde die Brücke eröffnet)?", "310"), extras=("Tomaten",)),
    case("Quand le pont a-t-il été ouvert ?",
         "Le pont a été ouvert en 1962. Les manchots mangent du krill.",
         ("Quand le pont a-t-il été ouvert ?", "1962"), extras=("manchots",)),
    case("Explain inflation and give an example.",
         "Inflation is a general rise in prices. In 2022 bread cost a tenth more than a year before.",
         ("Explain inflation and give an example.", "general rise")),
)  # fmt: skip


def judged(of: Case) -> tuple[tuple[SubQuestion, ...], tuple[Claim, ...], CompletenessJudgment]:
    trace = TraceCase(query=of.query, evidence=number(["."]), response=of.response)
    cutter = EmbeddedDecomposer()
    questions = anyio.run(cutter.decompose_query, trace)
    pieces = anyio.run(cutter.decompose_response, trace)
    assert isinstance(questions, Judged)
    assert isinstance(pieces, Judged)
    claims = tuple(c for c in pieces.value.claims if c.kind != "conversational")
    judge = EmbeddedCompletenessJudge().judge_completeness
    found = anyio.run(judge, trace, questions.value, claims)
    assert isinstance(found, Judged)
    return questions.value, claims, found.value


def wrong(of: Case) -> list[str]:
    """What is not as it should be, in words; empty where all is right."""
    questions, claims, found = judged(of)
    texts = [item.text for item in questions]
    if texts != [text for text, _ in of.asked]:
        return [f"asked {texts}"]
    said = {claim.id: claim.text for claim in claims}
    faults = []
    for (text, key), item in zip(of.asked, found.alignments, strict=True):
        answers = [said[at] for at in item.claim_ids]
        if not answers if key is None else any(key in answer for answer in answers):
            continue
        faults.append(f"`{text}` is answered by {answers}")
    extras = [said[at] for at in found.extras]
    if len(extras) != len(of.extras) or not all(
        any(key in extra for extra in extras) for key in of.extras
    ):
        faults.append(f"extras {extras}")
    return faults


@pytest.mark.parametrize("of", CASES, ids=[item.query for item in CASES])
def test_questions_are_cut_and_answers_found(of: Case) -> None:
    assert wrong(of) == []
