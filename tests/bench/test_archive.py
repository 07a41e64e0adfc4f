# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Debian's packages without apt: what was not signed is refused, at each link of the chain."""

import hashlib
import http.server
import lzma
import shutil
import subprocess
import threading
from functools import partial
from pathlib import Path
from typing import ClassVar

import pytest

from tennis.bench import archive, debian
from tennis.errors import BenchError

LIST = "dists/trixie/main/binary-arm64/Packages.xz"
DEB = "pool/tea_1_arm64.deb"


class Signer:
    """A key of somebody."""

    def __init__(self, home: Path) -> None:
        self.home = home
        home.mkdir(mode=0o700)
        self._gpg("--passphrase", "", "--quick-generate-key", "me", "ed25519", "sign", "never")
        self.keyring = home / "keys.gpg"
        self.keyring.write_bytes(self._gpg("--export"))

    def _gpg(self, *words: str, said: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", self.home, "--batch", "--quiet", *words]
        return subprocess.run(command, input=said, capture_output=True, check=True).stdout

    def sign(self, text: str) -> bytes:
        return self._gpg("--clearsign", said=text.encode())

    def end(self) -> None:
        subprocess.run(["gpgconf", "--homedir", self.home, "--kill", "gpg-agent"], check=True)


class Mirror:
    """A mirror with one package, signed by one key."""

    def __init__(self, folder: Path, signer: Signer, other: Signer) -> None:
        self.folder, self.signer, self.other = folder, signer, other
        content = folder / "content"
        (content / "DEBIAN").mkdir(parents=True)
        (content / "DEBIAN/control").write_text(
            "Package: tea\nVersion: 1\nArchitecture: arm64\nMaintainer: me\nDescription: tea\n"
        )
        (content / "usr/share").mkdir(parents=True)
        (content / "usr/share/leaf").write_bytes(bytes(range(256)) * 400)
        (content / "usr/share/link").symlink_to("/usr/share/leaf")
        (folder / DEB).parent.mkdir()
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", content, folder / DEB],
            check=True, capture_output=True,
        )  # fmt: skip
        self.list_packages()

    def list_packages(self) -> None:
        deb = (self.folder / DEB).read_bytes()
        text = (
            "Package: teapot\nVersion: 3\nArchitecture: arm64\nSize: 1\n\n"
            "Package: tea\nVersion: 1\nArchitecture: arm64\nDepends: leaf, water\n"
            f"Filename: {DEB}\nSize: {len(deb)}\nSHA256: {hashlib.sha256(deb).hexdigest()}\n"
        )
        (self.folder / LIST).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / LIST).write_bytes(lzma.compress(text.encode()))
        self.release()

    def entry(self) -> str:
        data = (self.folder / LIST).read_bytes()
        name = LIST.removeprefix("dists/trixie/")
        return f" {hashlib.sha256(data).hexdigest()} {len(data):>8} {name}\n"

    def release(self, *, codename: str = "trixie", more: str = "", by: Signer | None = None):
        text = f"Suite: stable\nCodename: {codename}\n{more}SHA256:\n{self.entry()}"
        (self.folder / "dists/trixie/InRelease").write_bytes((by or self.signer).sign(text))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archive")
    signers = [Signer(folder / name) for name in ("debian", "stranger")]
    mirror = Mirror(folder / "mirror", *signers)
    yield mirror
    for signer in signers:
        signer.end()


@pytest.fixture
def mirror(made, tmp_path, monkeypatch):
    """A copy of the mirror, on a system without apt."""
    shutil.copytree(made.folder, tmp_path / "mirror", symlinks=True)
    monkeypatch.setattr(debian, "has_apt", lambda: False)
    monkeypatch.setattr(archive, "KEYRINGS", (made.signer.keyring, tmp_path / "not-there"))
    monkeypatch.setenv("TENNIS_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TENNIS_MIRROR", f"file://{tmp_path}/mirror")
    mirror = object.__new__(Mirror)
    mirror.folder, mirror.signer, mirror.other = tmp_path / "mirror", made.signer, made.other
    return mirror


def fetched(into: Path) -> Path:
    suite = debian.Suite("trixie", "arm64")
    suite.update()
    suite.unpack([suite.package("tea")], into)
    return into


def test_what_is_signed_is_unpacked_as_dpkg_does(mirror, tmp_path):
    here = fetched(tmp_path / "here")
    there = tmp_path / "there"
    subprocess.run(["dpkg-deb", "-x", mirror.folder / DEB, there], check=True)
    assert (here / "usr/share/leaf").read_bytes() == (there / "usr/share/leaf").read_bytes()
    assert (here / "usr/share/link").readlink() == (there / "usr/share/link").readlink()
    assert sorted(p.name for p in here.rglob("*")) == ["leaf", "link", "share", "usr"]
    package = debian.Suite("trixie", "arm64").package("tea=1")
    assert (package.version, package.depends) == ("1", "leaf, water")
    with pytest.raises(BenchError, match="trixie has no package te for arm64"):
        debian.Suite("trixie", "arm64").package("te")
    with pytest.raises(BenchError, match="what packages depend on takes apt"):
        debian.Suite("trixie", "arm64").with_all_they_need(["tea"])


OLD = "Sat, 01 Jan 2022 00:00:00"


def altered(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def a_word_of_the_release(mirror):
    path = mirror.folder / "dists/trixie/InRelease"
    path.write_bytes(path.read_bytes().replace(b"Suite: stable", b"Suite: stabel"))


def a_hash_beside_what_is_signed(mirror):
    """A list of somebody's, whose hash stands before and behind what Debian signed."""
    path = mirror.folder / "dists/trixie/InRelease"
    signed = path.read_bytes()
    altered(mirror.folder / DEB)
    mirror.list_packages()
    own = f"Codename: trixie\nSHA256:\n{mirror.entry()}\n".encode()
    path.write_bytes(own + signed + own)


def no_signature(mirror):
    text = f"Suite: stable\nCodename: trixie\nSHA256:\n{mirror.entry()}"
    (mirror.folder / "dists/trixie/InRelease").write_text(text)


def a_longer_list(mirror):
    with (mirror.folder / LIST).open("ab") as file:
        file.write(bytes(1 << 20))


@pytest.mark.parametrize(
    ("alter", "said"),
    [
        (a_word_of_the_release, "InRelease is not what Debian signed"),
        (a_hash_beside_what_is_signed, r"Packages.xz (is not what Debian's list says|was cut)"),
        (no_signature, "InRelease is not what Debian signed"),
        (lambda m: m.release(by=m.other), "InRelease is not what Debian signed"),
        (lambda m: m.release(codename="bookworm"), "trixie is signed as 'bookworm'"),
        (lambda m: m.release(more=f"Valid-Until: {OLD} UTC\n"), f"trixie was valid until {OLD}"),
        (lambda m: altered(m.folder / LIST), "Packages.xz is not what Debian's list says"),
        (a_longer_list, "Packages.xz is not what Debian's list says"),
        (lambda m: altered(m.folder / DEB), "tea_1.deb is not what Debian's list says"),
    ],
)
def test_what_was_not_signed_is_refused(alter, said, mirror, tmp_path):
    alter(mirror)
    with pytest.raises(BenchError, match=said) as raised:
        fetched(tmp_path / "here")
    assert raised.value.next_step
    assert not list((tmp_path / "here").rglob("leaf"))


class Counting(http.server.SimpleHTTPRequestHandler):
    """A server that understands where to go on, as mirrors do."""

    asked: ClassVar[list[str | None]] = []

    def do_GET(self):
        data = Path(self.translate_path(self.path)).read_bytes()
        wanted = self.headers.get("Range")
        type(self).asked.append(wanted)
        begin = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        self.send_response(206 if wanted else 200)
        self.end_headers()
        self.wfile.write(data[begin:])

    def log_message(self, *_):
        """Say nothing."""


def test_half_a_download_is_gone_on_with(mirror, tmp_path, monkeypatch):
    serving = partial(Counting, directory=mirror.folder)
    with http.server.HTTPServer(("127.0.0.1", 0), serving) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("TENNIS_MIRROR", f"http://127.0.0.1:{server.server_port}")
        whole = (mirror.folder / DEB).read_bytes()
        (mirror.folder / DEB).write_bytes(whole[:300])
        with pytest.raises(BenchError, match=rf"tea_1.deb was cut after 300 of {len(whole)} bytes"):
            fetched(tmp_path / "here")
        (mirror.folder / DEB).write_bytes(whole)
        fetched(tmp_path / "here")
        server.shutdown()
    assert Counting.asked[-1] == "bytes=300-"
    assert (tmp_path / "here/usr/share/leaf").stat().st_size == 256 * 400


def test_without_apt_a_mirror_is_named(monkeypatch):
    monkeypatch.setattr(debian, "has_apt", lambda: False)
    monkeypatch.delenv("TENNIS_MIRROR", raising=False)
    with pytest.raises(BenchError, match="this system has no apt"):
        debian.Suite("trixie", "arm64")
