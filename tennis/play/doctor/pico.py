"""Check whether there is a Brickwall, whether it is the right one, and its wiring."""

import datetime
from collections.abc import Iterator
from typing import Any

from tennis.bench.findings import Finding
from tennis.bench.instruments import firmware, verifications
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import Hello
from tennis.bench.instruments.ports import bootsel, picos, the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.kit.errors import TennisError
from tennis.kit.wiring import wiring
from tennis.rally.calibration import doubt
from tennis.rally.manifest import Instrument

EXPECTED_HZ = 125_000_000
PLUG = "the loop-back plug (the far ends of ping, reply and GP6 joined)"


def examine_ports(port: str | None) -> Iterator[Finding]:
    """Yield what there is to say about a port, or about all Picos that are plugged in."""
    candidates = [port] if port else [pico.device for pico in picos()]
    if not candidates:
        waits = bootsel()
        yield Finding(
            "note",
            "physical bench",
            "a Pico without MicroPython (BOOTSEL mode)" if waits else "no Pico is plugged in",
            "'tennis brickwall flash' says what to do"
            if waits
            else "play on the virtual bench, or plug one in",
        )
    for name in candidates:
        yield from _examine_pico(name)


def _examine_pico(port: str) -> Iterator[Finding]:
    """Yield what there is to say about the Brickwall on a port."""
    try:
        brickwall = Brickwall(SerialLink(the_port(port)))
    except TennisError as error:
        yield _bad("Brickwall", error)
        return
    try:
        hello = brickwall.hello()
        yield from _identity(hello, port)
        if hello.state == "playing":
            yield Finding(
                "note",
                "wires",
                "not tested: the Brickwall plays a rally whose host is gone",
                "continue with `tennis resume`; a new rally or 'tennis brickwall verify' ends it",
            )
        else:
            brickwall.command("quiet")  # a verification that was killed left the generator on
            yield from _wire_findings(brickwall.wires(), hello.board)
    except TennisError as error:
        yield _bad("Brickwall", error)
    finally:
        brickwall.close()


def _bad(what: str, error: TennisError) -> Finding:
    problem, advice = error.finding
    return Finding("bad", what, problem, advice or "name the Brickwall's port with --port")


def _identity(hello: Hello, port: str) -> Iterator[Finding]:
    board = f"{hello.unique_id} on {port}: {hello.board}, MicroPython {hello.micropython}"
    yield Finding("good", "Brickwall", board)
    same = hello.firmware_sha256 == firmware.sha256()
    yield Finding(
        "good" if same else "bad",
        "firmware",
        f"{hello.firmware}, {hello.firmware_sha256[:12]}"
        + (", this checkout's" if same else f", not this checkout's {firmware.sha256()[:12]}"),
        ""
        if same
        else f"run 'tennis brickwall flash --port {port}', then 'tennis brickwall verify'",
    )
    usual = hello.clock_hz == EXPECTED_HZ
    yield Finding(
        "good" if usual else "note",
        "clock",
        f"{hello.clock_hz / 1e6:g} MHz, one tick is {1e9 / hello.tick_hz:g} ns",
        "" if usual else f"{EXPECTED_HZ / 1e6:g} MHz is usual: verify it with this clock",
    )
    for words in wiring().to_ground_words(hello.board):
        yield Finding(
            "note",
            "erratum E9",
            f"this board needs {words}",
            "put it in, unless the chip's stepping is later than A2 (docs/brickwall.md)",
        )
    record = verifications.read(hello.unique_id)
    instrument = Instrument(
        kind="brickwall",
        serial=hello.unique_id,
        firmware=hello.firmware,
        firmware_sha256=hello.firmware_sha256,
        tick_hz=hello.tick_hz,
        calibration=record,
    )
    why = doubt(instrument, datetime.datetime.now(datetime.UTC).isoformat())
    told = (
        f"{record.verdict} on {record.date} ({record.kind}, {record.source}"
        f"{'' if record.independent else ': not for graded work'})"
        if record
        else ""
    )
    yield Finding(
        "note" if why else "good",
        "verification",
        why or told,
        "unplug the target, put the jumpers in and run 'tennis brickwall verify'" if why else "",
    )


def _wire_findings(levels: dict[str, Any], board: str = "") -> Iterator[Finding]:
    """Yield what the Brickwall's pads tell about the wires; ``levels`` is what ``wires`` answers.

    ``board`` is what the Brickwall calls itself: some have a resistor on the reply line.
    """
    known = wiring()
    ping, reply = known.wire("ping"), known.wire("reply")
    driven = (levels["ping"]["high"], levels["ping"]["low"])
    if driven != (1, 0):
        where = {(0, 0): "ground", (1, 1): "3.3 V"}.get(driven, "something that drives it")
        yield Finding(
            "bad",
            "ping wire",
            f"shorted to {where}",
            f"pull it off GP{ping.pico_gpio} (pin {ping.pico_pin}) at once, and look for the short",
        )
    if levels["reply"].get("high") == 0:
        yield Finding(
            "bad",
            "reply wire",
            "shorted to ground",
            f"pull it off GP{reply.pico_gpio} (pin {reply.pico_pin}) at once, and look for the "
            "short",
        )
    elif levels.get("ping_to_answer") and levels["listen_to_reply"]:
        yield Finding(
            "bad",
            "wires",
            "the far ends of the jumpers are swapped",
            f"exchange them: {known.jumper_words()}",
        )
    elif levels["ping_to_listen"] and levels["answer_to_reply"]:
        yield Finding(
            "good",
            "wires",
            "the jumpers of the self-test",
            "'tennis brickwall verify' needs no target",
        )
    elif levels["ping_to_listen"] and levels["listen_to_reply"]:
        yield Finding("good", "wires", f"ping and reply both reach {PLUG}")
    elif levels["ping_to_listen"]:
        yield Finding(
            "bad",
            "reply wire",
            "dead: the plug hears the ping, and the reply does not come back",
            f"replace the wire between GP{reply.pico_gpio} (pin {reply.pico_pin}) and pin "
            f"{reply.target_pin} of the target",
        )
    elif levels["listen_to_reply"]:
        yield Finding(
            "bad",
            "ping wire",
            "dead: the reply wire reaches the plug, and the ping does not",
            f"replace the wire between GP{ping.pico_gpio} (pin {ping.pico_pin}) and pin "
            f"{ping.target_pin} of the target",
        )
    elif levels["ping_to_reply"]:
        yield Finding(
            "bad",
            "wires",
            "ping and reply are joined",
            "push in ground, without which one is the other's way back; then look for what "
            "touches: the Brickwall would measure its own ping",
        )
    else:
        yield _resting(levels, board)


def _resting(levels: dict[str, Any], board: str) -> Finding:
    """Say who drives the reply line while nobody serves."""
    pulled = (levels["reply"]["pulled_up"], levels["reply"]["pulled_down"])
    if pulled == (0, 0) and wiring().to_ground_words(board):
        return Finding(
            "note",
            "reply wire",
            "held low: by a Racquet at rest, or only by the resistor of erratum E9",
            "play a few balls: with no answer the wire is dead (tennis commission --step reply)",
        )
    if pulled == (0, 0):
        return Finding("good", "reply wire", "held low, as by a Racquet at rest")
    if pulled == (1, 1):
        return Finding(
            "bad",
            "reply wire",
            "held high: every ball would be a miss",
            "load the Racquet (it lowers the line), and check that no 3.3 V pin is wired to it"
            + (
                "; without its resistor, a wire that nothing drives looks the same (erratum E9)"
                if wiring().to_ground_words(board)
                else ""
            ),
        )
    # a target's own pull at its ping line may hold it, too: so it is only a question
    swapped = levels["ping"].get("pulled_up") == 0
    return Finding(
        "bad",
        "reply wire",
        "floating: nothing drives it",
        f"switch the target on and load the Racquet; if it is, a wire is dead: use {PLUG}"
        + ("; something holds the ping wire low: are both wires swapped?" if swapped else ""),
    )
