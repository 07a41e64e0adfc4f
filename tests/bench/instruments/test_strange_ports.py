"""Serial ports where no Brickwall is: whatever is there, a wait for it ends with a line."""

import contextlib
import os
import select
import threading
import time
import tty

import pytest

from tennis.bench.instruments import flash as flashing
from tennis.bench.instruments import serial_link
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.commands import NobodyError
from tennis.bench.instruments.link import LinkLostError
from tennis.bench.instruments.serial_link import SerialLink
from tennis.kit.errors import BenchError

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _soon_deaf(monkeypatch):
    """pyserial asks a pseudo-terminal that is full again and again, for as long as this is."""
    monkeypatch.setattr(serial_link, "WRITE_TIMEOUT_S", 1)


def board(window, answer=b""):
    """Return a MicroPython that stops after it took a program, or gives the same answer to each."""

    def says(line, said):
        if b"\x05A\x01" in said:
            os.write(line, window)
        elif said.endswith(b"\x01"):
            os.write(line, b"raw REPL; CTRL-B to exit\r\n>")
        elif said.endswith(b"\x04"):
            os.write(line, answer)

    return says


ANSWERS = {
    "silent": lambda *_: None,
    "echo": os.write,
    "half": board(b"R\x01\x00\x40"),
    # no list of files
    "strange files": board(b"R\x01\x00\x40", b"\x04\xff\xfe\x00\n\x04\x04>"),
}


@contextlib.contextmanager
def strange(kind):
    """Yield the name of a serial port (a pseudo-terminal) with something strange on it."""
    near, far = os.openpty()
    tty.setraw(far)
    os.set_blocking(near, False)
    over = threading.Event()

    def serve():
        while not over.is_set():
            with contextlib.suppress(BlockingIOError):
                if kind == "garbage" and select.select([], [near], [], 0.05)[1]:
                    os.write(near, b"x" * 300)
                if (
                    kind != "deaf"
                    and select.select([near], [], [], 0.0 if kind == "garbage" else 0.02)[0]
                ):
                    said = os.read(near, 4096)
                    if kind in ANSWERS:
                        ANSWERS[kind](near, said)

    thread = threading.Thread(target=serve)
    if kind != "deaf":
        thread.start()
    else:  # its buffer is full, and nobody reads it
        os.set_blocking(far, False)
        for _ in range(20):  # the kernel makes room now and then
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(far, b"x")
            time.sleep(0.01)
    try:
        yield os.ttyname(far)
    finally:
        over.set()
        if thread.is_alive():
            thread.join()
        os.close(near)
        os.close(far)


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("silent", "nothing answers on"),
        ("deaf", "takes nothing"),
        ("garbage", "is not a Brickwall"),
        ("echo", "echoes what it is sent"),
    ],
)
def test_a_brickwall_is_not_waited_for_without_end(kind, said):
    with strange(kind) as name:
        link = SerialLink(name)
        began = time.monotonic()
        with pytest.raises((NobodyError, LinkLostError), match=said):
            Brickwall(link).hello(patience_s=2)
        link.close()
        assert time.monotonic() - began < 60  # a busy machine; nobody waits so long elsewhere


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("deaf", "takes nothing"),
        ("half", "no MicroPython prompt"),
        ("strange files", "does not identify itself"),
    ],
)
def test_a_prompt_is_not_waited_for_without_end(kind, said, monkeypatch):
    monkeypatch.setattr(flashing, "PROMPT_S", 3.0)
    monkeypatch.setattr(flashing, "FLASH_S", 12.0)
    monkeypatch.setattr(flashing, "WAIT_S", 2.0)
    with strange(kind) as name, pytest.raises(BenchError, match=said) as raised:
        flashing.flash(name)
    assert "\n" not in str(raised.value)
