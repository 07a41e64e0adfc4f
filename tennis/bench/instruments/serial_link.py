"""A line through a serial port, or through TCP (``socket://host:port``).

``socket://host:port?clock=port`` is an emulated Pico that says how far it is. Timeouts count its
own time: on a busy machine it may run at a tenth of its speed, or stand still for seconds.
"""

import contextlib
import errno
import select
import socket
import struct
import time
from urllib.parse import parse_qs, urlsplit

import serial

from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.ports import checked, ports
from tennis.kit.errors import BenchError

BAUD = 115_200  # USB takes no notice of it
WRITE_TIMEOUT_S = 5
READ_MAX = 1 << 16  # bytes
TIME = struct.Struct("<d")  # seconds since the emulated board was powered on
STANDSTILL_S = 120  # of the wall: an emulator that is no further by then has hung
POLL_S = 0.05


def parted(url: str) -> tuple[str, tuple[str, int] | None]:
    """Part ``socket://HOST:PORT?clock=PORT`` into what pyserial opens and the clock's address."""
    parts = urlsplit(url)
    clock = parse_qs(parts.query).get("clock", [""])[0]
    if parts.scheme != "socket" or not (clock.isdigit() and len(clock) <= 5):
        return url, None
    return f"socket://{parts.netloc}", (parts.hostname or "", int(clock))


class _EmulatedClock:
    """The clock of an emulated Pico, asked over TCP. Raises OSError if nothing answers."""

    def __init__(self, address: tuple[str, int]) -> None:
        self._line = socket.create_connection(address, timeout=STANDSTILL_S)

    def now_s(self) -> float:
        """Return the emulated time. Raises LinkLostError if the emulator has ended."""
        try:
            self._line.sendall(b"?")
            answer = b""
            while len(answer) < TIME.size:
                piece = self._line.recv(TIME.size - len(answer))
                if not piece:
                    raise LinkLostError("the emulated Pico has ended")
                answer += piece
        except OSError as error:
            raise LinkLostError("the emulated Pico has ended") from error
        (now,) = TIME.unpack(answer)
        return float(now)

    def close(self) -> None:
        """Give the line up."""
        with contextlib.suppress(OSError):
            self._line.close()


class _ClockWait:
    """Waits until a time of the instrument's has passed; on a real one, the wall's."""

    def __init__(self, clock: _EmulatedClock | None, wait_s: float) -> None:
        self._clock, self._wait_s = clock, wait_s
        self._end_s = clock.now_s() + wait_s if clock else 0.0
        self._hung_s = time.monotonic() + STANDSTILL_S
        self._first = True

    def next_wait_s(self) -> float | None:
        """Return how long to wait at most before asking again, or None if the time has passed."""
        if self._clock is None:
            wait_s = self._wait_s if self._first else None
            self._first = False
            return wait_s
        left_s = self._end_s - self._clock.now_s()
        if left_s <= 0 or time.monotonic() > self._hung_s:
            return None
        return min(max(left_s, 0.001), POLL_S)


class SerialLink:
    """A port of which this process is the only user.

    Raises BenchError if it cannot be opened: its line says why, and what to do.
    """

    def __init__(self, name: str) -> None:
        self.name = checked(name)
        self._device, self._clock_address = parted(name)
        self._clock: _EmulatedClock | None = None
        self._serial_number = next((p.serial for p in ports() if p.device == name), None)
        self._port: serial.SerialBase | None = None
        try:
            self._open()
        except (OSError, ValueError) as error:
            raise BenchError(_why_not(name, error)) from error

    def _open(self) -> None:
        self._port = serial.serial_for_url(
            self._device,
            baudrate=BAUD,
            timeout=0,
            write_timeout=WRITE_TIMEOUT_S,
            exclusive=None if "://" in self._device else True,
        )
        if self._clock_address:
            self._clock = _EmulatedClock(self._clock_address)

    def read(self, timeout_s: float) -> bytes:
        """Return the received bytes, wait for them up to ``timeout_s``. Raises LinkLostError."""
        port = self._port
        if port is None:
            raise LinkLostError(f"{self.name} is closed")
        try:
            patience = _ClockWait(self._clock, timeout_s)
            while (wait_s := patience.next_wait_s()) is not None:
                if select.select([port], [], [], wait_s)[0]:
                    return bytes(port.read(READ_MAX))
            return b""
        except LinkLostError:
            self.close()
            raise
        except (OSError, TypeError, ValueError) as error:  # pyserial's errors are OSErrors
            self.close()
            raise LinkLostError(f"{self.name} is gone") from error

    def write(self, data: bytes) -> None:
        """Send all of ``data``. Raises LinkLostError."""
        if self._port is None:
            raise LinkLostError(f"{self.name} is closed")
        try:
            self._port.write(data)
        except serial.SerialTimeoutException as error:
            self.close()
            raise LinkLostError(
                f"{self.name} takes nothing: it read no command in {WRITE_TIMEOUT_S} s"
            ) from error
        except (OSError, TypeError, ValueError) as error:
            self.close()
            raise LinkLostError(f"{self.name} is gone") from error

    def reopen(self) -> None:
        """Open the port again; a Pico is found by its serial number under a new name, too."""
        self.close()
        if self._serial_number is not None:
            same = [p.device for p in ports() if p.serial == self._serial_number]
            if not same:
                raise LinkLostError(f"{self.name} is unplugged")
            self._device = same[0]
        try:
            self._open()
        except (OSError, ValueError) as error:
            raise LinkLostError(_why_not(self._device, error)) from error

    def close(self) -> None:
        """Give the port up."""
        port, self._port = self._port, None
        if self._clock is not None:
            self._clock.close()
            self._clock = None
        if port is not None:
            try:
                port.close()
            except OSError:  # an unplugged device needs no closing
                return


def _why_not(name: str, error: Exception) -> str:
    """Say why a port cannot be opened, and what to do."""
    number = _number(error)
    if number in {errno.ENOENT, errno.ENODEV, errno.ENXIO}:
        there = ", ".join(port.device for port in ports()) or "none"
        return f"{name} does not exist (serial ports: {there}): plug the Pico in, or use --port"
    if number in {errno.EACCES, errno.EPERM}:
        return (
            f"no permission to use {name}: join the group dialout with "
            "`sudo usermod -a -G dialout $USER`, then log in again"
        )
    if number in {errno.EBUSY, errno.EAGAIN}:
        return (
            f"{name} is used by another program: end it (a terminal, mpremote, another rally), or "
            "wait some seconds for ModemManager, which tries each new port"
        )
    if number == errno.ECONNREFUSED:
        return f"{name}: nothing listens there: start the emulator, or correct the port's number"
    if number in {errno.ENOTTY, errno.EISDIR, errno.EINVAL}:
        return f"{name} is not a serial port: name the Brickwall's with --port"
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    if name.startswith("socket:") and not _is_address(name):
        reason = "not an address as in socket://HOST:PORT"
    return f"{name} cannot be opened ({reason}): name the Brickwall's port with --port"


def _is_address(url: str) -> bool:
    """Tell whether a host and a port are in a URL."""
    try:
        parts = urlsplit(url)
        return bool(parts.hostname and parts.port)
    except ValueError:  # a port that cannot be
        return False


def _number(error: BaseException | None) -> int | None:
    """Return the errno behind an error of pyserial's, which does not always keep it."""
    while error is not None:
        number = getattr(error, "errno", None)
        if isinstance(number, int):
            return number
        # termios.error holds its number as the first argument
        if error.args and isinstance(error.args[0], int):
            return error.args[0]
        error = error.__context__
    return None
