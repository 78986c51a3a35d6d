"""The options of `aletheia gate`: rules, what they are held against, and where to write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer


def _share(text: str) -> typer.models.OptionInfo:
    found: typer.models.OptionInfo = typer.Option(min=0, max=1, metavar="X", help=text)
    return found


_METRIC: Final = "Least mean of this metric."

MinPassRate = Annotated[float | None, _share("Least share of replies that pass.")]
MinAccuracy = Annotated[float | None, _share("Least share of right answers and right abstentions.")]
MinHealthyRate = Annotated[
    float | None, _share("Least share of diagnosed replies that are healthy.")
]
MinCoverage = Annotated[
    float | None,
    _share("Least share measured, of every measure. Without it 0.9, of those in the rules."),
]
MaxUnmeasured = Annotated[float | None, _share("Most questions without a reply, verdict or score.")]
MaxUngrounded = Annotated[
    float | None, _share("Most diagnosed replies with a claim that nothing supports.")
]
MinContextPrecision = Annotated[float | None, _share(_METRIC)]
MinContextRecall = Annotated[float | None, _share(_METRIC)]
MinFaithfulness = Annotated[float | None, _share(_METRIC)]
MinAnswerSimilarity = Annotated[float | None, _share(_METRIC)]
MaxContamination = Annotated[float | None, _share("Most answers shown to come from memory.")]
MaxRejections = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="Most replies that fail verification.")
]
ProbesFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE", help="Result of `aletheia probe` for the same run: contamination."
    ),
]
UseInterval = Annotated[
    bool, typer.Option("--use-interval", help="Hold the worse bound of the 95 % interval to it.")
]
ConfidentOnly = Annotated[
    bool, typer.Option("--confident-only", help="Count a tentative cell as none.")
]
Baseline = Annotated[
    Path | None,
    typer.Option(metavar="OLD", help="An earlier file that nothing may be worse than."),
]
Alpha = Annotated[
    float, typer.Option(min=0.001, max=0.5, metavar="A", help="Level of all tests against it.")
]
JUnitFile = Annotated[Path | None, typer.Option(metavar="FILE", help="Also write JUnit XML.")]
MarkdownFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write a Markdown summary.")
]
GitHub = Annotated[
    bool, typer.Option("--github", help="Also print annotations for GitHub Actions.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the decision as JSON.")]
