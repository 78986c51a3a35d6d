"""What is measured of a piece of a response against evidence: one row of numbers each.

The names of the numbers and their order are part of the model file: see `FEATURES` there.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from aletheia.grounding.polarity import NEGATIONS, opposites
from aletheia.grounding.verify import verify_answer
from aletheia.judges.embedded.evidence import SELF, Evidence, Piece, runs
from aletheia.judges.embedded.tokens import Token, tokens
from aletheia.judges.embedded.words import word_table
from aletheia.schema.answer import ParsedAnswer
from aletheia.schema.verification import Finding

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float32]

Row = dict[str, float]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LEXICAL: Final[dict[str, frozenset[str]]] = {
    "self": SELF,
    "you": _words("you your yours yourself you're"),
    "universal": _words("all every each always entire entirely whole any both none never no"),
    "partial": _words("some most many few several often sometimes usually mostly part partly nearly almost about"),
    "only": _words("only just solely exclusively exactly"),
    "modal": _words("may might could would should can must will possibly perhaps likely probably reportedly allegedly"),
    "hedge": _words("might may possibly perhaps probably seems seem appears suggests suggest think believe believed"),
    "cause": _words("because since therefore thus hence due cause caused causes causing result leads lead led so"),
    "summary": _words("overall conclusion summary additionally furthermore moreover important generally essential crucial ensure"),
    "judge": _words("good great best better bad worst love like favorite favourite amazing interesting really very popular famous beautiful awesome"),
    "time": _words("before after during while until since first last then later earlier now today currently"),
    "comparative": _words("more less than larger smaller higher lower most least greater fewer better worse biggest largest highest"),
    "contrast": _words("however but although though despite unlike instead whereas"),
    "missing": _words("unable provided passage passages context information mentioned mention specify given document documents"),
}  # fmt: skip
"""Lists whose words are counted in the piece, and against its best evidence sentence."""

_PAIR_WEIGHT = 0.6
"""Weight of a pair of characters in a script without spaces; words weigh what they are rare."""
_MISSING = 0.5
"""Below this likeness a word counts as missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Characters [start, end) of the response; `position` in [0, 1] is where among `siblings`."""

    start: int
    end: int
    position: float = 0.0
    siblings: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """The content words of a part (rows) against the evidence sentences (columns)."""

    text: str
    words: Sequence[Token]
    content: Sequence[Token]
    weights: Floats
    exact: Floats
    near: Floats
    best: int


class Measure:
    """Measures parts of one response against one evidence."""

    def __init__(self, evidence: Evidence, response: str, query: str | None) -> None:
        self.evidence = evidence
        self.response = response
        self.words = tokens(response)
        self.content = [token for token in self.words if token.kind != "function"]
        self.matches = evidence.match(self.content)
        self.weights = _weights(self.content)
        self._query_text = query
        self.query = frozenset(t.form for t in tokens(query or "") if t.kind != "function")
        self._blocks: dict[tuple[int, int], Block] = {}

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """What verification finds in the response when every unit counts as cited."""
        if not len(self.evidence.units):
            return ()
        parsed = ParsedAnswer(answer=self.response, evidence_ids=self.evidence.units.ids)
        return verify_answer(self.evidence.units, parsed, question=self._query_text).findings

    def rows(self, parts: Iterable[Part]) -> list[Row]:
        """One row for each part, all with the same names in the same order."""
        return [self.row(part) for part in parts]

    def row(self, part: Part) -> Row:
        """The numbers of one part."""
        block = self.block(part)
        return {
            **coverage(block, self.evidence.unit_of),
            **_misses(block),
            **_kinds(block),
            **self._runs(block),
            **self._against_best(block),
            **self._shape(block, part),
            **self._asked(block),
            **self._found(part),
        }

    def block(self, part: Part) -> Block:
        """The part with its rows of the matches; its best sentence is chosen here."""
        known = self._blocks.get((part.start, part.end))
        if known is None:
            known = self._blocks[part.start, part.end] = self._block(part)
        return known

    def _block(self, part: Part) -> Block:
        import numpy as np

        at = [i for i, t in enumerate(self.content) if part.start <= t.start < part.end]
        exact, near, weights = self.matches.exact[at], self.matches.near[at], self.weights[at]
        if not at or not len(self.evidence):
            shape = (max(1, len(at)), max(1, len(self.evidence)))
            exact = near = np.zeros(shape, dtype=np.float32)
            weights = weights if at else np.ones(1, dtype=np.float32)
        share = ((exact + near) * weights[:, None]).sum(axis=0)
        return Block(
            text=self.response[part.start : part.end],
            words=[t for t in self.words if part.start <= t.start < part.end],
            content=[self.content[i] for i in at],
            weights=weights,
            exact=exact,
            near=near,
            best=int(np.argmax(share)),
        )

    def best_piece(self, block: Block) -> Piece:
        """The evidence sentence that covers most of the block."""
        if not len(self.evidence):
            return Piece(unit=0, start=0, end=0, tokens=())
        return self.evidence.pieces[block.best]

    def _runs(self, block: Block) -> Row:
        """Runs of neighbouring words and characters that the evidence holds too."""
        forms = [token.form for token in block.words]
        row: Row = {}
        for n in (2, 3, 5):
            known = self.evidence.known_runs(forms, n)
            row[f"gram{n}"] = sum(known) / len(known) if known else -1.0
        longest = _longest(self.evidence.known_runs(forms, 3))
        row["run"] = float(longest + 2 if longest else 0)
        row["run_share"] = row["run"] / max(1, len(forms))
        row["char5"] = self.evidence.character_share(block.text)
        return row

    def _against_best(self, block: Block) -> Row:
        piece = self.best_piece(block)
        return {**_lexical(block, piece), **_order(block, piece), **_rivals(block, piece)}

    def _shape(self, block: Block, part: Part) -> Row:
        """Lengths and looks of the part and of the evidence."""
        text, evidence = block.text, self.evidence
        return {
            "n_tokens": float(len(block.words)),
            "n_content": float(len(block.content)),
            "function_share": 1 - len(block.content) / max(1, len(block.words)),
            "rarity": float(block.weights.mean()),
            "ev_words": math.log1p(evidence.n_words),
            "ev_sentences": math.log1p(len(evidence)),
            "ev_units": float(len(evidence.units)),
            "ev_self": evidence.n_self / max(1, evidence.n_words),
            "position": part.position,
            "siblings": math.log1p(part.siblings),
            "question": float("?" in text or "？" in text),
            "exclaim": float("!" in text),
            "ascii": sum(char < "\x80" for char in text) / max(1, len(text)),
            "quoted": float('"' in text or "“" in text),
        }

    def _asked(self, block: Block) -> Row:
        """How the part and the evidence stand to the question."""
        asked = [token.form in self.query for token in block.content]
        found = block.exact.max(axis=1)
        return {
            "q_share": sum(asked) / max(1, len(asked)),
            "q_only": float(sum(a and f < 1 for a, f in zip(asked, found, strict=False))),
            "q_n": float(len(self.query)),
            "q_cov": sum(map(self.evidence.has, self.query)) / max(1, len(self.query)),
        }

    def _found(self, part: Part) -> Row:
        """Findings of verification that lie in the part, by kind."""
        row = {f"found_{kind}": 0.0 for kind in ("name", "number", "date", "polarity", "other")}
        row["found_against"] = 0.0
        for item in self.findings:
            if item.start < part.end and item.end > part.start:
                kind = f"found_{item.kind}"
                row[kind if kind in row else "found_other"] += 1.0
                row["found_against"] += float(item.nearest is not None)
        return row


def _weights(content: Sequence[Token]) -> Floats:
    import numpy as np

    table = word_table()
    return np.array(
        [_PAIR_WEIGHT if t.kind == "pair" else table.rarity_of(t.word) for t in content],
        dtype=np.float32,
    )


def _longest(flags: Iterable[bool]) -> int:
    longest = run = 0
    for flag in flags:
        run = run + 1 if flag else 0
        longest = max(longest, run)
    return longest


def coverage(block: Block, unit_of: Sequence[int]) -> Row:
    """Shares of the weight of the content words that all, one, two, three sentences carry."""
    import numpy as np

    exact, near, w = block.exact, block.near, block.weights
    total = max(1e-6, float(w.sum()))
    row: Row = {}

    def put(name: str, columns: Floats, likely: Floats) -> None:
        row[f"{name}_exact"] = float((columns * w).sum()) / total
        row[f"{name}_near"] = float((likely * w).sum()) / total

    put("all", exact.max(axis=1), near.max(axis=1))
    row["all_plain"] = float(exact.max(axis=1).mean())
    put("b1", exact[:, block.best], near[:, block.best])
    share = np.sort(((exact + near) * w[:, None]).sum(axis=0))[::-1]
    row["b1_gap"] = float(share[0] - (share[1] if len(share) > 1 else 0.0)) / (2 * total)
    chosen_exact, chosen_near = exact[:, block.best], near[:, block.best]
    for k in (2, 3):
        gain = np.maximum(near, chosen_near[:, None]) + np.maximum(exact, chosen_exact[:, None])
        following = int(np.argmax((gain * w[:, None]).sum(axis=0)))
        chosen_exact = np.maximum(chosen_exact, exact[:, following])
        chosen_near = np.maximum(chosen_near, near[:, following])
        put(f"b{k}", chosen_exact, chosen_near)
    around = _around(block.best, unit_of)
    put("window", exact[:, around].max(axis=1), near[:, around].max(axis=1))
    columns = np.asarray(unit_of or [0])
    best_unit = columns == columns[block.best]
    put("unit", exact[:, best_unit].max(axis=1), near[:, best_unit].max(axis=1))
    return row


def _around(best: int, unit_of: Sequence[int]) -> list[int]:
    """The best sentence and its neighbours in the same unit."""
    near = (at for at in (best - 1, best, best + 1) if 0 <= at < len(unit_of))
    return [at for at in near if unit_of[at] == unit_of[best]] or [best]


def _misses(block: Block) -> Row:
    """The worst covered words, in all of the evidence and in the best sentence."""
    import numpy as np

    everywhere, best, w = block.near.max(axis=1), block.near[:, block.best], block.weights
    all_sorted, best_sorted = np.sort(everywhere), np.sort(best)
    together = (block.near[:-1] * block.near[1:]).max(axis=1) if len(w) > 1 else np.ones(1)
    apart = np.minimum(everywhere[:-1], everywhere[1:]) - together if len(w) > 1 else np.zeros(1)
    return {
        "low1": float(all_sorted[0]),
        "low2": float(all_sorted[:2].mean()),
        "low3": float(all_sorted[:3].mean()),
        "best_low1": float(best_sorted[0]),
        "best_low2": float(best_sorted[:2].mean()),
        "best_low4": float(best_sorted[:4].mean()),
        "n_miss": float((everywhere < _MISSING).sum()),
        "n_inexact": float((block.exact.max(axis=1) < 1).sum()),
        "miss_share": float((everywhere < _MISSING).mean()),
        "miss_weight": float((w * (1 - everywhere)).sum()),
        "miss_rarest": float((w * (1 - everywhere)).max()),
        "best_miss_weight": float((w * (1 - best)).sum()),
        "best_miss_rarest": float((w * (1 - best)).max()),
        "together": float(together.mean()),
        "apart": float(apart.sum()),
        "apart_share": float(apart.mean()),
    }


def _kinds(block: Block) -> Row:
    """How many names, numbers and words there are, and how many of them are not carried."""
    row: Row = {}
    for kind in ("name", "number", "word", "pair"):
        at = [i for i, token in enumerate(block.content) if token.kind == kind]
        table = (block.near if kind == "word" else block.exact)[at] if at else None
        missing = float((1 - table.max(axis=1)).sum()) if table is not None else 0.0
        in_best = float((1 - table[:, block.best]).sum()) if table is not None else 0.0
        row[f"{kind}_n"] = float(len(at))
        row[f"{kind}_all"], row[f"{kind}_best"] = missing, in_best
        row[f"{kind}_share"] = missing / len(at) if at else -1.0
        row[f"{kind}_best_share"] = in_best / len(at) if at else -1.0
    return row


def _lexical(block: Block, piece: Piece) -> Row:
    """Words of the lists in the part, new against the evidence sentence, and lost from it."""
    mine = {token.word for token in block.words}
    theirs = {token.word for token in piece.tokens}
    row: Row = {}
    for name, listed in LEXICAL.items():
        row[f"lex_{name}"] = float(len(mine & listed))
        row[f"new_{name}"] = float(len((mine & listed) - theirs))
        row[f"lost_{name}"] = float(len((theirs & listed) - mine))
    row["neg_mine"] = float(_negations(block.words))
    row["neg_theirs"] = float(_negations(piece.tokens))
    row["neg_differ"] = (row["neg_mine"] + row["neg_theirs"]) % 2
    return row


def _negations(words: Iterable[Token]) -> int:
    return sum(t.word in NEGATIONS or t.word.endswith(("n't", "n’t")) for t in words)


def _order(block: Block, piece: Piece) -> Row:
    """Whether the shared words stand in the same order, and how close together."""
    where: dict[str, int] = {}
    for i, token in enumerate(piece.tokens):
        where.setdefault(token.form, i)
    places = [where[token.form] for token in block.content if token.form in where]
    steps = list(pairwise(places))
    forms, mine = piece.forms, {token.form for token in block.content}
    return {
        "inverted": sum(a > b for a, b in steps) / len(steps) if steps else 0.0,
        "spread": (max(places) - min(places) + 1) / len(places) if places else 0.0,
        "best_reverse": len(forms & mine) / max(1, len(forms)),
        "best_size": float(len(forms)),
    }


def _rivals(block: Block, piece: Piece) -> Row:
    """Words of the part that are missing where the evidence sentence has one of like kind."""
    import numpy as np

    mine = {token.form for token in block.content}
    theirs = {token.word for token in piece.tokens}
    missing = [
        (token, float(weight))
        for token, hit, weight in zip(
            block.content, block.exact[:, block.best], block.weights, strict=False
        )
        if hit < 1
    ]
    left = [t for t in piece.tokens if t.kind != "function" and t.form not in mine]
    words = [t for t, _ in missing if t.kind in ("word", "name")]
    others = [t.word for t in left if t.kind in ("word", "name")]
    row = {"rival_most": 0.0, "rival_sum": 0.0}
    if words and others:
        table = word_table()
        likeness = np.einsum(
            "ij,kj->ik", table.vectors_of([t.word for t in words]), table.vectors_of(others)
        )
        closest = likeness.max(axis=1)
        rival = np.clip(closest - 0.3, 0, None) * (closest < 0.85)
        row = {"rival_most": float(rival.max()), "rival_sum": float(rival.sum())}
    numbers = sum(t.kind == "number" for t, _ in missing)
    row["rival_number"] = float(min(numbers, sum(t.kind == "number" for t in left)))
    row["opposite"] = float(
        sum(t.kind == "word" and bool(opposites(t.word) & theirs) for t, _ in missing)
    )
    row["cosine"] = _cosine(block.content, piece.tokens)
    return row


def _cosine(mine: Sequence[Token], theirs: Sequence[Token]) -> float:
    """Likeness of the sums of the word vectors."""
    import numpy as np

    table = word_table()
    sums = []
    for words in (mine, theirs):
        listed = [t.word for t in words if t.kind != "function"] or [""]
        rarity = np.array([table.rarity_of(word) for word in listed], dtype=np.float32)
        sums.append((table.vectors_of(listed) * rarity[:, None]).sum(axis=0))
    length = float(np.linalg.norm(sums[0]) * np.linalg.norm(sums[1]))
    return float(sums[0] @ sums[1]) / length if length > 0 else 0.0


__all__ = ["LEXICAL", "Block", "Measure", "Part", "Row", "coverage", "runs"]
