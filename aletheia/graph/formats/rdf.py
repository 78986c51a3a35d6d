"""RDF as Turtle, N-Triples, N3 or RDF/XML, through rdflib (the extra `rdf`)."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from aletheia.errors import DataError, MissingExtra
from aletheia.graph.build import Builder
from aletheia.graph.formats.source import line_of, read_text
from aletheia.graph.store import DESCRIPTION

if TYPE_CHECKING:
    from rdflib.term import Node as Term

FORMATS = {".ttl": "turtle", ".nt": "nt", ".n3": "n3", ".rdf": "xml"}
"""rdflib's format by file extension."""

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_NAMES = (
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
)
_ALIASES = (
    "http://www.w3.org/2004/02/skos/core#altLabel",
    "http://schema.org/alternateName",
    "https://schema.org/alternateName",
)
_DESCRIPTIONS = (
    "http://www.w3.org/2000/01/rdf-schema#comment",
    "http://www.w3.org/2004/02/skos/core#definition",
    "http://schema.org/description",
    "https://schema.org/description",
    "http://purl.org/dc/terms/description",
)


def read(path: Path, builder: Builder) -> None:
    """Read a file of triples into `builder`.

    Literals become attributes, everything else edges. Of several labels the English one, else
    the first, is the name; the others are aliases. Raises `DataError`, or `MissingExtra`
    without rdflib.
    """
    labels: dict[str, list[tuple[int, bool, str]]] = defaultdict(list)
    for subject, predicate, value in _triples(path):
        index = builder.reference(_id(subject))
        iri = str(predicate)
        literal = type(value).__name__ == "Literal"
        if iri in _NAMES and literal:
            foreign = not (getattr(value, "language", None) or "en").startswith("en")
            labels[_id(subject)].append((_NAMES.index(iri), foreign, str(value)))
        elif iri in _ALIASES and literal:
            builder.alias(index, [str(value)])
        elif iri in _DESCRIPTIONS and literal:
            builder.attribute(index, DESCRIPTION, str(value))
        elif iri == _TYPE:
            builder.add_type(index, local_name(str(value)))
        elif literal:
            builder.attribute(index, iri, str(value))
        else:
            builder.edge(_id(subject), iri, _id(value))
    _name(builder, labels)


def _name(builder: Builder, labels: dict[str, list[tuple[int, bool, str]]]) -> None:
    for node_id in builder.ids():
        found = sorted(labels.get(node_id, ()), key=lambda label: (label[1], label[0]))
        names = list(dict.fromkeys(text for _, _, text in found))
        called = names or [local_name(node_id)]
        builder.rename(node_id, called[0], aliases=called[1:])


def _id(term: Term) -> str:
    return f"_:{term}" if type(term).__name__ == "BNode" else str(term)


def local_name(iri: str) -> str:
    """Read the last part of an IRI as words; the id of a blank node stays as it is."""
    if iri.startswith("_:"):
        return iri
    last = re.split(r"[/#]", iri.rstrip("/#"))[-1]
    return unquote(last).replace("_", " ") or iri


def _triples(path: Path) -> list[tuple[Term, Term, Term]]:
    try:
        import rdflib
        from rdflib import BNode
        from rdflib.compare import to_canonical_graph
        from rdflib.exceptions import ParserError
        from rdflib.plugins.parsers.notation3 import BadSyntax
        from rdflib.plugins.parsers.ntriples import ParseError
    except ImportError:
        raise MissingExtra("reading RDF", "rdf") from None
    from xml.sax import SAXParseException

    graph = rdflib.Graph()
    text = read_text(path)
    try:
        graph.parse(data=text, format=FORMATS[path.suffix.lower()])
    except BadSyntax as error:
        raise DataError(
            f"not valid RDF: {error.message}", file=path, line=error.lines + 1
        ) from None
    except SAXParseException as error:
        message = f"not valid XML: {error.getMessage()}"
        raise DataError(message, file=path, line=error.getLineNumber()) from None
    except (ParserError, ParseError, ValueError) as error:
        line = _line_quoted(str(error), text)
        raise DataError(f"not valid RDF: {error}", file=path, line=line) from None
    # rdflib keeps a set and draws the ids of blank nodes; the same file gives the same graph here.
    if any(isinstance(term, BNode) for triple in graph for term in triple):
        graph = to_canonical_graph(graph)
    return sorted(graph)


def _line_quoted(message: str, text: str) -> int | None:
    """Find the line that a parser quotes at the end of its message."""
    quoted = message.rpartition(": ")[2]
    offset = text.find(quoted) if quoted else -1
    return line_of(text, offset) if offset >= 0 else None
