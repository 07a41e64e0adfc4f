"""What of the playbooks needs no target: filters, ``tennis-tuning``, kernels that are built here.

The playbooks as a whole run on the virtual Pi (test_virtual_pi.py).
"""

import json
import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tennis.bench.fleet.inventory import program
from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end

ANSIBLE = ROOT / "ansible"
FILTERS = runpy.run_path(str(ANSIBLE / "filter_plugins/tennis.py"))["FilterModule"]().filters()
PACKAGES = {"packages": ["linux-image-arm64"]}


def ansible(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return run_to_end(
        [program(str(words[0])), *words[1:]],
        cwd=ANSIBLE,
        env={**os.environ, "LC_ALL": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"},
    )


def faults(flavours, fallback="mainline"):
    return FILTERS["flavour_faults"](flavours, fallback)


def test_flavours_that_can_be_have_no_faults(tmp_path):
    deb = tmp_path / "linux-image-6.12_1_arm64.deb"
    deb.touch()
    flavours = {
        "mainline": {**PACKAGES, "stock": True},
        "rt": {"debs": [str(deb)]},
        "evl": {"source": {"git": "https://example.org/evl.git", "ref": "v6.12"}, "config": []},
        "cobalt": {"source": {"tree": str(tmp_path)}, "base": "defconfig"},
    }
    assert faults(flavours) == []
    # where ssh's user is no secret
    flavours["evl"]["source"]["git"] = "ssh://git@example.org/evl.git"
    assert faults(flavours) == []
    # a password is refused, and not repeated
    for user in ("me:s3cret", "s3cret"):
        flavours["evl"]["source"]["git"] = f"https://{user}@example.org/linux.git"
        (said,) = faults(flavours)
        assert "use a credential helper" in said
        assert "s3cret" not in said
    assert faults({"xenomai": PACKAGES}) == [
        "kernel_flavours names xenomai; the flavours are mainline, rt, evl, cobalt",
        "kernel_fallback is mainline, which is not one of xenomai",
    ]


def test_the_image_of_a_flavour_is_found_among_its_packages():
    flavours = {
        "mainline": {"packages": ["linux-headers-rpi-v8", "linux-image-rpi-v8"], "stock": True},
        "rt": {"debs": ["x"]},
    }
    debs = [
        {"flavour": "rt", "Package": "linux-image-6.12.1-rt-dbg"},
        {"flavour": "rt", "Package": "linux-image-6.12.1-rt"},
    ]
    assert FILTERS["kernel_entries"](flavours, debs) == [
        "mainline=linux-image-rpi-v8,stock",
        "rt=linux-image-6.12.1-rt",
    ]
    with pytest.raises(ValueError, match="none of its packages is a linux-image"):
        FILTERS["kernel_entries"]({"rt": {"packages": ["linux-headers-arm64"]}}, [])


def tune(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return run_to_end(
        ["sh", ANSIBLE / "roles/tuning/files/tennis-tuning", *words],
        env={
            **os.environ,
            **{"SYSFS": str(root / "sys"), "PROC": str(root / "proc")},
            "TUNING": str(root / "tuning.conf"),
        },
    )


@pytest.fixture
def board(tmp_path):
    for name in ("cpu0", "cpu1"):
        cpu = tmp_path / "sys/devices/system/cpu" / name
        (cpu / "cpufreq").mkdir(parents=True)
        (cpu / "cpufreq/scaling_governor").write_text("ondemand\n")
        for state in ("state0", "state1"):
            (cpu / "cpuidle" / state).mkdir(parents=True)
            (cpu / "cpuidle" / state / "disable").write_text("0\n")
    (tmp_path / "proc/irq/7").mkdir(parents=True)
    (tmp_path / "proc/irq/7/smp_affinity_list").write_text("0-3\n")
    (tmp_path / "tuning.conf").write_text(
        "governor=performance\ndeepest_idle_state=0\ninterrupt_cpus=0\nisolated_cpus=\n"
    )
    return tmp_path


def test_tuning_is_applied_once_and_says_what_it_changed(board):
    checked = tune(board, "--check")
    assert checked.stdout.count("ondemand -> performance") == 2
    cpu = board / "sys/devices/system/cpu/cpu1"
    assert (cpu / "cpufreq/scaling_governor").read_text() == "ondemand\n"
    done = tune(board)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.count("ondemand -> performance") == 2
    assert done.stdout.count("state1/disable: 0 -> 1") == 2
    assert "irq/7/smp_affinity_list: 0-3 -> 0" in done.stdout
    assert (cpu / "cpufreq/scaling_governor").read_text() == "performance\n"
    assert (cpu / "cpuidle/state0/disable").read_text() == "0\n"
    for words in ([], ["--check"]):
        assert tune(board, *words).stdout == ""
    # somebody changed it: it is put back
    (cpu / "cpufreq/scaling_governor").write_text("powersave\n")
    assert "powersave -> performance" in tune(board, "--check").stdout
    assert "powersave -> performance" in tune(board).stdout
    assert (cpu / "cpufreq/scaling_governor").read_text() == "performance\n"


def interrupt(board: Path, number: int, action: str, chip: str = "GICv2") -> Path:
    folder = board / "proc/irq" / str(number)
    (folder / action).mkdir(parents=True)
    (folder / "smp_affinity_list").write_text("0-1\n")
    kernels = board / "sys/kernel/irq" / str(number)
    kernels.mkdir(parents=True)
    (kernels / "chip_name").write_text(f"{chip}\n")
    return folder / "smp_affinity_list"


def test_others_go_off_the_isolated_processor_and_the_ping_stays(board):
    """A list of the others was forgotten in no inventory, and the ping went with them."""
    (board / "tuning.conf").write_text("isolated_cpus=1\n")
    disk = interrupt(board, 20, "mmc0")
    ping = interrupt(board, 55, "racquet", "pinctrl-bcm2835")
    # a Pi 5 moves its GPIO controller's own interrupt, and the ping, with any line
    key = interrupt(board, 56, "gpio-keys", "pinctrl-rp1")
    done = tune(board)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.read_text().strip() for path in (disk, ping, key)] == ["0", "0-1", "0-1"]


@pytest.fixture
def pi_5(board):
    """A made-up sysfs with the GPIO controller behind PCIe, as a Pi 5 has it."""
    device = board / "sys/bus/pci/devices/0002:01:00.0"
    device.mkdir(parents=True)
    (device / "vendor").write_text("0x1de4\n")
    parameters = board / "sys/module/pcie_aspm/parameters"
    parameters.mkdir(parents=True)
    (parameters / "policy").write_text("default performance [powersave] powersupersave \n")
    (board / "tuning.conf").write_text("gpio_link=awake\n")
    return board


def test_the_link_to_a_pi_5s_gpio_controller_is_kept_awake(pi_5):
    policy = pi_5 / "sys/module/pcie_aspm/parameters/policy"
    assert "policy: powersave -> performance" in tune(pi_5, "--check").stdout
    assert "[powersave]" in policy.read_text()
    assert "policy: powersave -> performance" in tune(pi_5).stdout
    assert policy.read_text() == "performance\n"
    policy.write_text("default [performance] powersave powersupersave \n")
    assert tune(pi_5).stdout == ""


@pytest.mark.parametrize(
    ("isolated", "interrupts", "model", "fault"),
    [
        ("3", "0-2", "Raspberry Pi 4 Model B Rev 1.4", None),
        ("", "0-2", "Raspberry Pi 3 Model B Rev 1.2", None),
        ("3", "", "", None),
        ("3", "", "Raspberry Pi 3 Model B Plus Rev 1.3", "come to processor 0"),
        ("2-3", "0", "Raspberry Pi Zero 2 W Rev 1.0", "come to processor 0"),
        ("2-3", "0-2", "Raspberry Pi 5 Model B Rev 1.0", "both name 2: "),
        ("0-1", "2-3", "Raspberry Pi 5 Model B Rev 1.0", "processor 0 cannot be isolated"),
    ],
)
def test_an_isolation_that_no_ping_would_reach_is_refused(isolated, interrupts, model, fault):
    found = FILTERS["isolation_faults"](isolated, interrupts, model)
    assert len(found) == (fault is not None)
    assert fault is None or fault in found[0]


@pytest.mark.parametrize(("isolated", "options"), [("", 0), ("2-3", 3)])
def test_the_racquet_is_told_the_isolated_processor(isolated, options):
    template = ANSIBLE / "roles/tuning/templates/isolation.conf.j2"
    done = ansible(
        *("ansible", "localhost", "-i", "localhost,", "-c", "local"),
        *("-m", "debug", "-e", json.dumps({"tuning_isolated_cpus": isolated})),
        *("-a", f"msg={{{{ lookup('ansible.builtin.template', '{template}') }}}}"),
    )
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("interrupt_cpu=2") == options


@pytest.mark.parametrize(
    ("config", "before", "after"),
    [
        ("", "root=/dev/a rootwait\n", "root=/dev/a rootwait isolcpus=3\n"),
        ("", "root=/dev/a  isolcpus=1 irqaffinity=0", "root=/dev/a isolcpus=3\n"),
        ("", "root=/dev/a\r\n# init=/bin/sh\n", "root=/dev/a isolcpus=3\n# init=/bin/sh\n"),
        ("", "root=/dev/a\n\nisolcpus=2\nlast", "root=/dev/a isolcpus=3\n\nisolcpus=2\nlast"),
        ("", "", "isolcpus=3\n"),
        ("[all]\ncmdline=other.txt\n", "root=/dev/a\n", "root=/dev/a isolcpus=3\n"),
        ("cmdline=no.txt\n", "root=/dev/a\n", "no.txt, which config.txt names, is not there"),
        ("[gpio4=1]\ncmdline=other.txt\n", "root=/dev/a\n", "only the board knows"),
        ("", f"root={'x' * 1400}\n", "is too long: a kernel takes 1400 bytes"),
    ],
)  # fmt: skip
def test_only_the_command_line_that_the_firmware_reads_is_changed(tmp_path, config, before, after):
    """Another line, or another file, became active, or was changed in vain."""
    tasks = yaml.safe_load((ANSIBLE / "roles/tuning/tasks/main.yml").read_text())
    first = next(n for n, task in enumerate(tasks) if "Ask which file" in task["name"])
    firmware = [task for task in tasks[first:] if "GRUB" not in task["name"]]
    (tmp_path / "files").symlink_to(ANSIBLE / "roles/tuning/files")
    (tmp_path / "config.txt").write_text(config)
    files = {"cmdline.txt", "other.txt"}
    for name in files:
        (tmp_path / name).write_bytes(before.encode())
    play = {
        "hosts": "localhost",
        "connection": "local",
        "gather_facts": False,
        "vars": {"tuning_parameters": ["isolcpus=3"], "ansible_python_interpreter": sys.executable},
        "tasks": firmware,
    }
    text = yaml.safe_dump([play]).replace("/boot/firmware", str(tmp_path))
    (tmp_path / "play.yml").write_text(text)
    done = ansible("ansible-playbook", "-i", "localhost,", tmp_path / "play.yml")
    written = "other.txt" if "other" in config else "cmdline.txt"
    if "root=" not in after and before:
        assert done.returncode == 2, done.stdout
        assert after in " ".join(done.stdout.split())
        written = ""
    else:
        assert done.returncode == 0, done.stdout
        assert (tmp_path / written).read_bytes().decode() == after
    for name in files - {written}:
        assert (tmp_path / name).read_bytes().decode() == before


BUILD = """
- hosts: targets
  gather_facts: false
  tasks:
    - ansible.builtin.include_tasks: {tasks}
      loop: "{{{{ kernel_wanted | dict2items | selectattr('value.source', 'defined') | list }}}}"
      loop_control: {{loop_var: kernel_flavour}}
    - ansible.builtin.copy:
        content: "{{{{ kernel_built | default({{}}) | to_json }}}}"
        dest: "{folder}/{{{{ inventory_hostname }}}}.json"
        mode: "0644"
"""


def test_each_host_gets_its_own_kernels_and_a_failure_stops_only_its_own(tmp_path):
    """The tennis command is a stand-in: what is tested is which host gets which answer."""
    command = tmp_path / "tennis"
    command.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n'
        'case "$*" in *bad*) echo "tennis: no compiler" >&2; exit 1 ;; esac\n'
        'echo "{\\"release\\": \\"$3-$5\\"}"\n'
    )
    command.chmod(0o755)

    def wants(**trees):
        return {"kernel_wanted": {name: {"source": {"tree": tree}} for name, tree in trees.items()}}

    hosts = {
        "h1": wants(rt="one", evl="one"),
        "h2": wants(rt="one"),
        "h3": wants(rt="two"),
        "h4": {"kernel_wanted": {"mainline": PACKAGES}},
        "h5": wants(rt="bad"),
    }
    shared = {"ansible_connection": "local", "kernel_tennis_command": str(command)}
    inventory = tmp_path / "hosts.json"
    inventory.write_text(json.dumps({"targets": {"hosts": hosts, "vars": shared}}))
    tasks = ANSIBLE / "roles/kernel/tasks/build.yml"
    (tmp_path / "play.yml").write_text(BUILD.format(tasks=tasks, folder=tmp_path))
    done = ansible("ansible-playbook", "-i", inventory, tmp_path / "play.yml")
    got = {path.stem: json.loads(path.read_text()) for path in tmp_path.glob("h?.json")}
    assert got == {
        "h1": {"rt": {"release": "rt-one"}, "evl": {"release": "evl-one"}},
        "h2": {"rt": {"release": "rt-one"}},
        "h3": {"rt": {"release": "rt-two"}},
        "h4": {},
    }, done.stdout
    assert done.returncode == 2
    assert "rt could not be built: tennis: no compiler" in done.stdout
    # once for all hosts that want the same
    assert len((tmp_path / "calls").read_text().splitlines()) == 4
