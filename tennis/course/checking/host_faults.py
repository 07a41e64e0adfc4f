# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whose fault a failure is: that of the machine that marks, or of what was handed in.

What the machine refused, for want of room, of memory, of a kernel or of a box, is no judgement: it
is done later, by the same command.
"""

import errno

from tennis.errors import BenchError, DiskFullError, NotBuiltError

SHORT_OF = {
    *(errno.ENOSPC, errno.EDQUOT, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN),
    *(errno.EIO, errno.EROFS),
}


def is_of_this_machine(error: BaseException | None) -> bool:
    """Tell whether an error, or what it was raised from, is this machine's fault."""
    while error is not None:
        if isinstance(error, NotBuiltError):
            return False
        if isinstance(error, BenchError | DiskFullError | MemoryError):
            return True
        if isinstance(error, OSError) and error.errno in SHORT_OF:
            return True
        error = error.__cause__ or error.__context__
    return False
