"""Tasks of a Dask worker: play one rally, or play another worker's again.

Each runs in a process of its own, with a cache that holds just the match's files: the machine's
other files do not matter.
"""

import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tennis import __version__
from tennis.bench.cache import once
from tennis.bench.kernels.modules import compiler_version
from tennis.bench.qemu import plugins
from tennis.kit import environment
from tennis.kit.checkout import PACKAGES, ROOT
from tennis.kit.digests import sha256_of
from tennis.kit.errors import TennisError
from tennis.match.cluster.place import Place
from tennis.match.plan import ScheduledRally
from tennis.rally.folder import MANIFEST

if TYPE_CHECKING:
    from distributed import Worker

POLL_S = 1.0  # how often a task asks whether it is to end
EARLIER = "an earlier run"
# folders on which a rally's bytes may depend, and their parents
FOLDERS = {"tennis": PACKAGES, "target": ROOT, "loads": ROOT}


@dataclass(frozen=True)
class ClusterSetting:
    """The setting that all rallies of a match share."""

    store: str
    run: str  # names the command that is waiting; its event tells tasks to end
    folders: list[tuple[str, str, str]] = field(default_factory=list)  # kind, name, SHA-256
    alike: dict[str, str] = field(default_factory=dict)  # what a worker must be

    @staticmethod
    def key(planned: ScheduledRally) -> str:
        """Return a rally's place in the store, which is the same for equal plans."""
        sha256 = hashlib.sha256(planned.model_dump_json().encode()).hexdigest()
        return f"rallies/{planned.name}-{sha256[:16]}"

    def check(self, name: str, key: str) -> dict[str, str]:
        """Play a stored rally again; return the worker, a verdict (same, differs, open), why."""
        store = Place(self.store)
        with tempfile.TemporaryDirectory(prefix="tennis-check-", dir=_scratch()) as scratch:
            folder = Path(scratch) / name
            try:
                if differs := _unlike(self.alike):
                    said = {"verdict": "open", "why": f"this machine has {differs}"}
                else:
                    store.get_rally(key, folder)
                    cache, stop_requested = _cache_of(store, self), _stop_requested(self.run)
                    said = _process(["check", str(folder)], "", cache, stop_requested)
            except TennisError as error:
                said = {"verdict": "open", "why": str(error)}
            return {"worker": _worker().address, **said}

    def play(self, name: str, key: str, planned: str) -> dict[str, str]:
        """Play a rally (a ScheduledRally, JSON) and store it; return the outcome (Seen).

        ``worker``: who played, or EARLIER if it was in the store; ``manifest``: SHA-256 of the
        manifest that is in the store.
        """
        return {"worker": _worker().address, **_play(self, name, key, planned)}


def describe() -> dict[str, str]:
    """Return what must be the same on all machines of a match."""
    return {
        "tennis": __version__,
        "checkout": _checkout(),
        "Python": ".".join(map(str, sys.version_info[:2])),
        "QEMU": plugins.find_qemu().version,
        "compiler": compiler_version(),
    }


def _checkout() -> str:
    sha = hashlib.sha256()
    for folder, place in FOLDERS.items():
        for path in sorted((place / folder).rglob("*")):
            below = path.relative_to(place)
            # an installed package has a copy of the kit in its own folder
            kit = below.parts[:2] == ("tennis", "kit")
            if path.is_file() and "__pycache__" not in path.parts and not kit:
                sha.update(str(below).encode() + b"\0" + path.read_bytes())
    return sha.hexdigest()[:16]


def _unlike(versions: dict[str, str]) -> str:
    """Say in what this machine differs from the one that asks; empty if it does not."""
    try:
        mine = describe()
    except TennisError as error:
        return str(error)
    return next(
        (f"{name} {mine.get(name)} instead of {value}" for name, value in versions.items()
         if mine.get(name) != value),
        "",
    )  # fmt: skip


def _play(setting: ClusterSetting, name: str, key: str, planned: str) -> dict[str, str]:
    store = Place(setting.store)
    with tempfile.TemporaryDirectory(prefix="tennis-rally-", dir=_scratch()) as scratch:
        out = Path(scratch)
        if store.has_rally(key):  # of a worker that ended before it could say so
            store.get(f"{key}/{MANIFEST}", out / MANIFEST)
            found = _answer("played, it was in the store", "played") | _manifest(out / MANIFEST)
            return {**found, "worker": EARLIER}
        try:
            if differs := _unlike(setting.alike):
                why = f"this machine has {differs}"
                return _answer(f"FAILED: {why}", "failed", why)
            cache = _cache_of(store, setting)
            said = _process(["play", str(out)], planned, cache, _stop_requested(setting.run))
        except TennisError as error:
            return _answer(f"FAILED: {error}", "failed", str(error))
        if said.get("state") == "played":
            store.put_rally(out / name, key)
            said |= _manifest(out / name / MANIFEST)
        return said


def _cache_of(store: Place, setting: ClusterSetting) -> Path:
    """Return a cache folder with all that the match needs; fetch missing parts.

    Raises BenchError, RallyError.
    """
    text = json.dumps(setting.folders).encode()
    home = _scratch() / f"cache-{hashlib.sha256(text).hexdigest()[:16]}"
    for kind, name, sha256 in setting.folders:
        if not (home / kind / name).is_dir():
            once(kind, name, partial(store.get_folder, sha256), cache=home)
    return home


def _scratch() -> Path:
    """Return a folder of the worker's own; it is removed with the worker's."""
    folder = Path(_worker().local_directory) / "tennis"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _worker() -> "Worker":
    from distributed import get_worker  # noqa: PLC0415 (only a cluster needs it)

    return get_worker()


def _stop_requested(run: str) -> Callable[[], bool]:
    from distributed import Event  # noqa: PLC0415

    event = Event(f"tennis-end-{run}")
    return lambda: bool(event.is_set())


def _process(
    words: list[str], text: str, cache: Path, stop_requested: Callable[[], bool]
) -> dict[str, str]:
    """Run the process that plays, until it ends or must stop. Raises TennisError."""
    command = [sys.executable, "-m", "tennis.match.cluster.rally", *words]
    own = environment.for_tennis(TENNIS_CACHE=str(cache), PYTHONPATH=str(PACKAGES))
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as log:
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=said, stderr=log, text=True, env=own
        ) as process:
            assert process.stdin is not None  # noqa: S101
            try:
                process.stdin.write(text)
                process.stdin.close()
                while not _ended(process):
                    if stop_requested():
                        process.terminate()
            finally:
                process.terminate()
        said.seek(0)
        log.seek(0)
        lines = said.read().strip().splitlines()
        if process.returncode or not lines:
            raise TennisError(f"the process that plays ended: {log.read().strip()[-300:]}")
        return dict(json.loads(lines[-1]))


def _ended(process: "subprocess.Popen[str]") -> bool:
    try:
        process.wait(POLL_S)
    except subprocess.TimeoutExpired:
        return False
    return True


def _answer(words: str, state: str, trouble: str = "") -> dict[str, str]:
    return {"said": words, "state": state, "trouble": trouble}


def _manifest(path: Path) -> dict[str, str]:
    return {"manifest": sha256_of(path)}
