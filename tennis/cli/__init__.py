# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The ``tennis`` command: parse, call, print; no logic."""

import codecs
import contextlib
import importlib
import io
import os
import sys

import click
from click.shell_completion import CompletionItem

from tennis import __version__
from tennis.errors import TennisError

# command -> one line of help; the module tennis.cli.<command> holds a click command of that name.
# Modules are imported when they are asked for, so that --help is quick.
COMMANDS = {
    "rally": "Play balls against a target and keep every one of them.",
    "stats": "Print the statistics of a rally.",
    "plot": "Draw a rally: histograms, complementary distribution, time series.",
    "report": "Write one HTML report about one or more rallies.",
    "explain": "Name the kernel code that ran while a late ball waited (virtual bench).",
    "compare": "Hold a witness inside the target (cyclictest) against the Brickwall outside.",
    "drill": "Let the target do one thing many times, and time it from inside and outside.",
    "sweep": "Raise the rate of pings until replies can no longer be told apart.",
    "scoreboard": "Show who plays, what waits and what failed, on a page for the wall.",
    "store": "Keep a term's rallies in one folder, and ask questions about them.",
    "match": "Play a plan of rallies: kernels, loads, priorities; one folder, one report.",
    "replicate": "Hold a match against what was published: a verdict for each claim.",
    "demo": "Replay the thesis' main result on the virtual bench.",
    "lab": "Do a lab of the course: begin, check, make the file to hand in.",
    "grade": "Mark what a class handed in: points, feedback, a page for you.",
    "course": "Record the labs' rallies, to be replayed.",
    "release": "Copy this tree for students, without answers, or for those who teach.",
    "kernels": "List, fetch and prepare the kernels of the virtual bench.",
    "flash": "Put the Brickwall's firmware onto a Pico.",
    "verify": "Verify a Brickwall with known delays, and keep a verification record.",
    "boot": "Boot a target into another kernel, and check that it came up.",
    "benches": "List the benches of the inventory, lease one, restore one.",
    "umpire": "Hold a logic analyser against the Brickwall: capture, check.",
    "doctor": "Say what works here, what does not, and what to do about it.",
}


class Commands(click.Group):
    """A group that imports a command when it is needed and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands in the order in which people need them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command."""
        if cmd_name not in COMMANDS:
            return None
        command = getattr(importlib.import_module(f"tennis.cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Offer the commands without importing them."""
        return [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="tennis")
def cli() -> None:
    """Tennis measures real-time Linux from the outside.

    \b
    Examples:
      tennis rally --kernel rt --load stress --out first
      tennis stats first
      tennis report first
    """


PLAIN = "tennis-plain"


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Write what a terminal cannot show: microseconds with a u, anything else by its number."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    if error.object[error.start] == "µ":
        return "u", error.start + 1
    rest = UnicodeEncodeError(
        error.encoding, error.object, error.start, error.start + 1, error.reason
    )
    replaced, end = codecs.backslashreplace_errors(rest)
    return str(replaced), end


codecs.register_error(PLAIN, _plain)


def main() -> None:
    """Run the command line: whatever goes wrong is one line and an exit code.

    2 for what cannot be meant, 1 for what failed, 130 for a second Ctrl-C.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=PLAIN)
    try:
        cli.main(standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        # nothing was asked for: the help, as it is laid out
        click.echo(error.format_message(), err=True)
        sys.exit(2)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "tennis"
        _end(f"{error.format_message()} ({command} --help)", 2)
    except TennisError as error:
        _end(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _end("stopped", 130)
    except OSError as error:
        _end(f"{error.filename or 'output'}: {error.strerror or error}", 1)
    except MemoryError:
        _end("there is not enough memory for this: a folder so large was not made by tennis", 1)
    except Exception as error:
        if os.environ.get("TENNIS_DEBUG"):
            raise
        what = f"{type(error).__name__}: {error}"
        _end(f"a defect of tennis: {what} (TENNIS_DEBUG=1 shows where); please report it", 1)


# what somebody typed or wrote may be long; the way out stands at the end
LINE_MAX = 2000


def _end(message: str, code: int) -> None:
    # a name may hold anything: nothing of it may move the cursor, or make a second line
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if len(line) > LINE_MAX:
        line = f"{line[: LINE_MAX // 2]} ... {line[-LINE_MAX // 2 :]}"
    with contextlib.suppress(OSError):
        click.echo(f"tennis: {line}", err=True)
    try:
        sys.stdout.flush()
    except OSError:  # nor can the interpreter, which would say so in two lines
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.exit(code)
