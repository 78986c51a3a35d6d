"""What is remembered of an endpoint: changes add up, from however many calls at once."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from aletheia.llm.capabilities import EndpointMemory, capabilities, merged
from aletheia.llm.openai_wire import Shape

FIRST = Shape(tokens="max_tokens")
KEY = ("http://localhost/v1", "m")
NO_SCHEMA = replace(FIRST, structured="json_object")
NO_FORMAT = replace(FIRST, structured="none")
COLD = replace(FIRST, temperature=False)
NEWER = replace(FIRST, tokens="max_completion_tokens", tokens_tried=True)


@pytest.mark.parametrize(
    ("known", "after", "expected"),
    [
        (FIRST, FIRST, FIRST),
        (NO_SCHEMA, FIRST, NO_SCHEMA),
        (FIRST, NO_SCHEMA, NO_SCHEMA),
        (NO_SCHEMA, NO_SCHEMA, NO_SCHEMA),
        (NO_FORMAT, NO_SCHEMA, NO_FORMAT),
        (NO_SCHEMA, COLD, replace(NO_SCHEMA, temperature=False)),
        (NEWER, NEWER, NEWER),
        (NEWER, FIRST, NEWER),
        (NEWER, COLD, replace(NEWER, temperature=False)),
        (
            replace(FIRST, without=("seed",)),
            replace(FIRST, without=("store", "seed")),
            replace(FIRST, without=("seed", "store")),
        ),
    ],
)
def test_two_calls_that_began_alike_add_up(known: Shape, after: Shape, expected: Shape) -> None:
    """None of them lowers twice what both saw refused, and none undoes what the other found."""
    assert merged(known, FIRST, after) == expected


def test_the_memory_is_by_endpoint_and_model_and_can_be_looked_at_and_cleared() -> None:
    memory = EndpointMemory()
    assert memory.get(KEY) is None
    memory.learn(KEY, FIRST, COLD)
    assert memory.get(KEY) == COLD
    assert memory.get((KEY[0], "other")) is None
    assert memory.get(("http://localhost/v2", "m")) is None
    assert dict(memory.known()) == {KEY: COLD}
    memory.clear()
    assert dict(memory.known()) == {}


def test_threads_lose_nothing_that_another_learnt() -> None:
    memory = EndpointMemory()
    names = [f"p{n}" for n in range(40)]
    threads = [
        threading.Thread(target=memory.learn, args=(KEY, FIRST, replace(FIRST, without=(name,))))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    known = memory.get(KEY)
    assert known is not None
    assert sorted(known.without) == sorted(names)


def test_capabilities_say_what_is_left_out() -> None:
    shape = Shape(structured="none", temperature=False, system_role=False, without=("seed",))
    told = capabilities(shape, confirmed=True)
    assert told.dropped == ("response_format", "temperature", "system_role", "seed")
    assert (told.structured, told.schema_in_text, told.confirmed) == ("none", True, True)
    assert capabilities(Shape(), confirmed=False).dropped == ()
