"""Rally folders: sealed in one step, refused with one clear line."""

import errno
import hashlib
import json
import os
import re
import resource
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tennis.kit.errors import RallyError, UsageError
from tennis.rally import balls, finished, folder, in_play, open_rally, part_path, seal, sealing
from tennis.rally.manifest import Fault
from tennis.rally.opening import SIZE_LIMITS
from tests.support.forging import reseal
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally, manifest, table
from tests.support.tables import arrow_of, arrow_writer, schema
from tests.support.ticks import interrupt_ticks, scheduling_ticks


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    return make_rally(tmp_path_factory.mktemp("sealed") / "first", balls=500, misses=2).path


@pytest.fixture
def rally(sealed, tmp_path):
    """Give a copy of a sealed rally that a test may damage."""
    return Path(shutil.copytree(sealed, tmp_path / "first"))


def refused(path, *words):
    """Return the one line with which a folder is refused."""
    with pytest.raises(RallyError) as caught:
        open_rally(path)
    line = str(caught.value)
    assert "\n" not in line
    for word in words:
        assert word in line, line
    return line


def test_a_sealed_rally_opens_with_its_numbers(tmp_path):
    rise, schedule = [5, 7, 9, 7], [1, 2, 3, 4]
    made = make_rally(tmp_path / "a", rise=rise, schedule=schedule, misses=1, tick_hz=125_000_000)
    found = open_rally(tmp_path / "a")
    assert found.balls == 4
    assert found.misses == 1
    assert found.tick_hz == 125_000_000
    assert found.label == "rt / stress / thread / default"
    assert interrupt_ticks(found) == [7, 9, 7]
    assert scheduling_ticks(found) == [2, 3, 4]
    assert found.interrupt.values.tolist() == [7, 9]
    assert found.interrupt.counts.tolist() == [2, 1]
    assert made.manifest == found.manifest
    assert sum(len(batch) for batch in found.batches()) == 4
    assert found.events == [{"at_ns": 0, "what": "load_started"}]
    assert "Booting" in found.console()
    assert found.file("capture.sr") is None
    assert not part_path(tmp_path / "a").exists()
    assert sorted(path.name for path in found.path.iterdir()) == [
        "balls.parquet",
        "console.log",
        "events.jsonl",
        "manifest.json",
    ]


def test_bytes_do_not_depend_on_batches(tmp_path):
    rows = table(np.arange(1, 1001), np.full(1000, 3), misses=None, tick_hz=10**9)
    balls.write(tmp_path / "a", rows, 10**9)
    balls.write(tmp_path / "b", rows.cut(7), 10**9)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_columns_hold_nulls_only_where_a_ball_was_missed(tmp_path):
    count = 2 * balls.GROUP_ROWS + 1
    rise, schedule = np.arange(1, count + 1), np.full(count, 2)
    for name, missed in (("none", ()), ("first", (0,)), ("last", (count - 1,))):
        misses = np.isin(np.arange(count), missed)
        rows = table(rise, schedule, misses=misses, tick_hz=10**9)
        written = balls.write(tmp_path / name, rows, 10**9)
        assert (written.balls, written.misses) == (count, len(missed))
        found = pq.read_table(tmp_path / name)
        assert found.schema.field("rise_ticks").nullable == bool(missed)
        assert found.schema.field("fall_ticks").nullable == bool(missed)
        assert found.cast(schema(10**9)) == arrow_of([rows], 10**9)
        assert pq.read_metadata(tmp_path / name).num_row_groups == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "last", "none"]


def test_rallies_whose_columns_may_hold_nulls_but_do_not_open(tmp_path):
    """Earlier versions wrote such."""
    rally = make_rally(tmp_path / "a", balls=500)
    before = rally.interrupt.values.tolist()
    forge(rally.path, pq.read_table(rally.path / "balls.parquet").cast(schema(10**9)))
    assert open_rally(rally.path).interrupt.values.tolist() == before


class CrashError(BaseException):
    """The machine stops here."""


def crash_at(patch, step):
    """Let the step-th of the calls that change the disk be the last one; return what is left."""
    left = [step]

    def stopping(function):
        def wrapped(*args, **kwargs):
            left[0] -= 1
            if left[0] <= 0:  # and nothing runs after a crash
                raise CrashError
            return function(*args, **kwargs)

        return wrapped

    for owner, name in (
        *((Path, name) for name in ("mkdir", "write_bytes", "rename", "unlink", "open")),
        *((shutil, name) for name in ("rmtree", "copyfile")),
        (os, "fsync"),
        (balls, "write"),
    ):
        patch.setattr(owner, name, stopping(getattr(owner, name)))
    return left


def test_a_crash_at_any_step_loses_nothing(tmp_path, monkeypatch):
    rows = table(np.array([3, 4]), np.array([1, 1]), misses=None, tick_hz=10**9)
    crashes = {"before the rename": 0, "after it": 0}
    for step in range(1, 200):
        out = tmp_path / str(step)
        part = part_path(out)
        part.mkdir()
        (part / folder.PLAN).write_text("{}")
        (part / folder.JOURNAL).write_bytes(b"frames")
        (part / folder.CONSOLE).write_text("console\n")
        with monkeypatch.context() as patch:
            crash_at(patch, step)
            try:
                seal(part, out, manifest(balls=2), rows, [{"what": "x"}])
            except CrashError:
                crashed = True
            else:
                crashed = False
        if not crashed:
            break
        if out.exists():
            crashes["after it"] += 1
            assert finished(out).balls == 2
        else:
            crashes["before the rename"] += 1
            assert finished(out) is None
            assert (part / folder.PLAN).read_text() == "{}"
            assert (part / folder.JOURNAL).read_bytes() == b"frames"
            seal(part, out, manifest(balls=2), rows, [{"what": "x"}])
        assert not part.exists()
        assert open_rally(out).interrupt.values.tolist() == [3, 4]
        assert (out / "console.log").read_text() == "console\n"
    assert crashes["before the rename"] > 10
    assert crashes["after it"] > 4
    assert not crashed


@pytest.mark.parametrize(
    ("was", "becomes"), [('"seed": 1', '"seed": 2'), ('"kernel": "rt"', '"kernel": "mainline"')]
)
def test_an_edited_manifest_is_not_believed(rally, was, becomes):
    file = rally / "manifest.json"
    text = file.read_text()
    assert text.count(was) == 1
    file.write_text(text.replace(was, becomes))
    refused(rally, "manifest.json")


def test_a_manifest_without_a_seal_is_one_of_tennis_0_1(rally):
    """In another layout it is the same, and folders that were made before seals still open."""
    file = rally / "manifest.json"
    content = json.loads(file.read_text())
    file.write_text(json.dumps(content))
    assert open_rally(rally).balls == 500
    del content["seal"]
    file.write_text(json.dumps(content))
    assert open_rally(rally).balls == 500


def test_sealing_never_overwrites(tmp_path):
    make_rally(tmp_path / "a", balls=5)
    before = (tmp_path / "a" / "manifest.json").read_bytes()
    with pytest.raises(UsageError, match="exists"):
        make_rally(tmp_path / "a", balls=6)
    assert (tmp_path / "a" / "manifest.json").read_bytes() == before
    assert (part_path(tmp_path / "a") / folder.JOURNAL).exists()


def test_a_limit_of_the_file_size_is_a_full_disk(tmp_path):
    """The writer of Parquet reports the system's error too, not one of its own."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path\n"
        "from tests.support.synthetic import make_rally\n"
        "from tennis.kit.errors import DiskFullError\n"
        "try: make_rally(Path(sys.argv[2]), balls=50_000)\n"
        "except DiskFullError as error: print(error)\n"
    )

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    tests = str(Path(__file__).parents[2])
    run = run_to_end(
        [sys.executable, "-c", code, tests, str(tmp_path / "a")], check=True, preexec_fn=limit
    )
    assert "free some space" in run.stdout


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("balls.parquet", lambda data: data[: len(data) // 2]),
        ("balls.parquet", lambda _: b""),
        ("balls.parquet", lambda data: data[:700] + bytes([data[700] ^ 1]) + data[701:]),
        ("balls.parquet", lambda data: data[:-20] + bytes(20)),
        ("events.jsonl", lambda data: data + b"{}\n"),
        ("console.log", lambda data: data.upper()),
    ],
)
def test_an_altered_file_is_refused(rally, name, damage):
    file = rally / name
    file.write_bytes(damage(file.read_bytes()))
    refused(rally, name, "truncated or altered", "original folder")
    file.unlink()
    refused(rally, "lacks", name)


def test_a_field_of_a_newer_tennis_is_not_called_damage(rally):
    reseal(rally, target__clocksource="tsc", tool__tennis="0.4.0")
    line = refused(rally, "was made by tennis 0.4.0, which knows more than this one", "clocksource")
    assert "original folder" not in line
    # a hand that added it leaves another seal
    file = rally / "manifest.json"
    file.write_text(file.read_text().replace('"tsc"', '"hpet"'))
    refused(rally, "Extra inputs are not permitted", "use the original folder")


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff\xfe", b"[]", b"null", b"[" * 100_000, b'{"schema_version": 1}']
)
def test_a_manifest_that_is_none(rally, text):
    (rally / "manifest.json").write_bytes(text)
    refused(rally, "manifest.json")


def test_a_huge_manifest_is_not_read(rally):
    with (rally / "manifest.json").open("ab") as file:
        file.truncate(1 << 31)
    refused(rally, "larger than 1 MiB")


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"counts__balls": 501}, "501"),
        ({"counts__misses": 1}, "misses"),
        ({"instrument__tick_hz": 125_000_000}, "Hz"),
        ({"instrument__tick_hz": 0}, "tick_hz"),
        ({"suspect": "no"}, "suspect"),
        ({"bench": "the moon"}, "bench"),
        ({"surprise": 1}, "surprise"),
        ({"files": {}}, "balls.parquet"),
        ({"counts__balls": 10**30}, "counts.balls"),
        ({"protocol__balls": 400}, "has 500 balls of 400 planned"),
        ({"schema_version": 3}, "newer tennis"),
        *(
            ({"schema_version": version}, "schema_version")
            for version in (None, "1", 0, True, -1, 1.5)
        ),
    ],
)
def test_a_manifest_that_does_not_fit_its_balls(rally, change, word):
    reseal(rally, **change)
    refused(rally, word)


@pytest.mark.parametrize(
    "name", ["../secret", "/etc/passwd", "a/b", "..", ".", "", "a\\b", "a\x00b", "manifest.json"]
)
def test_names_that_lead_elsewhere_are_refused(rally, name):
    content = json.loads((rally / "manifest.json").read_text())
    content["files"][name] = "0" * 64
    reseal(rally, content)
    refused(rally, "manifest.json lists")


@pytest.mark.parametrize("name", ["balls.parquet", "console.log", "manifest.json"])
def test_links_are_refused(rally, name):
    (rally / name).rename(rally.parent / name)
    (rally / name).symlink_to(rally.parent / name)
    refused(rally, name, "not a plain file")


OPENED = """
import json, os, sys
from tennis.cli import main
folder, words, opened = sys.argv[1], sys.argv[2:], []
def hook(event, args):
    if event == "open" and str(args[0]).startswith(folder + "/"):
        opened.append(os.path.basename(args[0]))
sys.addaudithook(hook)
sys.argv = ["tennis", *words]
code = main()
print(json.dumps(opened), file=sys.stderr)
sys.exit(code)
"""


@pytest.mark.parametrize("words", [["stats"], ["report", "--out", "page.html"], ["plot"]])
def test_what_commands_open_is_bounded_in_size(rally, tmp_path, words):
    """No command opens a file of the folder that ``open_rally`` did not look at."""
    arguments = [*words, str(rally), *(["--out", "pictures"] if words == ["plot"] else [])]
    done = run_to_end([sys.executable, "-c", OPENED, str(rally), *arguments], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    opened = set(json.loads(done.stderr.splitlines()[-1]))
    assert opened <= SIZE_LIMITS.keys()


@pytest.mark.parametrize("name", SIZE_LIMITS)
@pytest.mark.parametrize("listed", [True, False])
def test_a_fifo_does_not_block(rally, name, listed):
    content = json.loads((rally / "manifest.json").read_text())
    (rally / name).unlink(missing_ok=True)
    os.mkfifo(rally / name)
    if name != "manifest.json":
        content["files"].update({name: "0" * 64})
        if not listed and name not in {"balls.parquet", "events.jsonl"}:
            del content["files"][name]
        reseal(rally, content)
    refused(rally, name, "not a plain file")


def forge(rally, columns, **options):
    """Replace the balls by another table, in the form of earlier versions, with a true hash."""
    with arrow_writer(rally / "balls.parquet", columns.schema) as writer:
        writer.write_table(columns, **options)
    reseal(rally)


def changed(rally, name, change):
    """Return the balls with a column changed: ``change`` gets its numbers, null is 0."""
    found = pq.read_table(rally / "balls.parquet")
    field = schema(10**9).field(name)
    numbers = found[name].fill_null(0).to_numpy().copy()
    change(numbers)
    missed = found[name].is_null().to_numpy() if found[name].null_count else None
    column = pa.array(numbers, mask=missed)
    return found.set_column(found.schema.get_field_index(name), field, column)


@pytest.mark.parametrize(
    ("name", "at", "value", "words"),
    [
        ("ball", slice(None), 7, "not numbered one after the other"),
        ("ball", 300, 301, "not numbered one after the other"),
        ("served_ns", 0, -(2**63), "before the rally began"),
        ("served_ns", 250, -1, "before the rally began"),
        ("served_ns", 250, 5, "before the one before it was over"),
        ("fall_ticks", 250, 100_000_003, "later than the timeout of 100000000 ns"),
        ("fall_ticks", 250, 90_000_000, "before the one before it was over"),
    ],
)
def test_columns_that_contradict_each_other_or_the_manifest(rally, name, at, value, words):
    def change(numbers):
        numbers[at] = value

    forge(rally, changed(rally, name, change))
    refused(rally, words, "damaged or made up")


def test_row_groups_that_contradict_each_other(tmp_path):
    rows = balls.MIN_GROUP_ROWS
    rally = make_rally(tmp_path / "two", balls=rows + 100).path

    def back(numbers):
        numbers[rows:] -= numbers[rows] - numbers[rows // 2]

    forge(rally, changed(rally, "served_ns", back), row_group_size=rows)
    refused(rally, "before the one before it was over")


def test_encodings_that_tennis_never_writes(rally):
    pq.write_table(pq.read_table(rally / "balls.parquet"), rally / "balls.parquet")
    reseal(rally)
    refused(rally, "was not written by tennis (encoding", "RLE_DICTIONARY")


@pytest.mark.parametrize("command", ["stats", "report"])
def test_a_small_file_that_unpacks_to_millions_of_latencies(command, rally, tmp_path):
    """A stranger's 1.4 MB are 12 million different latencies; 1 GB of address space is enough."""
    rows = balls.MAX_GROUP_ROWS
    columns = schema(10**9, nulls=False)
    with arrow_writer(rally / "balls.parquet", columns) as writer:
        for first in range(0, 3 * rows, rows):
            number = np.arange(first, first + rows, dtype=np.int64)
            ticks = [pa.array((k * number).astype(np.uint32)) for k in (1, 2)]
            served = pa.array(number * 10**8)
            data = [pa.array(number.astype(np.uint32)), served, *ticks]
            writer.write_table(pa.table(data, schema=columns), rows)
    assert (rally / "balls.parquet").stat().st_size < 2 << 20
    reseal(rally, counts__balls=3 * rows, counts__misses=0, protocol__balls=3 * rows)
    limit = 1 << 30
    done = run_to_end(
        [Path(sys.executable).with_name("tennis"), command, rally],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        cwd=tmp_path,
        timeout=120,
    )
    assert done.returncode == 1
    assert re.search("more than 2097152 different latencies|not enough memory", done.stderr)
    assert len(done.stderr.strip().splitlines()) == 1, done.stderr


def test_huge_row_groups_are_refused(rally):
    rows = balls.MAX_GROUP_ROWS + 1
    number = pa.array(np.arange(rows, dtype=np.uint32))
    served = pa.array(np.arange(rows) * 10**8)
    same = pa.array(np.full(rows, 7, np.uint32))
    columns = schema(10**9, nulls=False)
    forge(rally, pa.table([number, served, same, same], schema=columns), row_group_size=rows)
    reseal(rally, counts__balls=rows, counts__misses=0, protocol__balls=rows)
    refused(rally, "row groups")


def ticks(numbers, missed=()):
    mask = np.isin(np.arange(500), missed)
    return pa.array(np.full(500, numbers, np.uint32), mask=mask)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda found: found.drop_columns(["ball"]), ["columns"]),
        (
            lambda found: found.set_column(2, "rise_ticks", found["rise_ticks"].cast(pa.int64())),
            ["columns", "rise_ticks int64"],
        ),
        (
            lambda found: found.set_column(2, schema(1).field(2), ticks(5, missed=[100])),
            ["fell and never rose"],
        ),
        *(
            (
                partial(
                    pa.Table.set_column,
                    i=3,
                    field_=schema(1).field(3),
                    column=ticks(fall, [0, 499]),
                ),
                ["fell before it rose"],
            )
            for fall in (0, 1)
        ),
    ],
)
def test_columns_that_no_rally_has(rally, change, words):
    forge(rally, change(pq.read_table(rally / "balls.parquet")))
    refused(rally, *words)


def test_what_is_not_there(tmp_path):
    refused(tmp_path / "none", "does not exist")
    (tmp_path / "file").write_text("x")
    refused(tmp_path / "file", "not a folder")
    (tmp_path / "empty").mkdir()
    refused(tmp_path / "empty", "manifest.json")
    (tmp_path / "half.part").mkdir()
    refused(tmp_path / "half", "unfinished", f"tennis resume {tmp_path / 'half'}")
    refused(tmp_path / "half.part", f"tennis resume {tmp_path / 'half'}")


def test_finished_clears_leftovers(tmp_path):
    out = make_rally(tmp_path / "a", balls=5).path
    part_path(out).mkdir()
    (part_path(out) / folder.JOURNAL).write_bytes(b"x")
    assert finished(out).balls == 5
    assert not part_path(out).exists()
    assert finished(tmp_path / "b") is None


@pytest.fixture
def interrupted(tmp_path):
    """Seal as ``a`` what somebody interrupted after so many balls, with the journal of it."""

    def make(balls, latency=1000, **about):
        out = tmp_path / "a"
        part = part_path(out)
        part.mkdir(exist_ok=True)
        (part / folder.PLAN).write_text("{}\n")
        (part / folder.JOURNAL).write_bytes(b"frames")
        # the first of 40 balls, the same whatever their number
        made = make_rally(
            tmp_path / f"made-{balls}",
            rise=np.full(40, latency),
            ended="interrupted",
            planned=50,
            **about,
        )
        first = next(made.batches()).part(0, balls)
        return lambda: sealing.seal(part, out, made.manifest, first, made.events)

    return make


def test_an_interrupted_rally_keeps_what_it_takes_to_go_on(tmp_path, interrupted):
    out = tmp_path / "a"
    assert in_play.can_go_on(interrupted(20)())
    assert in_play.can_go_on(sealing.finished(out))
    (part_path(out) / folder.JOURNAL).unlink()
    assert not in_play.can_go_on(sealing.finished(out))
    assert not part_path(out).exists()  # without its journal it is a leftover
    assert open_rally(out).balls == 20


def test_what_was_gone_on_with_takes_the_place_of_what_was_interrupted(
    tmp_path, interrupted, monkeypatch
):
    out = tmp_path / "a"
    part = part_path(out)
    interrupted(20)()
    longer, whole = interrupted(30), interrupted(40)

    def crash(*_):
        raise OSError(errno.EIO, "crashed")

    with monkeypatch.context() as patch:
        patch.setattr(sealing, "_rename", crash)
        with pytest.raises(RallyError, match="cannot write"):
            longer()
    # between the two renames: what was sealed first waits, the journal is whole
    assert not out.exists()
    assert (part / folder.JOURNAL).read_bytes() == b"frames"
    assert open_rally(part / folder.INTERRUPTED).balls == 20
    in_play.check_part(part)
    assert whole().balls == 40
    assert open_rally(out).balls == 40
    assert not (part / folder.INTERRUPTED).exists()


@pytest.mark.parametrize(
    "about",
    [
        {"balls": 20},
        {"balls": 40, "latency": 7},
        {"balls": 40, "faults": [Fault(code="no_answer", message="gone")]},
    ],
    ids=["fewer balls", "other balls", "suspect"],
)
def test_what_was_interrupted_is_kept_where_what_went_on_does_not_hold_it(
    tmp_path, interrupted, about
):
    out = tmp_path / "a"
    interrupted(30)()
    before = hashlib.sha256((out / "balls.parquet").read_bytes()).hexdigest()
    interrupted(**about)()
    assert open_rally(out).balls == about["balls"]
    aside = tmp_path / "a.interrupted-1"
    assert open_rally(aside).balls == 30
    assert hashlib.sha256((aside / "balls.parquet").read_bytes()).hexdigest() == before
