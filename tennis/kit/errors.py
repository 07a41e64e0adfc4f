"""The errors that people see: one line that says what is wrong and what to do."""


class TennisError(Exception):
    """A failure: its reason, and what to do about it (``next_step``), in one line.

    ``next_step`` is in the words of the command line; who shows errors elsewhere (a notebook) has
    ``message`` without it. As text an error says both. The exit code is 1.
    """

    exit_code = 1

    def __init__(self, message: str = "", *, next_step: str = "") -> None:
        super().__init__(f"{message}: {next_step}" if next_step else message)
        self.message, self.next_step = message, next_step

    @property
    def finding(self) -> tuple[str, str]:
        """Return the problem and the advice, also of a message that has both."""
        problem, _, advice = str(self).rpartition(": ")
        return (problem, advice) if problem else (advice, "")


class UsageError(TennisError):
    """A wrong request: the exit code is 2."""

    exit_code = 2


class RallyError(TennisError):
    """A rally folder cannot be used: truncated, altered, of a newer schema, not a rally."""


class AlteredError(RallyError):
    """A rally folder does not fit its seal: it was altered or damaged."""


class BenchError(TennisError):
    """The bench failed: no QEMU, a kernel that panicked, a module that does not load."""


class NotBuiltError(BenchError):
    """A user's source cannot be built: the fault is the source's, not the machine's."""


class DiskFullError(TennisError):
    """The disk (or a quota) is full; earlier writes are kept."""
