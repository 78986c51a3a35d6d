"""FollowTheMoney entities, one JSON object a line, as sanctions data is published.

No library is needed: `EDGES` says which schemata are links. Any other schema is a node, and a
property value that is the id of another entity is a link whatever the schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from aletheia.errors import DataError
from aletheia.graph.build import Builder
from aletheia.graph.formats.source import Json, lines, parse_line
from aletheia.graph.formats.values import scalar, strings
from aletheia.graph.store import DESCRIPTION

EDGES: Mapping[str, tuple[str, str, str]] = {
    "Associate": ("person", "is an associate of", "associate"),
    "ContractAward": ("contract", "was awarded to", "supplier"),
    "CourtCaseParty": ("party", "is involved in", "case"),
    "Debt": ("debtor", "owes a debt to", "creditor"),
    "Directorship": ("director", "is a director of", "organization"),
    "Documentation": ("document", "documents", "entity"),
    "Employment": ("employee", "works for", "employer"),
    "Family": ("person", "is a relative of", "relative"),
    "Membership": ("member", "is a member of", "organization"),
    "Occupancy": ("holder", "holds the post", "post"),
    "Ownership": ("owner", "owns", "asset"),
    "Payment": ("payer", "paid", "beneficiary"),
    "ProjectParticipant": ("participant", "takes part in", "project"),
    "Representation": ("agent", "represents", "client"),
    "Similar": ("candidate", "may be the same as", "match"),
    "Succession": ("predecessor", "was succeeded by", "successor"),
    "UnknownLink": ("subject", "is linked to", "object"),
}
"""Link schemata: source property, predicate, target property."""

SANCTIONED = "is sanctioned by"
"""The predicate from a sanctioned entity to the authority, which becomes a node of its own."""

_NAMES = ("name", "title", "full", "label", "registrationNumber", "number")
_ALIASES = ("alias", "weakAlias", "previousName", "abbreviation")
_DESCRIPTIONS = ("description", "summary")


@dataclass(frozen=True, slots=True)
class _Entity:
    id: str
    schema: str
    caption: str | None
    properties: dict[str, list[str]]
    line: int


def read(path: Path, builder: Builder) -> None:
    """Read entities into `builder`, in two passes: ids first. Raises `DataError` with the line."""
    ids = {entity.id for entity in _entities(path)}
    for entity in _entities(path):
        if entity.schema == "Sanction" and _add_sanction(builder, entity):
            continue
        if entity.schema in EDGES and _add_link(builder, entity):
            continue
        _add_node(builder, entity, ids)


def _entities(path: Path) -> Iterator[_Entity]:
    for number, text in lines(path):
        record = parse_line(text, path, number)
        found = {key: scalar(record.get(key)) for key in ("id", "schema")}
        for key, value in found.items():
            if value is None:
                raise DataError(f"an entity needs `{key}`", file=path, line=number, field=key)
        yield _Entity(
            id=found["id"] or "",
            schema=found["schema"] or "",
            caption=scalar(record.get("caption")),
            properties=_properties(record.get("properties"), path, number),
            line=number,
        )


def _properties(value: Json, path: Path, number: int) -> dict[str, list[str]]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise DataError("expected an object", file=path, line=number, field="properties")
    return {key: strings(item) for key, item in value.items()}


def _add_node(builder: Builder, entity: _Entity, ids: set[str]) -> None:
    if builder.declared(entity.id):
        message = "entities that stand on several lines; their properties are merged"
        builder.warn("merged_entity", message, entity.id, entity.line)
    names = [n for key in _NAMES[:1] for n in entity.properties.get(key, ())]
    fallback = [n for key in _NAMES[1:] for n in entity.properties.get(key, ())]
    called = list(dict.fromkeys([*([entity.caption] if entity.caption else []), *names]))
    called = called or fallback[:1]
    aliases = [a for key in _ALIASES for a in entity.properties.get(key, ())]
    node = builder.node(
        entity.id,
        name=called[0] if called else None,
        type=entity.schema,
        aliases=[*called[1:], *aliases],
    )
    for key, values in entity.properties.items():
        if key != "name" and key not in _ALIASES:
            for value in values:
                if value in ids and value != entity.id:
                    builder.edge(entity.id, key, value)
                else:
                    name = DESCRIPTION if key in _DESCRIPTIONS else key
                    builder.attribute(node, name, value)


def _attributes(entity: _Entity, *used: str) -> tuple[tuple[str, str], ...]:
    return tuple(
        (key, value)
        for key, values in entity.properties.items()
        if key not in used
        for value in values
    )


def _add_link(builder: Builder, entity: _Entity) -> bool:
    """Add the edges of a link entity; False if one of its ends is missing."""
    source, predicate, target = EDGES[entity.schema]
    pairs = list(product(entity.properties.get(source, ()), entity.properties.get(target, ())))
    if not pairs:
        message = "link entities without both ends; they are kept as nodes"
        builder.warn("incomplete_link", message, entity.id, entity.line)
        return False
    attributes = _attributes(entity, source, target)
    for one, other in pairs:
        edge_id = entity.id if len(pairs) == 1 else None
        builder.edge(one, predicate, other, attributes, edge_id)
    return True


def _add_sanction(builder: Builder, entity: _Entity) -> bool:
    """Add an edge to the authority; False if the entity or the authority is not named."""
    targets = entity.properties.get("entity", ())
    authorities = entity.properties.get("authority", ())
    pairs = list(product(targets, authorities))
    attributes = _attributes(entity, "entity", "authority")
    for target, authority in pairs:
        node_id = f"authority:{authority}"
        if not builder.declared(node_id):
            builder.node(node_id, name=authority, type="Authority")
        edge_id = entity.id if len(pairs) == 1 else None
        builder.edge(target, SANCTIONED, node_id, attributes, edge_id)
    return bool(pairs)
