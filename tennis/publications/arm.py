# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Where the figures of Arm, Bradac, Kaczmarczyk (2016) are: their words for our drills."""

from typing import Literal

CONTEXTS: dict[str, Literal["user", "user-rt", "kernel"]] = {
    "user_soft": "user",
    "user_hard": "user-rt",
    "kernel": "kernel",
}
Call = Literal["response", "switch", "semaphore", "mailbox"]
# key of the tables -> drill, tables idle and loaded
CALLS: dict[str, tuple[Call, int, int]] = {
    "interrupt_response": ("response", 10, 10),
    "context_switch": ("switch", 11, 12),
    "semaphore_signal": ("semaphore", 13, 14),
    "mailbox_send": ("mailbox", 15, 16),
}
