"""`aletheia local-model`: a small real model behind a loopback endpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from aletheia.cli import output

local_model = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    no_args_is_help=True,
    help="Serve a small model on this machine.",
)


@local_model.callback()
def _group() -> None:
    """Serve a small model on this machine."""


@local_model.command(short_help="Serve it with the OpenAI protocol on 127.0.0.1.")
def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 takes a free one.")
    ] = 0,
    weights: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Another model, as a GGUF file.")
    ] = None,
    context: Annotated[
        int, typer.Option(min=512, metavar="TOKENS", help="Size of the context window.")
    ] = 8192,
    max_output: Annotated[
        int,
        typer.Option(min=1, metavar="TOKENS", help="Longest reply where a request sets no limit."),
    ] = 512,
    threads: Annotated[int, typer.Option(min=1, metavar="N", help="CPU threads.")] = 1,
) -> None:
    """Serve a model with the OpenAI protocol on 127.0.0.1 until Ctrl-C or SIGTERM.

    Prints the two variables to set as soon as it is ready. A reply under way at the signal is cut
    off: its connection is closed. Needs the extra `local`. The bundled
    model has 135 million parameters: it is there to try the wiring. It is no judge.
    """
    from aletheia.llm.local_model import WARNING, LocalModelOptions, LocalModelServer

    options = LocalModelOptions(port=port, context=context, max_output=max_output, threads=threads)
    server = LocalModelServer(weights, options)
    if weights is None:
        output.note(WARNING)
    output.data(f"OPENAI_BASE_URL={server.base_url}\nALETHEIA_MODEL={server.model}\n")
    _wait()
    _end()


def _wait() -> None:
    """Wait for a signal to end."""
    import signal
    import threading

    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    # A wait without an end is not woken by a signal on every system.
    while not ended.wait(3600):
        continue


def _end() -> None:
    """End the process as it is.

    The runtime can only be stopped by letting go of it, and then it holds the whole interpreter
    until the reply under way is complete. It keeps nothing that would have to be saved.
    """
    import os
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
