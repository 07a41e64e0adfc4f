"""Shots: instants of one undisturbed boot, each of them played in a child of the emulator's.

The balls of such a rally do not follow each other. Their instants are drawn at random from as much
time as the same number of balls would take, and each finds the target as if it were the first ball.
"""

from tennis.kit.gaps import mix
from tennis.rally.manifest import Manifest, Protocol

SHOTS = "shots"  # the loop of a protocol
SHOTS_MAX = 1_000_000
_WEYL = 0x9E3779B9


def are_shots(protocol: Protocol) -> bool:
    """Tell whether the balls of a rally are shots."""
    return protocol.loop == SHOTS


def noun_of(manifest: Manifest) -> str:
    """Return the word for what a rally or a drill holds: ball, shot or repetition."""
    return "repetition" if manifest.drill else "shot" if are_shots(manifest.protocol) else "ball"


def span_ns(protocol: Protocol) -> int:
    """Return from how much time the instants are drawn: what as many balls take, ns."""
    return protocol.balls * (protocol.gap_min_ns + protocol.gap_max_ns) // 2


def instants(protocol: Protocol, instruction_ns: int) -> list[int]:
    """Return the instants of a rally's shots in their order; ns behind its first possible ball.

    Each is uniform in [0, ``span_ns``), and a whole number of instructions. Drawn as gaps are
    (kit-firmware/brickwall/gaps.py), from 64 bits each.
    """
    span, begin = span_ns(protocol), mix(protocol.seed)
    drawn = []
    for number in range(protocol.balls):
        high, low = (mix(begin + (2 * number + half) * _WEYL) for half in (1, 2))
        at_ns = ((high << 32 | low) * span) >> 64
        drawn.append(at_ns - at_ns % instruction_ns)
    return sorted(drawn)
