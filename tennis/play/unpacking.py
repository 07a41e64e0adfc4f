# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A packed ball, opened and played again: is it the same? The file comes from anybody.

Nothing in it is executed, and no name in it is used as it is: only the files that ``pack`` writes
are taken, each within its limit.
"""

import contextlib
import re
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tennis.errors import RallyError, TennisError, UsageError
from tennis.explain.explanation import Explanation
from tennis.explain.packed_ball import ASK, BALL, PackedBall, difference, other_sources, read_ball
from tennis.play.explain import explain
from tennis.play.packing import (
    CONFIG,
    LIMITS,
    OF_RALLY,
    RALLY,
    RALLY_MAX,
    packed,
    refuse_ball,
    refuse_other_tools,
)
from tennis.play.rally import Watch
from tennis.play.repeat import plan_again
from tennis.rally import Rally, open_rally
from tennis.rally.disk import writing
from tennis.rally.text import plain, quoted
from tennis.rally.zip_files import DAMAGE, METHODS, directory_of

ZIP_MAX = RALLY_MAX + sum(LIMITS.values())  # bytes: what is packed never grows
MEMBERS_MAX = 32
DIRECTORY_MAX = 1 << 16  # bytes
NAME = re.compile(rf"ball-\d{{1,10}}/(?:({RALLY})/)?([A-Za-z.-]{{1,40}})")
ENCRYPTED = 1  # a bit of a member's flags


@dataclass(frozen=True)
class Repeated:
    """A packed ball that came again, the same."""

    packed: PackedBall
    explanation: Explanation
    other_sources: list[str]  # what it is said to be packed with, and is not so here


def is_packed(path: Path) -> bool:
    """Tell whether a path is a packed ball: its file, or the folder that was in it."""
    return path.is_file() or (path / BALL).is_file()


def check_packed(
    path: Path,
    *,
    kernel: str | None = None,
    program: Path | None = None,
    watch: Watch | None = None,
) -> Repeated:
    """Play a packed ball again, and compare: all balls up to it by the tick, its call stacks.

    ``kernel`` is the built tree of one that was played on a tree, ``program`` what answered in one.
    Raises UsageError for what cannot be played again here, RallyError for another ball and for
    what is no packed ball, BenchError, and KeyboardInterrupt when told to stop.
    """
    with _folder(path) as folder:
        ball = read_ball(folder)
        rally = open_rally(folder / RALLY)
        refuse_ball(rally, ball.ball)
        if kernel is None and (folder / CONFIG).is_file():
            raise _tree_needed(rally)
        plan = plan_again(rally, kernel, program=program)
        there, name = quoted(folder / RALLY), quoted(rally.manifest.target.kernel)
        refuse_other_tools(
            rally,
            plan,
            qemu_step=(
                "use that one, or unpack the file and see what this one gives with "
                f"`tennis check {there}`"
            ),
            kernel_step=(
                f"`tennis kernels fetch --again {name}` looks for a newer one, and docs/pack.md "
                "says where older ones are"
            ),
        )
        explanation = explain(rally, ball=ball.ball, kernel=kernel, program=program, watch=watch)
        again = packed(explanation)
        if other := difference(ball, again):
            same = again.profiler_sha256 == ball.profiler_sha256
            why = "it was altered" if same else "this kit's profiler is another one"
            raise RallyError(
                f"ball {ball.ball} came again to the tick, and its story is another ({why}): "
                f"{other}",
                next_step=ASK,
            )
    return Repeated(ball, explanation, other_sources(ball, again))


def _tree_needed(rally: Rally) -> UsageError:
    """Return the error that says which kernel somebody needs who has none of Debian's."""
    manifest = rally.manifest
    image = manifest.tool.versions.get("kernel_image_sha256", "unknown")
    return UsageError(
        f"{rally.path} was played on a kernel tree, Linux {plain(manifest.target.release, 60)}, "
        f"whose arch/arm64/boot/Image has the SHA-256 {plain(image, 64)} ({CONFIG} is what it was "
        "built with)",
        next_step="name it with --kernel DIR; use only a tree that you trust: its Makefile is run",
    )


@contextlib.contextmanager
def _folder(path: Path) -> Iterator[Path]:
    """Yield the folder of a packed ball; that of a file is there for as long as it is needed."""
    if path.is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tennis-pack-") as scratch:
        try:
            yield unpack(path, Path(scratch))
        except TennisError as error:
            # a folder that will be gone helps nobody
            words = (part.replace(f"{scratch}/", "") for part in (error.message, error.next_step))
            message, next_step = words
            raise type(error)(message, next_step=next_step) from error


def unpack(path: Path, into: Path) -> Path:
    """Unpack a packed ball; return its folder in ``into``. Raises RallyError for what is none."""
    name = plain(path.name, 80)
    if path.stat().st_size > ZIP_MAX:
        raise RallyError(f"{name} is no file of at most {ZIP_MAX >> 20} MB", next_step=ASK)
    try:
        members, directory = directory_of(path)
        if members > MEMBERS_MAX or directory > DIRECTORY_MAX:
            raise RallyError(
                f"{name} holds {members} files: it is not a packed ball", next_step=ASK
            )
        with zipfile.ZipFile(path) as archive:
            folder = _take(archive, into, name)
    except DAMAGE as error:
        raise RallyError(
            f"{name} is not a packed ball: the zip file is damaged", next_step=ASK
        ) from error
    return folder


def _take(archive: zipfile.ZipFile, into: Path, name: str) -> Path:
    """Write the files that are known, and refuse all others. Raises RallyError."""
    folder: Path | None = None
    left = RALLY_MAX
    for info in archive.infolist():
        if info.is_dir():
            continue
        known = NAME.fullmatch(info.filename)
        place = into / info.filename.partition("/")[0]
        if not known or not _is_known(known[1], known[2]) or folder not in {None, place}:
            said = plain(info.filename, 80)
            raise RallyError(f"{name} holds {said}, which `tennis pack` never wrote", next_step=ASK)
        if info.compress_type not in METHODS or info.flag_bits & ENCRYPTED:
            raise RallyError(f"{name} is packed in another way than zip's", next_step=ASK)
        folder = place
        size = _copy(archive, info, into, left if known[1] else LIMITS[known[2]])
        left -= size if known[1] else 0
    if folder is None or not (folder / BALL).is_file():
        raise RallyError(f"{name} holds no {BALL}: it is not a packed ball", next_step=ASK)
    return folder


def _is_known(inside: str | None, file: str) -> bool:
    return file in (OF_RALLY if inside else LIMITS)


def _copy(archive: zipfile.ZipFile, info: zipfile.ZipInfo, into: Path, limit: int) -> int:
    """Write a member whose name is known; return its bytes. Raises RallyError above ``limit``."""
    to = into / info.filename
    if to.exists():
        raise RallyError(f"{info.filename} is in it twice", next_step=ASK)
    with archive.open(info) as source:
        content = source.read(limit + 1)
    if len(content) > limit:
        raise RallyError(f"{info.filename} unpacks to more than {limit:,} bytes", next_step=ASK)
    with writing(to):
        to.parent.mkdir(parents=True, exist_ok=True)
        to.write_bytes(content)
    return len(content)
