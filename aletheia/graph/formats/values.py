"""Turning decoded JSON values into ids, names and attribute pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from aletheia.graph.formats.source import Json


def scalar(value: Json) -> str | None:
    """A scalar as text (numbers as written, booleans as yes/no); None for null and containers."""
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return value.strip() or None
        case _:
            return None


def flatten(key: str, value: Json) -> Iterator[tuple[str, str]]:
    """Attribute pairs of one member: lists give several values, objects give `key.member`."""
    match value:
        case list():
            for item in value:
                yield from flatten(key, item)
        case dict():
            for inner, item in value.items():
                yield from flatten(f"{key}.{inner}", item)
        case _:
            text = scalar(value)
            if text is not None:
                yield key, text


def strings(value: Json) -> list[str]:
    """All scalars in a value; a string is one, never split."""
    return [text for _, text in flatten("", value)]


def first(record: Mapping[str, Json], keys: tuple[str, ...]) -> tuple[str | None, str | None]:
    """The first of `keys` that holds a scalar, and its text."""
    for key in keys:
        text = scalar(record.get(key))
        if text is not None:
            return key, text
    return None, None


def rest(record: Mapping[str, Json], used: set[str | None]) -> Iterator[tuple[str, str]]:
    """Attribute pairs of every member not in `used`."""
    for key, value in record.items():
        if key not in used:
            yield from flatten(key, value)
