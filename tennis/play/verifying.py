# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""From what a person asked ``tennis verify`` to a verdict and a certificate that is kept."""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.bench.instruments import certificates, emulated
from tennis.bench.instruments.brickwall import Brickwall
from tennis.bench.instruments.ports import the_port
from tennis.bench.instruments.serial_link import SerialLink
from tennis.errors import UsageError
from tennis.play.verify import Amount, Point, Source, Verification, verify
from tennis.rally.manifest import Certificate
from tennis.units import format_count
from tennis.wiring import wiring

# an emulated Pico takes its time over long delays
EMULATED_BALLS = 20


@dataclass(frozen=True)
class Asked:
    """The options of ``tennis verify``."""

    bench: Literal["pi", "virtual"] = "pi"
    port: str | None = None
    generator_port: str | None = None
    source: Source = "jumpers"
    balls: int | None = None


def jumpered_pico(*arguments: str) -> Brickwall:
    """Return the Brickwall's firmware on an emulated Pico, with the jumpers of the self-test.

    ``arguments`` go to the emulator besides.
    """
    known = wiring()
    pins = [
        f"{known.wire(jumper.origin).pico_gpio}-{known.wire(jumper.to).pico_gpio}"
        for jumper in known.jumpers
    ]
    return Brickwall(emulated.start(["--connect", ",".join(pins), *arguments]), reconnect_s=0)


@contextlib.contextmanager
def _closed_after(brickwall: Brickwall) -> Iterator[Brickwall]:
    try:
        yield brickwall
    finally:
        brickwall.close()


def keep(certificate: Certificate) -> Path | None:
    """Keep a certificate and return its file; where nothing was found out, an earlier one stays."""
    return certificates.write(certificate) if certificate.verdict in {"pass", "fail"} else None


def run(
    asked: Asked, tell: Callable[[str], None] = lambda _: None
) -> tuple[Verification, Certificate]:
    """Verify; ``tell`` gets a line now and then. What was found must still be kept (``keep``).

    Raises TennisError where there is no instrument to verify, or no place for its certificate.
    """
    certificates.prepare()
    count = 0

    def done(points: list[Point]) -> None:
        nonlocal count
        before = count
        count += points[0].balls
        if count // 1000 > before // 1000:
            tell(f"{format_count(count, 'ball')}, now at {points[0].what}")

    with contextlib.ExitStack() as stack:
        generator = None
        if asked.bench == "virtual":
            brickwall = stack.enter_context(_closed_after(jumpered_pico()))
        else:
            port = the_port(asked.port)
            if asked.generator_port == port:
                raise UsageError(
                    f"{port} is the Brickwall's own port: --generator-port is that of a second Pico"
                )
            link = SerialLink(port)
            brickwall = stack.enter_context(_closed_after(Brickwall(link)))
            if asked.generator_port:
                second = Brickwall(SerialLink(asked.generator_port))
                generator = stack.enter_context(_closed_after(second))
        real = asked.bench == "pi" and "://" not in brickwall.link.name
        each = asked.balls or (Amount.each if asked.bench == "pi" else EMULATED_BALLS)
        found = verify(
            brickwall, source=asked.source, generator=generator, amount=Amount(each), done=done
        )
    return found, found.certificate("physical" if real else "emulated")
