# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the roles need that Ansible has no filter for."""

import hashlib
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


class FilterModule:
    """Tells Ansible the names."""

    def filters(self):
        """Return name -> filter."""
        return {"checksum_of": checksum_of, "loads_of": loads_of}
