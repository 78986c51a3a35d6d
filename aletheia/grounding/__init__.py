"""Deterministic verification: numbering, parsing, citations, names, quantities, verdicts."""
