"""Show the evidence to a model, and ask for a cited answer.

Evidence is data of unknown origin. In the prompt, and only there, everything in it that could be
taken for a marker, a heading, a chat role or the end of the data is written with look-alike
signs: a person still reads what it was, a model does not take it for structure.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any, Final

from aletheia.errors import UsageError
from aletheia.schema.evidence import EvidenceSet, EvidenceUnit
from aletheia.schema.model import Prompt
from aletheia.schema.verification import Mode

_HIDDEN = "[\\s\u00ad\u200b-\u200f\u2060\ufeff]{0,8}"
_LETTER = "[EeTtＥｅЕеΕε]"
_MARKER: Final = re.compile(
    rf"[\[(（【［〔〖{{⟨《](?=(?:{_HIDDEN}(?:\^|#|\\)?{_HIDDEN}(?:evidence|source|unit|ref)?[\s:]*"
    rf"{_LETTER}?[\s._#-]*{_HIDDEN}\d{{1,4}}[^\[\]()（）【】［］〔〕{{}}\n]{{0,40}}[\])）】］〕〗}}⟩》]))"
    r"(?P<inner>[^\])）】］〕〗}⟩》\n]{1,60})[\])）】］〕〗}⟩》]",
    re.IGNORECASE,
)
_LETTERED: Final = re.compile(
    rf"{_LETTER}{_HIDDEN}[._#-]?{_HIDDEN}\d|evidence|source|unit|ref", re.IGNORECASE
)
_NUMBERS: Final = re.compile(r"\s*[\^#]?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\s*(?:†.*)?")
_SQUARE: Final = frozenset("[【［〔〖")
_HEADER: Final = re.compile(
    r"(?P<start>^|(?<=[\n\r\v\f\x85\u2028\u2029]))"
    r"(?P<lead>[ \t\u00a0>#*_|=\-\u200b-\u200f\u2060\ufeff]{0,24})"
    r"(?P<name>evidence|context|question|query|system|assistant|user|human|developer|tool|"
    r"instructions?|answer|response|reply|rules?|data|prompt|"
    r"note to (?:the )?(?:ai|model|assistant))"
    r"(?P<gap>[ \t*_\u200b-\u200f\u2060\ufeff]{0,8})[:：]",
    re.IGNORECASE,
)
_ROLE_TAG: Final = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|<｜[^<>｜\n]{1,40}｜>|<{2,}\s*/?\s*SYS\s*>{2,}"
    r"|</?(?:data|evidence|context|question|system|user|assistant|instructions?|think|thinking|"
    r"start_of_turn|end_of_turn|bos|eos|s|im_start|im_end)\b[^<>\n]{0,60}>",
    re.IGNORECASE,
)
_INST: Final = re.compile(
    r"\[(?P<inner>/?(?:INST|THINK|TOOL_CALLS|AVAILABLE_TOOLS|SYSTEM_PROMPT))\]", re.IGNORECASE
)
_LINE_END: Final = re.compile(r"[ \t]*(?:\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029])[ \t]*")
_ANGLES: Final = str.maketrans("<>", "‹›")
_CONTROLS: Final = {code: chr(0x2400 + code) for code in range(32) if code not in (9, 10, 13)} | {
    0x7F: "\u2421"
}
_LONE_SURROGATE: Final = re.compile(r"[\ud800-\udfff]")
_DELIMITER: Final = re.compile(r"[A-Za-z0-9_-]{6,64}")
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
    if _DELIMITER.fullmatch(delimiter) is None:
        raise UsageError(
            f"`delimiter` is {delimiter!r}",
            hint="6 to 64 letters, digits, `_` or `-`, random for each call",
        )
    parts = _template()
    values = {
        "delimiter": delimiter,
        "mode_rule": parts[mode.value],
        "evidence": _without(delimiter, evidence_block(evidence)),
        "question": _without(delimiter, _encodable(question)),
    }
    return Prompt(
        system=_fill(parts["system"], values).rstrip(),
        user=_fill(parts["user"], values),
        schema=answer_schema(),
        schema_name="cited_answer",
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


def neutralise(text: str) -> str:
    """Write `text` on one line, so that nothing in it reads as structure of the prompt."""
    text = _HEADER.sub(
        lambda match: f"{match['start']}{match['lead']}{match['name']}{match['gap']}∶", text
    )
    text = _INST.sub(lambda match: f"⟦{match['inner']}⟧", text)
    text = _ROLE_TAG.sub(lambda match: match.group().translate(_ANGLES), text)
    text = _MARKER.sub(_bracketed, text)
    return _encodable(_LINE_END.sub(" ⏎ ", text).translate(_CONTROLS))


def _line(unit: EvidenceUnit) -> str:
    source = f"{neutralise(unit.source)}: " if unit.source else ""
    return f"[{unit.id}] {source}{neutralise(unit.text)}"


def _bracketed(match: re.Match[str]) -> str:
    """Rewrite only what could be taken for a marker: `[12]` could, `(12)` and `[2019]` not."""
    numbered = match.group()[0] in _SQUARE and _NUMBERS.fullmatch(match["inner"]) is not None
    if numbered or _LETTERED.search(match["inner"]) is not None:
        return f"⟦{match['inner']}⟧"
    return match.group()


def _encodable(text: str) -> str:
    """Lone surrogates cannot be sent; they are written as escapes."""
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _without(delimiter: str, text: str) -> str:
    """Return text in which the token of this call cannot occur."""
    return text.replace(delimiter, f"{delimiter[:3]}·{delimiter[3:]}")


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
