"""Six cells at two levels, reached end to end by the judges that need no model.

Every example is one a person can check by eye. The docs show the first twelve.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from aletheia.diagnosis.suggest import suggest
from aletheia.schema.diagnosis import EvaluationResult
from aletheia.sdk.evaluate import evaluate

pytestmark = pytest.mark.e2e


@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """A trace, and where it stands."""

    cell: str
    level: str
    query: str
    context: tuple[str, ...]
    response: str
    abstention: str | None = None


BRIDGE = (
    "The Corvane Bridge was opened in 1962 by mayor Lena Ostrow.",
    "The Corvane Bridge is 310 metres long and is closed to lorries at night.",
)
MILL = ("The old mill of Brekk burned down in 1911. It belonged to the Teig family.",)
PE = (
    "The P/E ratio (price-to-earnings ratio) is the share price divided by the earnings per share.",
)
DRUG = (
    "Tellin is a drug against asthma. Adults take 20 mg of Tellin once a day.",
    "The most common side effects of Tellin are headache and a dry mouth.",
)
TRAIN = (
    "The train from Lund to Ystad takes 75 minutes and stops at 9 stations.",
    "Tickets for the train from Lund to Ystad cost 12 euros.",
)

GALLERY = (
    Example(
        cell="complete_grounded", level="high", context=BRIDGE,
        query="When was the Corvane Bridge opened, and how long is it?",
        response="The Corvane Bridge was opened in 1962. It is 310 metres long.",
    ),
    Example(
        cell="complete_grounded", level="low", context=MILL,
        query="Which family from abroad ran the mill as a business?",
        response="The old mill of Brekk belonged to the Teig family.",
    ),
    Example(
        cell="complete_ungrounded", level="high", context=DRUG,
        query="How much Tellin do adults take a day, and what are its side effects?",
        response="Adults take 50 mg of Tellin once a day. The most common side effects of Tellin are headache and a dry mouth.",
    ),
    Example(
        cell="complete_ungrounded", level="low", context=MILL,
        query="Which family from abroad ran the mill as a business?",
        response="The old mill of Brekk belonged to the Teig family. It burned down in 1921.",
    ),
    Example(
        cell="incomplete_grounded", level="high", context=BRIDGE,
        query="When was the Corvane Bridge opened, and how long is it?",
        response="The Corvane Bridge was opened in 1962 by mayor Lena Ostrow.",
    ),
    Example(
        cell="incomplete_grounded", level="low", context=DRUG,
        query="What is Tellin, and who discovered it in which laboratory?",
        response="Tellin is a drug against asthma.",
    ),
    Example(
        cell="incomplete_ungrounded", level="high", context=TRAIN,
        query="How long does the train from Lund to Ystad take, and how much do tickets cost?",
        response="The train from Lund to Ystad takes 95 minutes.",
    ),
    Example(
        cell="incomplete_ungrounded", level="low", context=PE,
        query="What is the P/E ratio, and what was Apple's P/E in 2023?",
        response="The P/E ratio is the share price divided by the earnings per share. Apple's P/E in 2023 was 42.7.",
    ),
    Example(
        cell="extra_grounded", level="high",
        context=(*BRIDGE, "Penguins feed on krill near the coast of Antarctica."),
        query="When was the Corvane Bridge opened?",
        response="The Corvane Bridge was opened in 1962. Penguins feed on krill.",
    ),
    Example(
        cell="extra_grounded", level="low",
        context=(*MILL, "Volcanoes erupt when magma rises."),
        query="Which family from abroad ran the mill as a business?",
        response="The old mill of Brekk belonged to the Teig family. Volcanoes erupt when magma rises.",
    ),
    Example(
        cell="extra_ungrounded", level="high", context=DRUG,
        query="What are the side effects of Tellin?",
        response="The most common side effects of Tellin are headache and a dry mouth. Jupiter has 95 moons.",
    ),
    Example(
        cell="extra_ungrounded", level="low", context=MILL,
        query="Which family from abroad ran the mill as a business?",
        response="The old mill of Brekk belonged to the Teig family. Tomatoes are rich in vitamin C.",
    ),
)  # fmt: skip

MORE = (
    # Honest: nothing was retrieved that answers. Over-refusal: the answer was there.
    Example(
        cell="incomplete_grounded", level="low", context=BRIDGE, abstention="honest",
        query="Which insects pollinate vanilla orchids?",
        response="I don't know.",
    ),
    Example(
        cell="incomplete_grounded", level="high", context=BRIDGE, abstention="over_refusal",
        query="When was the Corvane Bridge opened?",
        response="INSUFFICIENT_CONTEXT",
    ),
    # A list is an answer; each item is a claim.
    Example(
        cell="complete_grounded", level="high",
        context=("Pike, perch and eels live in Lake Orsa.",),
        query="Which fish live in Lake Orsa?",
        response="These fish live in Lake Orsa:\n- pike\n- perch\n- eels",
    ),
    Example(
        cell="complete_ungrounded", level="high",
        context=("Pike, perch and eels live in Lake Orsa.",),
        query="Which fish live in Lake Orsa?",
        response="These fish live in Lake Orsa:\n- pike\n- salmon\n- eels",
    ),
    # An example and a caveat are no extras.
    Example(
        cell="complete_grounded", level="high",
        context=("Inflation is a rise in the general price level. For example, bread may cost more each year. However, some prices fall.",),
        query="What is inflation?",
        response="Inflation is a rise in the general price level. For example, bread may cost more each year. However, some prices fall.",
    ),
    # Other languages.
    Example(
        cell="complete_grounded", level="high",
        context=("Die Corvane-Brücke wurde 1962 von Bürgermeisterin Lena Ostrow eröffnet.",),
        query="Wann wurde die Corvane-Brücke eröffnet?",
        response="Die Corvane-Brücke wurde 1962 eröffnet.",
    ),
    Example(
        cell="complete_ungrounded", level="high",
        context=("Die Corvane-Brücke wurde 1962 von Bürgermeisterin Lena Ostrow eröffnet.",),
        query="Wann wurde die Corvane-Brücke eröffnet?",
        response="Die Corvane-Brücke wurde 1926 eröffnet.",
    ),
    Example(
        cell="complete_grounded", level="high",
        context=("La clínica Belmont fue fundada por Anika Rawal en 1988.",),
        query="¿Quién fundó la clínica Belmont?",
        response="La clínica Belmont fue fundada por Anika Rawal.",
    ),
    Example(
        cell="incomplete_grounded", level="low",
        context=("La clínica Belmont está en Leeds.",), abstention="honest",
        query="¿Cuántos habitantes tiene Noruega?",
        response="No lo sé.",
    ),
    Example(
        cell="complete_grounded", level="high",
        context=("科尔万大桥于1962年开通，全长310米。",),
        query="科尔万大桥于哪年开通？",
        response="科尔万大桥于1962年开通。",
    ),
    Example(
        cell="complete_ungrounded", level="high",
        context=("科尔万大桥于1962年开通，全长310米。",),
        query="科尔万大桥于哪年开通？",
        response="科尔万大桥于1926年开通。",
    ),
)  # fmt: skip


def diagnosed(of: Example) -> EvaluationResult:
    return evaluate(of.query, list(of.context), of.response, persist=False, judge="embedded")


@pytest.mark.parametrize("of", [*GALLERY, *MORE], ids=lambda of: f"{of.cell}-{of.level}-{of.query}")
def test_an_example_reaches_its_cell_and_level(of: Example) -> None:
    result = diagnosed(of)
    found = result.diagnosis
    assert (found.failure_cell, found.sufficiency_level) == (of.cell, of.level)
    assert found.abstention == of.abstention
    assert result.suggestion == suggest(found)
    assert result.suggestion is not None
    assert result.suggestion.slug == f"{of.cell}_{of.level}"


def test_the_gallery_has_every_cell_at_both_levels() -> None:
    assert len({(of.cell, of.level) for of in GALLERY}) == len(GALLERY) == 12


PAGE = Path(__file__).parents[2] / "docs/concepts/gallery.md"


def test_the_page_shows_the_same_examples() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for of in GALLERY:
        assert of.query in page
        assert of.response in page


def test_an_invented_figure_beside_a_true_definition_is_the_worst_case() -> None:
    result = evaluate(
        "What is the P/E ratio and what was Apple's P/E in 2023?",
        ["The price-to-earnings (P/E) ratio compares a company's share price with its earnings per share."],
        "The P/E ratio compares a company's share price with its earnings per share. Apple's P/E in 2023 was 42.7.",
        persist=False,
        judge="embedded",
    )  # fmt: skip
    assert result.failure_cell == "incomplete_ungrounded"
    assert result.suggestion is not None
    assert result.suggestion.title == "Worst-case failure"
