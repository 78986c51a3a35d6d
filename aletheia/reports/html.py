"""One HTML page for a run: self-contained, without scripts, safe to open from disk.

Every value goes through `visible` and through escaping, whatever the template does with it. The
content policy allows nothing but the page's own style sheet, which it names by its hash.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from aletheia.reports import cells, numbers, page, spending, words
from aletheia.reports.interpret import headline
from aletheia.reports.questions import group_views
from aletheia.reports.visible import one_line, visible
from aletheia.schema.report import BenchmarkReport

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render_html(report: BenchmarkReport) -> str:
    """Write the whole page. `iter_html` does the same and holds one question at a time."""
    return "".join(iter_html(report))


def iter_html(report: BenchmarkReport) -> Iterator[str]:
    """Write the page in pieces, in order; UTF-8 can encode each of them."""
    template, style = _parts()
    groups = group_views(report)
    yield from template.generate(
        report=report,
        run=report.provenance,
        rows=report.detailed_results,
        style=style,
        policy=content_policy(style),
        head=headline(
            report.detailed_results,
            report.grounding_report,
            report.abstention_report,
            report.provenance.mode,
        ),
        groups=groups,
        cells=cells,
        page=page,
        num=numbers,
        spending=spending,
        words=words,
    )


def content_policy(style: str) -> str:
    """Forbid everything but the style sheet with this text."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _parts() -> tuple[Template, str]:
    """Read the template and the style sheet once."""
    environment = _environment()
    assert environment.loader is not None  # noqa: S101  narrows the type
    style, _, _ = environment.loader.get_source(environment, "style.css")
    return environment.get_template("page.html.j2"), style


def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("aletheia.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_finalize,
    )
    environment.filters["one_line"] = one_line
    environment.filters["sentence"] = words.sentence
    return environment


def _finalize(value: object) -> object:
    """Make what acts on a screen visible, in every expression; markup of ours passes through."""
    from markupsafe import Markup

    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
