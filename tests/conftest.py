"""Settings that every test shares."""

from __future__ import annotations

from hypothesis import settings

# The first use of a heavy library inside an example would break a time limit; slow code is found
# by the benchmarks, not by a clock in a test.
settings.register_profile("aletheia", deadline=None)
settings.load_profile("aletheia")
