"""The line between a host and an instrument: bytes both ways, which may get lost."""

from typing import Protocol

from tennis.kit.errors import BenchError


class LinkLostError(BenchError):
    """The line is gone, perhaps only for a while: an unplugged cable, a closed connection."""


class Link(Protocol):
    """A line to an instrument."""

    name: str  # for people: the port

    def read(self, timeout_s: float) -> bytes:
        """Return the received bytes; wait for them up to ``timeout_s`` (of the instrument's time).

        Empty if nothing came. Raises LinkLostError.
        """

    def write(self, data: bytes) -> None:
        """Send all of ``data``. Raises LinkLostError."""

    def reopen(self) -> None:
        """Open the line again after it was lost. Raises LinkLostError if it is still gone."""

    def close(self) -> None:
        """Give the line up. Safe to call twice."""
