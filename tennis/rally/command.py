"""The command that plays a sealed rally again, for a reader who does not have the folder.

It names only unusual settings, and always the kernel, the load, the balls and the seed.
"""

import shlex
from collections.abc import Mapping

from tennis.rally.manifest import OWN, Manifest
from tennis.rally.serving import GAP_MAX_US, GAP_MIN_US, Serving
from tennis.rally.settings import OF_TARGET, USUAL, instrument_of
from tennis.rally.shots import are_shots

SERVING = Serving()
_WITH_THE_KERNEL = (
    *("kernel", "load", "load_options", "command_line", "instruction_ns", "memory"),
)


def command_of(manifest: Manifest) -> str:
    """Return the command of a rally or a drill, without ``--out``; empty if it has no command.

    Values that a manifest lacks are words in capitals: HOST, DIR (a kernel's tree), FILE.c,
    PROGRAM. A recorded rally that was played again has no command: use the recording's.
    """
    words = _drilled(manifest) if manifest.drill else _command_of_rally(manifest)
    return "" if manifest.bench == "replay" else shlex.join(words)


def _command_of_rally(manifest: Manifest) -> list[str]:
    target = manifest.target
    words = ["tennis", "rally", *_bench(manifest), *_played_on(manifest)]
    own = target.module == OWN  # its code decides about the halves
    if own:
        words += ["--racquet", "FILE.c"]
    if target.program:
        words += ["--program", "PROGRAM"]
    # SLOTH and the cores beneath Linux have a half and a priority that nobody needs to ask for
    beneath = target.beneath == "sloth" or target.kernel.startswith("sloth")
    native = beneath or target.stage == "out-of-band"
    usual_here = {
        "bottom_half": "task" if beneath else None,
        "priorities": "native" if native else "default",
    }
    itself = own or target.program
    left_out = {*_WITH_THE_KERNEL, "racquet", "program"}
    left_out |= {"top_half", "bottom_half"} if itself else set()
    usual = {
        row.name: (row.recorded(manifest), usual_here.get(row.name, row.of(USUAL)))
        for row in OF_TARGET
        if row.name not in left_out
    }
    return [
        *words,
        *_options(usual),
        *_serving(manifest),
        *_balls(manifest, "shots" if are_shots(manifest.protocol) else "balls"),
    ]


def _drilled(manifest: Manifest) -> list[str]:
    assert manifest.drill  # noqa: S101 (for the type checker)
    drill = manifest.drill
    program = manifest.target.program
    who = ["--program", "PROGRAM"] if program else ["--context", drill.context]
    words = ["tennis", "drill", drill.name, *_bench(manifest), *who]
    words += ["--period-us", f"{drill.period_ns / 1000:.12g}", *_played_on(manifest)]
    return [*words, *_balls(manifest, "repetitions")]


def _bench(manifest: Manifest) -> list[str]:
    if manifest.bench == "virtual":
        return []
    managed = manifest.target.managed == "by tennis"
    return ["--bench", manifest.bench, *(["--target", "HOST"] if managed else [])]


def _played_on(manifest: Manifest) -> list[str]:
    """Return the kernel, what keeps it busy, and on the virtual bench the time it takes."""
    target, load = manifest.target, manifest.load
    virtual = manifest.bench == "virtual"
    built = target.kernel.endswith(f"-{target.release}") or "/" in target.kernel  # by somebody
    kernel = "DIR" if virtual and built else target.kernel
    words = ["--kernel", kernel, "--load", load.name]
    for name, value in sorted(load.options.items()):
        words += ["--load-option", f"{name}={value}"]
    usual: dict[str, tuple[object, object]] = {"command-line": (target.added, "")}
    if virtual:
        usual["instrument"] = (instrument_of(manifest), "builtin")
        if target.kernel == "sloth-pico":
            usual["instrument"] = (None, None)
        usual["instruction-ns"] = (manifest.instruction_ns, 2)
        usual["memory"] = (target.memory, "none")
    return [*words, *_options(usual)]


def _serving(manifest: Manifest) -> list[str]:
    """Return the serving options that differ from the defaults."""
    protocol = manifest.protocol
    timeout_ms = protocol.timeout_ns / 1_000_000
    usual: dict[str, tuple[object, object]] = {}
    if protocol.loop == "open" and protocol.rate_hz:
        usual |= {"loop": ("open", "closed"), "rate-hz": (protocol.rate_hz, None)}
        # an answer later than a period is always a miss
        longest_ms = min(SERVING.timeout_ms, 1000 / protocol.rate_hz)
        usual["timeout-ms"] = (timeout_ms if timeout_ms < longest_ms - 1e-6 else None, None)
    else:
        usual["gap-min-us"] = (protocol.gap_min_ns / 1000, GAP_MIN_US)
        usual["gap-max-us"] = (protocol.gap_max_ns / 1000, GAP_MAX_US)
        usual["timeout-ms"] = (timeout_ms, SERVING.timeout_ms)
    usual["pulse-us"] = (protocol.pulse_ns / 1000, SERVING.pulse_us)
    usual["settle-s"] = (protocol.settle_ns / 1_000_000_000, SERVING.settle_s)
    return _options(usual)


def _balls(manifest: Manifest, called: str) -> list[str]:
    """Return how many were asked for, which may be more than came, and the seed."""
    protocol = manifest.protocol
    return [f"--{called}", str(protocol.balls), "--seed", str(protocol.seed)]


def _options(values: Mapping[str, tuple[object, object]]) -> list[str]:
    """Return the options whose first value, if there is one, is not the usual, second one."""
    words = []
    for name, (value, usual) in values.items():
        if value is not None and value != usual:
            words += [
                f"--{name.replace('_', '-')}",
                f"{value:.12g}" if isinstance(value, float) else str(value),
            ]
    return words
