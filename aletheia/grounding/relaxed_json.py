"""Read JSON that a model wrote nearly right, and say what was wrong with it.

Own code, because the libraries for this either guess (json_repair closes a cut string and drops
what it cannot place, so an answer can lose its end and still look whole) or do not know Python
literals and do not say what they changed (json5, dirtyjson). Here every leniency is named, none
can change a value, and text that ends too early is an error unless only closing brackets miss.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Final

MAX_DEPTH: Final = 24
"""Deeper nesting is refused; a reply needs three levels."""


class NumberText(str):
    """A number as it was written, so that `1.50` stays `1.50`."""

    __slots__ = ()


class Pairs(list[tuple[str, object]]):
    """An object as its pairs in order: a key that stands twice is still seen."""

    __slots__ = ()


class RelaxedError(ValueError):
    """The text at `position` is not an object. `partial` is what was read of the outermost one.

    `cut` is True when the text simply ended inside it.
    """

    def __init__(self, message: str, position: int, *, cut: bool) -> None:
        super().__init__(message)
        self.message = message
        self.position = position
        self.cut = cut
        self.partial = Pairs()


def _refuse(name: str) -> object:
    raise ValueError(f"`{name}` is not JSON")


_STRICT: Final = json.JSONDecoder(
    object_pairs_hook=Pairs, parse_float=NumberText, parse_int=NumberText, parse_constant=_refuse
)
# Raw line ends inside strings are allowed here: they stand for themselves.
_STRING: Final = json.JSONDecoder(strict=False)
_SPACE: Final = re.compile(
    r"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/)){0,2000}\*/|[\u200b\u2060\ufeff])*", re.DOTALL
)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.+-])")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_END: Final = re.compile(r"\s*(?:\Z|```|~~~|<\|[\w|]+\|?>|</s>|<(?:end_of_turn|eos)>)")
_DOUBLE: Final = re.compile(r'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_SINGLE: Final = re.compile(r"'(?:[^'\\]++|\\.)*+'", re.DOTALL)
_CURLY: Final = re.compile(r"[“„](?:[^“”„\\]++|\\.)*+[”“]", re.DOTALL)
_RAW_CONTROL: Final = re.compile(r"[\x00-\x1f]")
_ESCAPES: Final = re.compile(r"\\(x[0-9A-Fa-f]{2}|['\n]|.)|\"", re.DOTALL)
_LITERALS: Final[dict[str, tuple[object, bool]]] = {
    "true": (True, False),
    "false": (False, False),
    "null": (None, False),
    "True": (True, True),
    "False": (False, True),
    "None": (None, True),
}
_FULL_WIDTH: Final = {"：": ":", "，": ",", "｛": "{", "｝": "}", "［": "[", "］": "]"}


def strict_loads(text: str) -> object:
    """`json.loads` with pairs for objects, written numbers, and no NaN or Infinity.

    Raises ValueError or RecursionError.
    """
    value: object = _STRICT.decode(text)
    return value


@dataclass(slots=True)
class RelaxedReader:
    """Reads one value of `text` from `position` on; `repairs` collects what it overlooked."""

    text: str
    position: int = 0
    repairs: list[str] = field(default_factory=list)
    unclosed: bool = False
    _partial: Pairs = field(default_factory=Pairs)

    def read(self) -> object:
        """Return the value that starts at `position`. Raises RelaxedError."""
        try:
            return self._value(0)
        except RelaxedError as error:
            error.partial = self._partial
            raise

    def _value(self, depth: int) -> object:
        if depth > MAX_DEPTH:
            raise self._error("nested too deeply")
        sign = self._sign()
        if sign == "{":
            return self._object(depth)
        if sign == "[":
            return self._array(depth)
        if sign in "\"'“„" and sign:
            return self._string()
        return self._plain()

    def _object(self, depth: int) -> Pairs:
        pairs = Pairs()
        if not self._partial:
            self._partial = pairs
        self.position += 1
        while not self._closes("}", pairs, depth):
            key = self._key()
            self._expect(":")
            # The key is noted first: a reader of `partial` sees which field was cut.
            pairs.append((key, _Unread))
            pairs[-1] = (key, self._value(depth + 1))
            self._separator("}")
        return pairs

    def _array(self, depth: int) -> list[object]:
        items: list[object] = []
        self.position += 1
        while not self._closes("]", items, depth):
            items.append(self._value(depth + 1))
            self._separator("]")
        return items

    def _closes(self, closer: str, so_far: list[object] | Pairs, depth: int) -> bool:
        """Step over the closing bracket, if it is here or if nothing but it is missing."""
        sign = self._sign()
        if sign == closer:
            self.position += 1
            return True
        if closer == "]" and sign == "}" and so_far:
            self._note("missing_bracket")
            return True
        if so_far and self._at_end():
            # More ids could have followed in a list; around the whole reply nothing could.
            if closer == "]" and depth > 0:
                raise self._error("the text ends inside a list", cut=True)
            self.unclosed = True
            self._note("missing_brace" if closer == "}" else "missing_bracket")
            return True
        return False

    def _separator(self, closer: str) -> None:
        sign = self._sign()
        if sign == ",":
            self.position += 1
            following = self._sign()
            if following == closer or (following in "}]" and following) or self._at_end():
                self._note("trailing_comma")
        elif sign not in (closer, "}") and not self._at_end():
            raise self._error(f"expected `,` or `{closer}`")

    def _key(self) -> str:
        sign = self._sign()
        if sign and sign in "\"'“„":
            return self._string()
        match = _NAME.match(self.text, self.position)
        if match is None:
            raise self._error("expected a key", cut=self._at_end())
        self.position = match.end()
        if self._at_end():
            raise self._error("the text ends inside a key", cut=True)
        self._note("unquoted_key")
        return match.group()

    def _expect(self, sign: str) -> None:
        if self._sign() != sign:
            raise self._error(f"expected `{sign}`", cut=self._at_end())
        self.position += 1

    def _string(self) -> str:
        opening = self.text[self.position]
        pattern = _DOUBLE if opening == '"' else _SINGLE if opening == "'" else _CURLY
        match = pattern.match(self.text, self.position)
        if match is None:
            raise self._error("the text ends inside a string", cut=True)
        self.position = match.end()
        written = match.group()
        if opening == "'":
            self._note("python_literal")
        elif opening != '"':
            self._note("typographic_quotes")
        return self._unescape(written if opening == '"' else f'"{_requote(written[1:-1])}"')

    def _unescape(self, written: str) -> str:
        try:
            value: object = _STRING.decode(written)
        except ValueError:
            value = self._with_quote_escapes(written)
        if _RAW_CONTROL.search(written) is not None:
            self._note("raw_control_character")
        return str(value)

    def _with_quote_escapes(self, written: str) -> object:
        """Read an escaped apostrophe, which JSON does not know; any other escape is refused."""
        try:
            value: object = _STRING.decode(f'"{_requote(written[1:-1])}"')
        except ValueError as error:
            raise self._error(f"unknown escape in a string: {error}") from error
        self._note("quote_escape")
        return value

    def _plain(self) -> object:
        match = _NUMBER.match(self.text, self.position)
        if match is not None:
            self.position = match.end()
            if self._at_end():
                raise self._error("the text ends inside a number", cut=True)
            return NumberText(match.group())
        match = _NAME.match(self.text, self.position)
        known = _LITERALS.get(match.group()) if match is not None else None
        if match is None or known is None:
            raise self._error("expected a value", cut=self._at_end() or self._cut_name(match))
        self.position = match.end()
        if known[1]:
            self._note("python_literal")
        return known[0]

    def _cut_name(self, match: re.Match[str] | None) -> bool:
        return match is not None and _END.match(self.text, match.end()) is not None

    def _sign(self) -> str:
        """Return the next character that is neither space nor comment; empty at the end."""
        match = _SPACE.match(self.text, self.position)
        if match is not None and match.end() > self.position:
            if "/" in match.group():
                self._note("comment")
            self.position = match.end()
        sign = self.text[self.position : self.position + 1]
        if sign in _FULL_WIDTH:
            self._note("full_width_sign")
            return _FULL_WIDTH[sign]
        return sign

    def _at_end(self) -> bool:
        return _END.match(self.text, self.position) is not None

    def _note(self, repair: str) -> None:
        if repair not in self.repairs:
            self.repairs.append(repair)

    def _error(self, message: str, *, cut: bool = False) -> RelaxedError:
        return RelaxedError(message, self.position, cut=cut)


class _Unread:
    """Stands for a value that was begun and not finished."""


UNREAD: Final = _Unread


def _requote(body: str) -> str:
    """Write the body of a string in other quotes as the body of a JSON string."""

    def replace(match: re.Match[str]) -> str:
        escape = match.group(1)
        if escape is None:
            return '\\"'
        if escape == "'":
            return "'"
        if escape[0] == "x" and len(escape) == 3:
            return f"\\u00{escape[1:]}"
        return match.group()

    return _ESCAPES.sub(replace, body)
