"""A whole Debian system in QEMU becomes a bench: the playbooks, and `tennis benches`.

The tests lead one system from its first boot to a rally, in their order. What only a Raspberry Pi
has (its firmware, its GPIO controllers, governors, radios) is not here: docs/physical-checklist.md.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import ansible_mitogen
import pytest

from tennis.bench.fleet.inventory import program
from tennis.bench.kernels import modules
from tennis.bench.targets import snapshot
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.checkout import ROOT
from tennis.rally import open_rally
from tests.support.fake_brickwall import FakeBrickwall
from tests.support.processes import run_to_end
from tests.support.virtual_pi import NAME, VirtualPi
from tests.support.virtual_pi_image import DEFAULT_PASSWORD, USER

# all on one worker: they share a machine
pytestmark = [pytest.mark.provision, pytest.mark.xdist_group("virtual-pi")]

BALLS = 300
FIFO = ("SCHED_FIFO", 99)  # what chrt sets
STUDENT, OTHER = "student", "other"
# Python takes seconds to start in an emulated machine. Ansible starts it for every task, Mitogen
# once. ANSIBLE_STRATEGY=linear is what users have (make provision-test).
MITOGEN = Path(ansible_mitogen.__file__).parent / "plugins/strategy"
ANSIBLE = {
    "ANSIBLE_STRATEGY": os.environ.get("ANSIBLE_STRATEGY", "mitogen_linear"),
    "ANSIBLE_STRATEGY_PLUGINS": str(MITOGEN),
    # a machine that others keep busy may take a minute to say "sudo is ready"
    "ANSIBLE_TIMEOUT": "120",
}


class Bench:
    """The machine, its inventory, and the output of its provisioning."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pi = VirtualPi(folder / "machine", balls=BALLS)
        self.ssh: SshTarget
        self.log, self.said = folder / "provisioning.log", folder / "said.log"
        self.seconds: dict[str, float] = {}
        self.inventory = folder / "inventory"
        self.write_inventory()

    def write_inventory(self, **changes: object) -> None:
        """Write what the machine should be; ``changes`` are variables of the roles."""
        key = (self.pi.image / "key.pub").read_text().strip()
        config = self.pi.folder / "ssh_config"
        said = {
            "targets": {
                "hosts": {
                    NAME: {
                        "ansible_ssh_common_args": f"-F {config}",
                        "ansible_user": USER,
                        "base_users": [{"name": s, "keys": [key]} for s in (STUDENT, OTHER)],
                        # QEMU's GPIO chip stands in for a Pi's
                        "racquet_gpiochip": "9030000.pl061",
                        "racquet_ping_line": 0,
                        "racquet_reply_line": 1,
                        "loads_names": ["idle", "stress"],
                        "tuning_isolated_cpus": "1",
                        "kernel_menu_seconds": 0,
                        **changes,
                    }
                }
            },
            "bench_hosts": {
                "hosts": {NAME: {"bench_host_packages": ["usbutils"], "bench_host_source": ""}}
            },
        }
        self.inventory.mkdir(exist_ok=True)
        (self.inventory / "hosts.json").write_text(json.dumps(said))

    def timed(self, name: str, since: float) -> None:
        self.seconds[name] = round(time.monotonic() - since, 1)
        print(f"virtual Pi: {name} {self.seconds[name]} s")  # shown by pytest -s, kept by --junit

    def start_play(self, *words: str) -> subprocess.Popen[bytes]:
        """Start the playbook; its output goes into ``said``."""
        with self.said.open("wb") as said:
            return subprocess.Popen(
                [program("ansible-playbook"), "-i", self.inventory, "site.yml", "-vv", *words],
                cwd=ROOT / "ansible",
                env={**os.environ, **ANSIBLE, "ANSIBLE_NOCOLOR": "1", "LC_ALL": "C.UTF-8"},
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def play(self, *words: str, name: str) -> str:
        """Run the playbook; return its output."""
        since = time.monotonic()
        code = self.start_play(*words).wait()
        self.timed(name, since)
        said = self.said.read_text()
        with self.log.open("a") as log:
            log.write(said)
        assert code == 0, said[-8000:]
        return said

    def tennis(self, *words: str, holder: str = "") -> subprocess.CompletedProcess[str]:
        done = run_to_end(
            [sys.executable, "-c", "from tennis.cli import main; main()", *words],
            cwd=self.folder,
            env={
                **os.environ,
                **ANSIBLE,
                "TENNIS_DATA": str(self.folder / "data"),
                "TENNIS_INVENTORY": str(self.inventory),
                "TENNIS_HOLDER": holder,
            },
        )
        with self.log.open("a") as log:
            log.write(done.stdout + done.stderr)
        return done

    def root(self, line: str, timeout_s: float = 1200) -> str:
        return self.ssh.run(line, what=line[:40], root=True, timeout_s=timeout_s)

    def power_on(self) -> None:
        self.pi.stop()
        self.pi.start()
        self.ssh.wait_until_up(600)

    def answer_balls(self) -> None:
        """Let the loaded Racquet answer the virtual instrument, which then pulls the plug."""
        self.root("test -d /sys/bus/platform/drivers/racquet/racquet && sync")
        ready = modules.program(ROOT / "target/virtual/racquet-ready.c")
        # nothing below /run can be executed
        self.root("rm -rf /root/ready")  # of the balls before
        self.ssh.copy({"racquet-ready": ready}, "/root/ready", root=True)
        since = time.monotonic()
        self.root("/root/ready/racquet-ready")
        seen = self.pi.played(300)
        self.timed(f"{BALLS} balls", since)
        assert (seen.balls, seen.misses, seen.strays) == (BALLS, 0, 0)


def changed_of(said: str) -> int:
    return int(re.search(rf"^{NAME} +: ok=\d+ +changed=(\d+)", said, re.MULTILINE)[1])


@pytest.fixture(scope="module")
def bench(tmp_path_factory) -> Iterator[Bench]:
    if os.geteuid() != 0:
        pytest.skip("building the virtual Pi's file system takes root: run this as root, too")
    since = time.monotonic()
    made = Bench(tmp_path_factory.mktemp("virtual-pi"))
    made.timed("image", since)
    os.environ["TENNIS_SSH_CONFIG"] = str(made.pi.folder / "ssh_config")
    try:
        since = time.monotonic()
        with made.pi.target() as made.ssh:
            made.power_on()
            made.timed("first login", since)
            yield made
    finally:
        made.pi.stop()
        del os.environ["TENNIS_SSH_CONFIG"]
        (made.pi.folder / "disk.qcow2").unlink(missing_ok=True)


def ways_in(bench: Bench) -> str:
    """Return what sshd offers to somebody without a key."""
    done = run_to_end(
        [
            *("ssh", "-F", bench.pi.folder / "ssh_config", "-o", "PreferredAuthentications=none"),
            *("-o", "PubkeyAuthentication=no", "-o", "BatchMode=yes", NAME, "true"),
        ]
    )
    return done.stderr


def test_a_bare_system_is_no_bench(bench):
    assert "password" in ways_in(bench)
    said = bench.tennis("benches", "boot", NAME, "rt")
    assert said.returncode == 1
    assert "is not provisioned" in said.stderr
    hash_of_default = bench.root(f"getent shadow {USER}").split(":")[1]
    assert hash_of_default.startswith("$")
    bench.folder.joinpath("shadow").write_text(hash_of_default)


def test_what_cannot_be_is_refused_and_nothing_is_changed(bench):
    for words, reason in (
        (["-e", '{"base_free_mb": 99999999}'], "Nothing was changed"),
        (["-e", '{"kernel_flavours": {"xenomai": {}}}'], "the flavours are mainline, rt, evl"),
        (["-e", '{"kernel_flavours": {"rt": {"packages": []}}}'], "which is not one of rt"),
        (["-e", '{"tuning_interrupt_cpus": "0-1"}'], "both name 1"),
    ):
        done = run_to_end(
            [program("ansible-playbook"), "-i", bench.inventory, "site.yml", *words],
            cwd=ROOT / "ansible",
            env={**os.environ, **ANSIBLE},
        )
        assert done.returncode == 2
        assert reason in " ".join(done.stdout.split()), done.stdout[-3000:]
        assert changed_of(done.stdout) == 0


def test_a_run_that_is_cut_off_while_it_installs_a_kernel(bench):
    """Half a package is left; the next test runs the playbook again."""
    since = time.monotonic()
    running = bench.start_play()
    try:
        while not bench.root("ls /boot | grep -e -rt-; true"):
            assert running.poll() is None, bench.said.read_text()[-8000:]
            time.sleep(2)
    finally:
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
    bench.timed("half a run", since)
    assert bench.root("dpkg --audit; pgrep -x dpkg; true")


def test_converge(bench):
    assert changed_of(bench.play(name="converge")) > 5


def test_a_hostile_student_sets_traps(bench):
    """Links in the home and among the data; the runs below follow no link."""
    for line in (
        "ln -s /etc ~/.ssh",
        "mkfifo ~/.bash_logout.pipe; ln -s /etc/shadow ~/keys",
        "ln -s /etc /var/lib/tennis/data/etc",
        f"mkdir /var/lib/tennis/data/of-{STUDENT}",
    ):
        assert as_student(bench, line).returncode == 0, line
    for line in (
        "cat ~/keys",
        "echo x >> /etc/ssh/tennis-keys/student",
        "ln -s /etc /run/tennis/lease",
        "mv /var/lib/tennis/data /var/lib/tennis/mine",
        "echo '{}' > /var/lib/tennis/lease.json",
    ):
        assert as_student(bench, line).returncode != 0, line
    assert as_student(bench, f"rmdir /var/lib/tennis/data/of-{STUDENT}", OTHER).returncode != 0


def test_a_second_run_changes_nothing(bench):
    assert changed_of(bench.play(name="idempotence")) == 0
    # the trap of before: /etc would be the student's by now
    assert bench.root("stat -Lc '%U %a' /etc /etc/shadow").split() == ["root", "755", "root", "640"]
    key = (bench.pi.image / "key.pub").read_text()
    own = f"rm ~/.ssh ~/keys; rm -r /var/lib/tennis/data/*; mkdir ~/.ssh; echo '{key}' > ~/.ssh/x"
    assert as_student(bench, own).returncode == 0


def test_nobody_gets_in_with_a_password(bench):
    assert "Permission denied (publickey)" in ways_in(bench)
    passwords = [line.split(":")[:2] for line in bench.root("cat /etc/shadow").splitlines()]
    assert [name for name, word in passwords if word == "" or word.startswith("$")] == []
    assert "tennis" in as_student(bench, "id -nG").stdout.split()


def test_services_and_kernels_are_as_they_should_be(bench):
    for unit in ("tennis-tuning", "systemd-timesyncd", "ssh"):
        bench.root(f"systemctl is-active {unit}")
    said = json.loads(bench.root("tennis-boot list"))
    assert said["loader"] == "grub"
    assert said["default"] == said["fallback"] == said["running"]["flavour"] == "mainline"
    assert said["flavours"].keys() == {"mainline", "rt"}
    status = bench.root("dkms status -m racquet")
    for flavour in said["flavours"].values():
        assert flavour["missing"] is None
        assert f"{flavour['release']}, aarch64: installed" in status
    assert "isolcpus=managed_irq,domain,1" in bench.root("cat /boot/grub/grub.cfg")


def as_student(bench: Bench, line: str, login: str = STUDENT) -> subprocess.CompletedProcess[str]:
    return run_to_end(
        ["ssh", "-F", bench.pi.folder / "ssh_config", "-l", login, NAME, line], timeout=120
    )


def test_who_plays_has_a_few_commands_of_root_and_no_more(bench):
    """With the real sudo: whatever may name another kernel, another one's data or a file is not."""
    for line in (
        "sudo -n tennis-boot register mainline rt=linux-image-rt-arm64",
        "sudo -n tennis-boot register --no-trials rt rt=linux-image-rt-arm64",
        "sudo -n tennis-boot register --check mainline rt=--admindir=/root",
        "sudo -n tennis-boot once rt --no-trials",
        "sudo -n tennis-boot once rt",
        "sudo -n tennis-boot reboot",
        "sudo -n tennis-boot once --help",
        "sudo -n tennis-boot",
        "sudo -n tennis-bench save",
        "sudo -n tennis-bench lease red 3600 blue",
        "sudo -n tennis-bench lease 'red blue' 3600",
        "sudo -n tennis-bench lease red",
        "sudo -n TENNIS_ROOT=/tmp tennis-bench status",
        "sudo -n SUDO_USER=other tennis-bench status",
        "sudo -n sh -c id",
        "sudo -n -u student2 tennis-bench status",
    ):
        done = as_student(bench, line)
        assert done.returncode != 0, (line, done.stdout)
        assert done.stdout == "", line
    said = as_student(bench, "sudo -n tennis-boot list")
    assert json.loads(said.stdout)["default"] == "mainline", said.stderr
    assert as_student(bench, "sudo -n tennis-bench status").returncode == 0


def test_a_lease_is_not_forged_by_its_name(bench):
    taken = as_student(bench, "sudo -n tennis-bench lease red 600")
    assert json.loads(taken.stdout)["user"] == STUDENT, taken.stderr
    for words in ("lease red 600", "release red"):
        done = as_student(bench, f"sudo -n tennis-bench {words}", OTHER)
        assert done.returncode == 1
        assert "held by red (login student)" in done.stderr
    for words in ("once rt red", "keep mainline red", "reboot red"):
        done = as_student(bench, f"sudo -n tennis-boot {words}", OTHER)
        assert done.returncode == 1
        assert "held by red (login student)" in done.stderr
    assert as_student(bench, "flock -s /run/tennis/lease true", OTHER).returncode != 0
    # the same through `tennis`, which logs in as the student
    bench.write_inventory(ansible_user=STUDENT)
    done = bench.tennis("benches", "release", NAME, holder="red")
    bench.write_inventory()
    assert done.returncode == 0, done.stderr
    assert json.loads(as_student(bench, "sudo -n tennis-bench status").stdout)["lease"] is None


def test_the_list_says_what_this_bench_is(bench):
    done = bench.tennis("benches", "--json")
    (row,) = json.loads(done.stdout)
    assert row["bench"] == NAME
    assert row["reachable"]
    assert row["kernel"] == bench.root("uname -r").strip()
    assert f"no Pico at {NAME}" in row["trouble"]
    assert done.returncode == 1


def test_two_groups_do_not_get_one_bench(bench):
    taken = bench.tennis("benches", "lease", NAME, "--for", "10m", holder="red")
    assert taken.returncode == 0, taken.stderr
    for words in (
        ["benches", "lease", NAME],
        ["benches", "restore", NAME],
        ["benches", "boot", NAME, "rt"],
    ):
        refused = bench.tennis(*words, holder="blue")
        assert refused.returncode == 1
        assert "held by red" in refused.stderr
    # upgrades wait until the bench is given back
    bench.root("systemctl start apt-daily-upgrade.service")
    assert "ConditionResult=no" in bench.root("systemctl show -p ConditionResult apt-daily-upgrade")
    bench.root("install -o student /dev/null /var/lib/tennis/data/rally")
    assert bench.tennis("benches", "release", NAME, holder="red").returncode == 0
    assert "rally" in bench.root("ls /var/lib/tennis/saved/red-*")


def test_a_broken_bench_is_restored(bench):
    bench.root(
        f"echo {USER}:{DEFAULT_PASSWORD} | chpasswd; rm /usr/local/sbin/tennis-boot; "
        "echo 'PasswordAuthentication yes' > /etc/ssh/sshd_config.d/10-tennis.conf; "
        "systemctl reload ssh; systemctl disable --now tennis-tuning; "
        # not installed, but still built: to build it takes minutes in emulation
        "dkms uninstall $(dkms status -m racquet | sed -n '1s|,.*||p') -k $(uname -r); "
        "echo mine > /var/lib/tennis/data/rally"
    )
    assert "password" in ways_in(bench)
    assert bench.root("modinfo -n racquet || echo none").strip() == "none"
    since = time.monotonic()
    done = bench.tennis("benches", "restore", NAME)
    bench.timed("restore", since)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    assert "were changed" in done.stdout or "was changed" in done.stdout
    assert "Permission denied (publickey)" in ways_in(bench)
    assert bench.root(f"getent shadow {USER}").split(":")[1].startswith("!")
    bench.root("tennis-boot list && systemctl is-active tennis-tuning && modinfo racquet")
    assert "mine" in bench.root("cat /var/lib/tennis/saved/*/rally")


def test_a_kernel_that_does_not_come_up_costs_two_boots(bench):
    """Its initramfs is no initramfs: no root file system, a panic, a reset, the default again."""
    bench.root(
        "cd /boot && m=$(uname -r) && cp vmlinuz-$m vmlinuz-9.9.9-broken && "
        "head -c 100000 /dev/zero > initrd.img-9.9.9-broken && "
        "mkdir -p /lib/modules/9.9.9-broken && "
        "update-grub && cp /etc/tennis/kernels.json /root/ && "
        'sed -i \'s/"flavours": {/&"cobalt": {"release": "9.9.9-broken"},/\' '
        "/etc/tennis/kernels.json",
        timeout_s=300,
    )
    running = bench.root("uname -r").strip()
    since = time.monotonic()
    done = bench.tennis(*("benches", "boot", NAME, "cobalt", "--wait", "900"))
    bench.timed("fallback", since)
    assert done.returncode == 1
    assert f"did not come up, it is back on {running}" in done.stderr
    assert "Kernel panic" in bench.pi.console.read_text(errors="replace")
    assert bench.root("uname -r").strip() == running
    bench.root(
        "mv /root/kernels.json /etc/tennis/ && rm /boot/*-9.9.9-broken && "
        # its entry in GRUB's menu stays until a kernel is installed
        "rmdir /lib/modules/9.9.9-broken"
    )


def test_boot_into_rt_and_play(bench):
    since = time.monotonic()
    done = bench.tennis("benches", "boot", NAME, "rt", "--wait", "900")
    bench.timed("boot rt", since)
    assert done.returncode == 0, done.stderr + bench.pi.log()
    release = bench.root("uname -r").strip()
    assert "-rt-" in release
    assert bench.root("cat /sys/kernel/realtime").strip() == "1"
    assert json.loads(bench.root("tennis-boot list"))["default"] == "rt"
    assert "isolcpus=managed_irq,domain,1" in bench.root("cat /proc/cmdline")
    assert bench.root("systemctl is-active tennis-tuning").strip() == "active"
    module = bench.root("modinfo -n racquet").strip()
    assert module.startswith(f"/lib/modules/{release}/updates/dkms/racquet.ko")


def test_a_managed_rally_leaves_the_bench_as_it_was(bench):
    """Load, Racquet and priorities are real; a fake instrument makes the balls up."""
    look = (
        "lsmod | grep -c ^racquet; cat /sys/module/racquet/parameters/bottom_half; "
        "pgrep -c '^stress$'; ls -d /var/tmp/tennis-* 2>/dev/null; "
        # a slice of an ordinary thread is the kernel's, and grows with its processors
        "for pid in $(pgrep '^(ksoftirqd|ktimers)/'); do chrt -p $pid | grep -v runtime; done"
    )
    bench.root("modprobe racquet bottom_half=workqueue")
    before = bench.root(f"{look}; true")
    with FakeBrickwall() as instrument:
        instrument.balls_a_second = 100
        words = ["--bench", "pi", "--target", NAME, "--port", instrument.port, "--kernel", "rt"]
        words += ["--load", "stress", "--priorities", "chrt", "--bottom-half", "thread"]
        # the Racquet went to the isolated processor, and a fake has no wire to show that
        done = bench.tennis("rally", *words, "--balls", "1000", "--out", "managed")
        assert "no ping came to the Racquet" in done.stderr
        assert bench.root(f"{look}; true") == before
        bench.root(
            "mv /etc/modprobe.d/tennis-isolation.conf /root/ && echo > /run/none && "
            "mount --bind /run/none /sys/devices/system/cpu/isolated"
        )
        since = time.monotonic()
        done = bench.tennis("rally", *words, "--balls", "1000", "--out", "managed")
        bench.timed("managed rally", since)
    assert done.returncode == 0, done.stderr
    rally = open_rally(bench.folder / "managed")
    manifest = rally.manifest
    assert (rally.balls, manifest.faults, manifest.ended) == (1000, [], "complete")
    assert (manifest.target.kernel, manifest.target.module) == ("rt", "racquet")
    assert manifest.target.release == bench.root("uname -r").strip()
    fifo = {task.task for task in manifest.target.tasks if (task.policy, task.priority) == FIFO}
    assert any(name.startswith("irq/") and "racquet" in name for name in fifo), fifo
    assert any(name.startswith("ksoftirqd/") for name in fifo), fifo
    health = {figure.name: figure for figure in manifest.load.health}
    assert health["tasks"].start == health["tasks"].end == 17
    after = snapshot.read((rally.path / "target-after.txt").read_text())
    assert any("racquet" in line for line in after.lines("interrupts"))
    assert bench.root(f"{look}; true") == before
    bench.root(
        "mv /root/tennis-isolation.conf /etc/modprobe.d/ && umount /sys/devices/system/cpu/isolated"
    )


def test_the_module_that_dkms_built_answers_while_a_load_runs(bench):
    bench.root("modprobe -r racquet; modprobe racquet")
    bench.root("systemd-run --quiet --unit=load nice stress --cpu 1 --io 1")
    bench.answer_balls()


def test_no_secret_is_in_any_log(bench):
    """After all of it: nothing that was written has the key, the password or its hash."""
    key = (bench.pi.image / "key").read_text().splitlines()[2]
    secrets = {
        "private key": key,
        "hash of the password": bench.folder.joinpath("shadow").read_text().split("$")[-1],
        "default password": DEFAULT_PASSWORD,
    }
    bench.folder.joinpath("shadow").unlink()
    assert all(len(secret) > 8 for secret in secrets.values())
    shutil.copy(bench.pi.console, bench.folder / "console.log")
    for path in bench.folder.rglob("*"):
        if path.is_file() and path.suffix in {".log", ".json"}:
            text = path.read_text(errors="replace")
            assert [name for name, secret in secrets.items() if secret in text] == [], path
