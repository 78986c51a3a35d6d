"""The command line: wires the commands, and turns errors into one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command

from aletheia import __version__
from aletheia.cli import output
from aletheia.errors import AletheiaError

INTERRUPTED: Final = 130
PIPE_CLOSED: Final = 141


@dataclass(frozen=True, slots=True, kw_only=True)
class Lazy:
    """A command whose module is imported when it is run. `summary` stands in the list of them.

    `function` names a function, or a `typer.Typer` with commands of its own.
    """

    name: str
    module: str
    function: str
    summary: str


COMMANDS: Final = (
    Lazy(
        name="evaluate-ragas",
        module="aletheia.cli.evaluate_ragas",
        function="evaluate_ragas",
        summary="Run a question set over a knowledge graph with verified grounding.",
    ),
    Lazy(
        name="verify",
        module="aletheia.cli.verify",
        function="verify",
        summary="Verify recorded answers against their evidence.",
    ),
    Lazy(
        name="eval",
        module="aletheia.cli.eval",
        function="eval_traces",
        summary="Diagnose traces: what was left out, made up, and which layer to mend.",
    ),
    Lazy(
        name="list",
        module="aletheia.cli.list",
        function="list_traces",
        summary="List stored traces, newest first.",
    ),
    Lazy(
        name="inspect",
        module="aletheia.cli.inspect",
        function="inspect_trace",
        summary="Show one stored trace with its evidence and diagnosis.",
    ),
    Lazy(
        name="stats",
        module="aletheia.cli.stats",
        function="stats",
        summary="Count stored traces: cells, rates, what is pending.",
    ),
    Lazy(
        name="export",
        module="aletheia.cli.export",
        function="export",
        summary="Write stored traces to a file.",
    ),
    Lazy(
        name="import-traces",
        module="aletheia.cli.import_traces",
        function="import_traces",
        summary="Store the traces in a file of OpenTelemetry spans.",
    ),
    Lazy(
        name="prune",
        module="aletheia.cli.prune",
        function="prune",
        summary="Remove old traces from the store.",
    ),
    Lazy(
        name="calibrate",
        module="aletheia.cli.calibrate",
        function="calibrate",
        summary="Measure the judge against labels of people.",
    ),
    Lazy(
        name="audit-judge",
        module="aletheia.cli.audit_judge",
        function="audit_judge",
        summary="Find out what moves the judge and should not.",
    ),
    Lazy(
        name="compare",
        module="aletheia.cli.compare",
        function="compare",
        summary="Show a run in every mode, or compare runs question by question.",
    ),
    Lazy(
        name="gate",
        module="aletheia.cli.gate",
        function="gate",
        summary="Hold a report against rules, for CI.",
    ),
    Lazy(
        name="probe",
        module="aletheia.cli.probe",
        function="probe",
        summary="Trace answers to the evidence or to the model's memory.",
    ),
    Lazy(
        name="make-questions",
        module="aletheia.cli.make_questions",
        function="make_questions",
        summary="Make a question set from a knowledge graph.",
    ),
    Lazy(
        name="fictionalise",
        module="aletheia.cli.fictionalise",
        function="fictionalise",
        summary="Write a graph with other names, dates and numbers.",
    ),
    Lazy(
        name="show-graph",
        module="aletheia.cli.show_graph",
        function="show_graph",
        summary="Show what a knowledge graph holds.",
    ),
    Lazy(
        name="cache",
        module="aletheia.cli.cache",
        function="cache",
        summary="Look into the cache of model replies, or empty it.",
    ),
    Lazy(
        name="local-model",
        module="aletheia.cli.local_model",
        function="local_model",
        summary="Serve a small model on this machine.",
    ),
    Lazy(
        name="doctor",
        module="aletheia.cli.doctor",
        function="doctor",
        summary="Check the installation and say what a run will use.",
    ),
)


class LazyGroup(TyperGroup):
    """A group that imports a command only to run it or to show its own help."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Names of all commands in their order."""
        del ctx
        return [command.name for command in COMMANDS]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override] # noqa: ANN401
        """Import one command; None for a name that is none."""
        del ctx
        return next((_imported(item) for item in COMMANDS if item.name == cmd_name), None)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(item.name, item.summary) for item in COMMANDS])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # noqa: ANN401
        """Find the command, or say which one may have been meant."""
        if args[0] not in self.list_commands(ctx) and not args[0].startswith("-"):
            raise _unknown(args[0])
        return super().resolve_command(ctx, args)


def _imported(command: Lazy) -> Any:  # noqa: ANN401
    function = getattr(import_module(command.module), command.function)
    single = function
    if not isinstance(function, typer.Typer):
        single = typer.Typer(add_completion=False, rich_markup_mode=None)
        single.command(name=command.name)(function)
    made = get_command(single)
    made.name = command.name
    return made


def _unknown(name: str) -> AletheiaError:
    from aletheia.errors import UsageError

    names = [command.name for command in COMMANDS]
    close = get_close_matches(name, names, n=1)
    start = f"did you mean `{close[0]}`? " if close else ""
    return UsageError(
        f"there is no command `{name}`", hint=f"{start}the commands are {', '.join(names)}"
    )


app = typer.Typer(cls=LazyGroup, add_completion=False, rich_markup_mode=None, no_args_is_help=True)


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", help="Show the version and exit.")] = False,
) -> None:
    """Tell whether an answer came from its evidence, or from somewhere else."""


def main() -> None:
    """Run the program and exit."""
    output.prepare()
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; errors are written to stderr."""
    try:
        code = _invoke(list(arguments))
        output.finish()
    except BrokenPipeError:
        output.pipe_closed()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        output.note("interrupted")
        return INTERRUPTED
    except typer.Exit as stop:
        return stop.exit_code
    except AletheiaError as error:
        return _failed(error, error.message, error.hint, error.exit_code)
    except typer.TyperException as error:
        return _misused(error)
    return code


def _invoke(arguments: list[str]) -> int:
    command = get_command(app)
    if arguments == ["--version"]:
        output.text(f"aletheia {__version__}")
        return 0
    with command.make_context("aletheia", arguments) as context:
        command.invoke(context)
    return 0


def help_text(arguments: Sequence[str]) -> str:
    """Return the help of the program, or of the command that the arguments lead to."""
    root = get_command(app)
    with root.make_context("aletheia", ["--help"], resilient_parsing=True) as context:
        if not arguments:
            return context.get_help()
        return _help_below(_find(arguments[0]), arguments, context)


def _help_below(command: Any, names: Sequence[str], parent: Any) -> str:  # noqa: ANN401
    with command.make_context(names[0], [], parent=parent, resilient_parsing=True) as context:
        if len(names) > 1:
            return _help_below(command.commands[names[1]], names[1:], context)
        text: str = context.get_help()
        return text


def subcommands(name: str) -> tuple[str, ...]:
    """Return the names of the commands of a command, none for one that has none."""
    return tuple(getattr(_find(name), "commands", ()))


def _find(name: str) -> Any:  # noqa: ANN401
    return _imported(next(item for item in COMMANDS if item.name == name))


def _misused(error: typer.TyperException) -> int:
    """Say what is wrong with the arguments; the bare program shows its help."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        for line in error.format_message().splitlines():
            output.note(line)
        return error.exit_code
    near = getattr(error, "possibilities", None)
    path = context.command_path if context is not None else "aletheia"
    hint = f"`{path} --help` shows the options"
    if near:
        hint = f"did you mean `{min(near)}`? {hint}"
    message = error.message if near else error.format_message()
    return _failed(error, message.rstrip("."), hint, error.exit_code)


def _failed(error: Exception, message: str, hint: str | None, code: int) -> int:
    if os.environ.get("ALETHEIA_DEBUG") == "1":
        output.traceback_of(error)
    output.error(message, hint)
    return code
