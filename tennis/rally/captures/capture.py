"""Open a capture: a session of sigrok. Refuse other files, and say how to convert them."""

import re
import shlex
from fractions import Fraction
from pathlib import Path

from tennis.rally.captures.channels import USUAL, Wires
from tennis.rally.captures.edges import Capture, CaptureError, ProbeFault
from tennis.rally.captures.srzip import open_srzip
from tennis.rally.disk import open_regular

HEAD = 1 << 14  # bytes that show what a file is
VCD = re.compile(rb"\$(?:date|version|comment|timescale|scope|var)\b")
TIMESCALE = re.compile(rb"\$timescale\s+(1|10|100)\s*([pf])s")  # finer than a nanosecond
PARTS = {b"p": 10**3, b"f": 10**6}  # of a nanosecond
WEAK = re.compile(rb"^[HhLl]\S", re.MULTILINE)  # levels of VHDL, which sigrok-cli leaves out
STRONG = "sed 's/^[Hh]/1/; s/^[Ll]/0/'"
# sigrok-cli's own reader of tables takes rows for samples at equal distances, and vendors' tables
# list changes: the columns time (s), ping and reply become a VCD
TABLE = (
    "awk -F'[,;\\t]' 'BEGIN{print \"$timescale 1 ns $end $var wire 1 p ping $end "
    '$var wire 1 r reply $end $enddefinitions $end"}'
    "/^[-+.0-9]/{if(!n++)t=$1;"
    'printf "#%.0f\\n%dp\\n%dr\\n",($1-t)*1e9,($2>.5),($3>.5)}\''
)


def open_capture(path: Path, wires: Wires = USUAL) -> Capture:
    """Open a session of sigrok.

    Raises CaptureError; MissingError if it lacks only a fact.
    """
    path = Path(path)
    try:
        with open_regular(path) as file:
            head = file.read(HEAD)
    except OSError as error:
        raise CaptureError(
            f"cannot read {path} ({error.strerror})", next_step="name a capture (.sr)"
        ) from error
    if not head:
        raise CaptureError(f"{path} is empty", next_step="capture again")
    if not head.startswith(b"PK"):
        raise CaptureError(
            f"{path} is not a session of sigrok (.sr)",
            next_step=f"make one with `{_conversion(path, head)}`, or save it in PulseView; then "
            "check it with --rate-mhz, the analyser's rate",
        )
    capture = open_srzip(path, wires)
    probes = ProbeFault(invert_ping=wires.invert_ping, invert_reply=wires.invert_reply)
    return capture if probes == ProbeFault() else capture.rewired(probes)


def _conversion(path: Path, head: bytes) -> str:
    """Return the command that makes a session of a VCD, or of a table of changes."""
    source, session = shlex.quote(str(path)), shlex.quote(f"{path}.sr")
    if not VCD.search(head):
        return f"{TABLE} {source} | sigrok-cli -I vcd -i - -o {session}"
    scale = TIMESCALE.search(head)
    finer = Fraction(PARTS[scale[2]], int(scale[1])) if scale else 1
    form = "vcd" if finer == 1 else f"vcd:downsample={finer}"
    if WEAK.search(head):
        return f"{STRONG} {source} | sigrok-cli -I {form} -i - -o {session}"
    return f"sigrok-cli -I {form} -i {source} -o {session}"
