"""``tennis commission``: the first evening with a board, step by step."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from tennis.cli.completion import Folder
from tennis.cli.options import options_of
from tennis.cli.progress import progress_line
from tennis.cli.words import echo, paragraph, warn
from tennis.kit.errors import UsageError
from tennis.kit.log import listening
from tennis.play.commissioning.request import CommissionRequest
from tennis.play.commissioning.steps import names, step
from tennis.rally.text import quoted

MARKS = {"pass": ("ok  ", "green"), "fail": ("FAIL", "bold red"), "left out": ("-   ", "yellow")}
SENT = (
    "In it: which steps passed, which failure, every measured number; board, firmware, MicroPython,"
    " kernel and its build, governor, GPIO lines, where they are usual ones; the dates. Nothing "
    "else: no sentence of the folder, no names, hosts, serial numbers, ports, paths, rallies."
)


@click.command()
@click.argument("target", required=False)
@click.option("--out", type=Folder(), metavar="DIR", help="The record's folder, new or begun.")
@click.option(
    "--yes", is_flag=True, help="Ask nothing: measure at once, and stop at the first failure."
)
@click.option(
    "--step",
    "steps",
    type=click.Choice(names()),
    multiple=True,
    metavar="STEP",
    help=f"Do only this step, even if it is done: {', '.join(names())}. May be repeated.",
)
@options_of(CommissionRequest, into="request", but=["target", "serving", "amount"])
@click.option(
    "--share",
    type=click.Path(path_type=Path),
    metavar="RECORD",
    help="Measure nothing: check the folder RECORD, and write the one file that you may send.",
)
def commission(
    *,
    target: str | None,
    out: Path | None,
    share: Path | None,
    yes: bool,
    steps: tuple[str, ...],
    request: CommissionRequest,
) -> None:
    """Take a new bench into use: plug, measure, and find what is wrong.

    Each step says what to plug, measures, and shows the result. The steps are the Pico and its
    firmware, known delays over its own wires, the target and its kernel, then each wire. Two short
    rallies follow, and are compared with the virtual bench. TARGET is one of the inventory, a host
    as ssh knows it, or `virtual`, which needs no hardware. Without TARGET the command asks for it
    once. If you have none, the steps that log in are left out.

    The folder keeps a sealed record and a page after each step. Leave at any time: the same command
    continues. The exit code is 0 if all steps have passed.

    \b
    Examples:
      tennis commission bench-1 --out evening
      tennis commission bench-1 --out evening --step ping --step reply
      tennis commission --out evening --port /dev/ttyACM0 --generator-port /dev/ttyACM1
      tennis commission virtual --yes --balls 200 --out dry-run
      tennis commission --share evening
    """
    from tennis.play.commissioning.commissioning import Commissioning
    from tennis.play.commissioning.commissioning import share as write_shared
    from tennis.play.rally import Watch

    if share is not None:
        if target or steps or yes:
            raise UsageError("--share measures nothing", next_step="leave the other options out")
        place, record = write_shared(share, out)
        echo(f"{place}: {record.summary}, {record.kind}. {SENT}")
        echo("Read it before you send it: it is text. Where to: docs/boards")
        return
    if out is None:
        raise UsageError("say where to keep the record", next_step="--out DIR")
    umpire = request.umpire
    if request.analyser and not umpire:
        raise UsageError("--analyser is for --umpire", next_step="say both")
    if not yes and not steps and target is None and not (out / "record.json").exists():
        target, umpire = _what_is_there(umpire=umpire)
    request = request.model_copy(update={"target": target, "umpire": umpire})
    console = Console(highlight=False)
    with listening(warn), progress_line("commission") as observe:
        work = Commissioning(out, request, Watch(observe))
        if not yes:
            _overview(console, work)
        try:
            left = _go_through(console, work, list(steps), yes=yes)
        except KeyboardInterrupt:  # all changes of the target are undone by now
            warn("this step was not measured; the same command continues with it")
            raise
        work.save()
    echo(f"\n{quoted(out)}: {work.record.summary}; open {quoted(out / 'index.html')}")
    if still := work.todo():
        if not steps:
            named = f"{target} " if target else ""
            again = f"tennis commission {named}--out {quoted(out)}"
            echo(f"still to do: {', '.join(still)}; to continue: {again}")
        sys.exit(1)
    if not left:
        echo(f"to send what was measured: tennis commission --share {quoted(out)}")


def _what_is_there(*, umpire: bool) -> tuple[str | None, bool]:
    """Ask for what the command line did not name: the target, and whether there is an analyser."""
    echo("What is there? The Pico and its wires are found without asking. In addition:")
    target = click.prompt(
        "a target, as ssh or the inventory knows it (Enter: none)", default="", show_default=False
    )
    analyser = umpire or _answer("a logic analyser on the wires? y, or Enter: none", "y") == "y"
    return str(target).strip() or None, analyser


def _overview(console: Console, work: Any) -> None:
    """Show the state of all steps, and how to leave."""
    for name in names():
        result = work.record.result(name)
        mark, style = MARKS[result.verdict] if result else ("    ", "")
        console.print(Text.assemble((mark, style), f"  {step(name).title}"))
    echo("Leave with Ctrl-C or q: the same command continues.\n")


def _go_through(console: Console, work: Any, steps: list[str], *, yes: bool) -> bool:
    """Do the steps; tell whether somebody left, or a step failed and nobody can be asked."""
    for name in steps or work.todo():
        work.refuse_if_lacking(name)
        _plug(console, name)
        if not yes:
            answer = _answer("Enter: measure; s: skip; q: leave", "sq")
            if answer == "q":
                return True
            if answer == "s":
                continue
        if missing := work.missing(name):
            echo(f"      not measured: first {' and '.join(missing)} must pass\n")
            if yes:
                return True
            continue
        if not _passed(console, work, name, yes=yes):
            return True
    return False


def _plug(console: Console, name: str) -> None:
    """Print what to plug, and before that what would be destroyed."""
    one = step(name)
    console.print(Text.assemble((one.title, "bold"), f" ({name})"))
    if one.warning:
        paragraph(console, one.warning, Text("CAREFUL  ", style="bold red"))
    for line in one.plug:
        paragraph(console, line, Text("  "))


def _passed(console: Console, work: Any, name: str, *, yes: bool) -> bool:
    """Measure a step, again as often as somebody wants; tell whether to go on to the next one."""
    while True:
        result = work.do(name)
        _tell(console, result)
        if result.verdict != "fail":
            return True
        answer = "q" if yes else _answer("Enter: again; n: next; q: leave", "nq")
        if answer:
            return answer == "n"


def _answer(question: str, letters: str) -> str:
    """Ask; an empty line is the first choice. The end of the input leaves."""
    while True:
        try:
            typed = click.prompt(question, default="", show_default=False, prompt_suffix=" > ")
        except click.Abort:
            echo()
            return "q"
        word = str(typed).strip().lower()[:1]
        if not word or word in letters:
            return word


def _tell(console: Console, result: Any) -> None:
    mark, style = MARKS[result.verdict]
    paragraph(console, result.reason, Text.assemble((mark, style), "  "))
    for number in result.numbers:
        console.print(Text(f"      {number.words}: {number.text}"))
    for note in result.notes:
        paragraph(console, note, Text("      note: "))
    if result.advice:
        paragraph(console, result.advice, Text("      -> ", style=style))
    echo()
