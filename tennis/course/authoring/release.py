"""Two trees to give away: all of it for those who teach, and one without answers for students."""

import os
import re
import shutil
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Literal

from tennis.course.lab_files import starter
from tennis.kit import environment
from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.disk import writing

Audience = Literal["student", "instructor"]
# answers, and the tests and examples that contain them
ANSWERS = (
    *("labs/*/solution.toml", "labs/*/wrong.toml", "exam/*"),
    *("tests/*", ".ci/*", "benchmarks/*"),
)
STARTERS = re.compile(r"labs/[^/]+/\w+\.[ch]")  # files that students complete
# of a tree that is no checkout: folders that were built or fetched there
BUILT = {".git", ".venv", "build", "_build", "node_modules", "demo", "__pycache__"}


def release(audience: Audience, out: Path) -> int:
    """Copy the tree to ``out``; return how many files. Raises UsageError if it exists."""
    if os.path.lexists(out):
        raise UsageError(f"{out} exists", next_step="choose another name")
    if ROOT in (out.resolve(), *out.resolve().parents):
        raise UsageError(f"{out} is in the tree itself", next_step="choose a place outside")
    count = 0
    with writing(out):
        for name in _names():
            if audience == "student" and any(fnmatch(name, answer) for answer in ANSWERS):
                continue
            target = out / name
            starter_file = STARTERS.fullmatch(name) if audience == "student" else None
            target.parent.mkdir(parents=True, exist_ok=True)
            if starter_file:
                target.write_text(starter((ROOT / name).read_text()))
            else:
                shutil.copy2(ROOT / name, target, follow_symlinks=False)
            count += 1
    return count


def _names() -> Iterator[str]:
    """Yield the files of the tree: those that git knows, or all that were not built."""
    if (ROOT / ".git").exists():
        words = ["git", "ls-files", "-z"]
        done = environment.completed(words, environment.for_programs(), cwd=ROOT)
        if done.returncode:
            message = f"git cannot list the files of {ROOT}: {done.stderr.strip()[-200:]}"
            raise TennisError(message, next_step="repair the checkout, or clone it again")
        yield from (name for name in done.stdout.split("\0") if name and (ROOT / name).exists())
        return
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(
            name for name in folders if name not in BUILT and not name.endswith("_cache")
        )
        for file in sorted(files):
            yield str((Path(folder) / file).relative_to(ROOT))
