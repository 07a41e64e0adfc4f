# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Balls on two wires: a ping is served, a Racquet answers it twice.

A ball begins when ping rises. The reply's rise is the answer of the interrupt handler, its fall
that of the bottom half:

- interrupt latency = reply's rise - ping's rise
- scheduling latency = reply's fall - reply's rise

A ball that is not answered completely within the timeout, or before the next ping, is a miss. An
edge of the reply that belongs to no ball is a double after a complete ball, and a stray otherwise.
"""

from .pd import Decoder as Decoder
