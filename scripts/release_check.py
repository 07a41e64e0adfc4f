#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Is this tree, with its dist/, a release? A line for each check; exit code 1 if one fails.

release_check.py [CHECK...]     default: all; docs/releasing.md says what each looks at
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import yaml

from tennis.checkout import ROOT
from tennis.digests import sha256_of

sys.path.insert(0, str(Path(__file__).parent))
import oci

HEADING = re.compile(r"^## \[(?P<version>[^\]]+)\](?: - (?P<date>\d{4}-\d\d-\d\d))?$", re.MULTILINE)
SUMS = "SHA256SUMS"
IMAGE_BYTES = 1_500_000_000


def version_of(tree: Path) -> str:
    """Return the version that ``pyproject.toml`` names."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    return str(project["version"])


def sections(tree: Path) -> dict[str, tuple[str | None, str]]:
    """Return what the changelog says of each version: its date, and its text."""
    text = (tree / "CHANGELOG.md").read_text()
    found = list(HEADING.finditer(text))
    ends = [one.start() for one in found[1:]] + [len(text)]
    return {
        one["version"]: (one["date"], text[one.end() : end].strip())
        for one, end in zip(found, ends, strict=True)
    }


def check_version(tree: Path) -> Iterator[str]:
    """Yield where another version stands than in ``pyproject.toml``."""
    version = version_of(tree)
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"pyproject.toml: {version} is no release"
    others = {
        "CITATION.cff": yaml.safe_load((tree / "CITATION.cff").read_text()).get("version"),
        "codemeta.json": json.loads((tree / "codemeta.json").read_text()).get("version"),
    }
    for name, other in others.items():
        if other != version:
            yield f"{name}: {other}, and pyproject.toml {version}"
    if version not in sections(tree):
        yield f"CHANGELOG.md has no heading [{version}]"


def check_changelog(tree: Path) -> Iterator[str]:
    """Yield what is wrong with this version's part of the changelog."""
    known = sections(tree)
    date, text = known.get(version_of(tree), (None, ""))
    if date is None:
        yield f"[{version_of(tree)}] has no date"
    if not text:
        yield f"[{version_of(tree)}] says nothing"
    if known.get("Unreleased", (None, ""))[1]:
        yield "[Unreleased] is not empty"


def check_tree(tree: Path) -> Iterator[str]:
    """Yield that files differ from the commit."""
    changed = _said(tree, "git", "status", "--porcelain", "--untracked-files=no")
    if changed:
        yield f"{len(changed)} files differ from the commit, the first: {changed[0].split()[-1]}"


def check_address(tree: Path) -> Iterator[str]:
    """Yield that nobody is told where to get this."""
    project = tomllib.loads((tree / "pyproject.toml").read_text())["project"]
    if not project.get("urls", {}).get("Source"):
        yield "pyproject.toml: [project.urls] names no Source"
    yield from _script(tree, "scripts/address.py", "--check")


def check_figures(tree: Path) -> Iterator[str]:
    """Yield the last line of the register's own check, if it fails."""
    yield from _script(tree, "scripts/figures.py", "check")


def check_books(tree: Path) -> Iterator[str]:
    """Yield what the books' build says last, if it fails."""
    done = _run(tree, "make", "READY=1", "books")
    if done.returncode:
        yield _last(done)


def check_wheel(tree: Path) -> Iterator[str]:
    """Yield what differs between ``dist/`` and a build of now."""
    dist, version = tree / "dist", version_of(tree)
    names = [f"tennis_rt-{version}-py3-none-any.whl", f"tennis_rt-{version}.tar.gz"]
    missing = [name for name in names if not (dist / name).is_file()]
    if ".dev" in version:
        yield f"{version} is no release: what 'make dist' builds of it has the commit in its name"
        return
    if missing:
        yield f"dist/{missing[0]} is not there: run 'make dist'"
        return
    with tempfile.TemporaryDirectory() as scratch:
        done = _run(tree, "scripts/dist.sh", f"{scratch}/dist")
        if done.returncode:
            yield _last(done)
            return
        for name in names:
            if (dist / name).read_bytes() != (Path(scratch) / "dist" / name).read_bytes():
                yield f"dist/{name} is not what this commit builds"


def check_parts(tree: Path) -> Iterator[str]:
    """Yield what the list of parts does not say."""
    path = tree / "dist" / "sbom.cdx.json"
    if not path.is_file():
        yield "dist/sbom.cdx.json is not there: run 'make dist'"
        return
    parts = json.loads(path.read_text())
    named = parts["metadata"]["component"].get("version")
    if named != version_of(tree):
        yield f"dist/sbom.cdx.json is of {named}"
    yield from (
        f"{one['name']} has no version" for one in parts["components"] if not one.get("version")
    )


def check_checksums(tree: Path) -> Iterator[str]:
    """Yield which files of ``dist/`` are not what their checksums say."""
    dist = tree / "dist"
    if not (dist / SUMS).is_file():
        yield f"dist/{SUMS} is not there: run 'make dist'"
        return
    said = dict(reversed(line.split("  ", 1)) for line in (dist / SUMS).read_text().splitlines())
    there = {path.name for path in dist.iterdir()} - {SUMS, f"{SUMS}.asc"}
    for name in sorted(there | set(said)):
        if name not in said:
            yield f"dist/{name} has no checksum"
        elif name not in there:
            yield f"dist/{name} is missing"
        elif sha256_of(dist / name) != said[name]:
            yield f"dist/{name} is not what its checksum says"


def check_image(tree: Path) -> Iterator[str]:
    """Yield what is wrong with the container images: each is of this version and commit."""
    first = tree / "dist" / "tennis.oci.tar"
    if not first.is_file():
        yield "dist/tennis.oci.tar is not there: run 'make image'"
    for image in sorted(first.parent.glob("*.oci.tar")):
        yield from (f"dist/{image.name}: {problem}" for problem in _image(tree, image))


def _image(tree: Path, image: Path) -> Iterator[str]:
    whole = list(oci.problems(image))
    yield from whole
    if whole:
        return
    said, (commit,) = oci.labels(image), _said(tree, "git", "rev-parse", "HEAD")
    wanted = {"version": version_of(tree), "revision": commit}
    for name, value in wanted.items():
        if said[f"org.opencontainers.image.{name}"] != value:
            yield f"it is of {name} {said[f'org.opencontainers.image.{name}']}, and not of {value}"
    if image.stat().st_size > IMAGE_BYTES:
        yield f"it has {image.stat().st_size / 1e9:.2f} GB; {IMAGE_BYTES / 1e9} GB at most"


def check_signature(tree: Path) -> Iterator[str]:
    """Yield that the checksums are not signed, or not by a key that is known here."""
    signature = tree / "dist" / f"{SUMS}.asc"
    if not signature.is_file():
        yield f"dist/{SUMS} is not signed: gpg --armor --detach-sign dist/{SUMS}"
        return
    done = _run(tree, "gpg", "--verify", str(signature), str(tree / "dist" / SUMS))
    if done.returncode:
        yield _last(done)


CHECKS: dict[str, Callable[[Path], Iterator[str]]] = {
    name.removeprefix("check_"): check
    for name, check in list(globals().items())
    if name.startswith("check_")
}


def _run(tree: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(words, cwd=tree, capture_output=True, text=True, check=False)


def _said(tree: Path, *words: str) -> list[str]:
    return _run(tree, *words).stdout.splitlines()


def _last(done: subprocess.CompletedProcess[str]) -> str:
    return ((done.stderr + done.stdout).strip().splitlines() or ["it failed"])[-1]


def _script(tree: Path, *words: str) -> Iterator[str]:
    done = _run(tree, sys.executable, *words)
    if done.returncode:
        yield _last(done)


def main(names: list[str], tree: Path = ROOT) -> int:
    """Run checks, print a line for each; return the exit code."""
    unknown = [name for name in names if name not in CHECKS]
    if unknown:
        print(f"no check {unknown[0]}; the checks are: {' '.join(CHECKS)}", file=sys.stderr)
        return 2
    # a folder that another user owns, as in a container
    os.environ |= {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory"}
    os.environ["GIT_CONFIG_VALUE_0"] = str(tree)
    failed = False
    for name in names or CHECKS:
        problems = list(CHECKS[name](tree))
        failed = failed or bool(problems)
        print(f"release: {name:<9} {'FAILED' if problems else 'ok'}", flush=True)
        for problem in problems:
            print(f"  {problem}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
