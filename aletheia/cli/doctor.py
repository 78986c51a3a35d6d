"""`aletheia doctor`: does everything work here, and what will be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from aletheia.cli import output

if TYPE_CHECKING:
    from aletheia.pipeline.doctor import Finding


def doctor(
    json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> None:
    """Check the installation and the endpoint, and say what a run will use.

    Exit codes: 0 nothing failed; 1 something did.
    """
    import anyio

    from aletheia.config import settings
    from aletheia.pipeline.doctor import examine, healthy

    findings = anyio.run(examine, settings.current())
    if json:
        output.data(_as_json(findings, healthy(findings)))
    else:
        rows = [(f"{item.state:<4}  {item.name}", item.detail) for item in findings]
        for line, item in zip(output.pairs(rows), findings, strict=True):
            output.text(line[4:], mark=line[:4], role=item.state)
    if not healthy(findings):
        raise typer.Exit(1)


def _as_json(findings: Sequence[Finding], ok: bool) -> str:
    from dataclasses import asdict
    from json import dumps

    body = {"ok": ok, "findings": [asdict(finding) for finding in findings]}
    return dumps(body, ensure_ascii=False, indent=2) + "\n"
