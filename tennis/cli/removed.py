# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commands that earlier versions had, and what to do instead."""

REMOVED = {
    "boot": "run 'tennis benches boot'",
    "flash": "run 'tennis brickwall flash'",
    "pack": "send the command that 'tennis explain RALLY --ball N' prints: it gives the same ball",
    "release": "run 'tennis course release'",
    "verify": "run 'tennis brickwall verify'",
}
