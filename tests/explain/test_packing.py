# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""tennis pack: the same ball bit for bit elsewhere; what is refused, and what strangers send."""

import json
import os
import stat
import subprocess
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tennis.bench.qemu import plugins
from tennis.checkout import ROOT, cache_folder
from tennis.errors import RallyError, UsageError
from tennis.explain.explanation import Explanation
from tennis.explain.packed_ball import (
    BALL,
    STACKS_MAX,
    PackedBall,
    difference,
    packed_ball,
    read_ball,
)
from tennis.pages.mail import COLUMNS, ball_text
from tennis.play import packing
from tennis.play.explain import explain
from tennis.play.packing import CONFIG, README, SCRIPT, archive, pack
from tennis.play.repeat import plan_again
from tennis.play.unpacking import check_packed, unpack
from tennis.rally import open_rally
from tennis.rally.manifest import Drill
from tests.explain.test_explain import HOSTILE, late_ball
from tests.play.test_planning import kernel_tree
from tests.support.plans import plan_of
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally, saying
from tests.support.synthetic_drill import make_drill
from tests.support.virtual import table

virtual = pytest.mark.virtual
one_worker = pytest.mark.xdist_group("one-ball")  # it was played again for both
HASH = "0" * 64
ALL = {README, SCRIPT, BALL, "rally/manifest.json", "rally/balls.parquet", "rally/events.jsonl"}


def explained(folder: Path, task: str = HOSTILE) -> tuple[Explanation, PackedBall]:
    """Return a made-up ball's explanation, and what is packed of it."""
    rally = make_rally(folder, balls=10)
    story = late_ball(task)
    return Explanation(rally, "", [story], 4, ["gcc"]), packed_ball(story, HASH, HASH)


@pytest.fixture
def late(tmp_path):
    """Return the file of a packed ball."""
    file = tmp_path / "late.zip"
    file.write_bytes(archive(*explained(tmp_path / "r"), None))
    return file


def members(file: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(file) as whole:
        return {name: whole.read(name) for name in whole.namelist()}


def packed_again(file: Path, content: dict[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(file, "w", method) as whole:
        for name, data in content.items():
            whole.writestr(name, data)
    return file


# --- what is in the file ---


def test_a_file_unpacks_to_what_was_packed(late, tmp_path):
    folder = unpack(late, tmp_path)
    inside = {str(p.relative_to(folder)): p for p in folder.rglob("*") if p.is_file()}
    assert folder.name == "ball-3"
    assert set(inside) >= ALL
    for name, path in inside.items():
        if name.startswith("rally/"):
            assert path.read_bytes() == (tmp_path / "r" / path.name).read_bytes()
    assert read_ball(folder) == explained(tmp_path / "again")[1]


def test_the_same_ball_gives_the_same_file(late, tmp_path):
    rally, ball = explained(tmp_path / "again")
    again = archive(replace(rally, rally=explained(tmp_path / "third")[0].rally), ball, None)
    assert again == late.read_bytes()


def test_all_of_the_wait_is_in_the_stacks(tmp_path):
    _, ball = explained(tmp_path / "r")
    assert sum(stack.ns for stack in ball.stacks) == 4430
    longest = ball.stacks[0]
    assert (longest.ns, longest.interrupts_off_ns) == (4000, 4000)
    assert longest.functions == ["grab<&lock>", "__arm64_sys_write"]
    assert longest.latency == "interrupt"
    assert {stack.latency for stack in ball.stacks} == {"interrupt", "scheduling"}


def test_of_too_many_stacks_the_longest_are_kept_and_the_others_time(monkeypatch, tmp_path):
    monkeypatch.setattr("tennis.explain.packed_ball.STACKS_MAX", 2)
    _, ball = explained(tmp_path / "r")
    assert (len(ball.stacks), STACKS_MAX) == (2, 2000)
    assert sum(stack.ns for stack in ball.stacks) + ball.other_stacks_ns == 4430


@pytest.mark.parametrize("task", [HOSTILE, "µ" * 15, "ж" * 15, "x" * 39])
@pytest.mark.parametrize("tree", [False, True])
def test_a_mail_is_ascii_and_72_columns(tmp_path, task, tree):
    explanation, ball = explained(tmp_path / "r", task)
    text = ball_text(explanation, ball, tree=tree)
    assert text.isascii()
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= COLUMNS
    for words in ("Ball 3 waited 4.43 us:", "4,310 ns  reply rises", "grab<&lock>", "sh replay.sh"):
        assert words in text
    assert ("KERNEL-TREE" in text) == ("kernel.config" in text) == tree


def test_a_script_is_executable_and_a_tree_is_asked_for(tmp_path):
    config = tmp_path / "auto.conf"
    config.write_text("CONFIG_ARM64=y\n")
    file = tmp_path / "late.zip"
    file.write_bytes(archive(*explained(tmp_path / "r"), config))
    assert members(file)[f"ball-3/{CONFIG}"] == b"CONFIG_ARM64=y\n"
    with zipfile.ZipFile(file) as whole:
        modes = {i.filename: stat.S_IMODE(i.external_attr >> 16) for i in whole.infolist()}
    assert {name for name, mode in modes.items() if mode == 0o755} == {f"ball-3/{SCRIPT}"}
    folder = unpack(file, tmp_path)
    done = subprocess.run(["sh", folder / SCRIPT], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "name the built tree" in done.stderr


def test_who_opens_a_ball_of_a_tree_is_told_which_kernel(tmp_path):
    """And another tree is refused by its image, before anything is built there."""
    rally = open_rally(ROOT / "labs/06-out-of-band/recorded/evl-in-band-stress")
    story, config = late_ball(), tmp_path / "auto.conf"
    config.write_text("CONFIG_EVL=y\n")
    ball = packed_ball(story, HASH, HASH)
    file = tmp_path / "late.zip"
    file.write_bytes(archive(Explanation(rally, "", [story], 4, []), ball, config))
    image = rally.manifest.tool.versions["kernel_image_sha256"]
    with pytest.raises(UsageError, match=rf"{image} .*kernel\.config .*name it with --kernel DIR"):
        check_packed(file)
    tree = kernel_tree(tmp_path, "CONFIG_EVL", release=rally.manifest.target.release)
    with pytest.raises(UsageError, match=r"its image and configuration .* are not of the kernel"):
        check_packed(file, kernel=str(tree))
    text = members(file)["ball-3/README.txt"].decode()
    assert image in text
    assert "whose image has the SHA-256 below" in " ".join(text.split())


# --- what is no packed ball ---


def grown(name):
    return lambda content: content | {f"ball-3/{name}": bytes(20 << 20)}


def with_ball(**changes):
    def change(content):
        ball = json.loads(content[f"ball-3/{BALL}"]) | changes
        return content | {f"ball-3/{BALL}": json.dumps(ball).encode()}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda content: content | {"../x": b""}, r"holds \.\./x, which `tennis pack` never wrote"),
        (lambda content: content | {"/etc/x": b""}, "holds /etc/x, which"),
        (lambda content: content | {"ball-3/rally/x.py": b""}, "holds ball-3/rally/x.py, which"),
        (lambda content: content | {"ball-3/manifest.json": b""}, "holds ball-3/manifest.json"),
        (lambda content: content | {"ball-4/ball.json": b""}, "holds ball-4/ball.json, which"),
        (lambda content: content | {f"ball-3/{n}": b"" for n in range(40)}, "46 files|47 files"),
        (lambda _: {"ball-3/README.txt": b""}, "holds no ball.json"),
        (grown(README), "README.txt unpacks to more than 65,536 bytes"),
        (grown(BALL), "ball.json unpacks to more than 4,194,304 bytes"),
        (grown("rally/balls.parquet"), "balls.parquet unpacks to more than"),
        (with_ball(ball=-1), r"not a packed ball of schema 1 \(.ball.:"),
        (with_ball(ball=10), "there is no ball 10: .* has 0 to 9"),
        (with_ball(more=1), r"not a packed ball of schema 1 \(.more.:"),
        (with_ball(schema_version=2), "written by a newer tennis .*: update tennis"),
        (with_ball(moments=[{}] * 1000), r"of schema 1 \(.moments"),
        (lambda content: content | {f"ball-3/{BALL}": b"[" * 10**6}, "ball.json is not JSON"),
        (lambda content: content | {f"ball-3/{BALL}": b"[]"}, "ball.json is not a packed ball"),
        (lambda content: content | {"ball-3/rally/balls.parquet": b"x"}, "truncated or altered"),
        (lambda content: content, "played on the bench replay: only the virtual bench"),
    ],
)
def test_what_strangers_send(late, tmp_path, change, words):
    packed_again(late, change(members(late)))
    with pytest.raises((RallyError, UsageError), match=words) as refused:
        check_packed(late)
    assert "\n" not in str(refused.value)
    assert "tennis-pack-" not in str(refused.value)  # a folder that is gone
    assert {path.name for path in tmp_path.iterdir()} == {"late.zip", "r"}


def test_a_name_that_is_there_twice(late):
    content = members(late)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(late, "a") as whole:
        whole.writestr(f"ball-3/{README}", content[f"ball-3/{README}"])
    with pytest.raises(RallyError, match=r"ball-3/README\.txt is in it twice"):
        check_packed(late)


def test_other_archives(late):
    packed_again(late, members(late), zipfile.ZIP_BZIP2)
    with pytest.raises(RallyError, match="packed in another way than zip's"):
        check_packed(late)
    late.write_bytes(b"PK" * 100)
    with pytest.raises(RallyError, match=r"late.zip is not a packed ball: the zip file is damaged"):
        check_packed(late)
    with late.open("wb") as file:
        file.truncate(1 << 30)
    with pytest.raises(RallyError, match=r"late.zip is no file of at most 21 MB"):
        check_packed(late)


# --- what cannot be packed ---


def test_a_board_a_drill_and_a_file_that_is_there(tmp_path):
    rally = make_rally(tmp_path / "r", balls=10)
    out = tmp_path / "late.zip"
    drill = Drill(name="periodic", context="user", period_ns=10**6)
    every_ms = np.full(20, 10**6)
    with pytest.raises(UsageError, match=r"the bench replay: .* send the rally's folder itself"):
        pack(rally.path, 3, out)
    with pytest.raises(RallyError, match="is a drill"):
        pack(make_drill(tmp_path / "d", drill, every_ms[1:], every_ms // 2).path, 0, out)
    out.write_text("mine")
    with pytest.raises(UsageError, match=r"late.zip exists"):
        pack(rally.path, 3, out)
    assert out.read_text() == "mine"


def test_balls_that_nobody_could_play_again(tmp_path):
    rally = make_rally(tmp_path / "r", balls=300, misses=20)
    falls = table(rally)["fall_ticks"].to_pylist()
    missed, answered = falls.index(None), next(n for n, fall in enumerate(falls) if fall)
    packing.refuse_ball(rally, answered)
    with pytest.raises(UsageError, match=f"ball {missed} was missed: .*tennis explain"):
        packing.refuse_ball(rally, missed)
    for ball in (-1, 300):
        with pytest.raises(UsageError, match=f"no ball {ball}: .* has 0 to 299: see which"):
            packing.refuse_ball(rally, ball)


def test_a_large_rally(monkeypatch, tmp_path):
    rally = make_rally(tmp_path / "r", balls=10, bench="virtual")
    monkeypatch.setattr(packing, "RALLY_MAX", 1000)
    with pytest.raises(UsageError, match="at most 0 MB are packed: play fewer balls"):
        pack(rally.path, 0, tmp_path / "late.zip")


def test_what_came_otherwise_is_named(tmp_path):
    _, ball = explained(tmp_path / "r")
    assert not difference(ball, ball)
    first, *rest = ball.stacks
    other = first.model_copy(update={"ns": first.ns + 2})
    again = ball.model_copy(update={"stacks": [other, *rest]})
    assert "4.00 µs in grab<&lock> of" in difference(ball, again)
    again = ball.model_copy(update={"stacks": rest})
    assert "are packed, and" in difference(ball, again)
    assert "moments are packed" in difference(ball, ball.model_copy(update={"moments": []}))
    again = ball.model_copy(update={"other_stacks_ns": 2})
    assert "shortest call stacks" in difference(ball, again)


# --- on the virtual bench ---


def versions_of(rally, **changes):
    """Return a rally that says it was played with other versions."""
    return saying(rally, tool={"versions": rally.manifest.tool.versions | changes})


@virtual
def test_another_qemu_or_kernel_is_named_before_it_is_played(hog):
    plan, steps = plan_again(hog), {"qemu_step": "use that", "kernel_step": "fetch it"}
    packing.refuse_other_tools(hog, plan, **steps)
    here = plugins.find_qemu().version
    with pytest.raises(
        UsageError, match=r"with QEMU 9.9, and this is QEMU .*: use that"
    ) as refused:
        packing.refuse_other_tools(versions_of(hog, qemu="9.9"), plan, **steps)
    assert here in str(refused.value)
    other = versions_of(hog, kernel_image_sha256=HASH, kernel="linux-image-x 6.12.1-1")
    words = "on linux-image-x 6.12.1-1, and mainline here is linux-image-.* is another: fetch it"
    with pytest.raises(UsageError, match=words):
        packing.refuse_other_tools(other, plan, **steps)


@virtual
def test_sloth_is_refused(tmp_path):
    rally, plan = make_rally(tmp_path / "r", balls=10), plan_of(kernel="sloth")
    with pytest.raises(UsageError, match=r"SLOTH: .* send the rally's folder itself"):
        packing.refuse_other_tools(rally, plan, qemu_step="", kernel_step="")


@pytest.fixture(scope="module")
def one_ball(hog):
    """Return the explanation of a ball that was not late."""
    fall = table(hog)["fall_ticks"].to_numpy()
    return explain(hog, ball=int(fall[:100].argmin()))


@virtual
@one_worker
def test_one_ball_that_was_not_late(hog, one_ball):
    story = one_ball.story
    fall = table(hog)["fall_ticks"].to_numpy()
    assert len(one_ball.stories) == 1
    assert story.ball < one_ball.replayed < 500  # no further than needed
    assert f"Ball {story.ball} waited" in story.sentence
    assert "hog_fire" not in story.sentence
    assert story.rise + sum(part.ns for part in story.parts[1:]) == fall[story.ball]


@virtual
@one_worker
def test_a_packed_ball_comes_again(hog, one_ball, tmp_path, monkeypatch, typed):
    monkeypatch.chdir(tmp_path)
    number = one_ball.story.ball
    # it was just played again, and is not once more
    monkeypatch.setattr(packing, "explain", lambda *_, **__: one_ball)
    code, said, _ = typed("pack", hog.path, "--ball", number, "--quiet")
    file = tmp_path / f"hog-ball-{number}.zip"
    assert (code, said.splitlines()[0]) == (0, one_ball.story.sentence)
    assert f"  tennis check {file.name}" in said.splitlines()
    content = members(file)
    top = f"ball-{number}"
    assert f"Ball {number} waited" in content[f"{top}/{README}"].decode()
    for version in ("qemu", "kernel", "kernel_image_sha256"):
        words = " ".join(content[f"{top}/{README}"].decode().split())
        assert hog.manifest.tool.versions[version] in words
    code, said, _ = typed("check", file, "--quiet")
    assert code == 0
    assert f"The same ball: balls 0 to {number} are the same in every tick" in said
    assert "another source" not in said
    monkeypatch.setattr("tennis.play.unpacking.explain", lambda *_, **__: one_ball)
    # a digit of a hash: the ball is the same, and what it says of its sources is not
    ball = json.loads(content[f"{top}/{BALL}"])
    true = ball["racquet_source_sha256"]
    altered = ball | {"racquet_source_sha256": f"{'1' if true[0] == '0' else '0'}{true[1:]}"}
    packed_again(file, content | {f"{top}/{BALL}": json.dumps(altered).encode()})
    code, said, _ = typed("check", file, "--quiet")
    assert code == 0
    assert "another source, or ball.json was altered, with no effect: the Racquet (SHA" in said
    # one call stack that took 2 ns less: the same boot tells
    ball["stacks"][-1]["ns"] -= 2
    packed_again(file, content | {f"{top}/{BALL}": json.dumps(ball).encode()})
    code, said, error = typed("check", file, "--quiet")
    assert (code, said) == (1, "")
    assert "came again to the tick, and its story is another (it was altered)" in error


@virtual
def test_a_late_ball_comes_again_where_nothing_was_built(hog, tmp_path):
    """The script, unpacked elsewhere, with a cache that holds what was downloaded and no more."""
    number = int(table(hog)["fall_ticks"].to_numpy()[:200].argmax())
    pack(hog.path, number, tmp_path / "late.zip")
    folder = unpack(tmp_path / "late.zip", tmp_path / "elsewhere")
    cache = tmp_path / "cache"
    cache.mkdir()
    for name in ("kernels", "userland"):
        (cache / name).symlink_to(cache_folder() / name)
    beside = Path(sys.executable).parent
    environment = {
        **os.environ,
        "TENNIS_CACHE": str(cache),
        "PYTHONPATH": str(ROOT),
        "PATH": f"{beside}:{os.environ['PATH']}",
    }
    done = run_to_end(["sh", folder / SCRIPT], env=environment)
    assert done.returncode == 0, done.stderr
    assert f"The same ball: balls 0 to {number} are the same" in done.stdout
    assert "hog_fire" in done.stdout
