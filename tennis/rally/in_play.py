"""``OUT.part``: a rally while it is played, with its plan and its journal."""

import os
import shutil
import stat
from contextlib import AbstractContextManager
from pathlib import Path
from types import TracebackType

from tennis.kit import wire
from tennis.kit.errors import RallyError, TennisError, UsageError
from tennis.rally.disk import sync, writing
from tennis.rally.folder import (
    AFTER,
    BEFORE,
    CAPTURE,
    CONSOLE,
    INTERRUPTED,
    JOURNAL,
    PEER,
    PLAN,
    SEALED,
    Rally,
)
from tennis.rally.journal import Journal
from tennis.rally.plan import Plan


def part_path(out: Path) -> Path:
    """Return the folder of the rally ``out`` while it is played: ``out.part`` beside it."""
    if not out.name or out.name == "..":
        raise UsageError(
            f"{out} is not a rally's name", next_step="name the folder that --out named"
        )
    return out.with_name(out.name + ".part")


def check_part(part: Path) -> None:
    """Raise RallyError unless an unfinished rally is a folder of plain files.

    It may come from somebody else, and going on writes into it: through a link that would be into
    another place. Folders in it are emptied before they are used.
    """
    try:
        strange = not stat.S_ISDIR(part.lstat().st_mode) and part
        with os.scandir(part) as entries:
            for entry in entries:
                plain_file = entry.is_file(follow_symlinks=False)
                own_folder = entry.name in {SEALED, INTERRUPTED, PEER} and entry.is_dir(
                    follow_symlinks=False
                )
                if not plain_file and not own_folder:
                    strange = part / entry.name
    except OSError as error:
        raise RallyError(f"cannot read {part} ({error.strerror})", next_step="remove it") from error
    if strange:
        raise RallyError(
            f"{strange} is a link or something else that tennis does not put there: do not use "
            "this rally, ask the sender"
        )


def can_go_on(rally: Rally | None) -> bool:
    """Tell whether a sealed rally was interrupted, and can still be continued."""
    if rally is None or rally.manifest.ended != "interrupted":
        return False
    journal = part_path(rally.path) / JOURNAL
    return journal.is_file() and journal.stat().st_size > 0


def remove_part(part: Path) -> None:
    """Remove the working files of a rally that is sealed (the journal last)."""
    for name in (SEALED, INTERRUPTED, CONSOLE, CAPTURE, BEFORE, AFTER, PLAN, JOURNAL):
        path = part / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    shutil.rmtree(part, ignore_errors=True)


class RallyInPlay(AbstractContextManager["RallyInPlay"]):
    """A rally that is being played in the folder ``part``, and sealed as ``out``.

    Its journal is locked until the block ends. Raises RallyError if another process plays it.
    """

    def __init__(self, out: Path, plan: Plan) -> None:
        self.out = out
        self.part = part_path(out)
        self.plan = plan
        self.journal = Journal(self.part, out)

    @classmethod
    def begin(cls, out: Path, plan: Plan) -> "RallyInPlay":
        """Make the folder, with the plan in it. Raises DiskFullError, RallyError: it is not made.

        The last two also if the disk has no locks.
        """
        part = part_path(out)
        with writing(part):
            part.mkdir()
        try:
            with writing(part / PLAN):
                (part / PLAN).write_text(plan.text)
                sync(part / PLAN)
            return cls(out, plan)
        except BaseException:
            remove_part(part)  # nothing was played: nothing to resume
            raise

    def remove_unless_played(self) -> bool:
        """Remove the folder if its journal holds no balls; tell whether it was removed."""
        if self.journal.path.exists() and next(self.journal.payloads(wire.BALLS), None) is not None:
            return False
        remove_part(self.part)
        return True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Give up the lock. Raises RallyError for an error if somebody removed the folder."""
        self.journal.close()
        gone = not os.path.lexists(self.part) and not os.path.lexists(self.out)
        if gone and isinstance(error, OSError | TennisError):
            raise RallyError(
                f"{self.part} was removed while it was played",
                next_step="begin the rally again, with the command that began it",
            ) from error
