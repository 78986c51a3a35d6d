"""What the built-in mask finds: secrets, e-mail addresses, account and card numbers, phones.

Each kind is a pattern and a check. The patterns are wide where a false alarm costs little (a long
token behind `sk-`) and narrow where digits may be anything else: dates, versions, prices, ids.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

__all__ = ["KINDS", "Kind", "Span"]

Span = tuple[int, int]
"""Start and end of what is masked, in code points."""


def _whole(match: re.Match[str]) -> Span | None:
    return match.span()


def _value(match: re.Match[str]) -> Span | None:
    """Mask the group `value` alone, so that what names it stays readable."""
    return match.span("value")


def _folded(text: str) -> str:
    return text.casefold()


def _as_is(text: str) -> str:
    return text


def _compact(text: str) -> str:
    """Return it without separators, so that two ways to write one number are one value."""
    return re.sub(r"[^0-9A-Za-z+]", "", text).upper()


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of value. `span` says what of a match is masked, None = nothing of it.

    `key` is equal for two texts that are the same value. A text for which `needs` is false holds none.
    """

    name: str
    pattern: re.Pattern[str]
    span: Callable[[re.Match[str]], Span | None] = _whole
    key: Callable[[str], str] = _as_is
    needs: Callable[[str], object] | None = None

    def found(self, text: str) -> Iterator[Span]:
        """Give the spans in `text`, from left to right."""
        if self.needs is not None and not self.needs(text):
            return
        for match in self.pattern.finditer(text):
            span = self.span(match)
            if span is not None:
                yield span


# --- keys, tokens, passwords ------------------------------------------------------------------

_PEM: Final = re.compile(
    r"-----BEGIN (?P<label>[A-Z0-9 ]{2,40})-----"
    # A chunk may end in the middle of it.
    r"(?:[A-Za-z0-9+/=\s:,.]|-(?!----)){16,}(?:-----END (?P=label)-----)?"
)

_TOKEN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:"
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|[rsp]k_(?:live|test)_[A-Za-z0-9]{10,}|whsec_[A-Za-z0-9]{16,}"
    r"|gh[oprsu]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{20,}"
    r"|(?:AKIA|ASIA|AGPA|AIDA|AROA)[A-Z0-9]{16}(?![A-Za-z0-9])"
    r"|AIza[A-Za-z0-9_-]{35}|ya29\.[A-Za-z0-9_-]{20,}"
    r"|xox[abeprs]-[A-Za-z0-9-]{10,}"
    r"|hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{16,}"
    r"|SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*"
    r")"
)

_AUTHORIZATION: Final = re.compile(
    r"\b(?:bearer|basic)\s+(?P<value>[A-Za-z0-9._~+/-]{16,}=*)", re.IGNORECASE
)

_IN_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]*:(?P<value>[^\s/@]{1,200})@")

_ASSIGNED: Final = re.compile(r"[:=]\s{0,3}[\"']?(?P<value>[^\s\"',;<>{}()\[\]]{8,200})")

_SECRET_NAME: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:[A-Za-z0-9]{1,30}[_-]){0,4}"
    r"(?:api[_-]?key|access[_-]?key|secret|token|password|passwd|pwd)[\"']?\s{0,3}\Z",
    re.IGNORECASE,
)


def _if_random(match: re.Match[str]) -> Span | None:
    """Take what has letters and digits; a word after `password:` is a sentence."""
    value = match["value"]
    mixed = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return match.span("value") if mixed else None


def _if_secret(match: re.Match[str]) -> Span | None:
    """Look back from `:` or `=`: there are few of them."""
    named = _SECRET_NAME.search(match.string, max(0, match.start() - 160), match.start())
    return None if named is None else _if_random(match)


# --- e-mail addresses -------------------------------------------------------------------------

_EMAIL: Final = re.compile(
    r"(?<![\w.%+'-])(?P<local>\w[\w.%+'-]{0,63})@(?:[^\W_](?:[^\W_]|-){0,62}\.){1,5}"
    r"(?P<end>[^\W\d_]{2,24})(?![\w-])"
)

_FILE_ENDINGS: Final = frozenset(
    ("png", "jpg", "jpeg", "gif", "svg", "webp", "css", "js", "ts", "json", "html", "md", "txt")
)


def _if_address(match: re.Match[str]) -> Span | None:
    """Leave out `icon@2x.png` and `git@host.org:path`, which no mail reaches."""
    if match["end"].casefold() in _FILE_ENDINGS:
        return None
    to_repository = match["local"] == "git" and match.string[match.end() : match.end() + 1] == ":"
    return None if to_repository else match.span()


# --- bank accounts and cards ------------------------------------------------------------------

_IBAN: Final = re.compile(r"(?<![A-Za-z0-9])[A-Z]{2}\d{2}(?: ?[A-Z0-9]{1,4}){3,8}(?![A-Za-z0-9])")


def _if_iban(match: re.Match[str]) -> Span | None:
    """Take the longest beginning with the right check digits; the next word may look alike."""
    text = match.group()
    ends = [len(text), *(at for at in range(len(text) - 1, 0, -1) if text[at] == " ")]
    for end in ends:
        digits = text[:end].replace(" ", "")
        if 15 <= len(digits) <= 34 and _mod_97(digits) == 1:
            return match.start(), match.start() + end
    return None


def _mod_97(iban: str) -> int:
    return int("".join(str(int(letter, 36)) for letter in iban[4:] + iban[:4])) % 97


_CARD: Final = re.compile(
    r"(?<![\w.,/+-])(?:\d{4}([ -])\d{4}\1\d{4}\1\d{4}|\d{4}([ -])\d{6}\2\d{4,5}|\d{13,19})"
    r"(?![\w/-]|[.,]\d)"
)

_ISSUERS: Final = re.compile(
    r"4\d{12}(?:\d{3})?(?:\d{3})?|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12}|35\d{14}"
    r"|6(?:011|4[4-9]\d|5\d\d)\d{12}"
)


def _if_card(match: re.Match[str]) -> Span | None:
    digits = _compact(match.group())
    return match.span() if _ISSUERS.fullmatch(digits) and _luhn(digits) else None


def _luhn(digits: str) -> bool:
    doubled = (int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits)))
    return sum(value - 9 if value > 9 else value for value in doubled) % 10 == 0


# --- phone numbers ----------------------------------------------------------------------------

_BEFORE: Final = r"(?<![\w.,:/+$€£¥-])"
_AFTER: Final = r"(?![\w/-]|[.,]\d| ?[%€$£¥])"
_SPACES: Final = r"[ \u00a0\u2009\u202f]"
_GAP: Final = rf"(?:{_SPACES}|[.\-/\u2010\u2011]|{_SPACES}?\(|\){_SPACES}?)"

_PHONE: Final = re.compile(
    rf"{_BEFORE}(?:"
    # +49 (0) 711 123-456, 0049 711 123456
    rf"(?P<international>(?:\+{_SPACES}?|00)[1-9]\d{{0,3}}(?:{_GAP}{{0,2}}\d{{1,12}}){{1,7}})"
    # (212) 555-0143, 212.555.0143
    rf"|(?P<america>(?:\([2-9]\d\d\){_SPACES}?|[2-9]\d\d[ .-])[2-9]\d\d[ .-]\d{{4}})"
    # 020 7946 0958, (0711) 12 34 56, 0711/123456-0, 06 12 34 56 78
    rf"|(?P<trunk>\(0[1-9]\d{{1,4}}\)|0[1-9]\d{{1,4}}(?=[ /-])|0[1-9](?=(?:[ .-]\d\d){{4}}(?!\d)))"
    rf"(?:[ ./-]{{1,2}}\d{{1,8}}){{1,5}}"
    rf"){_AFTER}"
)

_NUMBER: Final = re.compile(rf"(?<!\d)[+(]?\d(?:{_GAP}{{0,2}}\d){{6,14}}{_AFTER}")

_CUE: Final = re.compile(
    r"\b(?:tel|telephone|phone|fon|telefon|telefono|teléfono|téléphone|mobile|mobil|móvil|cell"
    r"|handy|fax|whatsapp|hotline|(?:call|text|ring|dial|reach)(?: (?:me|us|him|her|them))? (?:at|on))"
    r"\b\.?(?: ?(?:no|nr|number|nummer)\b\.?)?(?: is)?\s{0,2}:?\s{0,2}\Z",
    re.IGNORECASE,
)

_CUE_PARTS: Final = (
    *("tel", "fon", "fón", "phone", "mob", "móv", "cell", "handy", "fax", "whatsapp", "hotline"),
    *(" me at", " us at", " him at", " her at", " them at", " me on", " us on", " him on"),
    *(" her on", " them on", "call at", "call on", "text at", "text on", "ring at", "ring on"),
    *("dial at", "dial on", "reach at", "reach on"),
)
"""One of them is in every text with a cue, in small letters."""


def _has_cue(text: str) -> bool:
    small = text.lower()
    return any(part in small for part in _CUE_PARTS)


_THOUSANDS: Final = re.compile(r"\+?\d{1,3}(?:\.\d{3})+|\+?\d{1,3}\.\d+")


def _if_phone(match: re.Match[str]) -> Span | None:
    text, digits = match.group(), re.sub(r"\D", "", match.group())
    fits = 9 <= len(digits) <= 13
    if match["international"]:
        fits = 8 <= len(digits) <= 17 and not _THOUSANDS.fullmatch(text)
    elif match["america"]:
        fits = True
    return match.span() if fits and not _is_row_of_years(text) else None


def _if_cued(match: re.Match[str]) -> Span | None:
    """Take digits of any form behind a word such as `phone`."""
    cue = _CUE.search(match.string, max(0, match.start() - 60), match.start())
    return None if cue is None or _is_row_of_years(match.group()) else match.span()


def _is_row_of_years(text: str) -> bool:
    """`+10 2020 2021 2022` and `+5 2024-05-01` are not phone numbers."""
    years = re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", text)
    dated = re.search(r"(?<!\d)(?:19|20)\d\d[-./](?:0\d|1[0-2])[-./][0-3]\d(?!\d)", text)
    return len(years) > 1 or dated is not None


_SEVEN_DIGITS: Final = re.compile(r"\d(?:[^\d\n]{0,3}\d){6}")
_EIGHT_DIGITS: Final = re.compile(r"\d{4}[ -]?\d{4}")

KINDS: Final[tuple[Kind, ...]] = (
    Kind(name="key", pattern=_PEM),
    Kind(name="key", pattern=_TOKEN),
    Kind(name="key", pattern=_AUTHORIZATION, span=_if_random),
    Kind(name="key", pattern=_IN_URL, span=_value, needs=re.compile("://").search),
    Kind(name="key", pattern=_ASSIGNED, span=_if_secret),
    Kind(name="email", pattern=_EMAIL, span=_if_address, key=_folded, needs=re.compile("@").search),
    Kind(name="iban", pattern=_IBAN, span=_if_iban, key=_compact),
    Kind(name="card", pattern=_CARD, span=_if_card, key=_compact, needs=_EIGHT_DIGITS.search),
    Kind(name="phone", pattern=_PHONE, span=_if_phone, key=_compact, needs=_SEVEN_DIGITS.search),
    Kind(name="phone", pattern=_NUMBER, span=_if_cued, key=_compact, needs=_has_cue),
)
"""All kinds, in the order in which they are looked for: what one masked, no later one sees."""
