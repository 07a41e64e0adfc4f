"""What is built and started does not depend on what a shell happens to set."""

import ast
import os
import shutil
import subprocess

import pytest

from tennis.bench import cache
from tennis.bench.cache import once
from tennis.bench.kernels.catalogue import find
from tennis.bench.kernels.modules import kernel_module, program
from tennis.bench.qemu import plugins
from tennis.bench.sloth import image
from tennis.bench.virtual import initramfs
from tennis.course.authoring import release
from tennis.kit import environment
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.errors import BenchError
from tests.support.processes import run_to_end
from tests.support.synthetic import make_rally
from tests.support.terminal import TENNIS
from tests.support.virtual import GUEST

# each would change what is built, or end the build
SET = {
    **dict.fromkeys(("KCFLAGS", "KAFLAGS", "KCPPFLAGS", "HOSTCFLAGS", "CFLAGS_MODULE"), "-O3"),
    **dict.fromkeys(("AFLAGS_MODULE", "CFLAGS", "CPPFLAGS", "CFLAGS_KERNEL"), "-march=native"),
    **dict.fromkeys(("LDFLAGS", "LDFLAGS_MODULE", "KBUILD_LDFLAGS_MODULE"), "--nothing"),
    **dict.fromkeys(("KBUILD_OUTPUT", "KBUILD_EXTMOD", "KBUILD_SRC", "O", "M"), "/nowhere"),
    **dict.fromkeys(("KBUILD_EXTRA_SYMBOLS", "MAKEFILES", "BASH_ENV", "ENV"), "/nowhere/file"),
    **dict.fromkeys(("LLVM", "LLVM_IAS", "W", "C", "V", "KBUILD_MODPOST_WARN"), "1"),
    **dict.fromkeys(("ARCH", "SRCARCH", "SUBARCH"), "x86"),
    **dict.fromkeys(("CROSS_COMPILE", "CC", "LD", "AR", "HOSTCC", "OBJCOPY"), "no-such-program"),
    **dict.fromkeys(("MAKEFLAGS", "GNUMAKEFLAGS"), "-n"),
    **dict.fromkeys(("CPATH", "C_INCLUDE_PATH", "COMPILER_PATH", "LIBRARY_PATH"), "{planted}"),
    **dict.fromkeys(("GCC_EXEC_PREFIX", "LD_RUN_PATH"), "{planted}/"),
    **dict.fromkeys(("DEPENDENCIES_OUTPUT", "SUNPRO_DEPENDENCIES"), "{planted}/written"),
    **{"SOURCE_DATE_EPOCH": "1", "GCC_COMPARE_DEBUG": "1", "GNUTARGET": "elf32-little"},
    **{"LDEMULATION": "elf_i386", "KBUILD_BUILD_TIMESTAMP": "1 May 2001", "KBUILD_BUILD_USER": "x"},
    **{"TAR_OPTIONS": "--nothing", "POSIXLY_CORRECT": "1", "NODE_OPTIONS": "--nothing"},
    **{"PYTHONHOME": "{planted}", "PYTHONPATH": "{planted}", "PYTHONOPTIMIZE": "1"},
    **{"PYTHONHASHSEED": "5", "LC_ALL": "de_DE.UTF-8", "LANGUAGE": "de", "LC_NUMERIC": "de_DE"},
    **{"GIT_DIR": "/nowhere", "GIT_WORK_TREE": "/nowhere", "GIT_INDEX_FILE": "/nowhere/index"},
    **{"ANSIBLE_STDOUT_CALLBACK": "json", "ANSIBLE_CONFIG": "/nowhere", "QEMU_AUDIO_DRV": "x"},
}


def own_cache(folder, monkeypatch):
    """Use a cache in which nothing is built."""
    folder.mkdir()
    for one in cache_folder().iterdir():
        if one.name not in {"modules", "programs", "instruments", "sloth"}:
            (folder / one.name).symlink_to(one)
    monkeypatch.setenv("TENNIS_CACHE", str(folder))


def built():
    """Build a thing of each kind; return their bytes."""
    sloth = ROOT / "target" / "sloth" / "racquet.c"
    return {
        "module": kernel_module(GUEST / "sleepy" / "sleepy.c", find("mainline")).read_bytes(),
        "program": program(ROOT / "target" / "virtual" / "racquet-ready.c").read_bytes(),
        "plugin": plugins.build(plugins.find_qemu()).read_bytes(),
        "sloth": image.image(sloth, image.CORES["m3"]).read_bytes(),
    }


@pytest.mark.more
@pytest.mark.virtual
def test_fifty_variables_change_no_byte_of_what_is_built(tmp_path, monkeypatch):
    assert len(SET) >= 50
    plain = built()
    planted = tmp_path / "planted"
    planted.mkdir()
    (planted / "stdio.h").write_text('#error "a header of somebody else"\n')
    for name, value in SET.items():
        monkeypatch.setenv(name, value.format(planted=planted))
    own_cache(tmp_path / "cache", monkeypatch)
    assert built() == plain
    assert sorted(path.name for path in planted.iterdir()) == ["stdio.h"]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("--out=~/x", "--out=/home/zoe/x"),
        ("~/x", "/home/zoe/x"),
        ("rt=~/linux", "rt=/home/zoe/linux"),
        ("~", "/home/zoe"),
        ("a~/x", "a~/x"),
        ("~zoe", "~zoe"),
    ],
)
def test_no_folder_is_called_a_tilde(typed, meant, monkeypatch):
    """Bash expands none behind `--out=`, and `rm -r ~` is what people type next."""
    monkeypatch.setenv("HOME", "/home/zoe")
    assert environment.settle([typed]) == [meant]


@pytest.mark.parametrize(
    ("name", "value", "place"),
    [
        ("TENNIS_CACHE", "~/cache", "/home/zoe/cache"),
        ("XDG_CACHE_HOME", "relative", "/home/zoe/.cache/tennis"),
        ("XDG_CACHE_HOME", "/var/cache/zoe", "/var/cache/zoe/tennis"),
    ],
)
def test_where_the_cache_is(name, value, place, monkeypatch):
    for other in ("TENNIS_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(other, raising=False)
    monkeypatch.setenv("HOME", "/home/zoe")
    monkeypatch.setenv(name, value)
    assert str(cache_folder()) == place


@pytest.mark.parametrize(
    "settings",
    [
        {"MPLBACKEND": "module://of_a_notebook.that_is_not_here"},
        {"COLUMNS": "0", "LINES": "0"},
        {"MATPLOTLIBRC": "/nowhere/matplotlibrc", "SOURCE_DATE_EPOCH": "0"},
    ],
    ids=str,
)
def test_settings_of_others_end_no_command(settings, tmp_path):
    rally = make_rally(tmp_path / "r", balls=50).path
    command = [TENNIS, "plot", rally, "--kind", "series", "--out", tmp_path / "pictures"]
    done = run_to_end(command, env={**os.environ, **settings})
    assert (done.returncode, done.stderr) == (0, "")
    done = run_to_end([TENNIS, "stats", rally], env={**os.environ, **settings})
    assert done.stdout.startswith("rt / stress / thread / default\n")


def test_another_linker_builds_again(tmp_path, monkeypatch):
    """It comes with a package of its own: the compiler's version says nothing about it."""
    source = ROOT / "target" / "virtual" / "racquet-ready.c"
    before = program(source)
    tool = tmp_path / "aarch64-linux-gnu-ld"
    tool.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo GNU ld 9.99 && exit\n'
        f'exec {shutil.which(tool.name)} "$@"\n'
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    own_cache(tmp_path / "cache", monkeypatch)
    after = program(source)
    assert after.parent.name != before.parent.name
    assert after.read_bytes() == before.read_bytes()


def test_the_targets_programs_are_those_that_were_fetched(tmp_path, monkeypatch):
    """What was changed there would go into every rally, and its manifest names versions only."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    place = initramfs.programs  # reads the folder that `fetch` made

    def made(folder):
        (folder / "root/bin").mkdir(parents=True)
        (folder / "root/bin/busybox").write_text("as it was fetched")

    folder = once("userland", initramfs._key(), made)
    busybox = place()["bin/busybox"]
    assert busybox == folder / "root/bin/busybox"
    before = initramfs.sha256_of_places({"bin/busybox": busybox})
    cache._compared.clear()
    busybox.write_text("another")
    assert initramfs.sha256_of_places({"bin/busybox": busybox}) != before
    with pytest.raises(BenchError, match="is not what was fetched there: run 'tennis kernels"):
        place()
    once("userland", initramfs._key(), made)
    assert place()["bin/busybox"].read_text() == "as it was fetched"


@pytest.mark.parametrize("kind", ["kernels", "debug-kernels"])
def test_a_kernel_is_compared_in_what_boots(kind, tmp_path, monkeypatch):
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    places = (
        "image/boot/vmlinuz-6",
        "build/arch/arm64/boot/Image",
        "image/kernel/virtio_net.ko.xz",
    )

    def made(folder):
        for place in (*places, "headers/usr/include/a.h"):
            (folder / place).parent.mkdir(parents=True, exist_ok=True)
            (folder / place).write_text("as it was fetched")

    folder = once(kind, "x", made)
    for place in places:
        (folder / place).write_text("another")
        with pytest.raises(BenchError, match="is not what was fetched there: run 'fetch'"):
            cache.kept(kind, "x", "it is", "fetch")
        once(kind, "x", made)
    (folder / "headers/usr/include/a.h").write_text("another")
    assert cache.kept(kind, "x", "it is", "fetch") == folder


def _is_changed(root):
    (root / "encodings.py").write_text("another")


def _is_added(root):
    (root / "sitecustomize.py").write_text("spin")


def _is_led_elsewhere(root):
    (root / "python3").unlink()
    (root / "python3").symlink_to("/home/somebody/python3")


@pytest.mark.parametrize("kind", ["program-packages", "trials", "symbols", "kernel-sources"])
@pytest.mark.parametrize("spoil", [_is_changed, _is_added, _is_led_elsewhere])
def test_what_a_rally_rests_on_is_built_again(kind, spoil, tmp_path, monkeypatch):
    """A thread that spins, added to a package, made a program 200 times as late, unseen."""
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path))
    made = []

    def build(folder):
        made.append(folder)
        (folder / "encodings.py").write_text("as it was")
        (folder / "python3").symlink_to("/usr/bin/python3.13")

    folder = once(kind, "x", build)
    once(kind, "x", build)
    assert len(made) == 1
    spoil(folder)
    once(kind, "x", build)
    assert len(made) == 2
    assert not (folder / "sitecustomize.py").exists()
    assert str((folder / "python3").readlink()) == "/usr/bin/python3.13"
    assert (folder / "encodings.py").read_text() == "as it was"


def test_one_list_says_what_is_handed_on():
    """Only a person's own program, JupyterLab, gets all of the environment."""
    text = {
        path.relative_to(ROOT).as_posix(): path.read_text()
        for path in (ROOT / "tennis").rglob("*.py")
    }
    whole = (
        "**os.environ",
        "os.environ |",
        "dict(os.environ",
        "os.environ.copy",
        "os.environ.items",
    )
    found = {name for name, code in text.items() if any(word in code for word in whole)}
    assert found == {"tennis/course/notebook/jupyter.py"}


def test_what_a_tennis_is_given_that_a_tennis_starts(monkeypatch):
    for name in ("PYTHONOPTIMIZE", "PYTHONSTARTUP", "PYTEST_ADDOPTS", "PYTEST_PLUGINS", "CC"):
        monkeypatch.setenv(name, "1")
    for name in ("TENNIS_CACHE", "XDG_DATA_HOME", "LC_ALL"):
        monkeypatch.setenv(name, "here")
    given = environment.for_tennis(COLUMNS="80")
    assert {given["TENNIS_CACHE"], given["XDG_DATA_HOME"], given["LC_ALL"]} == {"here"}
    assert given["COLUMNS"] == "80"
    assert not [name for name in given if name.startswith(("PYTHON", "PYTEST"))]
    assert "CC" not in given


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a release has no repository")
def test_git_lists_this_tree_also_from_a_hook(monkeypatch, tmp_path):
    """Git sets GIT_DIR for its hooks: then it would list another repository's files."""
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / ".git"))
    release.release("student", tmp_path / "kit")
    assert (tmp_path / "kit" / "README.md").exists()


def test_every_program_is_given_an_environment():
    """A child without one gets all that the shell of the user set."""
    without = []
    for path in sorted((ROOT / "tennis").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            called, words = ast.unparse(node.func), {keyword.arg for keyword in node.keywords}
            starts = called in {"subprocess.run", "subprocess.Popen", "subprocess.check_output"}
            if starts and "env" not in words:
                without.append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert without == []
