"""The prompts of the judges: files with a version, replaceable, and known by their digest.

Text of others goes into the data region only, on one line and neutralised; the random token of the
call, which opens and closes the region, cannot occur in it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final, Literal, get_args

from aletheia.errors import ConfigError
from aletheia.grounding.data_region import data_region, neutralise
from aletheia.grounding.prompt import evidence_block
from aletheia.judges.schemas import SCHEMAS
from aletheia.schema.evidence import EvidenceSet
from aletheia.schema.model import Prompt

PromptName = Literal[
    "decompose_query",
    "decompose_response",
    "decompose",
    "sufficiency",
    "faithfulness",
    "completeness",
    "fused",
]
PROMPT_NAMES: Final[tuple[PromptName, ...]] = get_args(PromptName)

NAME_MARK: Final = "\ue0ca"
"""Stands in a section for the token of the call, where we want it there: in the canary."""

_PLACEHOLDER: Final = re.compile(r"\{\{(\w+)\}\}")
_HEADING: Final = re.compile(r"^# (\w+)\n", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptFile:
    """One prompt: its parts with their placeholders, its version and `sha256:<hex>` digest."""

    name: PromptName
    version: str
    system: str
    user: str
    digest: str

    @property
    def placeholders(self) -> frozenset[str]:
        """Names that stand in double braces."""
        return frozenset(_PLACEHOLDER.findall(self.system + self.user))

    def fill(self, values: Mapping[str, str]) -> tuple[str, str]:
        """Return system and user with each placeholder replaced once; values are not read again."""
        return _fill(self.system, values), _fill(self.user, values)


class PromptSet:
    """The prompts in use: those shipped, with `overrides` by name in their place.

    An override is a whole prompt file: `version: ...`, `# system`, `# user`, and the placeholders
    of the shipped one. Raises `ConfigError` for a name that no prompt has, or a file that lacks a
    part or a placeholder.
    """

    __slots__ = ("_files",)

    def __init__(self, overrides: Mapping[str, str] | None = None) -> None:
        given = overrides or {}
        for name in given:
            if name not in PROMPT_NAMES:
                raise ConfigError(
                    f"`{name}` is no prompt", hint=f"prompts are {', '.join(PROMPT_NAMES)}"
                )
        self._files = {
            name: _checked(name, given[name]) if name in given else _shipped(name)
            for name in PROMPT_NAMES
        }

    def __getitem__(self, name: PromptName) -> PromptFile:
        return self._files[name]

    def digests(self) -> dict[str, str]:
        """Return the digest of every prompt: it changes with every word."""
        return {name: file.digest for name, file in self._files.items()}

    def prompt(self, name: PromptName, delimiter: str, *sections: str, repeat: int = 0) -> Prompt:
        """Fill one prompt. A section is a heading of ours and text that went through `data`."""
        region = data_region(delimiter, *sections).replace(NAME_MARK, delimiter)
        system, user = self._files[name].fill({"delimiter": delimiter, "data": region})
        return Prompt(
            system=system.rstrip(),
            user=user,
            schema=SCHEMAS[name],
            schema_name=name,
            delimiter=delimiter,
            repeat=repeat,
            purpose="decompose" if name.startswith("decompose") else "judge",
        )


def prompt_digests() -> dict[str, str]:
    """Return the digests of the shipped prompts by name."""
    return PromptSet().digests()


def data(text: str) -> str:
    """Write text of others on one line, without anything that could end or forge its region."""
    return neutralise(text).replace(NAME_MARK, "\ufffd")


def evidence_data(evidence: EvidenceSet) -> str:
    """Write the units, one a line, as every prompt shows them."""
    return evidence_block(evidence).replace(NAME_MARK, "\ufffd")


def told(prompt: Prompt, problems: Sequence[str]) -> str:
    """Return the user part of `prompt` with a note on what was wrong with the reply before."""
    # The reply itself is not shown again: it is untrusted text, and may be what is wrong.
    reasons = ", ".join(dict.fromkeys(problems))
    return (
        f"{prompt.user}\n\nA reply before this one could not be used ({reasons}). Reply with the "
        "one JSON object asked for, one entry for every id."
    )


def _fill(template: str, values: Mapping[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match.group(1)], template)


@cache
def _shipped(name: PromptName) -> PromptFile:
    folder = resources.files("aletheia.judges") / "prompts"
    return _parsed(name, (folder / f"{name}.md").read_text(encoding="utf-8"))


def _checked(name: PromptName, source: str) -> PromptFile:
    file = _parsed(name, source)
    wanted = _shipped(name).placeholders
    if file.placeholders != wanted:
        missing = ", ".join(sorted(wanted - file.placeholders)) or "none"
        strange = ", ".join(sorted(file.placeholders - wanted)) or "none"
        raise ConfigError(
            f"the prompt `{name}` has other placeholders than it needs: missing {missing}, "
            f"unknown {strange}"
        )
    return file


def _parsed(name: PromptName, source: str) -> PromptFile:
    head, *sections = _HEADING.split(source)
    parts = dict(zip(sections[::2], sections[1::2], strict=True))
    version = head.partition("version:")[2].strip()
    if not version or set(parts) != {"system", "user"}:
        raise ConfigError(
            f"the prompt `{name}` cannot be read",
            hint="it needs a line `version: ...` and the headings `# system` and `# user`",
        )
    return PromptFile(
        name=name,
        version=version,
        system=parts["system"].strip(),
        user=parts["user"].strip(),
        digest=f"sha256:{hashlib.sha256(source.encode('utf-8')).hexdigest()}",
    )
