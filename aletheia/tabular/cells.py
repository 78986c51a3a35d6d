"""Cells of text that hold other values: how they are written, and how they are read again.

A text stands in its cell as it is, any other value as JSON, null as nothing. A text that would be
read as another value (`5`, `[1]`, the empty one) is written as a JSON string.
"""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from typing import Final

from aletheia.errors import DataError
from aletheia.tabular.values import DECODER, encode

_NUMBER: Final = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")
_WORDS: Final = {"true": True, "false": False}
_LONGEST_LITERAL: Final = 1_000_000
_LIST_START: Final = re.compile(r"""\s*(array\()?\[\s*(["'{\[\]]|None\b)""")
"""How a list of texts or objects begins, whether or not the rest of it can be read."""
_MISSING: Final = frozenset({"null", "none", "nan", "<na>", "na", "n/a"})
_JSON_LISTS: Final = 'write a JSON array of texts, such as `["first", "second"]`'


def encode_cell(value: object) -> str:
    """Write a value into a cell. Raises `DataError` for what is no JSON."""
    if value is None:
        return ""
    if isinstance(value, str) and _reads_as_itself(value):
        return value
    return encode(value)


def decode_cell(cell: str) -> object:
    """Read a cell that `encode_cell` wrote; other texts are left as they are."""
    if not cell:
        return None
    if cell in _WORDS:
        return _WORDS[cell]
    if cell[0] in '"[{' or _NUMBER.fullmatch(cell):
        try:
            value = DECODER.decode(cell)
        except (ValueError, RecursionError, DataError):
            return cell
        # `1.50` and `1e3` are texts: nobody who writes numbers for us writes them so.
        return value if not isinstance(value, int | float) or encode(value) == cell else cell
    return cell


def _reads_as_itself(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return decode_cell(text) == text


def text_in(cell: str) -> str:
    """Read a cell that can only hold a text; what looks like a number or a list is one."""
    if cell.startswith('"') and cell.endswith('"') and len(cell) > 1:
        try:
            value = json.loads(cell)
        except ValueError:
            return cell
        if isinstance(value, str) and encode_cell(value) == cell:
            return value
    return cell


def list_in(cell: str) -> tuple[object, bool]:
    """Read a cell that holds a list or one text, and say whether it was a Python list.

    A JSON array is a list; a plain text is itself, whatever separators stand in it. A list as
    Python shows it (`['a', 'b']`) is read too. Raises `DataError` for a cell that is empty, says
    that it is missing, or begins like a list that cannot be read.
    """
    bare = cell.strip()
    if not bare or bare.lower() in _MISSING:
        said = f"it is `{bare}`" if bare else "the cell is empty"
        raise DataError(said, hint="write `[]` where nothing was retrieved")
    if bare[0] == "{" and isinstance(_json(bare) or _literal(bare), dict):
        raise DataError("it holds one object, and no list of them", hint=_JSON_LISTS)
    if bare[0] == "(":
        value = _literal(bare)
        return (list(value), True) if isinstance(value, tuple) else (cell, False)
    if bare[0] not in "[a":
        return text_in(cell), False
    value = _json(bare)
    if isinstance(value, list):
        return value, False
    if not _LIST_START.match(bare):
        return cell, False
    return _python_list(bare), True


def _json(text: str) -> object:
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError):
        return None


def _python_list(text: str) -> list[object]:
    if len(text) > _LONGEST_LITERAL:
        most = f"{_LONGEST_LITERAL:,}"
        raise DataError(f"a list that is not JSON is read up to {most} letters", hint=_JSON_LISTS)
    value = _literal(text)
    if not isinstance(value, list):
        raise DataError("it begins like a list and is none", hint=_JSON_LISTS)
    return value


def _literal(text: str) -> object:
    """Read a value as Python shows it, None for what is none; nothing in it is run.

    Two texts without a comma between them are no value: that is how numpy shows an array.
    """
    if len(text) > _LONGEST_LITERAL:
        return None
    try:
        return None if _joins_texts(text) else ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError, tokenize.TokenError):
        return None


def _joins_texts(text: str) -> bool:
    """Tell whether two texts follow each other without a comma, as numpy shows an array."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (tokenize.NL, tokenize.NEWLINE):
            continue
        if token.type == tokenize.STRING and before == tokenize.STRING:
            return True
        before = token.type
    return False
