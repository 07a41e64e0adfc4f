"""The serial ports, and which of them are Picos."""

from dataclasses import dataclass
from pathlib import Path

from serial.tools import list_ports

from tennis.kit.errors import UsageError
from tennis.rally.text import plain

MICROPYTHON = (0x2E8A, 0x0005)  # USB vendor and product: a Pico that runs MicroPython
# USB vendors and products of a Pico, a Pico 2, with CircuitPython:
# circuitpython, ports/raspberrypi/boards/raspberry_pi_pico{,2}/mpconfigboard.mk
CIRCUITPYTHON = {(0x239A, 0x80F4), (0x2E8A, 0x000B)}
BOOTSEL = ("2e8a", ("0003", "000f"))  # a Pico, a Pico 2, that waits for its firmware
USB_DEVICES = Path("/sys/bus/usb/devices")


@dataclass(frozen=True)
class _Port:
    """A serial port."""

    device: str
    serial: str | None  # of the USB device
    pico: bool
    words: str  # its own description
    circuitpython: bool = False


def ports() -> list[_Port]:
    """Return the serial ports of this machine, in the order of their names."""
    return sorted(
        (
            _Port(
                listed.device,
                listed.serial_number,
                (listed.vid, listed.pid) == MICROPYTHON,
                listed.product or listed.description or "",
                (listed.vid, listed.pid) in CIRCUITPYTHON,
            )
            for listed in list_ports.comports()
        ),
        key=lambda port: port.device,
    )


def picos() -> list[_Port]:
    """Return the ports of the Picos that run MicroPython."""
    return [port for port in ports() if port.pico]


def bootsel(devices: Path = USB_DEVICES) -> int:
    """Return how many Picos wait in BOOTSEL mode for a UF2 file."""
    count = 0
    for vendor in devices.glob("*/idVendor"):
        try:
            product = (vendor.parent / "idProduct").read_text().strip()
            count += vendor.read_text().strip() == BOOTSEL[0] and product in BOOTSEL[1]
        except OSError:  # unplugged at this moment
            continue
    return count


def checked(name: str) -> str:
    """Return a port's name. Raises UsageError unless it is a device or ``socket://``.

    The library that opens it knows more, and some of that writes files: ``spy://``.
    """
    scheme, mark, _ = name.partition("://")
    if mark and scheme != "socket":
        raise UsageError(
            f"--port {plain(name, 80)}",
            next_step="name a serial device (/dev/ttyACM0) or socket://HOST:PORT",
        )
    return name


def the_port(named: str | None) -> str:
    """Return the named port, or that of the only Pico. Raises UsageError: what there is instead."""
    if named:
        return checked(named)
    candidates = picos()
    if len(candidates) == 1:
        return candidates[0].device
    if candidates:
        names = ", ".join(port.device for port in candidates)
        raise UsageError(
            f"there are {len(candidates)} Picos ({names})", next_step="choose one with --port"
        )
    if bootsel():
        raise UsageError(
            "a Pico waits in BOOTSEL mode, without MicroPython",
            next_step="put it there first (`tennis brickwall flash` says how)",
        )
    if circuit := [port.device for port in ports() if port.circuitpython]:
        raise UsageError(
            f"the Pico on {circuit[0]} has CircuitPython",
            next_step="put MicroPython there first (`tennis brickwall flash` says how)",
        )
    others = ", ".join(f"{port.device} ({port.words})" for port in ports())
    raise UsageError(
        f"no Pico is plugged in (serial ports: {others or 'none'})",
        next_step="plug it in with a cable that carries data, or name the port with --port",
    )
