#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Write a root file system as a container image in one file, or look whether such a file is whole.

oci.py write ROOT.tar IMAGE.tar --architecture A --version V --revision COMMIT --created SECONDS
oci.py check IMAGE.tar

The file is an OCI image layout (image-spec 1.1: image-layout.md, config.md, manifest.md) with one
layer, in a tar. It also has the manifest.json of ``docker save``, for Docker before 25. The same
input gives the same bytes where zlib is the same; the image's identity is the digest of its
configuration, which names the layer as it is before it is packed.
"""

import argparse
import gzip
import hashlib
import io
import json
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

LAYOUT = b'{"imageLayoutVersion":"1.0.0"}'
INDEX_TYPE = "application/vnd.oci.image.index.v1+json"
MANIFEST_TYPE = "application/vnd.oci.image.manifest.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
LAYER_TYPE = "application/vnd.oci.image.layer.v1.tar+gzip"
BLOBS = "blobs/sha256/"
PIECE = 1 << 20
USER = "1000:1000"
LICENCES = "MIT AND GPL-2.0-only AND GPL-2.0-or-later AND CC-BY-4.0"


def _json(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode()


def _descriptor(media_type: str, data: bytes) -> dict[str, Any]:
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    return {"mediaType": media_type, "digest": digest, "size": len(data)}


@dataclass(frozen=True)
class Origin:
    """What an image is of: Debian's name of an architecture, a version, a commit and its time."""

    architecture: str
    version: str
    revision: str
    created_s: int

    @property
    def tag(self) -> str:
        """The version as a tag may have it: a plus sign is not allowed there."""
        return self.version.replace("+", "-")


def configuration(diff_id: str, of: Origin) -> dict[str, Any]:
    """Return the image's configuration: who runs there, where, and what it is made of.

    ``diff_id``: SHA-256 of the layer as it is before it is packed, in hexadecimal digits.
    """
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(of.created_s))
    return {
        "architecture": of.architecture,
        "os": "linux",
        "created": created,
        "config": {
            "User": USER,
            "WorkingDir": "/work",
            "Cmd": ["/bin/bash"],
            "Env": [
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                "LANG=C.UTF-8",
                "HOME=/home/tennis",
                "TENNIS_CACHE=/opt/tennis/cache",
            ],
            "Labels": {
                "org.opencontainers.image.created": created,
                "org.opencontainers.image.licenses": LICENCES,
                "org.opencontainers.image.revision": of.revision,
                "org.opencontainers.image.title": "Tennis",
                "org.opencontainers.image.version": of.version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{diff_id}"]},
        "history": [{"created": created, "created_by": "scripts/image.sh"}],
    }


def write(root: Path, image: Path, of: Origin) -> str:
    """Write ``root`` (a tar) as an image; return the digest of its manifest, ``sha256:...``.

    The file appears whole or not at all.
    """
    part = image.with_name(f"{image.name}.part")
    image.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=image.parent) as layer:
        inner = hashlib.sha256()
        # neither name nor time: they would differ each time
        with (
            root.open("rb") as file,
            gzip.GzipFile("", "wb", compresslevel=6, fileobj=layer, mtime=0) as packed,
        ):
            while piece := file.read(PIECE):
                inner.update(piece)
                packed.write(piece)
        size = layer.tell()
        layer.seek(0)
        layer_digest = hashlib.file_digest(layer, "sha256").hexdigest()
        config = _json(configuration(inner.hexdigest(), of))
        config_part = _descriptor(CONFIG_TYPE, config)
        manifest = _json(
            {
                "schemaVersion": 2,
                "mediaType": MANIFEST_TYPE,
                "config": config_part,
                "layers": [
                    {"mediaType": LAYER_TYPE, "digest": f"sha256:{layer_digest}", "size": size}
                ],
            }
        )
        manifest_part = _descriptor(MANIFEST_TYPE, manifest)
        named = {
            **manifest_part,
            "platform": {"architecture": of.architecture, "os": "linux"},
            "annotations": {
                "io.containerd.image.name": f"docker.io/library/tennis:{of.tag}",
                "org.opencontainers.image.ref.name": of.tag,
            },
        }
        index = {"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": [named]}
        before_25 = {
            "Config": _blob(config_part["digest"]),
            "RepoTags": [f"tennis:{of.tag}"],
            "Layers": [BLOBS + layer_digest],
        }
        layer.seek(0)
        small = {
            "oci-layout": LAYOUT,
            "index.json": _json(index),
            "manifest.json": _json([before_25]),
            _blob(config_part["digest"]): config,
            _blob(manifest_part["digest"]): manifest,
        }
        with tarfile.open(part, "w", format=tarfile.USTAR_FORMAT) as archive:
            for name, data in small.items():
                _add(archive, name, io.BytesIO(data), len(data), of.created_s)
            _add(archive, BLOBS + layer_digest, layer, size, of.created_s)
    part.rename(image)
    return str(manifest_part["digest"])


def _blob(digest: str) -> str:
    return BLOBS + digest.removeprefix("sha256:")


def _add(archive: tarfile.TarFile, name: str, data: IO[bytes], size: int, time_s: int) -> None:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mtime, entry.mode = size, time_s, 0o644
    archive.addfile(entry, data)


def problems(image: Path) -> Iterator[str]:
    """Yield what is wrong with an image: a part that is missing, or is not what its digest says."""
    try:
        with tarfile.open(image) as archive:
            yield from _problems(archive)
    except (OSError, tarfile.TarError, KeyError, ValueError, EOFError) as error:
        yield f"{image} is no image in one file: {error}"


def labels(image: Path) -> dict[str, str]:
    """Return the labels of an image: what it is, of which version and commit."""
    with tarfile.open(image) as archive:
        index = json.loads(_read(archive, "index.json"))
        manifest = json.loads(_read(archive, _blob(index["manifests"][0]["digest"])))
        config = json.loads(_read(archive, _blob(manifest["config"]["digest"])))
    return dict(config["config"]["Labels"])


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise ValueError(f"{name} is no file")
    return file.read()


def _problems(archive: tarfile.TarFile) -> Iterator[str]:
    if json.loads(_read(archive, "oci-layout")) != json.loads(LAYOUT):
        yield "oci-layout is of another version"
    (named,) = json.loads(_read(archive, "index.json"))["manifests"]
    yield from _differs(archive, named)
    manifest = json.loads(_read(archive, _blob(named["digest"])))
    for part in (manifest["config"], *manifest["layers"]):
        yield from _differs(archive, part)
    config = json.loads(_read(archive, _blob(manifest["config"]["digest"])))
    if config["architecture"] != named["platform"]["architecture"]:
        yield f"the index says {named['platform']['architecture']}, not {config['architecture']}"
    inner = []
    for layer in manifest["layers"]:
        file = archive.extractfile(_blob(layer["digest"]))
        with gzip.GzipFile(fileobj=file) as unpacked:
            inner.append(f"sha256:{hashlib.file_digest(unpacked, 'sha256').hexdigest()}")
    if inner != config["rootfs"]["diff_ids"]:
        yield "the layer is not the one that the configuration names"
    (old,) = json.loads(_read(archive, "manifest.json"))
    if [old["Config"], *old["Layers"]] != [
        _blob(part["digest"]) for part in (manifest["config"], *manifest["layers"])
    ]:
        yield "manifest.json names other parts than index.json"


def _differs(archive: tarfile.TarFile, part: dict[str, Any]) -> Iterator[str]:
    file = archive.extractfile(_blob(part["digest"]))
    if file is None or archive.getmember(_blob(part["digest"])).size != part["size"]:
        yield f"{part['digest']} does not have {part['size']} bytes"
    elif f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}" != part["digest"]:
        yield f"{part['digest']} is not what its name says"


def main(words: list[str]) -> int:
    """Write or check an image; return the exit code."""
    parser = argparse.ArgumentParser(prog="oci.py", description="A container image in one file.")
    commands = parser.add_subparsers(required=True, dest="command")
    writing = commands.add_parser("write")
    writing.add_argument("root", type=Path)
    writing.add_argument("image", type=Path)
    for option in ("architecture", "version", "revision"):
        writing.add_argument(f"--{option}", required=True)
    writing.add_argument("--created", required=True, type=int, dest="created_s")
    commands.add_parser("check").add_argument("image", type=Path)
    asked = vars(parser.parse_args(words))
    if asked.pop("command") == "write":
        print(f"image: {write(asked.pop('root'), asked.pop('image'), Origin(**asked))}")
        return 0
    found = list(problems(asked["image"]))
    for problem in found:
        print(f"image: {problem}", file=sys.stderr)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
