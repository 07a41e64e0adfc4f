"""The host's timeouts for each part of a bench."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Patience:
    """Limits, in seconds of the host's clock; a caller that makes a part of a bench may set others.

    Against an emulated Pico the seconds are its own: see ``bench/instruments/serial_link.py``.
    """

    # SSH
    connect_s: int = 10
    banner_s: float = 3.0  # from the connection to sshd's first word
    alive_every_s: int = 10  # a silent connection is asked for a sign of life
    alive_times: int = 3  # and is lost after this many unanswered questions
    # the program on the target that plays a rally
    target_alive_every_s: float = 10.0  # a packet each way so seldom does not show in the latencies
    target_silent_s: float = 35.0  # the target gives the host up, and undoes everything
    ready_s: float = 300.0  # a load's health check may take its time
    undone_s: float = 120.0
    # a fleet: one bench's whole answer
    status_s: float = 30.0
    # a Brickwall whose line was lost
    reconnect_s: float = 60.0
    # A kernel says its first words within seconds of QEMU's processor time. Other code may raise
    # exceptions for ever, while virtual time, which has limits of its own, hardly passes.
    first_word_s: float = 300.0


USUAL = Patience()
