"""Programs of somebody's own answer alone: played, named as such, repeated; bad ones are named.

What a program does wrong before the first ball ends its rally there, so that these are short.
"""

import pytest
from click.testing import CliRunner

from tennis.bench.virtual import built_in_session
from tennis.cli import cli
from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tennis.rally.repeated import digest_of
from tests.support import terminal

PROGRAMS = ROOT / "target/programs"
virtual = pytest.mark.virtual
together = pytest.mark.xdist_group("own-program")
LINES = '#include "lines.h"\n#include "in-time.h"\n'


def tennis(*words: object) -> tuple[int, str]:
    done = terminal.tennis(*words)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


def rally(out, brought, *words, balls=100):
    served = ("--balls", balls, "--seed", 11, "--out", out)
    return tennis("rally", "--program", brought, *served, *words)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own-program")
    code, said = rally(folder / "c", PROGRAMS / "answer.c")
    assert code == 0, said
    assert "c: 100 balls, 0 misses" in said
    return folder


@pytest.mark.more
@virtual
def test_a_program_behind_the_racquet(tmp_path):
    """Its handler raises the line, so that the reply is as early as any Racquet's."""
    folder = PROGRAMS / "answer-racquet"
    code, said = rally(tmp_path / "r", folder, balls=60)
    assert code == 0, said
    one = open_rally(tmp_path / "r")
    target = one.manifest.target
    assert (target.module, target.top_half, target.bottom_half) == ("racquet", "hard", "user")
    assert target.program.way == "/dev/racquet"
    assert target.program.locked_kb > 100
    assert ("answer", "SCHED_FIFO", 50) in {(t.task, t.policy, t.priority) for t in target.tasks}
    assert not any(task.task == "racquet-user" for task in target.tasks)
    summary = one.balls, one.misses, one.manifest.suspect
    assert summary == (60, 0, False)
    code, said = tennis("stats", tmp_path / "r")
    assert "A program answered, behind the Racquet's handler: answer-racquet was" in said
    assert "from the ping to the handler's rise" in said
    code, said = tennis("check", tmp_path / "r", "--program", folder)
    assert code == 0, said
    code, said = tennis("rally", "--program", folder, "--priorities", "chrt", "--out", tmp_path)
    assert (code, "a program on /dev/racquet takes its own" in said) == (2, True), said
    code, said = tennis("drill", "periodic", "--program", folder, "--out", tmp_path / "d")
    assert (code, "it is behind the Racquet, which serves no drill" in said) == (2, True), said
    (tmp_path / "toml").mkdir()
    (tmp_path / "toml/program.toml").write_text(
        'way = "racquet"\ncommand = "sleep 100"\n[limits]\nstart_s = 1\n'
    )
    code, said = rally(tmp_path / "never", tmp_path / "toml")
    assert (code, "within 1 s the program did not open /dev/racquet" in said) == (1, True), said


@pytest.mark.more
@virtual
def test_memory_that_is_not_locked_is_faulted_in_ball_by_ball(tmp_path):
    """The compiler left out a store that nobody reads, and the bad program was a good one."""
    code, said = rally(tmp_path / "pages", PROGRAMS / "bad-pages.c", balls=60)
    assert code == 0, said
    faults = open_rally(tmp_path / "pages").manifest.target.program.page_faults
    assert 59 <= faults <= 61


@pytest.mark.more
@virtual
@together
def test_it_repeats_and_only_with_this_program(played):
    code, said = tennis("check", played / "c")
    assert code == 2
    assert "was played with a program of somebody's own, answer.c" in said
    code, said = tennis("check", played / "c", "--program", PROGRAMS / "bad-log.c")
    assert code == 2
    assert "its SHA-256 is" in said
    code, said = tennis("check", played / "c", "--program", PROGRAMS / "answer.c")
    assert code == 0, said
    assert "100 balls played again, every tick the same" in said
    for words in (["stages"], ["shots"], ["balls", "--worst=1"]):
        code, said = tennis("explain", *words, played / "c")
        assert code == 2
        assert "was played with a program of somebody's own, answer.c" in said
    own = ("--program", PROGRAMS / "answer.c")
    code, said = tennis("explain", played / "c", "--worst", 1, *own)
    assert code == 0, said
    assert "answer (FIFO 50)" in said
    assert "system call ioctl of answer" in said
    assert "all the same in every tick" in said


@pytest.mark.more
@virtual
def test_python_answers_and_repeats(tmp_path):
    for name in ("one", "two"):
        code, said = rally(tmp_path / name, PROGRAMS / "answer-python")
        assert code == 0, said
    one, two = (open_rally(tmp_path / name) for name in ("one", "two"))
    assert digest_of(one) == digest_of(two)
    about = one.manifest.target.program
    assert about.packages["python3.13-minimal"]
    assert "Python 3.13" in about.said
    assert one.label == "mainline / idle / program answer-python / default"


ENDS = r"""
#include <stdio.h>
int main(void) { puts("no\x0btennis: error forged x"); return 7; }
"""
CONSOLE = r"""
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>
int main(void)
{
    int console = open("/dev/ttyAMA0", O_WRONLY), kernel = open("/dev/kmsg", O_WRONLY);
    printf("%d %d %d\n", console, kernel, (int)getuid());
    return 3;
}
"""
NO_LINE = LINES + "int main(void) { for (;;) pause(); }"
MEMORY = r"""
#include <stdlib.h>
#include <string.h>
int main(void)
{
    for (;;) {
        char *block = malloc(1 << 24);
        if (block)
            memset(block, 1, 1 << 24);
    }
}
"""
EARLY = (
    LINES
    + r"""
int main(void)
{
    int reply = take_reply(), ping = take_ping();
    for (int i = 0; i < 20; i++) {
        wait_for(ping);
        answer(reply);
    }
    puts("enough");
}
"""
)
SILENT = LINES + "int main(void) { take_reply(); take_ping(); for (;;) pause(); }"
TWICE = (
    LINES
    + r"""
int main(void)
{
    int reply = take_reply(), ping = take_ping();
    for (;;) {
        wait_for(ping);
        answer(reply);
        answer(reply);
    }
}
"""
)
BEFORE = "the program ended before the first ball"
NOTHING_TAKEN = "within 3 s the program did not take GPIO17 to hear pings and GPIO27 to answer"
BAD = {
    "ends": (
        ENDS,
        f"{BEFORE} with exit code 7; it said last: notennis: error forged x (program_ended)",
    ),
    "takes no line": (NO_LINE, f"{NOTHING_TAKEN} (it has none)"),
    "takes all memory": (MEMORY, f"{BEFORE} by the kernel: it took all memory"),
    "ends early": (
        EARLY,
        "the program ended during the rally with exit code 0; it said last: enough",
    ),
    "never answers": (
        SILENT,
        "the program has its lines, and printed before the first ball: waits for GPIO17",
    ),
    # the second answer to the last ball comes when the rally is over
    "answers twice": (TWICE, "the program raised its line 59 times for no ball: it answers before"),
    "writes to the console": (CONSOLE, f"{BEFORE} with exit code 3; it said last: -1 -1 1000"),
}
TOML = """
command = "./bad"
sources = ["bad.c"]
files = ["lines.h", "in-time.h"]
limits = { start_s = 3 }
"""


@pytest.mark.cases(
    more=[
        "takes no line",
        "ends early",
        "writes to the console",
        "answers?twice",
        "takes?all?memory",
    ]
)
@virtual
@pytest.mark.parametrize("name", BAD)
def test_a_bad_program_is_named_in_one_line(tmp_path, name):
    text, expected = BAD[name]
    brought = tmp_path / "bad"
    brought.mkdir()
    for header in ("lines.h", "in-time.h"):
        (brought / header).write_bytes((PROGRAMS / header).read_bytes())
    (brought / "bad.c").write_text(text)
    (brought / "program.toml").write_text(TOML)
    code, said = rally(tmp_path / "r", brought, balls=60)
    assert code == (0 if name.startswith("answers") else 1)  # all balls were played
    assert expected in said
    assert open_rally(tmp_path / "r").manifest.suspect


STARVE = """#include <pthread.h>
#include <sched.h>
static void *spin(void *nothing) { for (;;) ; return nothing; }
int main(void)
{
	struct sched_param highest = { .sched_priority = 99 };
	pthread_t thread;

	sched_setscheduler(0, SCHED_FIFO, &highest);
	for (int i = 0; i < 8; i++)
		pthread_create(&thread, 0, spin, 0);
	spin(0);
}
"""


@virtual
def test_a_program_that_starves_the_target_has_an_end(tmp_path, monkeypatch):
    """There was none after 420 s, and the console, which tells why, was thrown away."""
    monkeypatch.setattr(built_in_session, "BOOT_S", 15)
    (tmp_path / "starve").mkdir()
    (tmp_path / "starve/starve.c").write_text(STARVE)
    (tmp_path / "starve/program.toml").write_text(
        'command = "./starve"\nsources = ["starve.c"]\n[limits]\nstart_s = 1\n'
    )
    words = ["rally", "--program", str(tmp_path / "starve"), "--kernel", "rt", "--out"]
    words[1:1] = ["--instruction-ns", "4"]  # half as many instructions to the same end
    done = CliRunner().invoke(cli, [*words, str(tmp_path / "r")])
    assert "the program was started, and left the target's others no time" in str(done.exception)
    kept = open_rally(tmp_path / "r")
    assert [fault.code for fault in kept.manifest.faults] == ["never_ready"]
    assert "fact program_began_s" in kept.console()
