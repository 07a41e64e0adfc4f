# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the roles need that Ansible has no filter for."""

import hashlib
import re
import tomllib
from pathlib import Path


def loads_of(folder):
    """Return name -> content of load.toml of every load below one of this machine's folders."""
    paths = sorted(Path(folder).glob("*/load.toml"))
    return {path.parent.name: tomllib.loads(path.read_text()) for path in paths}


def checksum_of(paths):
    """Return a SHA-256 over the names and contents of files and folders of this machine."""
    sha = hashlib.sha256()
    for path in map(Path, [paths] if isinstance(paths, str) else paths):
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            name = str(file.relative_to(path.parent)).encode()
            data = file.read_bytes()
            sha.update(b"%d %d " % (len(name), len(data)) + name + data)
    return sha.hexdigest()


def debs_of(flavours, built):
    """Return [flavour, file] of every package that this machine has or has built."""
    pairs = []
    for name, flavour in flavours.items():
        files = [*flavour.get("debs", []), *built.get(name, {}).get("debs", [])]
        pairs += [[name, file] for file in files]
    return pairs


def deb_fields(results):
    """Return what ``dpkg-deb -f`` said, as a list of flavour, file, Package, Version, ..."""
    found = []
    for result in results:
        fields = dict(re.findall(r"^([A-Z]\w+): *(\S+)", result["stdout"], re.MULTILINE))
        flavour, file = result["item"]
        found.append({"flavour": flavour, "file": file, **fields})
    return found


def debs_missing(debs, installed):
    """Return the files of those packages of which this very version is not installed."""
    return [
        deb["file"]
        for deb in debs
        if f"{deb['Package']}={deb['Version']}=installed" not in installed
    ]


def kernel_entries(flavours, debs):
    """Return FLAVOUR=PACKAGE[,stock] for ``tennis-boot register``."""
    entries = []
    for name, flavour in flavours.items():
        packages = [
            *flavour.get("packages", []),
            *(deb["Package"] for deb in debs if deb["flavour"] == name),
        ]
        images = [package for package in packages if package.startswith("linux-image-")]
        if not images:
            raise ValueError(f"{name}: none of its packages is a linux-image: {packages}")
        entries.append(f"{name}={images[0]}{',stock' if flavour.get('stock') else ''}")
    return entries


def racquets_of(built):
    """Return flavour -> module of the kernels that were built here."""
    return {name: said["racquet"] for name, said in built.items() if said.get("racquet")}


class FilterModule:
    """Tells Ansible the names."""

    def filters(self):
        """Return name -> filter."""
        filters = (
            *(checksum_of, deb_fields, debs_missing, debs_of),
            *(kernel_entries, loads_of, racquets_of),
        )
        return {function.__name__: function for function in filters}
