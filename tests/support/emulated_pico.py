"""An emulated Pico behind TCP, and a line to it on which anything can happen."""

import contextlib
import json
import select
import socket
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tennis.bench.instruments import emulated

JUMPERS = ("--connect", "2-6,7-3")


def edges(**options: float) -> tuple[str, str]:
    """Return the emulator's arguments for pads and wires that take their time."""
    return "--edges", json.dumps(options)


def respond(kind: str, **script: Any) -> tuple[str, str]:
    """Return the emulator's arguments for a scripted target."""
    return "--respond", json.dumps({"kind": kind, **script})


class EmulatedPico:
    """The real firmware on an emulated Pico; ``url`` is its port, ``second_url`` a second one's.

    It boots while it is waited for: patience with it counts its own time.
    """

    def __init__(self, *arguments: str, flash: Path | None = None) -> None:
        self._arguments = arguments
        self._flash = flash or emulated._flash_image()
        self._port = self._clock = 0
        self.power_on()

    @property
    def url(self) -> str:
        return f"{self.plain_url}?clock={self._clock}"

    @property
    def plain_url(self) -> str:
        """Return the port for programs that know no clock but the wall's."""
        return f"socket://127.0.0.1:{self._port}"

    def power_on(self) -> None:
        emulated.check()
        command = ["node", emulated.FOLDER / "main.mjs", "--flash", self._flash, *self._arguments]
        self._process = subprocess.Popen(
            [*map(str, command), "tcp", f"{self._port},{self._clock}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout
        said = self._process.stdout.readline()
        assert said.startswith("port "), said
        self._port, self._clock, *second = map(int, said.split()[1::2])
        self.second_url = "socket://127.0.0.1:{}?clock={}".format(*second) if second else ""

    def power_off(self) -> None:
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> "EmulatedPico":
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()


Mangle = Callable[[bytes], bytes]


class Line:
    """A TCP proxy between a host and an instrument."""

    def __init__(self, url: str, *, to_host: Mangle = bytes, to_instrument: Mangle = bytes) -> None:
        where, _, clock = url.partition("?")
        self._far = int(where.rpartition(":")[2])
        self._mangle = {"to_host": to_host, "to_instrument": to_instrument}
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"socket://127.0.0.1:{self._server.getsockname()[1]}?{clock}"
        self.passed = {"to_host": 0, "to_instrument": 0}  # bytes
        self._plugged, self._ended = True, False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def unplug(self) -> None:
        self._plugged = False

    def plug_in(self) -> None:
        self._plugged = True

    def __enter__(self) -> "Line":
        return self

    def __exit__(self, *_: object) -> None:
        self._ended = True
        self._thread.join()
        self._server.close()

    def _run(self) -> None:
        while not self._ended:
            if not select.select([self._server], [], [], 0.05)[0]:
                continue
            near, _ = self._server.accept()
            with near:
                if not self._plugged:
                    continue
                with (
                    contextlib.suppress(OSError),
                    socket.create_connection(("127.0.0.1", self._far)) as far,
                ):
                    self._carry(near, far)

    def _carry(self, near: socket.socket, far: socket.socket) -> None:
        while self._plugged and not self._ended:
            ready, _, _ = select.select([near, far], [], [], 0.05)
            for source in ready:
                data = source.recv(4096)
                if not data:
                    return
                name, sink = ("to_instrument", far) if source is near else ("to_host", near)
                self.passed[name] += len(data)
                sink.sendall(self._mangle[name](data))
