"""Debian packages of any suite and architecture, without installing them.

The mirror is the one that this machine's apt already uses; the suites and architectures that it
lacks are looked up there with a private apt state in the cache folder.
"""

import os
import platform
import re
import shutil
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.cache import locked
from tennis.bench.commands import run
from tennis.kit.checkout import cache_folder
from tennis.kit.errors import BenchError
from tennis.kit.log import log

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
SILENT_S = 20  # a mirror that says nothing
DOWNLOAD_S = 2 * 3600  # one that says little
LARGE_BYTES = 10_000_000  # such a download says how far it is
PROGRESS_S = 5.0  # how often a download says how much is there
ADDRESS = re.compile(r"(https?|file)://[^\s\[\]]+")
HOST_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


def host_architecture() -> str:
    """Return Debian's name of this machine's architecture."""
    machine = platform.machine()
    if machine not in HOST_ARCHITECTURES:
        raise BenchError(f"the virtual bench runs on x86-64 and arm64 machines, this is {machine}")
    return HOST_ARCHITECTURES[machine]


def mirror() -> str:
    """Return the Debian mirror of this machine's apt configuration; ``TENNIS_MIRROR`` overrides it.

    Ubuntu has apt, too, and no Debian mirror there. Debian's keys sign the packages of any mirror.
    Raises BenchError.
    """
    if named := os.environ.get("TENNIS_MIRROR"):
        if not ADDRESS.fullmatch(named):
            raise BenchError(
                f"TENNIS_MIRROR is no address of a mirror: {named!a}",
                next_step="name one that begins with https:// or http://",
            )
        return named
    text = run(
        [
            "apt-get",
            "indextargets",
            "--format",
            "$(ORIGIN)|$(LABEL)|$(RELEASE)|$(SITE)",
            "Created-By: Packages",
        ],
        what="reading apt's configuration",
    )
    targets = [line.split("|", 3) for line in text.splitlines() if line.count("|") >= 3]
    for origin, label, _, site in targets:
        if origin == label == "Debian":
            return site
    for _, _, release, site in targets:  # before the first apt-get update there is no origin
        if release in {"bookworm", "trixie"} and site.rstrip("/").endswith("/debian"):
            return site
    if not _is_debian():
        raise BenchError(
            "this system's apt has no packages of Debian's, and the kernels are Debian's",
            next_step="name a mirror of Debian: export TENNIS_MIRROR=https://HOST/debian "
            "(debian.org/mirror/list has them)",
        )
    raise BenchError(
        "apt on this machine knows no Debian mirror",
        next_step=(
            "run 'sudo apt-get update' on a Debian or "
            "Raspberry Pi OS, or use the container recipe in docs/install.md"
        ),
    )


def check_apt() -> None:
    """Raise BenchError if this system has no apt: the kernels are Debian's packages."""
    if not shutil.which("apt-get"):
        raise BenchError(
            "this system has no apt, and the kernels are Debian's",
            next_step="use the container (docs/install.md)",
        )


def _is_debian() -> bool:
    """Tell whether this system is a Debian, or does not say what it is."""
    try:
        about = platform.freedesktop_os_release()
    except OSError:
        return True
    return about.get("ID") in {"debian", "raspbian"}


@dataclass(frozen=True)
class Package:
    """A package of a suite; sizes in bytes."""

    name: str
    version: str
    architecture: str
    depends: str
    size: int


class Suite:
    """Looks packages up in a suite (``trixie``, ``trixie-backports``) for one architecture.

    Processes that use the same suite wait for each other: apt gives up if its lists are locked.
    """

    def __init__(self, name: str, architecture: str) -> None:
        self.name = name
        self.architecture = architecture
        self.home = cache_folder() / "apt" / f"{name}-{architecture}"
        self._options = [
            f"-oAPT::Architecture={architecture}",
            f"-oAPT::Architectures={architecture}",
            f"-oDir::Etc::sourcelist={self.home / 'sources.list'}",
            "-oDir::Etc::sourceparts=/dev/null",
            "-oDir::Etc::preferencesparts=/dev/null",
            f"-oDir::State={self.home / 'state'}",
            f"-oDir::State::status={self.home / 'status'}",
            f"-oDir::Cache={self.home / 'cache'}",
            "-oAcquire::Languages=none",  # nobody reads their descriptions
            "-oAPT::Sandbox::User=root",
            "-oAPT::Get::Download-Only=true",
            "-oAcquire::Retries=3",
            f"-oAcquire::http::Timeout={SILENT_S}",
            f"-oAcquire::https::Timeout={SILENT_S}",
            "-oAPT::Update::Error-Mode=any",  # it would go on without lists, and find nothing
            f"-oAPT::Default-Release={name}",
        ]
        # backports lean on the release that they extend
        self._suites = list(dict.fromkeys([name.removesuffix("-backports"), name]))

    @contextmanager
    def _alone(self) -> Iterator[None]:
        check_apt()
        self.home.mkdir(parents=True, exist_ok=True)
        with locked(self.home / ".lock", f"package lists of {self.name}"):
            yield

    def update(self, *, sources: bool = False) -> None:
        """Fetch the suite's list of packages; ``sources``: also that of source packages."""
        check_apt()
        if not KEYRING.is_file():
            raise BenchError(
                f"{KEYRING} is missing",
                next_step=(
                    "install the package debian-archive-keyring, "
                    "or use the container recipe in docs/install.md"
                ),
            )
        with self._alone():
            self._update(("deb", "deb-src") if sources else ("deb",))

    def _update(self, kinds: Sequence[str]) -> None:
        for folder in ("state/lists/partial", "cache/archives/partial"):
            (self.home / folder).mkdir(parents=True, exist_ok=True)
        (self.home / "status").touch()
        site = mirror()
        (self.home / "sources.list").write_text(
            "".join(
                f"{kind} [signed-by={KEYRING}] {site} {s} main\n"
                for s in self._suites
                for kind in kinds
            )
        )
        run(
            ["apt-get", *self._options, "-q", "update"],
            what=f"fetching the list of packages of {self.name}",
            limit_s=DOWNLOAD_S,
            downloads=True,
        )

    def package(self, name: str) -> Package:
        """Look a package up; a version may be named with ``name=version``."""
        return self.packages([name])[0]

    def packages(self, names: Sequence[str]) -> list[Package]:
        """Look packages up, as ``package`` does: apt reads its lists once for all of them."""
        with self._alone():
            found = self._fields(names)
        try:
            return [
                Package(
                    fields["Package"],
                    fields["Version"],
                    fields["Architecture"],
                    fields.get("Depends", ""),
                    int(fields["Size"]),
                )
                for fields in (found[name.partition("=")[0]] for name in names)
            ]
        except KeyError:
            lacking = [n for n in names if "Size" not in found.get(n.partition("=")[0], {})]
            raise BenchError(
                f"{self.name} has no package {lacking[0]} for {self.architecture}"
            ) from None

    def _fields(self, names: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return name -> fields of a package; without those that are not there."""
        text = run(
            ["apt-cache", *self._options, "show", "--no-all-versions", *names],
            what=f"looking for the package {' '.join(names)} in {self.name}",
        )
        stanzas = (
            dict(re.findall(r"^([A-Z][A-Za-z-]*): (.*)$", one, flags=re.MULTILINE))
            for one in re.split(r"\n\n+", text)
        )
        return {fields["Package"]: fields for fields in stanzas if "Package" in fields}

    def with_all_they_need(self, names: Sequence[str]) -> list[Package]:
        """Look packages up with all that they depend on, as apt would install them; by name.

        Raises BenchError if one is missing, or conflicts with another one.
        """
        with self._alone():
            text = run(
                ["apt-get", *self._options, "-s", "--no-install-recommends", "install", *names],
                what=f"looking for {' '.join(names)} in {self.name}, with all that they need",
            )
        found = dict(re.findall(r"^Inst (\S+) \((\S+) ", text, flags=re.MULTILINE))
        return self.packages([f"{name}={found[name]}" for name in sorted(found)])

    def unpack(self, packages: Iterable[Package], into: Path) -> None:
        """Download packages and unpack them under ``into``, without their maintainer scripts."""
        # a process that looks packages up meanwhile would wait for this
        wanted = list(dict.fromkeys(packages))
        into.mkdir(parents=True, exist_ok=True)
        with self._alone():
            # apt takes a second to begin: the small ones come together, the large ones with bytes
            small = [package for package in wanted if package.size < LARGE_BYTES]
            there = self._download_together(small)
            for package in wanted:
                log.info(f"  {package.name} {package.version} ({package.size / 1e6:.1f} MB)")
                deb = there.get(package) or self._download(package)
                run(["dpkg-deb", "-x", deb, into], what=f"unpacking {package.name}")
                deb.unlink()

    def _downloads(self) -> Path:
        folder = self.home / "downloads"
        folder.mkdir(exist_ok=True)
        return folder

    def _download_together(self, packages: Sequence[Package]) -> dict[Package, Path]:
        if len(packages) < 2:
            return {}
        downloads = self._downloads()
        for leftover in downloads.glob("*.deb"):
            leftover.unlink()
        total = sum(package.size for package in packages)
        log.info(f"  {len(packages)} packages, {total / 1e6:.1f} MB")
        named = [f"{package.name}={package.version}" for package in packages]
        run(
            ["apt-get", *self._options, "-q", "download", *named],
            what=f"downloading {len(packages)} packages of {self.name}",
            limit_s=DOWNLOAD_S,
            downloads=True,
            cwd=downloads,
        )
        return {package: _only(downloads, package) for package in packages}

    def _download(self, package: Package) -> Path:
        downloads = self._downloads()
        for leftover in downloads.glob(f"{package.name}_*.deb"):
            leftover.unlink()  # of a download that was interrupted
        with _telling(package, [downloads, self.home / "cache" / "archives"]):
            run(
                ["apt-get", *self._options, "-q", "download", f"{package.name}={package.version}"],
                what=f"downloading {package.name}",
                limit_s=DOWNLOAD_S,
                downloads=True,
                cwd=downloads,
            )
        return _only(downloads, package)

    def source(self, name: str, into: Path) -> Path:
        """Download a source package and unpack what its author released; return its folder.

        ``update`` has fetched the list of sources.
        """
        for leftover in into.glob("*.orig.tar.*"):
            leftover.unlink()
        with self._alone():
            run(
                ["apt-get", *self._options, "-q", "source", "--download-only", "--tar-only", name],
                what=f"downloading the source of {name}",
                limit_s=DOWNLOAD_S,
                downloads=True,
                cwd=into,
            )
        packed = next(into.glob("*.orig.tar.*"))
        folder = into / name
        folder.mkdir()
        run(
            ["tar", "-C", folder, "--strip-components=1", "-xf", packed],
            what=f"unpacking {packed.name}",
        )
        packed.unlink()
        return folder


def _only(downloads: Path, package: Package) -> Path:
    """Return the file of a package that apt downloaded. Raises BenchError if it is not one."""
    archives = list(downloads.glob(f"{package.name}_*.deb"))
    if len(archives) != 1:
        raise BenchError(f"apt downloaded no single file for {package.name}: {archives}")
    return archives[0]


@contextmanager
def _telling(package: Package, folders: Iterable[Path]) -> Iterator[None]:
    """Say every few seconds how many bytes of a package are there, for the length of a block."""
    places, ended = list(folders), threading.Event()

    def tell() -> None:
        while not ended.wait(PROGRESS_S):
            if there := _bytes_of(package, places):
                log.info(f"  {package.name}: {there / 1e6:.0f} of {package.size / 1e6:.0f} MB")

    telling = threading.Thread(target=tell, daemon=True)
    telling.start()
    try:
        yield
    finally:
        ended.set()
        telling.join(PROGRESS_S)


def _bytes_of(package: Package, places: Iterable[Path]) -> int:
    """Return how many bytes of a package are in some folders, or in apt's folder for parts."""
    found = 0
    for path in (one for place in places for one in place.rglob(f"{package.name}_*")):
        try:
            found = max(found, path.stat().st_size)
        except OSError:  # it was moved meanwhile
            continue
    return found
