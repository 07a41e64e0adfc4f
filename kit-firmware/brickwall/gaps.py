# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The random gaps between balls: the same seed gives the same gaps on every bench.

A 32-bit counter with Weyl increment and a xorshift-multiply finaliser (the constants are Wellons'
"lowbias32", hash-prospector): cheap in C, in Python and in MicroPython's viper code alike.
"""


def mix(state):
    """Return 32 random bits of a 32-bit state."""
    z = state & 0xFFFFFFFF
    z = ((z ^ (z >> 16)) * 0x7FEB352D) & 0xFFFFFFFF
    z = ((z ^ (z >> 15)) * 0x846CA68B) & 0xFFFFFFFF
    return z ^ (z >> 16)


def gap_ns(seed, index, gap_min_ns, gap_max_ns):
    """Return the gap before ball ``index`` (from 0): uniform in [gap_min_ns, gap_max_ns)."""
    bits = mix(mix(seed) + (index + 1) * 0x9E3779B9)
    return gap_min_ns + ((bits * (gap_max_ns - gap_min_ns)) >> 32)
