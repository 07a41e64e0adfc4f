# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a logic analyser's file holds: edges on two wires, whatever program wrote it.

sigrok-cli does not read these files as well (libsigrok 0.5.2). It makes a sample of each step of a
VCD's time scale: at 1 ns, a second of wires takes 7 s of processor time. A table that lists only
changes it takes for samples at equal distances, and an oscilloscope's needs its columns named.
"""
