"""Whether evidence carries a name, by which variant, and what stands there instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Levenshtein

from aletheia.grounding.lexicon import (
    ACRONYMS,
    AMBIGUOUS_NAMES,
    DEMONYMS,
    FUNCTION_WORDS,
    GENERIC,
    HONORIFICS,
    NAME_ADJECTIVES,
    OTHER_FUNCTION_WORDS,
    PARTICLES,
    ROLE_WORDS,
    STATES,
    is_common,
)
from aletheia.grounding.names import Name
from aletheia.grounding.tokens import Corpus, UnitIndex
from aletheia.grounding.variants import german_case, variant

_LONGEST_NAME = 40
"""Words; what is longer is a passage in capitals."""
_LITTLE = FUNCTION_WORDS | PARTICLES | HONORIFICS | GENERIC
_SLACK = 3
"""How many foreign words may stand inside a name: `Smith, John` or `John Allen Smith`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMatch:
    """`carried` with an optional `note` (the kind of variant), or not, with `reason` and `nearest`."""

    carried: bool
    note: str | None = None
    reason: str = "not_in_evidence"
    nearest: str | None = None


_EXACT = NameMatch(carried=True)
_STATE_OF = {code: state for state, code in STATES.items()}


def match_name(name: Name, corpus: Corpus) -> NameMatch:
    """Decide one name against the units of `corpus` (the cited ones)."""
    first = name.words[0].text
    if len(name.words) == 1 and _is_acronym(first.removesuffix("s")):
        found = _acronym(first.removesuffix("s"), corpus)
    else:
        found = _phrase(name, corpus)
    if found.carried and name.designator is not None:
        return _designated(name, corpus) or found
    return found


def _is_acronym(text: str) -> bool:
    return 2 <= len(text) <= 5 and text.isupper() and text.isalpha()


def _phrase(name: Name, corpus: Corpus) -> NameMatch:
    lower = name.lower
    if f" {' '.join(lower)} " in corpus.lower:
        if (
            len(lower) > 1
            or lower[0] not in AMBIGUOUS_NAMES
            or name.opener
            or not corpus.has_capitals
        ):
            return _EXACT
        if f" {name.words[0].text} " in corpus.cased:
            return _EXACT
        return NameMatch(carried=False, reason="ordinary_word", nearest=lower[0])
    return _slow(name, corpus)


def _acronym(text: str, corpus: Corpus) -> NameMatch:
    if f" {text} " in corpus.cased or f" {text}s " in corpus.cased:
        return _EXACT
    lower = text.lower()
    if f" {lower} " in corpus.lower and not is_common(lower):
        return _EXACT
    if len(text) > 3 and text.endswith("S") and f" {text[:-1]} " in corpus.cased:
        return _EXACT
    if text in _STATE_OF and f" {_STATE_OF[text]} " in corpus.lower:
        return NameMatch(carried=True, note="acronym")
    for long in ACRONYMS.get(lower, ()):
        if (long.upper() if len(long) <= 3 else long) in _either(long, corpus):
            return NameMatch(carried=True, note="acronym")
    spelled = _spelled_out(text, corpus)
    if spelled is not None:
        return NameMatch(carried=True, note="acronym", nearest=spelled)
    if f" {lower} " in corpus.lower:
        return NameMatch(carried=False, reason="ordinary_word", nearest=lower)
    return NameMatch(carried=False, nearest=_nearest(lower, corpus))


def _either(long: str, corpus: Corpus) -> str:
    return corpus.cased if len(long) <= 3 else corpus.lower


def _spelled_out(acronym: str, corpus: Corpus) -> str | None:
    """Consecutive words of one unit whose initials are the acronym.

    Two letters are spelled out by capitalised words only; three or more by any.
    """
    for unit in corpus.units:
        tokens = unit.cased_words if len(acronym) < 3 else [w.upper() for w in unit.lower_words]
        for start, token in enumerate(tokens):
            if token[0] != acronym[0]:
                continue
            end = _initials_end(tokens, start, acronym)
            if end:
                return " ".join(tokens[start:end])
    return None


def _initials_end(tokens: Sequence[str], start: int, acronym: str) -> int:
    """Index after the run from `start` that spells `acronym`; 0 if it does not."""
    letters = 0
    for index in range(start, min(len(tokens), start + len(acronym) + 3)):
        token = tokens[index]
        if token[0] == acronym[letters] and len(token) > 1:
            letters += 1
            if letters == len(acronym):
                return index + 1
        elif token.lower() not in FUNCTION_WORDS:
            return 0
    return 0


def _slow(name: Name, corpus: Corpus) -> NameMatch:
    """Everything that needs more than one substring search."""
    lower = name.lower
    known = _known_short_form(lower, corpus)
    if known is not None:
        return known
    if _spaced_initials(lower, corpus) or _written_apart(lower, corpus):
        return NameMatch(carried=True, note="spacing")
    core = _core(lower)
    if core != lower and f" {' '.join(core)} " in corpus.lower:
        return _EXACT
    parts = _split_at_titles(name)
    if len(parts) > 1:
        return _all_of(parts, corpus)
    found = _assembled(core, corpus)
    if found.carried or (corpus.is_german and _german_nouns(core, name, corpus)):
        return found if found.carried else NameMatch(carried=True, note="ordinary_noun")
    if name.opener and len(core) > 1 and _is_ordinary(core[0], corpus):
        # "Founder Marta" opens a sentence: the first word is an ordinary one.
        rest = _assembled(core[1:], corpus)
        if rest.carried:
            return rest
    pieces = _split_at_particles(name)
    if len(pieces) > 1:
        return _all_of(pieces, corpus) if _all_of(pieces, corpus).carried else found
    return found


def _german_nouns(core: tuple[str, ...], name: Name, corpus: Corpus) -> bool:
    """Whether a German run is ordinary nouns around a carried name, or a noun in another case.

    Nothing in the spelling tells a German noun from a name, so a noun that opens a sentence, or
    leads a carried name, is not held against the answer.
    """
    if len(core) == 1:
        return name.opener or any(german_case(core[0], word) for word in corpus.vocabulary)
    if len(core) > _LONGEST_NAME:
        return False
    return any(
        _assembled(core[index:], corpus).carried
        and all(_known_noun(word, corpus) for word in core[:index])
        for index in range(1, len(core))
    )


def _known_noun(word: str, corpus: Corpus) -> bool:
    """Whether a German word is an article or a noun of the evidence; a first name is neither."""
    return (
        word in OTHER_FUNCTION_WORDS["de"]
        or word in corpus.vocabulary
        or any(german_case(word, other) for other in corpus.vocabulary)
    )


def _is_ordinary(word: str, corpus: Corpus) -> bool:
    """Whether a capitalised opener is an ordinary word, and no part of a name."""
    return (
        is_common(word)
        and word not in NAME_ADJECTIVES
        and f" {word.capitalize()} " not in corpus.cased
    )


def _split_at_particles(name: Name) -> list[tuple[str, ...]]:
    """`Armando Reverón de Venezuela` may be two names; each part needs a word of its own."""
    parts: list[list[str]] = [[]]
    for word in name.lower:
        if word in PARTICLES:
            parts.append([])
        else:
            parts[-1].append(word)
    found = [tuple(part) for part in parts if part]
    own = [part for part in found if not all(is_common(word) for word in part)]
    return found if len(own) == len(found) else []


def _spaced_initials(lower: tuple[str, ...], corpus: Corpus) -> bool:
    """`J.R.R. Tolkien` against `J. R. R. Tolkien`, and the other way round."""
    first = lower[0]
    if 2 <= len(first) <= 4 and len(lower) > 1:
        return f" {' '.join((*first, *lower[1:]))} " in corpus.lower
    letters = "".join(word for word in lower if len(word) == 1)
    if len(letters) < 2 or any(len(word) == 1 for word in lower[len(letters) :]):
        return False
    return f" {' '.join((letters, *lower[len(letters) :]))} " in corpus.lower


def _written_apart(lower: tuple[str, ...], corpus: Corpus) -> bool:
    """Whether the evidence writes the same letters with other spaces (`Wi-Fi`, `WiFi`)."""
    letters = "".join(lower)
    if len(letters) < 4:
        return False
    if len(lower) > 1:
        return f" {letters} " in corpus.lower
    if len(letters) < 6 or letters not in corpus.lower.replace(" ", ""):
        return False
    return bool(re.search(rf"(?<= ){' ?'.join(map(re.escape, letters))}(?= )", corpus.lower))


def _known_short_form(lower: tuple[str, ...], corpus: Corpus) -> NameMatch | None:
    """`United States` is carried by `U.S.`; other expansions of an acronym are invented."""
    phrase = " ".join(lower)
    code = STATES.get(phrase)
    if code is not None and f" {code} " in corpus.cased:
        return NameMatch(carried=True, note="acronym")
    for short, longs in ACRONYMS.items():
        if phrase in longs or phrase == short:
            forms = (short, *longs)
            for form in forms:
                if form == phrase:
                    continue
                if len(form) <= 3 and f" {form.upper()} " in corpus.cased:
                    return NameMatch(carried=True, note="acronym")
                if len(form) > 3 and f" {form} " in corpus.lower:
                    return NameMatch(carried=True, note="acronym")
    if len(lower) < 2:
        return None
    initials = "".join(word[0] for word in lower if word not in FUNCTION_WORDS).upper()
    if 2 <= len(initials) <= 6 and initials in corpus.cased_vocabulary:
        absent = [w for w in lower if w not in FUNCTION_WORDS and w not in corpus.vocabulary]
        if absent:
            return NameMatch(carried=False, reason="expansion_unverified", nearest=initials)
    return None


def _core(lower: tuple[str, ...]) -> tuple[str, ...]:
    """The words that make the name: titles and words of kind may differ."""
    dropped = HONORIFICS | GENERIC | PARTICLES | FUNCTION_WORDS
    core = tuple(word for word in lower if word not in dropped or len(word) == 1)
    if not core:
        return lower
    if len(core) == 1 and len(lower) > 1 and len(core[0]) == 1:
        return lower
    return core


def _split_at_titles(name: Name) -> list[tuple[str, ...]]:
    """`Microsoft CEO Satya Nadella` holds two names."""
    parts: list[list[str]] = [[]]
    for word in name.lower:
        if word in HONORIFICS and word not in ("st", "general"):
            parts.append([])
        elif word not in FUNCTION_WORDS and word not in PARTICLES and word not in GENERIC:
            parts[-1].append(word)
    return [tuple(part) for part in parts if part]


def _all_of(parts: Sequence[tuple[str, ...]], corpus: Corpus) -> NameMatch:
    note: str | None = None
    named = [part for part in parts if not ROLE_WORDS.issuperset(part)] or parts
    for part in named:
        found = _assembled(part, corpus)
        if not found.carried:
            return found
        note = note or found.note
    return NameMatch(carried=True, note=note)


def _assembled(core: tuple[str, ...], corpus: Corpus) -> NameMatch:
    """Look every word up by itself and ask whether they stand together in one unit."""
    forms = [{word: "initial"} if len(word) == 1 else _forms(word, corpus) for word in core]
    missing = [word for word, form in zip(core, forms, strict=True) if not form]
    if missing:
        word = max(missing, key=len)
        reason = "extends_name" if len(missing) < len(core) else "not_in_evidence"
        return NameMatch(carried=False, reason=reason, nearest=_nearest(word, corpus))
    for unit in corpus.units:
        note = _together(core, forms, unit)
        if note is not None:
            return NameMatch(carried=True, note=note or None)
    if len(core) > 1 and all(is_common(word) for word in core) and _scattered(forms, corpus):
        return NameMatch(carried=True, note="scattered_words")
    return NameMatch(carried=False, reason="words_not_together", nearest=_nearest(core[-1], corpus))


def _scattered(forms: Sequence[dict[str, str]], corpus: Corpus) -> bool:
    return any(
        all(any(f" {form} " in unit.lower for form in known) for known in forms)
        for unit in corpus.units
    )


def _forms(word: str, corpus: Corpus) -> dict[str, str]:
    """Words of the corpus that are `word`, each with the kind of variant."""
    if word in corpus.vocabulary:
        return {word: ""}
    found = corpus.forms.get(word)
    if found is None:
        found = corpus.forms[word] = {}
        for candidate in _candidates(word, corpus):
            kind = variant(word, candidate)
            if kind is not None:
                found[candidate] = kind
    return found


def _candidates(word: str, corpus: Corpus) -> Iterator[str]:
    """Words worth comparing: near in spelling, or known to be related."""
    vocabulary = corpus.vocabulary
    if not word.isascii():
        yield from corpus.distinct_words
        return
    for base, related in DEMONYMS.items():
        if word == base or word in related or word.removesuffix("s") in related:
            yield from (
                form for form in (base, *related, *(f"{r}s" for r in related)) if form in vocabulary
            )
    if not corpus.lower.isascii():
        yield from (other for other in corpus.distinct_words if not other.isascii())
    near = process.extract(
        word, corpus.distinct_words, scorer=Levenshtein.normalized_similarity, processor=None,
        score_cutoff=0.4, limit=16,
    )  # fmt: skip
    yield from (candidate for candidate, _, _ in near)


def _together(
    core: tuple[str, ...], forms: Sequence[dict[str, str]], unit: UnitIndex
) -> str | None:
    """The kind of variant by which all words stand near each other in the unit, "" for exact."""
    tokens = unit.lower_words
    anchor = max(range(len(core)), key=lambda index: len(core[index]))
    places = [position for position, token in enumerate(tokens) if token in forms[anchor]]
    if len(core) > _LONGEST_NAME:
        # No name but a passage in capitals: near one of a few places is near enough.
        places = places[:_LONGEST_NAME]
    for position in places:
        low = max(0, position - len(core) - _SLACK)
        window = tokens[low : position + len(core) + _SLACK + 1]
        note = _fits(core, forms, window)
        if note is not None and _unbroken(forms, unit, low, position, len(window)):
            return note
    return None


def _unbroken(
    forms: Sequence[dict[str, str]], unit: UnitIndex, low: int, anchor: int, width: int
) -> bool:
    """Whether nothing but names and little words stands between the words of a name.

    `Ana Bell resigned. Bo Crane stayed.` has no Ana Crane.
    """
    cased = unit.cased_words
    if len(forms) < 2 or unit.cased == unit.lower:
        return True
    tokens = unit.lower_words
    places = [anchor]
    for known in forms:
        near = [p for p in range(low, min(low + width, len(tokens))) if tokens[p] in known]
        if near:
            places.append(min(near, key=lambda place: abs(place - anchor)))
    return all(
        place in places or not cased[place].islower() or tokens[place] in _LITTLE
        for place in range(min(places), max(places))
    )


def _fits(
    core: tuple[str, ...], forms: Sequence[dict[str, str]], window: Sequence[str]
) -> str | None:
    if len(core) > _LONGEST_NAME:
        held = set(window)
        return "" if all(not held.isdisjoint(known) for known in forms) else None
    notes: list[str] = []
    for index, word in enumerate(core):
        if len(word) == 1:
            note = _initial_fits(core, index, forms, window)
            if note is None:
                return None
            notes.append(note)
            continue
        hit = next((token for token in window if token in forms[index]), None)
        if hit is None:
            return None
        notes.append(forms[index][hit])
    return next((note for note in notes if note), "")


def _initial_fits(
    core: tuple[str, ...], index: int, forms: Sequence[dict[str, str]], window: Sequence[str]
) -> str | None:
    """A first initial needs a first name with that letter right before the last name.

    A middle initial may be added to a name that has none (`added_initial`).
    """
    letter = core[index]
    last = forms[-1]
    for position, token in enumerate(window):
        if token not in last or position == 0:
            continue
        before = window[max(0, position - 2) : position]
        if any(other[0] == letter and other not in FUNCTION_WORDS for other in before):
            return "initial"
        if index > 0 and before and before[-1] in forms[index - 1]:
            return "added_initial"
    return None


def _nearest(word: str, corpus: Corpus) -> str | None:
    """The most similar capitalised word the corpus holds, for a person to read."""
    pool = corpus.capitalised
    found = process.extractOne(
        word, pool.keys(), scorer=fuzz.ratio, processor=None, score_cutoff=50
    )
    return pool[found[0]] if found else None


def _designated(name: Name, corpus: Corpus) -> NameMatch | None:
    """A failure if the evidence numbers this name, but never with this number."""
    phrase = f" {' '.join(name.lower)} "
    seen: list[str] = []
    position = corpus.lower.find(phrase)
    while position >= 0:
        after = position + len(phrase)
        token = corpus.lower[after : corpus.lower.find(" ", after)]
        if token[:1].isdigit() or (len(token) == 1 and token.isalpha() and token not in ("a", "i")):
            seen.append(token)
        position = corpus.lower.find(phrase, after - 1)
    if not seen or (name.designator or "").lower() in seen:
        return None
    return NameMatch(
        carried=False, reason="other_designator", nearest=f"{phrase.strip()} {seen[0]}"
    )
