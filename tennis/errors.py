# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The errors that people see: one line that says what is wrong and what to do."""


class TennisError(Exception):
    """Something failed; the message is one line for a person and the exit code is 1.

    The message says what is wrong *and* what to do about it.
    """

    exit_code = 1


class UsageError(TennisError):
    """What was asked for cannot be meant: the exit code is 2."""

    exit_code = 2


class RallyError(TennisError):
    """A rally folder cannot be used: truncated, altered, of a newer schema, not a rally."""


class BenchError(TennisError):
    """The bench failed: no QEMU, a kernel that panicked, a module that does not load."""


class DiskFullError(TennisError):
    """The disk (or a quota) is full; what was written before is kept."""
