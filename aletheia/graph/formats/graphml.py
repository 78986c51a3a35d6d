"""GraphML, read event by event with expat, so that errors know their line."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from aletheia.errors import DataError
from aletheia.graph.build import Builder
from aletheia.graph.formats.node_link import ALIAS_KEYS, add_node, connect
from aletheia.graph.formats.source import Json

if TYPE_CHECKING:
    from xml.parsers.expat import XMLParserType

_NOT_READ = frozenset({"hyperedge", "port"})


def read(path: Path, builder: Builder) -> None:
    """Read a GraphML file into `builder`. Raises `DataError` with the line."""
    from xml.parsers import expat

    parser = expat.ParserCreate()
    handler = _Handler(path, builder, parser)
    parser.StartElementHandler = handler.start
    parser.EndElementHandler = handler.end
    parser.CharacterDataHandler = handler.text
    parser.EntityDeclHandler = handler.entity
    parser.buffer_text = True
    try:
        with path.open("rb") as handle:
            parser.ParseFile(handle)
    except expat.ExpatError as error:
        message = f"not valid XML: {expat.ErrorString(error.code)}"
        raise DataError(message, file=path, line=error.lineno) from None
    if not handler.is_graphml:
        raise DataError("not a GraphML file: no `graph` element", file=path)


@dataclass(slots=True)
class _Record:
    """A node or edge under construction; also its own place in the file."""

    path: Path
    kind: str
    line: int
    attributes: dict[str, str]
    data: dict[str, Json] = field(default_factory=dict)

    def error(self, message: str, member: str | None = None) -> DataError:
        name = self.kind if member is None else f"{self.kind}.{member}"
        return DataError(message, file=self.path, line=self.line, field=name)


class _Handler:
    def __init__(self, path: Path, builder: Builder, parser: XMLParserType) -> None:
        self.is_graphml = False
        self._path, self._builder, self._parser = path, builder, parser
        self._names: dict[str, str] = {}
        self._defaults: dict[str, dict[str, str]] = {"node": {}, "edge": {}}
        self._open: list[_Record] = []
        self._key: dict[str, str] | None = None
        self._data: str | None = None
        self._text: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        match tag.rpartition(":")[2]:
            case "graph":
                self.is_graphml = True
            case "key":
                self._key = attributes
                self._names[attributes.get("id", "")] = attributes.get("attr.name", "label")
            case "default" | "data" as name:
                self._data = attributes.get("key", "") if name == "data" else ""
                self._text = []
            case "node" | "edge" as kind:
                line = self._parser.CurrentLineNumber
                self._open.append(_Record(self._path, kind, line, attributes))
            case other if other in _NOT_READ:
                message = f"`{other}` elements are not read"
                raise DataError(message, file=self._path, line=self._parser.CurrentLineNumber)

    def text(self, text: str) -> None:
        if self._data is not None:
            self._text.append(text)

    def entity(self, name: str, *_: object) -> None:
        message = f"the entity `{name}` is declared; entity declarations are not read"
        raise DataError(message, file=self._path, line=self._parser.CurrentLineNumber)

    def end(self, tag: str) -> None:
        match tag.rpartition(":")[2]:
            case "key":
                self._key = None
            case "default":
                self._end_default()
            case "data":
                self._end_data()
            case "node":
                self._end_node()
            case "edge":
                self._end_edge()

    def _end_default(self) -> None:
        if self._key is not None:
            target = self._key.get("for", "all")
            for kind in ("node", "edge") if target == "all" else (target,):
                name = self._names[self._key.get("id", "")]
                self._defaults.setdefault(kind, {})[name] = "".join(self._text).strip()
        self._data = None

    def _end_data(self) -> None:
        value = "".join(self._text).strip()
        key, self._data = self._data or "", None
        if not self._open:
            return
        record = self._open[-1]
        if key not in self._names:
            raise record.error(f"the data key `{key}` is not declared", "data")
        name = self._names[key]
        decoded = _list(value) if name in ALIAS_KEYS else value
        known = record.data.get(name)
        record.data[name] = decoded if known is None else [known, decoded]

    def _finished(self, kind: str) -> _Record:
        record = self._open.pop()
        for name, value in self._defaults[kind].items():
            record.data.setdefault(name, value)
        return record

    def _end_node(self) -> None:
        record = self._finished("node")
        node_id = record.attributes.get("id")
        add_node(self._builder, {**record.data, "id": node_id}, record)

    def _end_edge(self) -> None:
        record = self._finished("edge")
        ends = [record.attributes.get(member, "").strip() for member in ("source", "target")]
        for member, end in zip(("source", "target"), ends, strict=True):
            if not end:
                raise record.error(f"an edge needs a `{member}`", member)
        connect(self._builder, ends[0], ends[1], record.data, record)


def _list(value: str) -> Json:
    """Decode a JSON array; any other text is one value, never split."""
    if not value.startswith("["):
        return value
    try:
        decoded: Json = json.loads(value)
    except json.JSONDecodeError:
        return value
    return decoded
