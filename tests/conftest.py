"""Settings that every test shares."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import settings

from aletheia.llm.capabilities import MEMORY
from aletheia.pipeline.stored import close_stores
from aletheia.sdk.worker_host import HOST

# The first use of a heavy library inside an example would break a time limit; slow code is found
# by the benchmarks, not by a clock in a test.
settings.register_profile("aletheia", deadline=None)
settings.load_profile("aletheia")

_NUMBERS = count()


@pytest.fixture(autouse=True)
def _store_of_the_test(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """A database of its own for each test, so that none is made where the suite is started.

    A test that wants the default file in its own directory removes the variable. Its worker ends
    with it.
    """
    path = tmp_path_factory.getbasetemp() / f"store-{next(_NUMBERS)}.db"
    monkeypatch.setenv("ALETHEIA_DB_PATH", str(path))
    yield
    HOST.renew()
    close_stores()


@pytest.fixture(autouse=True)
def _nothing_known_of_endpoints() -> Iterator[None]:
    """A port that is used again is another endpoint."""
    MEMORY.clear()
    yield
    MEMORY.clear()
