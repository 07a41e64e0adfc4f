"""Things that are built or fetched once: a folder that is either complete or not there."""

import fcntl
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tennis.kit.checkout import cache_folder
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError, DiskFullError, TennisError
from tennis.kit.log import log
from tennis.kit.scratch import left, owned

LOCK_S = 4 * 3600  # as long as a kernel may take to be built
LOCK_EVERY_S = 0.2
# of a folder, as `sha256sum -c` reads it: a file that was changed would go into rallies unseen
SUMS = "SHA256SUMS"
KERNELS = {"kernels", "debug-kernels", "kernel-packages"}  # of these only what boots is compared


def digest(*parts: str | bytes | Path) -> str:
    """Return a key made of texts, bytes and the contents of files (in the order given)."""
    sha = hashlib.sha256()
    for part in parts:
        data = part.read_bytes() if isinstance(part, Path) else part
        data = data.encode() if isinstance(data, str) else data
        sha.update(len(data).to_bytes(8, "little") + data)
    return sha.hexdigest()[:32]


_used: list[tuple[str, str]] | None = None


@contextmanager
def recording_uses() -> Iterator[list[tuple[str, str]]]:
    """Yield a list that gets kind and name of each folder of the cache that is used meanwhile."""
    global _used  # noqa: PLW0603 (the code that uses the cache does not know who listens)
    before, _used = _used, []
    try:
        yield _used
    finally:
        _used = before


def _note(kind: str, name: str) -> None:
    """Say that a folder of the cache is used, for ``recording_uses``; ``once`` says so itself."""
    if _used is not None and (kind, name) not in _used:
        _used.append((kind, name))


@contextmanager
def locked(path: Path, what: str) -> Iterator[None]:
    """Hold a lock file; who waits for another process says so. Raises TennisError after LOCK_S."""
    until = time.monotonic() + LOCK_S
    with path.open("w") as lock:
        said = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                pass
            if not said:
                log.info(f"waiting for another tennis, which makes or uses {what} of the cache")
                said = True
            if time.monotonic() > until:
                # the room loads NumPy, which setup fetches while it fetches kernels
                from tennis.rally.text import quoted  # noqa: PLC0415

                raise TennisError(
                    f"another process has held {path} for {LOCK_S / 3600:g} h",
                    next_step=f"find it with `fuser {quoted(path)}` and end it",
                )
            time.sleep(LOCK_EVERY_S)
        yield


def needed_to_boot(name: str) -> bool:
    """Tell whether a file of a kernel takes part in a rally: 24,000 others do not.

    Headers serve to build here; of the modules, only the network's drivers are loaded.
    """
    if name.startswith(("headers/", "libc/", "build/")):
        return name.endswith(("/Module.symvers", "/boot/Image", "/.config"))
    if ".ko" in name:
        return "virtio" in name or "failover" in name
    return not name.endswith(".dtb")


def _line(folder: Path, name: str) -> str:
    path = folder / name
    if path.is_symlink():  # its text goes to the target; `sha256sum` skips the line
        return f"# {name} -> {path.readlink()}"
    return f"{sha256_of(path)}  {name}" if path.is_file() else ""


def _lines(folder: Path) -> list[str]:
    names = [str(path.relative_to(folder)) for path in sorted(folder.rglob("*"))]
    return [line for name in names if name != SUMS and (line := _line(folder, name))]


def _as_built(folder: Path, kind: str) -> bool:
    """Tell whether a folder's files are those that were built; unknown without sums."""
    sums = folder / SUMS
    if not sums.is_file():
        return False
    lines = os.fsdecode(sums.read_bytes()).split("\n")[:-1]
    if kind not in KERNELS:
        return lines == _lines(folder)
    boots = [line for line in lines if line[0] != "#" and needed_to_boot(line[66:])]
    return boots == [_line(folder, line[66:]) for line in boots]


_compared: set[Path] = set()


def kept(kind: str, name: str, what: str, fetch: str) -> Path:
    """Return a folder of the cache that ``once`` made before, compared once in a process.

    Raises BenchError if it is not there, or was changed; the command ``fetch`` repairs both.
    """
    _note(kind, name)
    folder = cache_folder() / kind / name
    if not folder.is_dir():
        raise BenchError(f"{what} not here yet", next_step=f"run '{fetch}'")
    if folder not in _compared and not _as_built(folder, kind):
        raise BenchError(f"{folder} is not what was fetched there", next_step=f"run '{fetch}'")
    _compared.add(folder)
    return folder


def once(
    kind: str,
    name: str,
    build: Callable[[Path], None],
    *,
    again: bool = False,
    cache: Path | None = None,
) -> Path:
    """Return the cache's folder ``kind/name``; ``build`` fills an empty folder if it is missing.

    Safe against interruption and against a second process: the folder appears by one rename, under
    a lock. ``again`` builds it again even if it is there. ``cache``: another cache than this
    process's. A folder whose files differ from what was built is built again.
    """
    _note(kind, name)
    home = (cache or cache_folder()) / kind
    folder = home / name
    if folder.is_dir() and not again and _as_built(folder, kind):
        return folder
    try:
        home.mkdir(parents=True, exist_ok=True)
        with locked(home / f".{name}.lock", f"{kind}/{name}"):
            if folder.is_dir() and not again:
                if _as_built(folder, kind):
                    return folder
                log.info(f"{folder} is not what was built there: it is built again")
            for path in left(home, f".{name}.", 0.0):  # of one that was killed just now
                shutil.rmtree(path, ignore_errors=True)
            with owned(home, f".{name}.") as temporary:
                fresh = temporary / name
                fresh.mkdir()
                build(fresh)
                lines = "".join(f"{line}\n" for line in _lines(fresh))
                (fresh / SUMS).write_bytes(os.fsencode(lines))
                if folder.is_dir():
                    folder.rename(temporary / "old")
                fresh.rename(folder)
    except OSError as error:
        free = shutil.disk_usage(home if home.is_dir() else "/").free // 2**20
        if error.errno in {28, 122}:  # ENOSPC, EDQUOT
            raise DiskFullError(
                f"no room in the cache folder {home} ({free} MB free)",
                next_step="free some, or set TENNIS_CACHE to a folder with 2 GB",
            ) from error
        raise TennisError(
            f"the cache folder {home} cannot be used ({error.strerror})",
            next_step="set TENNIS_CACHE to a folder that can be written",
        ) from error
    return folder


def made_of(
    kind: str, stem: str, parts: Sequence[str | Path], build: Callable[[Path], None]
) -> Path:
    """Return the cache's folder of a product of ``parts``: texts, and files that count as texts.

    Raises TennisError if a file changed while it was built: the folder's name would be wrong, and
    nobody would see that later.
    """
    key = digest(*parts)

    def build_of_these(folder: Path) -> None:
        build(folder)
        if digest(*parts) != key:
            raise TennisError(
                f"files that {stem} is made of changed while it was built",
                next_step="run this again",
            )

    return once(kind, f"{stem}-{key}", build_of_these)
