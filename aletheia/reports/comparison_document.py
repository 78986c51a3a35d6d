"""A comparison as JSON: written and read back. Text in, text out: no disk."""

from __future__ import annotations

import json
import logging
import re
from pathlib import Path
from typing import Annotated, Final

from pydantic import BaseModel, Field, TypeAdapter, ValidationError

from aletheia.errors import DataError
from aletheia.reports.visible import without_surrogates
from aletheia.schema.comparison import Comparison

_log = logging.getLogger(__name__)

# JSON lets these stand in strings, but a terminal or an editor would obey them.
_ACTING: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_READ: Final[TypeAdapter[Comparison]] = TypeAdapter(
    Annotated[Comparison, Field(discriminator="kind")]
)


def to_json(record: BaseModel) -> str:
    """Write a record as indented JSON that ends in a line feed and acts on no terminal.

    An unpaired surrogate, which UTF-8 cannot hold, becomes U+FFFD, and a warning counts them.
    """
    text = json.dumps(record.model_dump(), ensure_ascii=False, allow_nan=False, indent=2)
    text, replaced = without_surrogates(text)
    if replaced:
        _log.warning("%d unpaired surrogates were replaced by U+FFFD", replaced)
    return _ACTING.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def load_comparison(text: str, file: str | Path) -> Comparison:
    """Read what `to_json` wrote of a comparison. Raises `DataError` with the field that is wrong."""
    try:
        return _READ.validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise DataError(first["msg"], file=file, field=field or None) from error
