# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A late ball as one file: whoever opens it with this kit gets the same ball (``unpacking``)."""

import io
import os
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path

from tennis.bench.kernels import catalogue, modules
from tennis.bench.qemu import plugins
from tennis.bench.registry import can, is_named
from tennis.bench.virtual.answering import TARGET
from tennis.digests import sha256_of
from tennis.errors import RallyError, UsageError
from tennis.explain.explanation import Explanation
from tennis.explain.packed_ball import BALL, SIZE_MAX, PackedBall, packed_ball
from tennis.pages.mail import ball_text
from tennis.play.explain import explain
from tennis.play.rally import Watch
from tennis.play.repeat import plan_again
from tennis.rally import Rally, open_rally
from tennis.rally.disk import write_whole
from tennis.rally.folder import BALLS, CAPTURE, CONSOLE, EVENTS, MANIFEST
from tennis.rally.plan import Plan
from tennis.rally.text import plain, quoted

README = "README.txt"
SCRIPT = "replay.sh"
CONFIG = "kernel.config"
RALLY = "rally"  # the folder of the sealed rally, as it was
OF_RALLY = (MANIFEST, BALLS, EVENTS, CONSOLE, CAPTURE)
RALLY_MAX = 16 << 20  # bytes of all its files
# what each file may hold, in bytes; of a rally's all together
LIMITS = {README: 1 << 16, SCRIPT: 1 << 12, BALL: SIZE_MAX, CONFIG: 1 << 20}
TIME = (2026, 1, 1, 0, 0, 0)  # the same ball gives the same file
EXECUTABLE = {SCRIPT}


def pack(  # noqa: PLR0913 (a ball, and what plays it again)
    path: Path,
    ball: int,
    out: Path,
    *,
    kernel: str | None = None,
    program: Path | None = None,
    watch: Watch | None = None,
) -> Explanation:
    """Play a rally again up to a ball, explain it, and write both as the zip file ``out``.

    ``kernel`` is the built tree of a rally that was played on one, ``program`` what answered in
    one; neither is in the file. Raises UsageError for a rally or a ball that nobody could play
    again elsewhere, also because QEMU or the kernel's image are not those that it was played with;
    RallyError where it does not repeat; BenchError.
    """
    rally = open_rally(path)
    if os.path.lexists(out):
        raise UsageError(f"{out} exists", next_step="remove it, or name another file with --out")
    _refuse_others(rally)
    refuse_ball(rally, ball)
    _refuse_large(rally)
    plan = plan_again(rally, kernel, program=program)
    again = "play the rally again here, and pack that"
    refuse_other_tools(rally, plan, kernel_step=again, qemu_step=again)
    explanation = explain(rally, ball=ball, kernel=kernel, program=program, watch=watch)
    write_whole(out, archive(explanation, packed(explanation), _config(plan)))
    return explanation


def packed(explanation: Explanation) -> PackedBall:
    """Return what is kept of the ball that was explained."""
    target = explanation.rally.manifest.target
    profiler = sha256_of(*plugins.sources("profile"))
    if target.program:
        return packed_ball(explanation.story, target.program.sha256, profiler)
    racquet = modules.sources(TARGET / "racquet" / f"{target.module}.c")
    return packed_ball(explanation.story, sha256_of(*racquet), profiler)


def _refuse_others(rally: Rally) -> None:
    """Raise UsageError for a rally that no virtual bench played."""
    if rally.manifest.bench != "virtual":
        raise UsageError(
            f"{rally.path} was played on the bench {plain(rally.manifest.bench, 40)}: only the "
            "virtual bench plays the same ball again",
            next_step="send the rally's folder itself",
        )


def refuse_ball(rally: Rally, ball: int) -> None:
    """Raise UsageError for a ball that is not there, or was not answered."""
    latest = f"see which were late: `tennis explain {quoted(rally.path)}`"
    if not 0 <= ball < rally.balls:
        raise UsageError(
            f"there is no ball {ball}: {rally.path} has 0 to {rally.balls - 1}", next_step=latest
        )
    seen = 0
    for batch in rally.batches(["fall_ticks"]):
        if ball < seen + len(batch):
            if not batch.column(0)[ball - seen].is_valid:
                raise UsageError(
                    f"ball {ball} was missed: it has no answer that could come again",
                    next_step=latest,
                )
            return
        seen += len(batch)


def _refuse_large(rally: Rally) -> None:
    strange = set(rally.manifest.files) - set(OF_RALLY)
    if strange:
        raise RallyError(
            f"{rally.path} lists {plain(min(strange), 80)}, which no virtual rally has",
            next_step="use the original folder",
        )
    size = sum((rally.path / name).stat().st_size for name in (MANIFEST, *rally.manifest.files))
    if size > RALLY_MAX:
        raise UsageError(
            f"{rally.path} has {size >> 20} MB: at most {RALLY_MAX >> 20} MB are packed",
            next_step="play fewer balls with the same seed, up to this one: they are the same",
        )


def refuse_other_tools(rally: Rally, plan: Plan, *, qemu_step: str, kernel_step: str) -> None:
    """Raise UsageError where QEMU or the kernel's image is not the one that played a rally.

    Both next steps are the caller's. Of a tree ``plan_again`` compared the image.
    """
    if can(plan).system == "sloth":
        raise UsageError(
            f"{rally.path} was played on SLOTH: balls of Linux are packed",
            next_step="send the rally's folder itself: `tennis check` plays it again",
        )
    recorded = rally.manifest.tool.versions
    qemu, then = plugins.find_qemu().version, recorded.get("qemu", "unknown")
    if qemu != then:
        raise UsageError(
            f"{rally.path} was played with QEMU {plain(then, 80)}, and this is QEMU {qemu}",
            next_step=qemu_step,
        )
    kernel = catalogue.find(plan.kernel)
    if sha256_of(kernel.image) != recorded.get("kernel_image_sha256"):
        raise UsageError(
            f"{rally.path} was played on {plain(recorded.get('kernel', 'unknown'), 80)}, and "
            f"{kernel.name} here is {kernel.origin}: its image is another",
            next_step=kernel_step,
        )


def _config(plan: Plan) -> Path | None:
    """Return the configuration that a tree of somebody's own was built with."""
    return None if is_named(plan.kernel) else catalogue.find(plan.kernel).config


def archive(explanation: Explanation, ball: PackedBall, config: Path | None) -> bytes:
    """Return the zip file; ``config``: of a tree, what it was built with."""
    rally = explanation.rally
    tree = config is not None
    files: dict[str, bytes] = {
        README: ball_text(explanation, ball, tree=tree).encode(),
        SCRIPT: _script(rally, ball, tree=tree).encode(),
        BALL: ball.text(),
    }
    if config is not None:
        files[CONFIG] = config.read_bytes()
    names = sorted((MANIFEST, *rally.manifest.files))
    _check_sizes(files)
    whole = files | {f"{RALLY}/{name}": (rally.path / name).read_bytes() for name in names}
    return _zipped(f"ball-{ball.ball}", whole)


def _check_sizes(files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        if len(content) > LIMITS[name]:
            raise RallyError(
                f"{name} would have {len(content):,} bytes, {LIMITS[name]:,} at most",
                next_step="pack a ball that waited for less",
            )


def _zipped(folder: str, files: Mapping[str, bytes]) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, data in files.items():
            entry = zipfile.ZipInfo(f"{folder}/{name}", TIME)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if name in EXECUTABLE else 0o644
            entry.external_attr = (stat.S_IFREG | mode) << 16
            made.writestr(entry, data)
    return content.getvalue()


def _script(rally: Rally, ball: PackedBall, *, tree: bool) -> str:
    """Return the script that plays a ball again; nothing in it is text from a rally."""
    kernel, program = rally.manifest.target.kernel, rally.manifest.target.program
    own = ' --program "$PROGRAM"' if program else ""
    lines = [
        "#!/bin/sh",
        f"# Plays the rally again up to ball {ball.ball}, and compares.",
        "# Exit code 0: the same ball, to the nanosecond.",
        "set -e",
        'cd "$(dirname "$0")"',
    ]
    if program:
        lines.append(': "${PROGRAM:?name the program that answered: PROGRAM=FILE sh replay.sh}"')
    if tree:
        lines += [
            ': "${1:?name the built tree of this kernel}"',
            "tennis kernels fetch mainline  # and the programs of the target",
            f'tennis check . --kernel "$1"{own}',
        ]
    else:
        lines += [f"tennis kernels fetch {quoted(kernel)}", f"tennis check .{own}"]
    return "\n".join(lines) + "\n"
