"""The ``tennis`` command: parse, call, print; no logic."""

import codecs
import contextlib
import difflib
import errno
import gc
import importlib
import os
import resource
import signal
import sys
import threading
from collections.abc import Iterator

import click
from click.shell_completion import CompletionItem

from tennis.cli import streams
from tennis.cli.removed import OPTIONS, REMOVED
from tennis.cli.streams import QUIET
from tennis.kit import entries, environment, scratch
from tennis.kit.edition import VERSION
from tennis.kit.entries import Entry, EntryError
from tennis.kit.errors import TennisError, UsageError
from tennis.start import cut_off

# heading -> command -> one line of help; the module tennis.cli.<command> holds a click command of
# that name. Modules are imported when they are asked for, so that --help is quick.
# Other packages add theirs as entry points.
CORE = {
    "Play": {
        "rally": "Serve balls to a target, and keep every one of them.",
        "resume": "Continue a rally or a drill that was interrupted.",
        "replay": "Play a recorded rally as if it were live.",
        "drill": "Time one service of the kernel many times, by two clocks.",
        "sweep": "Raise the rate until replies can no longer be paired with pings.",
        "match": "Play a plan of rallies: one folder, one report.",
        "demo": "Replay the thesis' main result on the virtual bench.",
    },
    "Read": {
        "stats": "Print the statistics of a rally.",
        "plot": "Draw a rally: histograms, distribution, time series.",
        "report": "Write one HTML report about one or more rallies.",
        "explain": "Name the kernel code that ran while a late ball waited.",
        "export": "Print the balls of a rally, drill or sweep for a spreadsheet.",
    },
    "Judge": {
        "compare": "Compare two sides: what became later or earlier, and which code did it.",
        "replicate": "Compare a match with published results, claim by claim.",
        "check": "Play a rally again: is it what it claims to be?",
        "umpire": "Compare the Brickwall with a logic analyser: capture, check.",
    },
    "Teach": {
        "lab": "Do a lab of the course: start, check, make the file to hand in.",
        "grade": "Mark what a class handed in: points, feedback, a page for you.",
        "course": "Copy the tree for a class.",
    },
    "Benches": {
        "setup": "Prepare a Tennis that pip installed: missing packages, kernels.",
        "doctor": "Say what works here, what does not, and what to do about it.",
        "kernels": "List, fetch and prepare the kernels of the virtual bench.",
        "brickwall": "Put the firmware onto a Pico, and verify it with known delays.",
        "benches": "List, lease, boot, restore the benches.",
        "card": "Prepare and check the memory card of a new Raspberry Pi.",
        "commission": "Take a new bench into use, step by step, and find what is wrong.",
    },
}
GROUP = "tennis.commands"  # entry points of packages
CORE_COMMANDS = {name: text for group in CORE.values() for name, text in group.items()}


def _plugged() -> Iterator[tuple[str, Entry]]:
    """Yield the heading and the entry of each command that another package adds.

    ``tennis.commands.read`` lists a command under Read.
    """
    for entry in entries.entries(GROUP):
        yield entry.group.removeprefix(GROUP).removeprefix(".").capitalize() or "More", entry


def _load(entry: Entry) -> click.Command:
    """Import and return a command. Raises EntryError."""
    command = entry.load()
    if not isinstance(command, click.Command):
        raise EntryError(f"{entry} is no command of click's", next_step=entry.repair)
    return command


def listed() -> tuple[dict[str, dict[str, str]], list[str]]:
    """Return heading -> command -> its line of help, also of packages.

    And the errors of those that cannot be listed.
    """
    groups = {heading: dict(commands) for heading, commands in CORE.items()}
    trouble = []
    for heading, entry in _plugged():
        if entry.name in CORE_COMMANDS:
            continue
        try:
            line = _load(entry).get_short_help_str(limit=80)
        except TennisError as error:
            trouble.append(str(error))
        else:
            groups.setdefault(heading, {}).setdefault(entry.name, line)
    return groups, trouble


def _names() -> list[str]:
    """Return the names of all commands."""
    return list(dict.fromkeys([*CORE_COMMANDS, *(entry.name for _, entry in _plugged())]))


def _command_of(name: str) -> click.Command | None:
    """Import and return a command, or None for an unknown name. Raises EntryError."""
    if name in CORE_COMMANDS:
        command = getattr(importlib.import_module(f"tennis.cli.{name}"), name)
        assert isinstance(command, click.Command)  # noqa: S101
        return command
    entry = entries.find(GROUP, name)
    return _load(entry) if entry else None


class _Commands(click.Group):
    """A group that imports a command when it is needed and prints errors as one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Return the commands in the order in which people need them."""
        return _names()

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import and return a command. Raises UsageError for a command that was removed."""
        command = _command_of(cmd_name)
        if command is None and cmd_name in REMOVED:
            raise UsageError(f"there is no tennis {cmd_name} now", next_step=REMOVED[cmd_name])
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Name an existing command, or suggest a similar one. Raises UsageError for both."""
        if instead := REMOVED.get(" ".join(args[:2])):
            raise UsageError(f"there is no tennis {' '.join(args[:2])} now", next_step=instead)
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            if close := difflib.get_close_matches(args[0], _names(), 1, 0.7):
                meant = f"{error.message} Did you mean '{close[0]}'?"
                raise click.UsageError(meant, ctx) from error
            raise

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002
        """Offer the commands without importing them."""
        return [
            CompletionItem(name, help=text)
            for commands in listed()[0].values()
            for name, text in commands.items()
            if name.startswith(incomplete)
        ]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        groups, trouble = listed()
        wide = max(len(name) for commands in groups.values() for name in commands)
        for heading, commands in groups.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(wide), text) for name, text in commands.items()])
        for line in trouble:
            _say(line)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="tennis")
@click.option(
    "--quiet", is_flag=True, help="Show no progress; results, warnings and errors remain."
)
@click.pass_context
def cli(ctx: click.Context, *, quiet: bool) -> None:
    """Tennis measures real-time Linux from the outside.

    \b
    Examples:
      tennis rally --kernel rt --load stress --out first
      tennis stats first
      tennis report first
    """
    ctx.meta[QUIET] = quiet


PLAIN = "tennis-plain"
# Imported objects stay. A collection at each 700th object, and at the end, would take a quarter of
# a command's start.
COLLECT_EVERY = 50_000


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
    """Run the command line: any error is one line and an exit code.

    2 for a wrong request, 1 for a failure, 130 for a second Ctrl-C.
    """
    gc.set_threshold(COLLECT_EVERY)
    sys.unraisablehook = _once_more
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
            signal.signal(number, signal.default_int_handler)
    words = environment.settle(sys.argv[1:])
    # an option of all commands, at any place
    sys.argv[1:] = sorted(words, key=lambda word: word != "--quiet")
    streams.prepare(PLAIN)
    with scratch.of_a_command():
        said, code = _run()
    gc.freeze()  # the process ends: nobody need look through all of it once more
    with contextlib.suppress(ValueError):  # a stream that is closed holds nothing back
        sys.stdout.flush()
    if not said:
        said, lost_code = streams.loss()
        code = code or (lost_code and _failed())
    if said:
        _say(said)
    if code:
        sys.exit(code)


def _once_more(lost: "sys.UnraisableHookArgs") -> None:
    """Interrupt once more where nothing could raise it: in a library's call, as pydantic's."""
    if lost.exc_type is not KeyboardInterrupt:
        sys.__unraisablehook__(lost)
        return
    number = signal.SIGTERM if callable(signal.getsignal(signal.SIGTERM)) else signal.SIGINT
    threading.Timer(0.01, os.kill, (os.getpid(), number)).start()


def _failed() -> int:
    """Return the exit code of a failure: with `tennis compare`, 1 means that something is worse."""
    return 4 if _command() == "compare" else 1


def _command() -> str:
    """Return the command that was typed, behind the options of all commands."""
    return next((word for word in sys.argv[1:] if not word.startswith("-")), "")


def _run() -> tuple[str, int]:
    """Run a command; return the line of an error, if there is one, and the exit code."""
    try:
        cli.main(standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:
        # nothing was asked for: the help, as it is laid out
        click.echo(error.format_message(), err=True)
        return "", 2
    except SystemExit as error:
        return "", int(error.code or 0)
    except (KeyboardInterrupt, Exception) as error:
        return _line_and_code(error)
    return "", 0


def _line_and_code(error: BaseException) -> tuple[str, int]:
    """Return the line for an error, and the exit code."""
    match error:
        case click.UsageError():
            return _misused(error), 2
        case TennisError():
            return str(error), _failed() if error.exit_code == 1 else error.exit_code
        case click.Abort() | KeyboardInterrupt():  # click takes an EOFError for Ctrl-D
            words = cut_off(error.__cause__ or error)
            return (words, _failed()) if words else ("stopped", 130)
        case OSError():
            said = f"{error.filename or 'output'}: {error.strerror or error}"
            if error.errno in {errno.EMFILE, errno.ENFILE}:
                said = "no more files may be open here: raise that limit (ulimit -n)"
            return said, _failed()
        case MemoryError() | SystemError() | ImportError() | RuntimeError() if _is_short(error):
            why = (
                "there is not enough memory for this: look for a limit (ulimit -v); "
                "a folder that takes so much was not made by tennis"
            )
            return why, _failed()
    return cut_off(error) or _defect(error), _failed()


def _is_short(error: BaseException) -> bool:
    """Tell whether memory is what an error is about: with a limit, libraries say it in odd ways."""
    limited = resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY
    return limited or isinstance(error, MemoryError)


def _misused(error: click.UsageError) -> str:
    command = error.ctx.command_path if error.ctx else "tennis"
    if isinstance(error, click.NoSuchOption):
        option = f"{command} {error.option_name}".removeprefix("tennis ")
        if instead := OPTIONS.get(option) or OPTIONS.get(error.option_name):
            return f"{command} has no {error.option_name} now: {instead}"
    return f"{error.format_message()} ({command} --help)"


def _defect(error: BaseException) -> str:
    """Say who is to blame for an error that nobody foresaw: a missing part, a package, Tennis."""
    if os.environ.get("TENNIS_DEBUG"):
        raise error
    command = _command()
    module = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if isinstance(error, ModuleNotFoundError) and module in entries.OPTIONAL:
        return str(entries.lacking(error, f"tennis {command} "))
    what = f"{type(error).__name__}: {error}"
    if command not in CORE_COMMANDS and (added := entries.find(GROUP, command)):
        return f"{added} failed: {what} (TENNIS_DEBUG=1 shows where): {added.repair}"
    return f"a defect of tennis: {what} (TENNIS_DEBUG=1 shows where); please report it"


# what somebody typed or wrote may be long; the next step is at the end
LINE_MAX = 2000


def _say(message: str) -> None:
    # a name may hold anything: it must not move the cursor, or make a second line
    line = " ".join("".join(c if c.isprintable() else " " for c in message).split())
    if len(line) > LINE_MAX:
        line = f"{line[: LINE_MAX // 2]} ... {line[-LINE_MAX // 2 :]}"
    click.echo(f"tennis: {line}", err=True)
