# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The container image: a layout as Docker and Podman read it, and one that lies is found out."""

import gzip
import hashlib
import importlib.util
import io
import json
import os
import platform
import re
import subprocess
import tarfile
from pathlib import Path

import pytest

from tennis.checkout import ROOT
from tests.support.processes import run_to_end, stand_in
from tests.support.shared import made_once

spec = importlib.util.spec_from_file_location("oci", ROOT / "scripts/oci.py")
oci = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oci)

OF = oci.Origin("amd64", "0.3.0.dev0+12345678", "f" * 40, 1_760_000_000)


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Make a tar of a root file system with one file."""
    path = tmp_path_factory.mktemp("root") / "root.tar"
    with tarfile.open(path, "w") as archive:
        entry = tarfile.TarInfo("./etc/hostname")
        entry.size = 7
        archive.addfile(entry, io.BytesIO(b"tennis\n"))
    return path


@pytest.fixture
def image(root, tmp_path):
    oci.write(root, tmp_path / "image.tar", OF)
    return tmp_path / "image.tar"


def parts(image):
    with tarfile.open(image) as archive:
        return {entry.name: archive.extractfile(entry).read() for entry in archive}


def test_the_layout_is_that_of_the_specification(image, root):
    """As image-spec 1.1 says, read here without the code that wrote it."""
    found = parts(image)
    assert json.loads(found["oci-layout"]) == {"imageLayoutVersion": "1.0.0"}
    (named,) = json.loads(found["index.json"])["manifests"]

    def blob(part):
        data = found[f"blobs/{part['digest'].replace(':', '/')}"]
        assert hashlib.sha256(data).hexdigest() == part["digest"].removeprefix("sha256:")
        assert len(data) == part["size"]
        return data

    manifest = json.loads(blob(named))
    assert manifest["schemaVersion"] == 2
    config = json.loads(blob(manifest["config"]))
    (layer,) = manifest["layers"]
    assert layer["mediaType"] == "application/vnd.oci.image.layer.v1.tar+gzip"
    inner = gzip.decompress(blob(layer))
    assert inner == root.read_bytes()
    (diff,) = config["rootfs"]["diff_ids"]
    assert diff == f"sha256:{hashlib.sha256(inner).hexdigest()}"
    assert config["config"]["User"] == "1000:1000"  # nobody there is root
    assert len(found) == 6  # and for Docker before 25:
    (old,) = json.loads(found["manifest.json"])
    assert old["RepoTags"] == ["tennis:0.3.0.dev0-12345678"]
    assert found[old["Layers"][0]] == blob(layer)
    assert list(oci.problems(image)) == []
    assert oci.labels(image)["org.opencontainers.image.revision"] == "f" * 40


def test_the_same_input_gives_the_same_bytes(image, root, tmp_path):
    os.utime(root, (1, 1))
    (tmp_path / "other").mkdir()
    oci.write(root, tmp_path / "other/name.tar", OF)
    assert (tmp_path / "other/name.tar").read_bytes() == image.read_bytes()


@pytest.mark.parametrize("part", ["oci-layout", "index", "manifest", "config", "layer", "old"])
def test_a_part_that_was_changed_is_found(image, part):
    found = parts(image)
    (old,) = json.loads(found["manifest.json"])
    (named,) = json.loads(found["index.json"])["manifests"]
    name = {
        "oci-layout": "oci-layout",
        "index": "index.json",
        "manifest": f"blobs/{named['digest'].replace(':', '/')}",
        "config": old["Config"],
        "layer": old["Layers"][0],
        "old": "manifest.json",
    }[part]
    data = found[name]
    # a digit of a digest, or the last but one: all stays JSON, and of the same length
    digest = re.search(rb"sha256[:/](?=[0-9a-f]{64})", data)
    at = digest.end() if digest else [m.start() for m in re.finditer(rb"[0-9a-f]", data)][-2]
    changed = data[:at] + (b"7" if data[at : at + 1] != b"7" else b"8") + data[at + 1 :]
    image.write_bytes(image.read_bytes().replace(data, changed))
    assert list(oci.problems(image))


def test_what_is_no_image_is_said_in_a_line(tmp_path, image):
    cut = tmp_path / "cut.tar"
    cut.write_bytes(image.read_bytes()[:4000])
    for path in (cut, tmp_path / "nobody.tar"):
        (problem,) = oci.problems(path)
        assert "is no image in one file" in problem


def test_what_mmdebstrap_tells_apt_outlives_the_tidying(tmp_path):
    """Without that file its last apt-get takes this machine's lists of packages for the image's."""
    text = (ROOT / "scripts/image.sh").read_text().partition("scratch/furnish")[2]
    tidy = [line for line in text.splitlines() if re.match(r"(rm|find) .*\$root", line)]
    assert len(tidy) >= 4
    (tmp_path / "tmp/left").mkdir(parents=True)
    (tmp_path / "tmp/mmdebstrap.apt.conf.Ab3").touch()
    compiled = tmp_path / "usr/share/python3/debpython/__pycache__"
    compiled.mkdir(parents=True)
    for folder in ("var/cache/apt", "var/lib/apt/lists", "opt/tennis/cache"):
        (tmp_path / folder).mkdir(parents=True)
    run_to_end(
        ["bash", "-euc", "\n".join(tidy)], env=os.environ | {"root": str(tmp_path)}, check=True
    )
    assert [path.name for path in (tmp_path / "tmp").iterdir()] == ["mmdebstrap.apt.conf.Ab3"]
    assert not compiled.exists()  # two builds of one commit differed there


def lists() -> list[str]:
    return sorted(path.name for path in Path("/var/lib/apt/lists").iterdir())


def build(folder):
    before = lists()
    done = run_to_end(
        [ROOT / "scripts/image.sh", folder / "tennis.oci.tar"]

    )  # fmt: skip
    assert done.returncode == 0, done.stderr + done.stdout
    assert lists() == before  # of this machine


def test_a_machine_that_cannot_run_the_other_kind_s_programs_is_told(tmp_path):
    """What arch-test says of a kernel without binfmt_misc."""
    stand_in(tmp_path / "arch-test", "exit 1")
    other = {"x86_64": "arm64", "aarch64": "amd64"}[platform.machine()]
    done = run_to_end(
        [ROOT / "scripts/image.sh", tmp_path / "tennis.oci.tar"],
        env=os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "IMAGE_ARCH": other}

    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert f"this machine runs no program for {other}: install qemu-user-static" in done.stderr


@pytest.mark.virtual
@pytest.mark.skipif(os.geteuid() != 0, reason="a network of one's own takes root")
def test_it_plays_without_a_network_as_nobody_in_particular(tmp_path_factory, tmp_path):
    """The image itself, built from this commit; unpacked, as no daemon is there."""
    image = made_once(tmp_path_factory, "image", build) / "tennis.oci.tar"
    assert list(oci.problems(image)) == []
    assert image.stat().st_size < 1_500_000_000
    with tarfile.open(image) as archive:
        (old,) = json.load(archive.extractfile("manifest.json"))
        config = json.load(archive.extractfile(old["Config"]))["config"]
        root = tmp_path / "root"
        root.mkdir()
        with subprocess.Popen(["tar", "-C", root, "-xzf", "-"], stdin=subprocess.PIPE) as unpack:
            layer = archive.extractfile(old["Layers"][0])
            while piece := layer.read(1 << 20):
                unpack.stdin.write(piece)
            unpack.stdin.close()
    assert unpack.returncode == 0
    work = tmp_path / "work"
    work.mkdir()
    for path in (tmp_path, *tmp_path.parents[:2], root, work):
        path.chmod(0o755)
    os.chown(work, 4711, 4711)
    variables = [word for pair in config["Env"] for word in ("--setenv", *pair.split("=", 1))]
    done = run_to_end(
        [
            *("setpriv", "--reuid", "4711", "--regid", "4711", "--clear-groups"),
            *("bwrap", "--unshare-all", "--die-with-parent", "--clearenv", *variables),
            *("--bind", root, "/", "--bind", work, "/work", "--proc", "/proc", "--dev", "/dev"),
            *("--tmpfs", "/tmp", "--chdir", config["WorkingDir"]),  # noqa: S108
            # several processes play: each imports the program's file again
            *("tennis", "demo", "--balls", "100", "--boots", "1", "--workers", "2"),
        ]

    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("Playing 5 rallies of 100 balls") == 1
    assert len(list((work / "demo").glob("*/manifest.json"))) == 5
