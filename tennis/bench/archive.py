# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's archive where there is no apt: fetched over HTTP, and checked as apt checks it.

Debian signs ``InRelease``. That has the hash of each list of packages, and a list has the hash of
each package. So a byte that Debian did not vouch for is refused, whoever runs the mirror. Sources:
apt-secure(8), deb(5), and wiki.debian.org/DebianRepository/Format.
"""

import http.client
import lzma
import re
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import IO

from tennis.bench.commands import run, why_unreached
from tennis.checkout import ROOT
from tennis.digests import sha256_of
from tennis.errors import BenchError

# the keys of the releases that we take kernels from (four, of Debian 12 and 13: docs/install.md),
# and the system's, which may know newer ones
KEYRINGS = (
    ROOT / "target" / "kernels" / "debian-archive-keys.gpg",
    Path("/usr/share/keyrings/debian-archive-keyring.gpg"),
)
COMPONENT = "main"
SILENT_S = 20  # a mirror that says nothing
RELEASE_BYTES = 10_000_000  # an InRelease has some 200 kB
PIECE_BYTES = 1 << 18
AR_MAGIC = b"!<arch>\n"  # ar(5)
AR_HEAD_BYTES = 60


class Archive:
    """The packages of one suite for one architecture, as a mirror has them.

    ``site``: the mirror's address. ``home``: the folder for the list, which ``update`` fetches.
    """

    def __init__(self, site: str, suite: str, architecture: str, home: Path) -> None:
        self.site = site.rstrip("/")
        self.suite = suite
        self.list = home / "Packages"
        self._of = f"{COMPONENT}/binary-{architecture}/Packages"
        self._content = b""

    def update(self) -> None:
        """Fetch the list of packages. Raises BenchError where Debian did not sign it."""
        self.list.parent.mkdir(parents=True, exist_ok=True)
        self._content = b""
        release = self._release()
        match = re.search(rf"(?m)^ ([0-9a-f]{{64}}) +(\d+) {re.escape(self._of)}\.xz$", release)
        if not match:
            raise BenchError(
                f"the mirror's {self.suite} has no list {self._of}.xz",
                next_step="use another mirror (TENNIS_MIRROR)",
            )
        address = f"{self.site}/dists/{self.suite}/{self._of}.xz"
        with tempfile.TemporaryDirectory(dir=self.list.parent) as folder:
            packed = Path(folder) / "Packages.xz"
            _fetch(address, packed, int(match[2]), match[1])
            content = lzma.decompress(packed.read_bytes())
            whole = Path(folder) / "Packages"
            whole.write_bytes(content)
            whole.rename(self.list)

    def _release(self) -> str:
        """Return what Debian signed of this suite, and nothing else of the file."""
        with tempfile.TemporaryDirectory(dir=self.list.parent) as folder:
            signed, inner = Path(folder) / "InRelease", Path(folder) / "Release"
            _fetch(f"{self.site}/dists/{self.suite}/InRelease", signed, RELEASE_BYTES)
            _verify(signed, inner)
            text = inner.read_text(errors="replace")
        said = dict(re.findall(r"(?m)^(Suite|Codename|Valid-Until): (.*)$", text))
        if self.suite not in {said.get("Codename"), said.get("Suite")}:
            raise BenchError(
                f"the mirror's {self.suite} is signed as {said.get('Codename', 'no suite')!a}",
                next_step="use another mirror (TENNIS_MIRROR)",
            )
        if "Valid-Until" in said and _date(said["Valid-Until"]) < datetime.now(UTC):
            raise BenchError(
                f"the mirror's {self.suite} was valid until {said['Valid-Until']}",
                next_step="use another mirror (TENNIS_MIRROR), or set this machine's clock",
            )
        return text

    def stanza(self, name: str, version: str = "") -> dict[str, str] | None:
        """Return the fields of a package, or None; of several versions the one listed last."""
        if not self._content:
            self._content = b"\n\n" + self.list.read_bytes()
        found = None
        at = -1
        while (at := self._content.find(b"\n\nPackage: %b\n" % name.encode(), at + 1)) >= 0:
            end = self._content.find(b"\n\n", at + 2)
            text = self._content[at : end if end >= 0 else None].decode(errors="replace")
            fields = dict(re.findall(r"(?m)^([A-Z][A-Za-z0-9-]*): (.*)$", text))
            if version in {"", fields.get("Version")}:
                found = fields
        return found

    def download(self, name: str, version: str, into: Path) -> Path:
        """Download a package into a folder, or the rest of one that was cut; return the file."""
        fields = self.stanza(name, version)
        if fields is None:
            raise BenchError(
                f"{self.suite} has no package {name} {version}",
                next_step="use another mirror (TENNIS_MIRROR)",
            )
        try:
            path, size, sha256 = fields["Filename"], int(fields["Size"]), fields["SHA256"]
        except (KeyError, ValueError):
            raise BenchError(
                f"the list of {self.suite} is broken at {name}",
                next_step="use another mirror (TENNIS_MIRROR)",
            ) from None
        archive = into / f"{name}_{version.replace(':', '%3a')}.deb"
        _fetch(f"{self.site}/{path}", archive, size, sha256)
        return archive


def _verify(signed: Path, inner: Path) -> None:
    """Write what one of Debian's keys signed in ``signed`` to ``inner``, or raise BenchError."""
    refused = BenchError(
        "the mirror's InRelease is not what Debian signed",
        next_step="use another mirror (TENNIS_MIRROR), and expect what lies between to be at fault",
    )
    keys = [word for path in KEYRINGS if path.is_file() for word in ("--keyring", path)]
    try:
        said = run(
            ["gpgv", "--status-fd", "1", *keys, "--output", inner, signed],
            what="looking who signed the mirror's InRelease",
        )
    except BenchError as error:
        if "is not installed" in str(error):
            raise
        raise refused from error
    words = set(re.findall(r"(?m)^\[GNUPG:\] (\w+)", said))
    if "GOODSIG" not in words or "VALIDSIG" not in words or "BADSIG" in words:
        raise refused


def _date(text: str) -> datetime:
    try:
        found = parsedate_to_datetime(text)
    except ValueError:
        raise BenchError(
            f"the mirror's InRelease has no date: {text!a}",
            next_step="use another mirror (TENNIS_MIRROR)",
        ) from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _fetch(address: str, path: Path, size: int, sha256: str = "") -> None:
    """Download ``address`` to ``path``: ``size`` bytes, or with no hash at most as many.

    What an earlier run left in ``path``.part is gone on with. The file appears if it is right.
    Raises BenchError.
    """
    part = path.with_name(f"{path.name}.part")
    there = part.stat().st_size if sha256 and part.is_file() else 0
    if there >= size:
        there = 0
    try:
        _stream(address, part, there, size)
    except (OSError, http.client.HTTPException) as error:
        if isinstance(error, OSError) and error.errno in {28, 122}:  # no room: the cache says so
            raise
        what = f"downloading {path.name.partition('_')[0]}"
        said = f"{error} {getattr(error, 'reason', '')} {address}"
        if isinstance(error, urllib.error.HTTPError):
            said = f"HTTP error {error.code} {address}"
        if reason := why_unreached(said):
            raise BenchError(f"{what}: {reason[0]}", next_step=reason[1]) from error
        raise BenchError(f"{what} failed: {error}", next_step="run this again") from error
    if sha256 and part.stat().st_size < size:
        raise BenchError(
            f"{path.name} was cut after {part.stat().st_size} of {size} bytes",
            next_step="run this again: it goes on",
        )
    if sha256 and (part.stat().st_size != size or sha256_of(part) != sha256):
        part.unlink()
        raise BenchError(
            f"{path.name} is not what Debian's list says: its bytes differ",
            next_step="run this again; if it stays, use another mirror (TENNIS_MIRROR)",
        )
    part.rename(path)


def _stream(address: str, part: Path, there: int, size: int) -> None:
    """Write what comes from ``address`` behind the first ``there`` bytes of a file.

    It ends a byte behind ``size`` at the latest: nobody fills the disk.
    """
    asked = urllib.request.Request(address, headers={"Range": f"bytes={there}-"} if there else {})  # noqa: S310
    with urllib.request.urlopen(asked, timeout=SILENT_S) as answer:  # noqa: S310
        goes_on = there > 0 and getattr(answer, "status", None) == http.client.PARTIAL_CONTENT
        with part.open("ab" if goes_on else "wb") as file:
            while (room := size + 1 - file.tell()) > 0:
                piece = answer.read(min(PIECE_BYTES, room))
                if not piece:
                    break
                file.write(piece)


def unpack(deb: Path, into: Path) -> None:
    """Unpack a package's files below ``into``, without dpkg. Raises BenchError."""
    with tempfile.TemporaryDirectory(dir=into) as folder:
        whole = Path(folder) / "data.tar"
        try:
            with deb.open("rb") as file, whole.open("wb") as data:
                for piece in _data(file):
                    data.write(piece)
        except (lzma.LZMAError, EOFError, ValueError) as error:
            raise BenchError(
                f"{deb.name} cannot be unpacked: {error}",
                next_step=f"delete {deb}, and run this again",
            ) from error
        run(
            ["tar", "-C", into, "--no-same-owner", "-xf", whole],
            what=f"unpacking {deb.name}",
        )


def _data(file: IO[bytes]) -> Iterator[bytes]:
    """Yield the tar with a package's files, piece by piece: the ar's member data.tar.xz."""
    if file.read(len(AR_MAGIC)) != AR_MAGIC:
        raise ValueError("it is no package of Debian's")
    while len(head := file.read(AR_HEAD_BYTES)) == AR_HEAD_BYTES:
        name, size = head[:16].decode(errors="replace").strip(" /"), int(head[48:58])
        if name == "data.tar":
            while size and (piece := file.read(min(PIECE_BYTES, size))):
                size -= len(piece)
                yield piece
            return
        if name == "data.tar.xz":
            unpacking = lzma.LZMADecompressor()
            while size and not unpacking.eof and (piece := file.read(min(PIECE_BYTES, size))):
                size -= len(piece)
                yield unpacking.decompress(piece)
            if not unpacking.eof:
                raise EOFError("it is cut")
            return
        if name.startswith("data.tar"):
            raise ValueError(f"it is packed as {name}")
        file.seek(size + size % 2, 1)
    raise ValueError("it has no files")
