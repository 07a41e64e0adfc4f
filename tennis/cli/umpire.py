"""``tennis umpire``: an independent instrument on the same two wires."""

import sys
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from tennis.cli.completion import Folder
from tennis.cli.numbers import Real
from tennis.cli.options import UsualOption, options_of
from tennis.cli.stop import Stop
from tennis.cli.tables import table
from tennis.cli.words import echo, echo_json, warn
from tennis.kit.errors import UsageError
from tennis.rally.text import plain, quoted
from tennis.report.umpire.analyser import APART, Analyser

WHICH = click.Choice(["ping", "reply", "both"])
new_capture = click.option(
    "--out", type=click.Path(path_type=Path), required=True, help="The capture; must not exist."
)


def _inverted(which: str | None) -> dict[str, bool]:
    return {f"invert_{wire}": which in {wire, "both"} for wire in ("ping", "reply")}


@click.group()
def umpire() -> None:
    """Compare the Brickwall with a logic analyser: capture both wires, check a rally.

    \b
    Examples:
      tennis umpire install
      tennis rally --umpire --balls 1000 --out first
    """


@umpire.command("install", short_help="Install the decoder for sigrok-cli and PulseView.")
def _install() -> None:
    """Install the protocol decoder for sigrok-cli and PulseView, for this user.

    \b
    Example:
      tennis umpire install
      sigrok-cli -i first/capture.sr -P tennis:ping=ping:reply=reply \\
          -A tennis=miss
    """
    from tennis.bench.instruments import sigrok_decoder

    folder = sigrok_decoder.install()
    echo(f"{folder}: sigrok-cli sees it; in PulseView it is the decoder Tennis")


@umpire.command("capture", short_help="Capture both wires with a logic analyser.")
@new_capture
@click.option(
    "--analyser",
    metavar="SPEC",
    help="The analyser, as `sigrok-cli -d` takes it: fx2lafw or fx2lafw:conn=1.7. [default: "
    "the only one]",
)
@click.option(
    "--rate-mhz",
    type=Real(0.001, 1000),
    cls=UsualOption,
    help="Samples a microsecond. [default: 24, or the next lower that the analyser can]",
)
@click.option(
    "--ping", metavar="CHANNEL", help="The channel on the ping wire. [default: the first]"
)
@click.option(
    "--reply", metavar="CHANNEL", help="The channel on the reply wire. [default: the second]"
)
@click.option(
    "--seconds",
    type=Real(0.001, 1e6),
    cls=UsualOption,
    help="How long to capture. [default: until Ctrl-C]",
)
def _capture(
    *,
    out: Path,
    analyser: str | None,
    rate_mhz: float | None,
    ping: str | None,
    reply: str | None,
    seconds: float | None,
) -> None:
    """Capture both wires with the logic analyser that is plugged in, until Ctrl-C.

    Driver, rate and channels are chosen for the analyser that sigrok-cli finds. `tennis rally
    --umpire` does the same while a rally is played, and keeps the capture in its folder.

    \b
    Examples:
      tennis umpire capture --out wires.sr
      tennis umpire capture --analyser fx2lafw --rate-mhz 12 \\
          --seconds 60 --out wires.sr
    """
    from tennis.bench.instruments import sigrok
    from tennis.bench.instruments.acquisition import capturing, wait
    from tennis.rally.settings import USUAL_PROTOCOL

    rate = round(rate_mhz * 1e6) if rate_mhz else None
    if out.exists() or out.is_symlink():
        raise UsageError(f"{out} exists", next_step="choose another name for the capture")
    chosen = sigrok.Settings.asked(analyser, rate_hz=rate, ping=ping, reply=reply, seconds=seconds)
    name = plain(chosen.analyser.name, 40)
    for warning in chosen.warnings(USUAL_PROTOCOL.pulse_ns, chosen.seconds):
        warn(warning)
    how = f"{chosen.rate_hz / 1e6:g} MHz, ping {chosen.ping}, reply {chosen.reply}"
    echo(f"capturing with {name} ({chosen.analyser.spec}), {how}", err=True)
    stop = Stop()
    with capturing(chosen, out) as under_way:
        wait(under_way, stop)
    if under_way.trouble:
        warn(under_way.trouble)
    echo(f"{out}: {under_way.samples} samples, {under_way.seconds:.3f} s")
    if under_way.trouble:
        sys.exit(1)


@umpire.command("simulate", short_help="Write what an analyser would have seen of a rally.")
@click.argument("rally", type=Folder())
@new_capture
@click.option(
    "--rate-mhz",
    type=Real(0.001, 500),
    default=24,
    show_default=True,
    help="Samples a microsecond.",
)
@options_of(Analyser, into="analyser", but=APART)
@click.option("--swap", is_flag=True, help="Swap ping and reply.")
@click.option("--invert", type=WHICH, help="Invert these wires.")
def _simulate(
    rally: Path, *, out: Path, rate_mhz: float, analyser: Analyser, swap: bool, invert: str | None
) -> None:
    """Write what a logic analyser would have seen of a rally, as a session of sigrok (.sr).

    Use it for tests, exercises, and labs without an analyser. The check should find what you plant.

    \b
    Examples:
      tennis umpire simulate first --out capture.sr
      tennis umpire simulate first --clock-ppm 30 --interrupt-bias-ns 430 --out thesis.sr
      tennis umpire simulate first --swap --invert reply --glitches 20 --out bad.sr
    """
    from tennis.rally import open_folder
    from tennis.report.umpire.simulate import simulate as simulate_capture

    more = {"rate_hz": round(rate_mhz * 1e6), "swapped": swap, **_inverted(invert)}
    simulate_capture(open_folder(rally), out, analyser.model_copy(update=more))
    echo(f"{out}; now: tennis umpire check {quoted(rally)} --capture {quoted(out)}")


@umpire.command("check", short_help="Check a rally by a capture of it.")
@click.argument("rally", type=Folder())
@click.option(
    "--capture",
    "capture_path",
    type=click.Path(path_type=Path),
    help="The capture, a session of sigrok (.sr). [default: the rally's own capture.sr]",
)
@click.option("--ping", metavar="CHANNEL", help="Channel of ping. [default: by name, or the 1st]")
@click.option("--reply", metavar="CHANNEL", help="Channel of reply. [default: by name, or the 2nd]")
@click.option("--invert", type=WHICH, help="These wires are inverted in the capture.")
@click.option(
    "--rate-mhz",
    type=Real(0.001, 1000),
    help="Samples a microsecond, if the capture does not say it, or was converted from a file of "
    "another kind.",
)
@click.option(
    "--tolerance-ns",
    type=Real(0, 1e9),
    cls=UsualOption,
    help="How large a bias may be. The check always fails beyond a tick plus 50 ns: "
    "wires cannot cause that. [default: a tick of the Brickwall, 8]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object; times in ns.")
def _check(
    rally: Path,
    *,
    capture_path: Path | None,
    ping: str | None,
    reply: str | None,
    invert: str | None,
    rate_mhz: float | None,
    tolerance_ns: float | None,
    as_json: bool,
) -> None:
    """Check a rally or drill by a capture of it: bias, spread, unmatched balls, clocks, a verdict.

    The exit code is 0 only for the verdict pass. Errors are Brickwall minus analyser.

    \b
    Examples:
      tennis umpire check first
      tennis umpire check first --capture wires.sr --ping D2 --reply D3 --json
      tennis umpire check first --capture wires.vcd.sr --rate-mhz 24
    """
    from fractions import Fraction

    from tennis.rally import open_folder
    from tennis.report.umpire import Wires
    from tennis.report.umpire import rally as player

    wires = Wires(
        ping=ping,
        reply=reply,
        **_inverted(invert),
        rate_hz=Fraction(repr(rate_mhz)) * 10**6 if rate_mhz else None,
    )
    result = player.umpire(open_folder(rally), capture_path, wires, tolerance_ns)
    if as_json:
        echo_json(result.as_json())
    else:
        _tell(result)
    if result.verdict != "pass":
        sys.exit(1)


def _tell(result: Any) -> None:
    from tennis.report.umpire.rally import facts
    from tennis.report.umpire.rally import table as rows_of

    rows = rows_of(result)
    if rows:
        figures_of = ("balls", "analyser", "Brickwall", "error")
        shown = table("µs", numbers=figures_of, collapse=True)
        for row in rows:
            figures = (f"{row['analyser_us']:.3f}", f"{row['brickwall_us']:.3f}")
            error = f"{row['error_ns'] / 1000:+.4f}"
            shown.add_row(row["kind"], str(row["balls"]), *figures, error)
        console = Console(highlight=False, width=max(80, Console().width))
        console.print(shown)
    for key, value in facts(result).items():
        echo(f"{key}: {plain(value, 400)}")
    for note in result.notes:
        echo(f"Note: {plain(note, 400)}")
    echo(f"{result.verdict}: {plain(result.reason, 2000)}")
