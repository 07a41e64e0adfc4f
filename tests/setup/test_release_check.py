# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A release is one only if all that names it agrees; what the project says of itself is whole."""

import hashlib
import importlib.util
import json
import re
import subprocess
import tarfile
import tomllib

import pytest
import yaml

from tennis.checkout import ROOT
from tennis.edition import EDITION
from tests.support.processes import run_to_end

spec = importlib.util.spec_from_file_location("release_check", ROOT / "scripts/release_check.py")
release_check = importlib.util.module_from_spec(spec)
spec.loader.exec_module(release_check)

VERSION = "0.3.0"
OF_TREE = ("version", "changelog", "tree", "parts", "checksums")


@pytest.fixture
def tree(tmp_path):
    """Make a tree that is a release, as far as these checks look."""
    for name in ("pyproject.toml", "CITATION.cff", "codemeta.json"):
        text = (ROOT / name).read_text()
        text = re.sub(
            r'(?m)^(version[:=] ?|version = |  "version": )"?[\d.a-z]+"?', rf'\1"{VERSION}"', text
        )
        (tmp_path / name).write_text(text)
    log = f"# Changelog\n\n## [Unreleased]\n\n## [{VERSION}] - 2026-12-01\n\n- All.\n"
    (tmp_path / "CHANGELOG.md").write_text(log)
    dist = tmp_path / "dist"
    dist.mkdir()
    parts = {"metadata": {"component": {"version": VERSION}}, "components": []}
    (dist / "sbom.cdx.json").write_text(json.dumps(parts))
    digest = hashlib.sha256((dist / "sbom.cdx.json").read_bytes()).hexdigest()
    (dist / "SHA256SUMS").write_text(f"{digest}  sbom.cdx.json\n")
    for words in (["init", "-q"], ["add", "-A"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    who = ["-c", "user.name=a", "-c", "user.email=a@b.invalid"]
    subprocess.run(["git", *who, "commit", "-qm", "all"], cwd=tmp_path, check=True)
    return tmp_path


def test_a_release_passes_and_each_fault_is_found(tree, capsys):
    assert release_check.main([*OF_TREE], tree) == 0, capsys.readouterr().out
    for name, before, after, check, said in (
        ("codemeta.json", VERSION, "0.2.9", "version", "codemeta.json: 0.2.9, and"),
        ("CITATION.cff", VERSION, "0.2.9", "version", "CITATION.cff: 0.2.9, and"),
        ("pyproject.toml", f'"{VERSION}"', f'"{VERSION}.dev0"', "version", "dev0 is no release"),
        ("pyproject.toml", f'"{VERSION}"', f'"{VERSION}.dev0"', "wheel", "commit in its name"),
        ("CHANGELOG.md", f"[{VERSION}]", "[0.2.9]", "version", "no heading"),
        ("CHANGELOG.md", " - 2026-12-01", "", "changelog", "has no date"),
        ("CHANGELOG.md", "\n- All.", "", "changelog", "says nothing"),
        ("CHANGELOG.md", "[Unreleased]\n", "[Unreleased]\n\n- More.\n", "changelog", "not empty"),
        ("CITATION.cff", "cite it", "quote it", "tree", "1 files differ from the commit"),
        ("dist/sbom.cdx.json", VERSION, "0.2.9", "parts", "is of 0.2.9"),
        ("dist/sbom.cdx.json", VERSION, "0.2.9", "checksums", "is not what its checksum says"),
        ("dist/SHA256SUMS", "sbom", "bill", "checksums", "dist/bill.cdx.json is missing"),
    ):
        kept = (tree / name).read_text()
        assert before in kept, name
        (tree / name).write_text(kept.replace(before, after))
        assert release_check.main([check], tree) == 1, (name, check)
        assert said in capsys.readouterr().out
        (tree / name).write_text(kept)
    assert release_check.main(["signature"], tree) == 1  # nothing is signed yet
    assert "is not signed" in capsys.readouterr().out
    assert release_check.main(["wheels"], tree) == 2


def test_an_image_is_of_this_version_and_commit(tree, tmp_path, capsys):
    def fails(said: str) -> None:
        assert release_check.main(["image"], tree) == 1
        assert said in capsys.readouterr().out

    fails("run 'make image'")
    commit = run_to_end(["git", "-C", tree, "rev-parse", "HEAD"], check=True).stdout.strip()
    with tarfile.open(tmp_path / "root.tar", "w") as archive:
        archive.addfile(tarfile.TarInfo("etc"))
    image = tree / "dist/tennis.oci.tar"
    for version, revision, said in (
        (VERSION, "0" * 40, f"it is of revision {'0' * 40}, and not of {commit}"),
        ("0.2.9", commit, f"it is of version 0.2.9, and not of {VERSION}"),
        (VERSION, commit, ""),
    ):
        release_check.oci.write(
            tmp_path / "root.tar", image, release_check.oci.Origin("amd64", version, revision, 0)
        )
        if said:
            fails(said)
    assert release_check.main(["image"], tree) == 0, capsys.readouterr().out
    old = release_check.oci.Origin("arm64", VERSION, "0" * 40, 0)  # left from an earlier commit
    release_check.oci.write(tmp_path / "root.tar", tree / "dist/tennis-arm64.oci.tar", old)
    fails(f"dist/tennis-arm64.oci.tar: it is of revision {'0' * 40}")
    image.write_bytes(image.read_bytes()[:2000])
    fails("dist/tennis.oci.tar")


def test_this_tree_says_one_released_version_of_itself():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    meta = json.loads((ROOT / "codemeta.json").read_text())
    assert meta["version"] == cited["version"]
    assert cited["version"] in release_check.sections(ROOT)
    assert meta["keywords"] == cited["keywords"]
    assert {url.rsplit("/", 1)[1] for url in meta["license"]} == set(cited["license"])


def test_the_page_names_each_page_of_an_older_edition():
    text = (ROOT / "docs/releasing.md").read_text().partition("## Figures of older editions")[2]
    register = tomllib.loads((ROOT / "docs/figures.toml").read_text())["evidence"]
    older = [page for page, about in register.items() if about["edition"] < EDITION]
    assert older
    assert sorted(f"docs/{page}" for page in re.findall(r"\]\((\S+?\.md)\)", text)) == sorted(older)


def test_issue_forms_have_what_a_forge_needs():
    forms = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    forms = [path for path in forms if path.stem != "config"]
    assert len(forms) == 3
    for path in forms:
        form = yaml.safe_load(path.read_text())
        assert {"name", "description", "body"} <= set(form)
        ids = [part["id"] for part in form["body"]]
        assert len(set(ids)) == len(ids)
        for part in form["body"]:
            assert part["type"] in {"input", "textarea", "dropdown"}
            assert part["attributes"]["label"]
            assert ("options" in part["attributes"]) == (part["type"] == "dropdown")


def test_the_paper_cites_what_it_lists_and_says_how_it_was_used():
    paper = (ROOT / "paper/paper.md").read_text()
    listed = set(re.findall(r"^@\w+\{(\w+),", (ROOT / "paper/paper.bib").read_text(), re.MULTILINE))
    assert set(re.findall(r"@([a-z]+\d*)\b", paper)) == listed
    front = yaml.safe_load(paper.split("---\n")[1])
    assert {"title", "tags", "authors", "affiliations", "date", "bibliography"} <= set(front)
    assert "used in no class yet" in paper
