"""Faults on a desk, as nets of resistors for the emulated Pico (emulator/net.mjs).

A fault is the same one in each step: a broken ping wire is broken as a jumper, too.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from tennis.bench.instruments import emulated
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.patience import Patience
from tennis.play.commissioning.equipment import RISE, WIDTH, Count, _Emulation
from tennis.play.commissioning.measure import Outcome, Work, measure
from tennis.play.commissioning.request import Amount, CommissionRequest
from tennis.play.rally import Watch

STEPS = ("jumpers", "ping", "reply")
TOUCH_OHM = 0.1
PULL_OHM = 50_000  # of a target's input
# the places of the far ends in each step; None: in the air
ENDS: dict[str, dict[str, str | None]] = {
    "jumpers": {"ping": "gp6", "reply": "gp7"},
    "ping": {"ping": "t_ping", "reply": None},
    "reply": {"ping": "t_ping", "reply": "t_reply"},
}
PADS = {"ping": "gp2", "reply": "gp3"}
BESIDE = {"jumpers": {"ping": "gp8", "reply": "gp9"}}
LOOSE = {"period_us": 7000, "open_us": 2500}


@dataclass
class Desk:
    """The plugs of a step."""

    step: str
    ends: dict[str, str | None]
    ohm: dict[str, float] = field(default_factory=lambda: {"ping": 330, "reply": 330})
    broken: set[str] = field(default_factory=set)
    loose: set[str] = field(default_factory=set)
    touches: list[tuple[str, str]] = field(default_factory=list)
    ground_ohm: float | None = TOUCH_OHM  # None: there is no way
    racquet: bool = True

    def net(self) -> str:
        """Return it as the emulator takes it."""
        resistors: list[list[object]] = []
        for wire, pad in PADS.items():
            if wire not in self.broken:
                loose = [LOOSE] if wire in self.loose else []
                resistors.append([pad, f"{wire} far", self.ohm[wire], *loose])
            if end := self.ends[wire]:
                resistors.append([f"{wire} far", end, TOUCH_OHM])
                if end.startswith("beside"):
                    resistors.append([end, "tgnd", PULL_OHM])
        resistors += [[a, b, TOUCH_OHM] for a, b in self.touches]
        if self.ground_ohm is not None:
            resistors.append(["gnd", "tgnd", self.ground_ohm])
        return json.dumps(
            {"resistors": resistors, "rise": RISE, "width": WIDTH, "racquet": self.racquet}
        )


Change = Callable[[Desk], None]


def _break(wire: str) -> Change:
    return lambda desk: desk.broken.add(wire)


def _loosen(wire: str) -> Change:
    return lambda desk: desk.loose.add(wire)


def _touch(a: str, b: str) -> Change:
    return lambda desk: desk.touches.append((a, b))


def _resist(wire: str) -> Change:
    return lambda desk: desk.ohm.update({wire: 33_000})


def _beside(wire: str) -> Change:
    def change(desk: Desk) -> None:
        # what is not plugged in yet cannot be in a wrong pin
        if desk.ends[wire]:
            desk.ends[wire] = BESIDE.get(desk.step, {}).get(wire, f"beside {wire}")

    return change


def _swap(desk: Desk) -> None:
    whole = ENDS["reply" if desk.step == "ping" else desk.step]
    desk.ends |= {"ping": whole["reply"]}
    if desk.ends["reply"]:
        desk.ends["reply"] = whole["ping"]


def _ground(ohm: float | None) -> Change:
    def change(desk: Desk) -> None:
        desk.ground_ohm = ohm

    return change


def _no_racquet(desk: Desk) -> None:
    desk.racquet = False


FAULTS: dict[str, Change] = {
    "the ping wire is broken": _break("ping"),
    "the reply wire is broken": _break("reply"),
    "the ping wire is loose": _loosen("ping"),
    "the reply wire is loose": _loosen("reply"),
    "the ping wire is in an input beside": _beside("ping"),
    "the reply wire is in an input beside": _beside("reply"),
    "the far ends are swapped": _swap,
    "the wires touch at the Pico": _touch("gp2", "gp3"),
    "the wires touch at the far ends": _touch("ping far", "reply far"),
    "the ping touches ground at the Pico": _touch("gp2", "gnd"),
    "the ping touches ground at the far end": _touch("ping far", "gnd"),
    "the ping touches 3.3 V at the Pico": _touch("gp2", "3v3"),
    "the ping touches 3.3 V at the far end": _touch("ping far", "3v3"),
    "the reply touches ground at the Pico": _touch("gp3", "gnd"),
    "the reply touches ground at the far end": _touch("reply far", "gnd"),
    "the reply touches 3.3 V at the Pico": _touch("gp3", "3v3"),
    "the reply touches 3.3 V at the far end": _touch("reply far", "3v3"),
    "the ping wire has 33 kΩ": _resist("ping"),
    "the reply wire has 33 kΩ": _resist("reply"),
    "no ground wire, one supply for both": _ground(0.3),
    "no ground wire, two supplies": _ground(None),
    "the Racquet has other lines": _no_racquet,
}


AT_THE_TARGET = {
    "no ground wire, one supply for both",
    "no ground wire, two supplies",
    "the Racquet has other lines",
}


def desk(step: str, faults: Sequence[str] = ()) -> Desk:
    """Return the desk of a step with faults on it."""
    made = Desk(step, dict(ENDS[step]))
    if step == "jumpers":  # there is no target yet
        faults = [name for name in faults if name not in AT_THE_TARGET]
    # what is plugged elsewhere first, then what touches
    for name in sorted(faults, key=list(FAULTS).index):
        FAULTS[name](made)
    return made


class SharedPico(_Emulation):
    """One emulated Pico whose wires are plugged again for each step: it boots once."""

    def __init__(self, folder: Path) -> None:
        asked = CommissionRequest(target="virtual", amount=Amount(each=1, random=8))
        super().__init__(asked)
        self._log = folder / "pings"
        self._net = ""
        self._link = emulated.start(["--net", self._logged(desk("reply").net())])
        self._brickwall = Brickwall(self._link, patience=Patience(reconnect_s=0))
        self._done: dict[tuple[str, str], Outcome] = {}

    def close(self) -> None:
        """End it."""
        self._brickwall.close()

    def do(self, step: str, faults: Sequence[str], folder: Path) -> Outcome:
        """Do a step as ``tennis commission`` does it, with these faults."""
        net = desk(step, faults).net()
        if (step, net) not in self._done:
            self._net = net
            self._link.respond(self._logged(net).encode())
            self._done[step, net] = measure(step, Work(self, folder, Watch()))
        return replace(self._done[step, net])

    def _logged(self, net: str) -> str:
        return json.dumps(json.loads(net) | {"log": str(self._log)})

    @contextmanager
    def jumpered(self) -> Iterator[Brickwall]:
        """Return the Pico as it is wired."""
        yield self._brickwall

    @contextmanager
    def wired(self) -> Iterator[tuple[Brickwall, Count]]:
        """Return the same, and what counts the pings that reached the target."""
        yield self._brickwall, lambda: len(self._log.read_text().splitlines())
