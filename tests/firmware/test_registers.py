"""The firmware's registers are those of both chips: no emulator has an RP2350's.

Each function of ``registers.py`` runs as it does on the chip, on a memory that writes down what
is read and written. The chip's own description (SVD) says what that is.
"""

import importlib.util
import re
import sys
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from tennis.kit.checkout import ROOT
from tennis.kit.wiring import wiring
from tests.support import pio_programs
from tests.support.pico_sdk import CHIPS, Chip, chip

FIRMWARE = ROOT / "kit-firmware"
PIN = 6
CHANNELS = 12  # an RP2350 has four more, and MicroPython gives the first that is free

Access = tuple[str, str, dict[str, int]]  # read, RW, SET, CLR, XOR; a register; its fields


class Memory:
    """``machine.mem32`` of a chip: registers hold what they have after a reset, or were given."""

    def __init__(self, of: Chip) -> None:
        self.of = of
        self.held: dict[str, int] = {}
        self.accesses: list[Access] = []

    def __getitem__(self, address: int) -> int:
        register, alias = self.of.at(address)
        assert alias == "RW", f"{register.name} is read through {alias}"
        value = self.held.get(register.name, register.reset)
        self.accesses.append(("read", register.name, register.read(value)))
        return value

    def __setitem__(self, address: int, value: int) -> None:
        register, alias = self.of.at(address)
        assert 0 <= value < 1 << 32
        self.accesses.append((alias, register.name, register.read(value)))


def load(name: str) -> tuple[Any, Memory]:
    """Return the firmware's ``registers.py`` as a chip loads it, and that chip's memory."""
    memory = Memory(chip(name))
    machine = ModuleType("machine")
    vars(machine).update(mem32=memory)
    path = FIRMWARE / "brickwall/registers.py"
    spec = importlib.util.spec_from_file_location(f"registers_{name}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    board = mock.patch.object(sys.implementation, "_machine", f"a {name.upper()}", create=True)
    with mock.patch.dict(sys.modules, {"machine": machine}), board:
        spec.loader.exec_module(module)
    return module, memory


# each function that touches a register -> what that must be; PIO's machines are bits 0 to 3
ALL_MACHINES = {"SM_ENABLE": 0xF}
TOUCHES: dict[str, tuple[Callable[[Any], object], list[Access]]] = {
    "start_all": (lambda r: r.start_all(r.PIO1), [("RW", "PIO1.CTRL", ALL_MACHINES)]),
    "stop_all": (lambda r: r.stop_all(r.PIO1), [("CLR", "PIO1.CTRL", ALL_MACHINES)]),
    "forget_stalls": (lambda r: r.forget_stalls(r.PIO0), [("RW", "PIO0.FDEBUG", {"RXSTALL": 0xF})]),
    "bypass_synchroniser": (
        lambda r: (r.bypass_synchroniser(PIN, True), r.bypass_synchroniser(PIN, False)),
        [
            (alias, "PIO0.INPUT_SYNC_BYPASS", {"INPUT_SYNC_BYPASS": 1 << PIN})
            for alias in ("SET", "CLR")
        ],
    ),
    "bypassed": (lambda r: r.bypassed(PIN), [("read", "PIO0.INPUT_SYNC_BYPASS", {})]),
    "end_watchdog": (lambda r: r.end_watchdog(), [("CLR", "WATCHDOG.CTRL", {"ENABLE": 1})]),
}
# those that return an address or a number: the tests below say which
RETURNS = {"stalls", "transfer_count", "read_and_start", "tx_request", "rx_request"}
RETURNS |= {"pad_levels", "let_go"}


@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("function", TOUCHES)
def test_a_function_touches_the_register_that_it_names(name, function):
    module, memory = load(name)
    touch, accesses = TOUCHES[function]
    touch(module)
    assert memory.accesses == accesses


@pytest.mark.parametrize("name", CHIPS)
def test_what_dma_is_given(name):
    """The balls' numbers come from these counts: another register's would be silently wrong."""
    module, _ = load(name)
    for number in range(CHANNELS):
        channel = SimpleNamespace(channel=number)
        count, alias = chip(name).at(module.transfer_count(channel))
        assert (count.name, alias) == (f"DMA.CH{number}_TRANS_COUNT", "RW")
        begin, alias = chip(name).at(module.read_and_start(channel))
        assert (begin.name, alias) == (f"DMA.CH{number}_AL3_READ_ADDR_TRIG", "RW")
    stall, alias = chip(name).at(module.stalls(module.PIO1))
    assert (stall.name, alias) == ("PIO1.FDEBUG", "RW")
    # ``balls.look`` takes these bits of it
    assert stall.fields["RXSTALL"].mask == 0xF


@pytest.mark.parametrize("name", CHIPS)
def test_what_lets_go_of_a_pad_and_reads_it(name):
    """On an RP2350 the RP2040's address would raise a pad, which the test of wires must not."""
    module, _ = load(name)
    for address, register in ((module.let_go(), "GPIO_OE_CLR"), (module.pad_levels(), "GPIO_IN")):
        found, alias = chip(name).at(address)
        assert (found.name, alias) == (f"SIO.{register}", "RW")


@pytest.mark.parametrize("name", CHIPS)
def test_a_count_of_transfers_is_a_count_only(name):
    """On an RP2350 the bits above it choose a mode: a ring that never ends, or triggers itself."""
    register = chip(name)["DMA.CH0_TRANS_COUNT"]
    counts = [pio_programs.load("generator").TRANSFERS, 64]
    text = (FIRMWARE / "brickwall/stampers.py").read_text(encoding="utf-8")
    (bits,) = re.findall(r"^TRANSFERS = const\(\(1 << (\d+)\) - 1\)$", text, re.MULTILINE)
    counts.append((1 << int(bits)) - 1)
    field = {"rp2040": "CH0_TRANS_COUNT", "rp2350": "COUNT"}[name]
    assert [register.read(count) for count in counts] == [{field: count} for count in counts]


class Channel:
    """``rp2.DMA``: packs a control word as ports/rp2/rp2_dma.c does, by the chip's own fields."""

    def __init__(self, name: str, number: int) -> None:
        self.channel = number
        self._control = chip(name)[f"DMA.CH{number}_CTRL_TRIG"]
        self.done: list[Any] = []

    def pack_ctrl(self, *, default: int, chain_to: int) -> int:
        field = self._control.fields["CHAIN_TO"]
        return default & ~field.mask | chain_to << field.low

    def config(self, *, ctrl: int) -> None:
        self.done.append(self._control.read(ctrl))

    def active(self, wanted: int) -> None:
        self.done.append("abort" if not wanted else "start")

    def close(self) -> None:
        self.done.append("close")


@pytest.mark.parametrize("name", CHIPS)
@pytest.mark.parametrize("number", [0, 5])
def test_an_aborted_channel_starts_no_other(name, number):
    """RP2350 data sheet, 12.6.8.3: clear EN and disable CHAIN_TO, which is to name itself."""
    module, _ = load(name)
    channel = Channel(name, number)
    module.stop_dma(channel)
    assert channel.done == [{"CHAIN_TO": number} if number else {}, "abort", "close"]


@pytest.mark.parametrize("name", CHIPS)
def test_pio_reaches_the_wires(name):
    """A wire's GPIO is that bit of PIO's registers only as long as GPIOBASE is 0."""
    for wire in wiring().wires:
        values = chip(name)[f"IO_BANK0.GPIO{wire.pico_gpio}_CTRL"].fields["FUNCSEL"].values
        assert any(word.startswith("pio0") for word in values), wire.name
    if name == "rp2350":
        assert chip(name)["PIO0.GPIOBASE"].reset == 0


# What an RP2350's PIO adds where an RP2040's has nothing: bits of the instruction, and their value.
# Encodings: the data sheets of RP2040 (3.4) and RP2350 (11.4).
ADDED = {
    "wait jmppin": (0xE060, 0x2060),
    "wait irq prev, wait irq next": (0xE068, 0x2048),
    "mov between a FIFO's entry and ISR or OSR": (0xE010, 0x8010),
    "mov pindirs": (0xE0E0, 0xA060),
    "irq prev, irq next": (0xE008, 0xC008),
}


def added(word: int) -> list[str]:
    """Return what an instruction is, if only an RP2350 has it."""
    return [name for name, (bits, value) in ADDED.items() if word & bits == value]


@pytest.mark.parametrize("program", ["stamp", "serve_closed", "serve_open", "pulse", "answer"])
def test_a_program_means_the_same_on_both_chips(program):
    home = pio_programs.load("generator" if program == "answer" else "programs")
    opcodes = getattr(home, program).opcodes
    assert opcodes
    assert [hex(word) for word in opcodes if added(word)] == []
