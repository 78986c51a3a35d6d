"""Judges: the pieces of a trace, and what holds of them. `base` has the ports and the outcomes."""
