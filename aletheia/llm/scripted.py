"""A chat model that says what it is told to say: for tests, examples and dry runs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from aletheia.errors import AletheiaError, UsageError
from aletheia.schema.model import Prompt, Reply, Usage

Line = str | Reply | AletheiaError
"""One line of a script: a text, a whole reply, or an error to raise."""


class ScriptedModel:
    """`ChatModel` that follows a script.

    `script` is a queue of lines, used one per call, or a function from the prompt to a line. A
    queue that is used up raises `UsageError`, which is no `ModelError`: the script is at fault.
    `history` holds every prompt in the order of the calls.
    """

    def __init__(
        self, script: Iterable[Line] | Callable[[Prompt], Line], *, name: str = "scripted"
    ) -> None:
        self._name = name
        self._answer = script if callable(script) else _from_queue(script)
        self.history: list[Prompt] = []

    @property
    def name(self) -> str:
        """Model id as recorded in results."""
        return self._name

    async def complete(self, prompt: Prompt) -> Reply:
        """Return or raise what the script says."""
        self.history.append(prompt)
        match self._answer(prompt):
            case str(text):
                return Reply(
                    text=text,
                    model=self._name,
                    finish_reason="stop",
                    usage=Usage(prompt_tokens=0, completion_tokens=0),
                )
            case Reply() as reply:
                return reply
            case error:
                raise error


def _from_queue(lines: Iterable[Line]) -> Callable[[Prompt], Line]:
    queue = deque(lines)
    length = len(queue)

    def following(_prompt: Prompt) -> Line:
        if not queue:
            raise UsageError(f"the script of {length} replies is used up")
        return queue.popleft()

    return following
