"""Checks of this machine: each reports its finding and what to do about it."""

import importlib.util
import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path

from tennis.bench.debian import host_architecture
from tennis.bench.findings import Finding
from tennis.bench.instruments import emulated, sigrok
from tennis.bench.kernels import catalogue, modules
from tennis.bench.qemu import plugins as instrument
from tennis.bench.virtual import initramfs
from tennis.kit import entries
from tennis.kit.checkout import SETUP, cache_folder
from tennis.kit.entries import EntryError, load
from tennis.kit.errors import TennisError
from tennis.kit.scratch import left
from tennis.kit.share import processors
from tennis.kit.units import format_count
from tennis.play.doctor.folder import examine_folder
from tennis.rally.text import quoted


def examine() -> Iterator[Finding]:
    """Yield the findings, one at a time: of the virtual bench, of boards, of other packages."""
    yield from _examine_virtual()
    yield from examine_folder(Path.cwd())
    # nobody misses an extra that is not installed; --port asks for it
    if importlib.util.find_spec("littlefs"):
        yield _mild(_looked("emulated Pico", emulated.check))
    yield _mild(_looked("sigrok-cli", sigrok.version))
    with suppress(EntryError):
        yield from map(_mild, load("tennis.play.doctor.pico:examine_ports")(None))
    for entry in entries.entries("tennis"):
        try:
            entry.load()
        except TennisError as error:
            yield Finding("note", entry.package, error.message, error.next_step)


def _examine_virtual() -> Iterator[Finding]:
    """Yield what there is to say about the virtual bench."""
    yield _looked("Python", lambda: sys.version.split()[0])
    yield _looked("machine", lambda: f"{platform.system()} {host_architecture()}")
    yield _cores()
    yield _looked("QEMU", lambda: instrument.find_qemu().version)
    yield _looked("arm64 compiler", modules.compiler_version)
    yield _looked("instrument", lambda: instrument.build(instrument.find_qemu()).name)
    for tool in ("make", "nm", "dpkg-deb", "apt-get"):
        if not shutil.which(tool):
            yield Finding("bad", tool, "not installed", f"run '{SETUP}'")
    home = cache_folder()
    if home.exists() and not os.access(home, os.R_OK | os.W_OK | os.X_OK):
        advice = "set TENNIS_CACHE to a folder that you can write"
        yield Finding("bad", "cache folder", f"somebody else owns {home}", advice)
        return
    yield _looked("target's programs", lambda: f"stress {initramfs.package_versions()['stress']}")
    for name in catalogue.catalogue():
        if catalogue.is_fetched(name):
            yield _looked(f"kernel {name}", partial(_release, name))
        elif name in {"mainline", "rt"}:
            advice = f"run 'tennis kernels fetch {name}'"
            yield Finding("bad", f"kernel {name}", "not fetched", advice)
    behind = [path for kind in home.glob("*/") for path in left(kind)]
    if behind:
        megabytes = sum(one.lstat().st_size for path in behind for one in path.rglob("*")) >> 20
        said = f"{format_count(len(behind), 'folder')} of builds that were killed, {megabytes} MB"
        yield Finding(
            "note", "left behind", said, f"remove {', '.join(map(quoted, map(str, behind)))}"
        )
    free = catalogue.free_space_mb()
    yield Finding(
        "good" if free > 1000 else "note",
        "cache folder",
        f"{cache_folder()}, {free} MB free",
        "" if free > 1000 else "free some space, or set TENNIS_CACHE to another folder",
    )


def _release(name: str) -> str:
    return catalogue.find(name).release


def _cores() -> Finding:
    cores = processors()
    load = os.getloadavg()[0]
    busy = load > cores
    advice = "results are the same, only slower: virtual time does not depend on it" if busy else ""
    return Finding(
        "note" if busy else "good",
        "host",
        f"{cores} cores{_of_more(cores)}, load {load:.1f}",
        advice,
    )


def _of_more(cores: int) -> str:
    there = os.cpu_count() or cores
    return f" may be used of {there}" if there > cores else ""


def _looked(what: str, look: Callable[[], str]) -> Finding:
    """Run a check; return its result, or why it failed, as a finding."""
    try:
        return Finding("good", what, look())
    except OSError as error:
        return Finding("bad", what, f"{error.filename}: {error.strerror}", "check its permissions")
    except TennisError as error:
        problem, _, advice = str(error).partition(": ")
        return Finding("bad", what, problem, advice)


def _mild(finding: Finding) -> Finding:
    """Return a finding as a note if it is bad: the virtual bench plays without."""
    return replace(finding, verdict="note") if finding.verdict == "bad" else finding
