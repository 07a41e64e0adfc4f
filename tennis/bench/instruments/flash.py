"""Put the Brickwall's firmware onto a Pico that has MicroPython, with mpremote's own transport."""

import contextlib
import errno
import hashlib
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import serial
from mpremote.transport import TransportError
from mpremote.transport_serial import SerialTransport

from tennis.bench.instruments import firmware
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import CommandError, Hello, NobodyError
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import bootsel, picos, the_port
from tennis.bench.instruments.serial_link import SerialLink, parted
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import log
from tennis.rally.text import plain

MAIN = "main.py"
CHUNK_BYTES = 512
BOOT_S = 10  # until the firmware answers
MEET_S = 2.0
PROMPT = b">>> "
QUIET_S = 2
EMULATED_QUIET_S = 120.0  # mpremote knows no time but the wall's
OPEN_AGAIN_S = 5.0
WAIT_S = 5.0  # for the rest of an answer
PROMPT_S = 20.0  # until MicroPython's prompt is there
FLASH_S = 300.0  # for all files
EMULATED_TIMES = 10  # so much longer may it take on an emulated Pico
UF2 = (
    "put MicroPython 1.25 or newer onto it: hold BOOTSEL while you plug it in, and copy the UF2 "
    "file of your board (RPI_PICO or RPI_PICO2, from micropython.org/download) onto the drive "
    "RPI-RP2 or RP2350 that appears; then run `tennis brickwall flash` again"
)
WHO = """
import sys
print(sys.implementation.name, sys.platform, *sys.implementation.version[:3])
"""
LIST_FILES = """
import hashlib, os
for name in os.listdir():
    if os.stat(name)[0] & 0x4000:
        continue
    hashed = hashlib.sha256()
    with open(name, 'rb') as file:
        while block := file.read(512):
            hashed.update(block)
    print(hashed.digest().hex(), name)
"""


class _Bounded:
    """A serial port as mpremote uses it: mpremote would wait for ever, or while data come."""

    def __init__(self, port: Any, name: str) -> None:
        self._port, self._name = port, name
        self._times = EMULATED_TIMES if "://" in name else 1
        port.timeout = port.write_timeout = WAIT_S * self._times
        self.limit(PROMPT_S, f"no MicroPython prompt on {name}")

    def limit(self, limit_s: float, why: str) -> None:
        """Set the time limit of the next transfer, and the error message if it takes longer."""
        self._limit_s, self._why = limit_s * self._times, why
        self._until = time.monotonic() + self._limit_s

    def _check(self) -> None:
        if time.monotonic() > self._until:
            raise BenchError(
                f"{self._why} (in {self._limit_s:.0f} s)",
                next_step="is it a Pico's port? unplug the Pico, plug it in, and flash it again",
            )

    def inWaiting(self) -> int:  # noqa: N802 (mpremote's name)
        """Return how many bytes have come."""
        self._check()
        return int(self._port.in_waiting)

    def read(self, size: int) -> bytes:
        """Return ``size`` bytes. Raises TransportError if they do not come."""
        self._check()
        data = bytes(self._port.read(size))
        if len(data) < size:
            raise TransportError("it stopped in the middle of an answer")
        return data

    def write(self, data: bytes) -> None:
        """Send all of ``data``. Raises TransportError if the port does not take it."""
        self._check()
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            raise TransportError("it takes nothing that is sent to it") from error

    def close(self) -> None:
        """Give the port up."""
        self._port.close()


class _Transport(SerialTransport):  # type: ignore[misc] # mpremote has no types
    """mpremote's way to a board, with patience for one that is emulated on a busy machine."""

    def __init__(self, port: str) -> None:
        self._patience_s = EMULATED_QUIET_S if "://" in port else 0.0
        super().__init__(parted(port)[0], exclusive="://" not in port)
        self.serial: Any = _Bounded(self.serial, port)
        self.is_pty = False  # it would read without looking whether there is something

    def close(self) -> None:
        """Give the port up."""
        self.serial.close()

    def read_until(
        self,
        min_num_bytes: int,
        ending: bytes,
        timeout: float | None = 10,
        data_consumer: Callable[[bytes], None] | None = None,
        timeout_overall: float | None = None,
    ) -> bytes:
        if timeout is not None and timeout_overall is None:
            timeout = max(timeout, self._patience_s)
        return bytes(
            super().read_until(min_num_bytes, ending, timeout, data_consumer, timeout_overall)
        )


def flash(port: str | None, *, remove_others: bool = False) -> Hello:
    """Bring a Pico to this checkout's firmware; return the Brickwall's greeting.

    A file that is already there is not written again. Raises UsageError, BenchError.
    """
    if port is None and not picos() and bootsel():
        raise BenchError(f"a Pico waits in BOOTSEL mode, without MicroPython: {UF2}")
    port = the_port(port)
    wanted = firmware.files()
    _leave(port)
    with _prompt(port) as board:
        there = _identify(board, port)
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in wanted.items()}
        # without the wiring, which is written first, nothing there was ever a Brickwall's
        ours = wanted if firmware.WIRING in there else {}
        others = sorted(
            name
            for name, hashed in there.items()
            if name.endswith(".py") and name not in ours and hashed != hashes.get(name)
        )
        if others and not remove_others:
            raise UsageError(
                f"the Pico on {port} holds other programs ({plain(', '.join(others), 100)}): save "
                "them, then use --remove-others"
            )
        changed = {name for name in wanted if there.get(name) != hashes[name]}
        if changed or others:
            # half a firmware must not start: it comes back last
            changed.add(MAIN)
            if MAIN in there:
                board.fs_rmfile(MAIN)
        for name in others:
            log.info(f"removing {plain(name, 60)}")
            if name != MAIN:
                board.fs_rmfile(name)
        for name in sorted(changed, key=lambda name: (name == MAIN, name != firmware.WIRING, name)):
            log.info(f"writing {name}, {len(wanted[name])} bytes")
            board.fs_writefile(name, wanted[name], chunk_size=CHUNK_BYTES)
        log.info(f"{len(changed)} files written, {len(wanted) - len(changed)} were there already")
        board.exit_raw_repl()
        board.read_until(1, PROMPT, timeout=QUIET_S)
        board.serial.write(b"\x04")  # soft reset: main.py runs
        _hear(board, port)
    return _meet(port)


def _hear(board: SerialTransport, port: str) -> None:
    """Listen to the board as it starts: a firmware that runs says nothing."""
    board.serial.limit(
        2 * BOOT_S, f"the firmware was written to {port}, which sends data without end"
    )
    output = board.read_until(1, PROMPT, timeout=QUIET_S, timeout_overall=BOOT_S)
    if output.endswith(PROMPT):
        before = output.decode(errors="replace").partition("MicroPython v")[0].strip()
        why = plain(before.splitlines()[-1] if before else "no reason given", 100)
        raise BenchError(
            f"the firmware was written to {port}, but does not start ({why}): report it"
        )


def _leave(port: str) -> None:
    """End the rally of a Brickwall that is playing; do nothing to other firmware."""
    link = SerialLink(port)
    brickwall = Brickwall(link)
    try:
        if brickwall.hello(patience_s=MEET_S).state == "playing":
            log.info("ending the rally that is being played")
            brickwall.end_play()
    except CommandError as error:
        raise BenchError(f"the Brickwall on {port} does not end its rally: {error}") from error
    except LinkLostError:
        raise
    except (NobodyError, BenchError):
        return  # MicroPython's prompt, other firmware: what the prompt says counts
    finally:
        link.close()


@contextlib.contextmanager
def _prompt(port: str) -> Iterator[SerialTransport]:
    """Open MicroPython's raw prompt. Raises BenchError if it does not come."""
    printed = io.StringIO()  # mpremote prints unexpected data
    board: SerialTransport | None = None
    try:
        with contextlib.redirect_stdout(printed):
            board = _Transport(port)
            board.enter_raw_repl(soft_reset=False, timeout_overall=PROMPT_S / 2)
        board.serial.limit(FLASH_S, f"{port} does not take the firmware")
        yield board
    except (TransportError, UnicodeDecodeError) as error:
        reason = plain(str(error).strip().splitlines()[-1] if str(error).strip() else "", 80)
        raise BenchError(f"no MicroPython prompt on {port} ({reason}): {UF2}") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise BenchError(
                f"the Pico on {port} has no room for the firmware",
                next_step=(
                    "remove files that you do not "
                    "need (`mpremote rm`), and run `tennis brickwall flash` again"
                ),
            ) from error
        raise BenchError(
            f"{port} was lost while it was being flashed ({error.strerror or error})",
            next_step="plug it in again, and run `tennis brickwall flash` again",
        ) from error
    finally:
        if board is not None:
            with contextlib.suppress(OSError):
                board.close()


def _identify(board: SerialTransport, port: str) -> dict[str, str]:
    """Return the hashes of the files on a board; check that it can be a Brickwall."""
    _check_interpreter(board, port)
    try:
        lines = board.exec(LIST_FILES).decode().splitlines()
        return {name: hashed for hashed, name in (line.split(" ", 1) for line in lines)}
    except ValueError as error:
        raise _strange(port) from error


def _strange(port: str) -> BenchError:
    return BenchError(
        f"the board on {port} does not identify itself",
        next_step="unplug it, plug it in, and flash it again",
    )


def _check_interpreter(board: SerialTransport, port: str) -> str:
    """Return the version of a Pico's MicroPython. Raises BenchError for anything else."""
    try:
        name, platform, *numbers = board.exec(WHO).decode().split()
        version = tuple(int(number) for number in numbers)
    except ValueError as error:
        raise _strange(port) from error
    if name == "circuitpython":
        raise BenchError(f"the Pico on {port} has CircuitPython", next_step=UF2)
    if platform != "rp2":
        raise BenchError(
            f"the board on {port} is not a Pico but {plain(platform, 20)}", next_step="use a Pico"
        )
    if version < firmware.OLDEST_MICROPYTHON:
        raise BenchError(f"the Pico on {port} has MicroPython {'.'.join(numbers)}: {UF2}")
    return ".".join(numbers)


def interpreter(port: str) -> str:
    """Return the version of the MicroPython at a port. Raises BenchError if there is none.

    Do not use it on a Brickwall that answers: it ends the Brickwall's program.
    """
    with _prompt(port) as board:
        version = _check_interpreter(board, port)
        board.exit_raw_repl()
        return version


def _meet(port: str) -> Hello:
    """Hear whether the firmware runs, and which."""
    deadline = time.monotonic() + OPEN_AGAIN_S
    while True:
        try:
            link = SerialLink(port)
            break
        except BenchError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)
    try:
        hello = Brickwall(link).hello(patience_s=BOOT_S)
    finally:
        link.close()
    if hello.firmware_sha256 != firmware.sha256():
        raise BenchError(
            f"the firmware on {port} is not what was written",
            next_step=(
                "run `tennis brickwall flash` again; if that does not help, the flash is worn out"
            ),
        )
    return hello
