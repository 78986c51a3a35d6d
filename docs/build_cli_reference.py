"""Write `docs/reference/cli.md` from the help of the commands.

python docs/build_cli_reference.py           writes the file
python docs/build_cli_reference.py --check   says whether it is up to date (exit 1 if not)
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

TARGET = Path(__file__).parent / "reference" / "cli.md"

HEAD = """# Command line

Made from the help of the commands by `docs/build_cli_reference.py`: change the help, not this file.

Data goes to stdout, everything else to stderr. An error is `error: …`, an empty line, and
`hint: …`. There is no traceback unless `ALETHEIA_DEBUG=1` is set. `NO_COLOR` turns colours off.

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | `evaluate-ragas`: a failure kept replies or metrics away, or a batch ended early; `verify`, `eval`: no file or no valid record; `doctor`: something failed |
| 2 | bad usage, bad input, or a part that cannot be loaded; `verify`: a bad line; `eval`: a record that failed |
| 3 | `verify`: some replies were rejected; `gate`: a rule is not met or not measured |
| 75 | `evaluate-ragas --batch`: batches are under way |
| 130 | interrupted with Ctrl-C |
| 141 | the reader of the output went away |
"""


def page() -> str:
    """Build the whole page; the width is fixed so that the terminal makes no difference."""
    os.environ.update(COLUMNS="88", TERMINAL_WIDTH="88", NO_COLOR="1")
    from aletheia.cli.app import COMMANDS, help_text, subcommands

    parts = [HEAD, _section("aletheia", help_text([]))]
    for command in COMMANDS:
        paths = [[command.name], *([command.name, name] for name in subcommands(command.name))]
        parts += [_section(" ".join(["aletheia", *path]), help_text(path)) for path in paths]
    return "\n".join(parts)


def _section(title: str, text: str) -> str:
    body = "\n".join(line.rstrip() for line in text.strip().splitlines())
    return f"## `{title}`\n\n```text\n{body}\n```\n"


def main() -> int:
    """Write or check."""
    made = page()
    if "--check" in sys.argv[1:]:
        same = TARGET.exists() and TARGET.read_text(encoding="utf-8") == made
        if not same:
            sys.stderr.write(f"{TARGET} is out of date: run `python {Path(__file__).name}`\n")
        return 0 if same else 1
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
