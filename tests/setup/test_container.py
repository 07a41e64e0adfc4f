# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The container is made by the setup, and the book and the editor start it alike."""

import json
import re

from tennis.checkout import ROOT

FOLDER = ROOT / ".devcontainer"
EDITOR = json.loads((FOLDER / "devcontainer.json").read_text())
CONTAINERFILE = (FOLDER / EDITOR["build"]["dockerfile"]).read_text()


def test_the_book_and_the_editor_start_it_alike():
    text = (ROOT / "docs/install.md").read_text()
    command = " ".join(re.search(r"\$ (docker run .*? tennis)\n", text, re.DOTALL)[1].split("\\\n"))
    assert re.findall(r"--cap-add (\S+)", command) == EDITOR["capAdd"]
    assert re.findall(r"--security-opt (\S+)", command) == EDITOR["securityOpt"]
    assert [int(port) for port in re.findall(r":(\d+) ", command)] == EDITOR["forwardPorts"]
    built = re.search(r"\$ docker build .* -f (\S+) \.\n", text)[1]
    assert ROOT / built == FOLDER / EDITOR["build"]["dockerfile"]


def test_it_installs_by_the_setup_alone_and_copies_the_whole_tree():
    installed = re.findall(r"apt-get install -y --no-install-recommends (.*?) &&", CONTAINERFILE)
    assert installed == ["ca-certificates git make"]  # what nobody can set up without
    assert "scripts/setup.sh --lab" in CONTAINERFILE
    assert "COPY . /opt/tennis" in CONTAINERFILE
    # not the .venv of this system: it names places that are not in there
    assert ".venv" in (ROOT / ".dockerignore").read_text().splitlines()
