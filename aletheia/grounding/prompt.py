"""Show the evidence to a model, and ask for a cited answer.

Evidence, names of sources and the question are data of unknown origin: see `data_region`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from aletheia.grounding.data_region import data_region, neutralise
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.model import Prompt
from aletheia.schema.verification import Mode

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")

_SCHEMA: Final[Mapping[str, Any]] = {
    "type": "object",
    "properties": {
        "answer": {"type": "string"},
        # A pattern and not the list of ids: the schema stays the same for a whole run, and an
        # id that does not exist is still seen as what the model did.
        "evidence_ids": {
            "type": "array",
            "items": {"type": "string", "pattern": "^E[1-9][0-9]*$"},
        },
        "reasoning": {"type": "string"},
    },
    "required": ["answer", "evidence_ids", "reasoning"],
    "additionalProperties": False,
}


def evidence_block(evidence: EvidenceSet) -> str:
    """Write `EVIDENCE:` and one unit per line, `[E1] source: text`, neutralised."""
    lines = [_line(unit) for unit in evidence] or ["(no evidence)"]
    return "\n".join(("EVIDENCE:", *lines))


def answer_prompt(question: str, evidence: EvidenceSet, *, mode: Mode, delimiter: str) -> Prompt:
    """Ask for an answer to `question` from `evidence`.

    `delimiter` is a random token of this call (6 to 64 letters, digits, `_`, `-`) that encloses
    the data. The mode changes one sentence that says what becomes of an unsupported answer.
    Raises UsageError for a delimiter that does not fit.
    """
    parts = _template()
    data = data_region(delimiter, evidence_block(evidence), f"QUESTION: {neutralise(question)}")
    values = {"delimiter": delimiter, "mode_rule": parts[mode.value], "data": data}
    return Prompt(
        system=_fill(parts["system"], values).rstrip(),
        user=_fill(parts["user"], values),
        schema=answer_schema(),
        schema_name="cited_answer",
        delimiter=delimiter,
    )


def answer_schema() -> dict[str, Any]:
    """Return a fresh JSON schema of the reply, fit for strict structured output."""
    properties = {name: dict(value) for name, value in _SCHEMA["properties"].items()}
    properties["evidence_ids"]["items"] = dict(properties["evidence_ids"]["items"])
    return {**_SCHEMA, "properties": properties, "required": list(_SCHEMA["required"])}


def prompt_digest() -> str:
    """Return `sha256:<hex>` of the prompt file: it changes with every word of the prompt."""
    return f"sha256:{hashlib.sha256(_source().encode('utf-8')).hexdigest()}"


def prompt_version() -> str:
    """Return the version the prompt file states."""
    return _template()["version"]


def _line(unit: EvidenceUnit) -> str:
    source = f"{neutralise(unit.source)}: " if unit.source else ""
    return f"[{unit.id}] {source}{neutralise(unit.text)}"


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Replace each placeholder once; what stands in a value is never looked at again."""
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


def _source() -> str:
    folder = resources.files("aletheia.grounding") / "prompts"
    return (folder / "answer.md").read_text(encoding="utf-8")


@cache
def _template() -> dict[str, str]:
    """Parts of the prompt file: `version`, and the text under each heading."""
    head, *sections = re.split(r"^# (\w+)\n", _source(), flags=re.MULTILINE)
    parts = {"version": head.partition("version:")[2].strip()}
    for name, body in zip(sections[::2], sections[1::2], strict=True):
        parts[name] = body.strip()
    return parts
