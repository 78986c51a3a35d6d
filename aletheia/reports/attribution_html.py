"""One HTML page for a probe run: self-contained, without scripts, safe to open from disk.

Every value goes through `visible` and through escaping, whatever the template does with it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from aletheia.reports import attribution_page, attribution_sides, numbers
from aletheia.reports.html import content_policy
from aletheia.reports.visible import one_line, visible
from aletheia.schema.attribution import ProbeReport

if TYPE_CHECKING:
    from jinja2 import Environment, Template


def render_probe_page(report: ProbeReport) -> str:
    """Write the whole page; UTF-8 can encode it."""
    template, style = _parts()
    return template.render(
        report=report,
        run=report.provenance,
        summary=report.summary,
        style=style,
        policy=content_policy(style),
        page=attribution_page,
        sides=attribution_sides,
        num=numbers,
    )


@cache
def _parts() -> tuple[Template, str]:
    """Read the template and the style sheets once."""
    environment = _environment()
    assert environment.loader is not None  # noqa: S101  narrows the type
    names = ("style.css", "attribution_style.css.j2")
    sheets = [environment.loader.get_source(environment, name)[0] for name in names]
    return environment.get_template("attribution.html.j2"), "\n".join(sheets)


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
    return environment


def _finalize(value: object) -> object:
    """Make what acts on a screen visible, in every expression; markup of ours passes through."""
    from markupsafe import Markup

    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value
