"""Settings that every test shares."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import settings

from aletheia.llm.capabilities import MEMORY

# The first use of a heavy library inside an example would break a time limit; slow code is found
# by the benchmarks, not by a clock in a test.
settings.register_profile("aletheia", deadline=None)
settings.load_profile("aletheia")


@pytest.fixture(autouse=True)
def _nothing_known_of_endpoints() -> Iterator[None]:
    """A port that is used again is another endpoint."""
    MEMORY.clear()
    yield
    MEMORY.clear()
