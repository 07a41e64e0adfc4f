"""scripts/setup.sh says what it will do, and refuses what it cannot do with a way out."""

import os
import re
import shutil
import tomllib
from itertools import chain

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tennis.kit.checkout import ROOT
from tests.support.processes import run_to_end, stand_in

DEBIAN = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nVERSION_ID="13"\nID=debian\n'


@pytest.fixture
def run(tmp_path):
    """Run setup.sh on a machine that is made up: its os-release, and programs before the path."""
    programs = tmp_path / "bin"
    programs.mkdir()
    stand_in(programs / "dpkg-query", "exit 1")  # nothing is installed
    stand_in(programs / "dpkg", "echo amd64")
    stand_in(programs / "apt-get", f'echo "$@" >> {tmp_path}/apt; echo no network >&2; exit 100')
    stand_in(programs / "sudo", f'[ "$1" = -n ] || {{ echo "$@" >> {tmp_path}/sudo; exit 1; }}')
    stand_in(programs / "id", "echo 0")

    def run_it(*arguments, release=DEBIAN, variables=None, checkout=ROOT, **replaced):
        (tmp_path / "os-release").write_text(release)
        for name, text in replaced.items():
            stand_in(programs / name, text)
        environment = (
            os.environ
            | {
                "PATH": f"{programs}:/usr/bin:/bin",
                "TENNIS_OS_RELEASE": str(tmp_path / "os-release"),
                "TENNIS_CACHE": "/nowhere/cache",
            }
            | (variables or {})
        )
        return run_to_end(
            [checkout / "scripts/setup.sh", *arguments],
            env=environment,
            start_new_session=True,  # without a terminal
        )

    return run_it


def test_ubuntu_gets_debian_s_keys_and_is_told_that_nobody_tried(run):
    done = run("--plan", release='ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04"\n')
    assert done.returncode == 0, done.stderr
    assert "Nobody tried that on Ubuntu 24.04 yet" in done.stdout
    assert " debian-archive-keyring" in done.stdout


@pytest.mark.parametrize(
    ("release", "replaced", "message"),
    [
        ('ID=ubuntu\nVERSION_ID="22.04"\nPRETTY_NAME="Ubuntu 22.04"\n', {}, "22.04 is too old"),
        ('ID=fedora\nPRETTY_NAME="Fedora 43"\n', {}, "this is Fedora 43, not Debian"),
        ('ID=raspbian\nVERSION_ID="12"\nPRETTY_NAME="Raspbian 12"\n', {}, "Raspbian 12 is the 32"),
        ('ID=debian\nVERSION_ID="11"\nPRETTY_NAME="Debian 11"\n', {}, "Debian 11 is too old"),
        (DEBIAN, {"uname": "echo Darwin"}, "this is Darwin, not Linux"),
        (DEBIAN, {"dpkg": "echo armhf"}, "this is a 32-bit system (armhf)"),
        (DEBIAN, {"dpkg": "echo riscv64"}, "this is riscv64; Tennis plays on amd64 and arm64"),
        ("", {}, "this is an unknown Linux"),
    ],
)
def test_elsewhere_there_is_a_container(run, release, replaced, message):
    done = run(release=release, **replaced)
    assert done.returncode == 1
    assert done.stderr.startswith("setup: ")
    assert message in done.stderr.splitlines()[0]
    assert "docker run --rm -it" in done.stderr
    assert "podman run" in done.stderr
    assert done.stdout == ""


def test_the_plan_says_what_and_does_nothing(run, tmp_path):
    done = run("--plan")
    assert done.returncode == 0
    said = done.stdout
    assert said.startswith("This will install:")
    # with bubblewrap: a gate compares Racquets and programs, and has this stage alone
    for package in ("qemu-system-arm", "gcc-aarch64-linux-gnu", "python3-venv", "bubblewrap"):
        assert package in said
    assert re.search(r"MB to download, with apt-get:", said)
    assert "and keep in /nowhere/cache" in said
    assert "(mainline rt)" in said
    assert "update" not in (tmp_path / "apt").read_text()
    assert not (tmp_path / "sudo").exists()


def test_the_plans_of_stages_and_machines(run):
    assert "(mainline rt mainline-6.1 rt-6.1 mainline-7 rt-7)" in run("--test", "--plan").stdout
    # what is large is not for the quick tests, and a first test needs Python alone
    said = run("--unit", "--plan").stdout
    packages = set(said.split("with apt-get:\n")[1].splitlines()[0].split())
    assert {"qemu-system-arm", "bubblewrap", "sigrok-cli"} <= packages
    assert not {"chromium", "cmake", "gcc-arm-none-eabi", "mmdebstrap"} & packages
    assert "kernels" not in said
    assert "MicroPython" not in said
    said = run("--first", "--plan").stdout
    packages = said.split("with apt-get:\n")[1].splitlines()[0].split()
    assert packages == ["python3", "python3-venv", "ca-certificates"]
    assert "kernels" not in said
    assert "qemu-system-arm" in run("--first", "--cluster", "--plan").stdout
    # its proxy was in the table, and no stage took it
    for stage in ("--room", "--test"):
        assert "node-configurable-http-proxy" in run(stage, "--plan").stdout
    # arm64 needs no cross-compiler
    said = run("--test", "--plan", dpkg="echo arm64").stdout
    assert "qemu-system-arm" in said
    assert "aarch64-linux-gnu" not in said
    assert "shellcheck" in said


def test_a_users_shell_changes_nothing(tmp_path):
    """CDPATH led setup into another folder, exit code 0."""
    (tmp_path / "scripts").mkdir()
    settings = {"CDPATH": str(tmp_path), "POSIXLY_CORRECT": "1", "GREP_OPTIONS": "--nothing"}
    settings |= {"TAR_OPTIONS": "--nothing", "BASH_FUNC_cd%%": "() { builtin cd /; }"}
    settings |= {"TENNIS_CACHE": "~/cache", "XDG_CACHE_HOME": "relative", "HOME": "/nowhere/home"}
    done = run_to_end(
        ["bash", "scripts/setup.sh", "--plan"], cwd=ROOT, env={**os.environ, **settings}
    )
    assert done.returncode == 0, done.stderr
    assert str(tmp_path) not in done.stdout
    assert "keep in /nowhere/home/cache" in done.stdout
    for script in (ROOT / "scripts").glob("*.sh"):
        assert script.name == "here.sh" or '/here.sh"\n' in script.read_text()


def test_a_failure_of_apt_is_shown(run):
    done = run()
    assert done.returncode == 1
    assert "setup: apt-get update failed" in done.stderr
    assert "no network" in done.stderr


@pytest.mark.parametrize(
    ("said", "advice"),
    [
        (
            "E: Could not get lock /var/lib/apt/lists/lock. It is held by process 7 (apt-get)",
            "Another program installs packages: wait for it",
        ),
        (
            "E: dpkg was interrupted, you must manually run 'dpkg --configure -a' to correct it",
            "As root, run dpkg --configure -a",
        ),
    ],
)
def test_what_a_killed_setup_left_of_apt_has_its_own_advice(run, said, advice):
    """It asked whether the network is there."""
    done = run(**{"apt-get": f'echo "{said}" >&2; exit 100'})
    assert advice in done.stderr.splitlines()[0]
    assert "network" not in done.stderr.splitlines()[0]


def test_who_is_not_root_needs_sudo(run, tmp_path):
    done = run(id="echo 1000")
    assert "with apt-get through sudo:" in done.stdout
    assert re.search(
        r"apt-get -o DPkg::Lock::Timeout=300 .* -qq update", (tmp_path / "sudo").read_text()
    )
    assert done.returncode == 1


def test_sudo_that_asks_needs_a_terminal(run, tmp_path):
    done = run(id="echo 1000", sudo=f"echo >> {tmp_path}/sudo; [ $1 != -n ]")
    assert done.returncode == 1
    said, command = done.stderr.splitlines()
    assert "sudo asks for a password, and there is no terminal" in said
    assert command.startswith("  apt-get install --no-install-recommends ")
    assert (tmp_path / "sudo").read_text() == "\n"  # it was asked whether it asks


WSL = "case $1 in -s) echo Linux ;; *) echo 5.15.167.4-microsoft-standard-WSL2 ;; esac"


def test_on_windows_it_says_so_and_takes_no_disk_of_windows(run):
    done = run("--plan", uname=WSL)
    assert done.returncode == 0, done.stderr
    assert "Note: this is Linux on Windows (WSL)." in done.stdout
    done = run("--plan", uname=WSL, variables={"TENNIS_CACHE": "/mnt/c/Users/ada/tennis"})
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "/mnt/c/ is Windows' disk" in done.stderr
    assert "WSL" not in run("--plan", variables={"TENNIS_CACHE": "/mnt/c/Users"}).stdout


def test_an_older_python_is_refused_in_a_line(run, tmp_path):
    """In a checkout without a .venv, with what a Python of 3.10 answers to the question."""
    stand_in(tmp_path / "python3.10", "exit 1")
    (tmp_path / "scripts").mkdir()
    for name in ("setup.sh", "here.sh", "programs.txt"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts")
    done = run(
        variables={"TENNIS_PYTHON": f"{tmp_path}/python3.10"},
        checkout=tmp_path,
        **{"dpkg-query": "echo 'installed '"},
    )
    assert done.returncode == 1
    assert done.stderr == (
        f"setup: {tmp_path}/python3.10 is not Python 3.11 or newer with its venv module; "
        "set TENNIS_PYTHON to one that is.\n"
    )


def test_two_setups_of_a_checkout_take_turns(run, tmp_path):
    done = run(flock='[ "$1" != --nonblock ]')
    assert "Waiting for another setup of this checkout" in done.stdout
    assert "setup: apt-get update failed" in done.stderr
    done = run(flock="exit 1")
    assert "another setup of this checkout does not end" in done.stderr
    assert (tmp_path / "apt").read_text().count(" update") == 1


def test_help(run):
    done = run("--help")
    assert done.returncode == 0
    assert done.stdout.startswith("scripts/setup.sh [--STAGE...] [--plan]\n")
    stages = re.findall(r"^  --(\w+) +also what", done.stdout, flags=re.MULTILINE)
    table = (ROOT / "scripts/programs.txt").read_text()
    assert {"pico", "lab", "provision", "unit", "test"} <= set(stages)
    named = re.findall(r"^[^#\s]\S* +\S+ +(\w+) ", table, flags=re.MULTILINE)
    assert set(named) <= {"system", "base", *stages}
    for stage in stages:
        assert run("--plan", f"--{stage}").returncode == 0
    assert "SPDX" not in done.stdout
    done = run("--tests")
    assert (done.returncode, done.stderr) == (2, "setup: unknown option --tests; try --help.\n")


def test_what_is_installed_has_one_version_in_the_range_that_the_wheel_names():
    """``constraints.txt`` holds names and versions only; ``pyproject.toml`` names ranges."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if not line.startswith("#"))
    pins = {canonicalize_name(name): Version(version) for name, version in pins.items()}
    tables = tomllib.loads((ROOT / "pyproject.toml").read_text())
    of_people = tables["project"]["optional-dependencies"]
    for line in [*tables["project"]["dependencies"], *chain(*of_people.values())]:
        requirement = Requirement(line)
        assert {one.operator for one in requirement.specifier} == {">=", "<"}, line
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier, line
    for line in chain(*tables["dependency-groups"].values()):
        if isinstance(line, str) and (name := Requirement(line).name) != "tennis-rt":
            assert canonicalize_name(name) in pins, line


def test_kernels_are_fetched_beside_pip_by_python_alone(tmp_path):
    """The script starts these before there is a .venv: they import nothing that pip brings."""
    text = (ROOT / "scripts/setup.sh").read_text()
    program = re.search(r"<<'END' &\n(.*?)\nEND\n", text, re.DOTALL)[1]
    assert "catalogue.fetch(name)" in program
    tried = "".join(
        f"sys.modules[{name!r}] = None\n" for name in ("cramjam", "numpy", "pydantic", "click")
    )
    tried = f"import sys\n{tried}{program.replace('    sys.exit(1)', '    raise')}"
    done = run_to_end(
        ["/usr/bin/python3", "-I", "-", ROOT, "nobody"],
        input=tried,
        env={"PATH": "/usr/bin", "TENNIS_CACHE": str(tmp_path), "TENNIS_MIRROR": "no address"},
    )
    # it came as far as to ask for a mirror
    assert "TENNIS_MIRROR is no address of a mirror" in done.stderr
