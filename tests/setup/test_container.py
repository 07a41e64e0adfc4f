"""The book and the editor start the container alike, and nobody is root in it."""

import json
import re

from tennis.kit.checkout import ROOT

FOLDER = ROOT / ".devcontainer"
EDITOR = json.loads((FOLDER / "devcontainer.json").read_text())
HERE = "${localWorkspaceFolder}"  # as the editor calls the tree
CONTAINERFILE = (FOLDER / EDITOR["build"]["dockerfile"]).read_text()


def test_the_book_and_the_editor_start_it_alike():
    text = (ROOT / "docs/install.md").read_text()
    command = " ".join(re.search(r"\$ (docker run .*? tennis)\n", text, re.DOTALL)[1].split("\\\n"))
    options = re.findall(r"--security-opt (\S+)", command.replace("/path/to/tennis", HERE))
    assert options == EDITOR["securityOpt"]
    assert " ".join(EDITOR["runArgs"]) == "--cap-drop ALL" in command
    assert [int(port) for port in re.findall(r":(\d+) ", command)] == EDITOR["forwardPorts"]
    built = re.search(r"\$ docker build .* -f (\S+) \.\n", text)[1]
    assert ROOT / built == FOLDER / EDITOR["build"]["dockerfile"]


def test_nobody_there_is_root_and_no_capability_is_asked_for():
    """Each of them was there once, for the box: an ordinary user needs none."""
    *_, user = re.findall(r"(?m)^USER (\S+)$", CONTAINERFILE)
    assert user == "tennis"
    text = (ROOT / "docs/install.md").read_text()
    page = text[text.index("## Anywhere else: a container") : text.index("**Tried so far**")]
    assert not re.search(r"\$ docker run[^`]*(--cap-add|--privileged|=unconfined tennis -)", page)
    assert "capAdd" not in EDITOR
    filtered = json.loads((FOLDER / "seccomp.json").read_text())
    (refused,) = filtered["syscalls"]
    assert refused["action"] == "SCMP_ACT_ERRNO"
    # with these bubblewrap makes a box
    needed = {"clone", "clone3", "unshare", "mount", "umount2", "pivot_root", "setns", "seccomp"}
    assert needed.isdisjoint(refused["names"])
    assert {"bpf", "io_uring_setup", "init_module", "process_vm_readv"} <= set(refused["names"])
