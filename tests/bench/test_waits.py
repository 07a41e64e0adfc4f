# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whatever waits for another program, a socket or a lock says how long at most."""

import ast
import itertools

from tennis.checkout import ROOT

# file -> what waits there without a limit of its own, and why it ends all the same
ENDS = {
    "bench/box.py": {"wait": "it was just killed"},
    "bench/instruments/emulated_clock.py": {"recv": "the socket was made with a timeout"},
    "bench/instruments/acquisition.py": {"wait": "it was killed in the loop before"},
    "bench/programs.py": {"environment.completed": "dpkg-query reads its own files, and ends"},
    "bench/targets/agent_session.py": {
        "wait": "in a thread: close kills the process",
        "join": "what the thread copies is aborted",
    },
    "bench/targets/ssh.py": {"recv": "select said that something is there"},
    "cli/streams.py": {"select": "the reader of a pipe may take its time"},
    "cli/lab.py": {"subprocess.run": "JupyterLab, which its user ends"},
    "course/checking/plays.py": {"flock": "another marker plays it, with limits; then it is there"},
    "course/checking/module_trial.py": {"recv": "the socket has a timeout"},
    "course/notebooks.py": {"environment.completed": "it plays a rally, which has limits"},
    "course/authoring/release.py": {"environment.completed": "Sphinx builds a book from files"},
    "environment.py": {"subprocess.run": "each call of completed is looked at"},
    "play/benches.py": {"wait": "timeout(1) runs it"},
    "play/fleet.py": {"join": "each bench's thread ends with its rally, which has limits"},
}

PROGRAMS = {"run", "call", "check_call", "check_output"}
WAITS = PROGRAMS | {"wait", "join", "communicate", "select", "recv", "accept"}
WAITS |= {"create_connection", "flock", "lockf", "completed"}
RUNS = {*(("subprocess", name) for name in PROGRAMS), ("environment", "completed")}


def unlimited(tree):
    """Yield what a module waits for without a limit; a process that was just killed ends."""
    killed = set()
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            body = getattr(node, name, None)
            for before, after in itertools.pairwise(body if isinstance(body, list) else []):
                if isinstance(before, ast.Expr) and isinstance(after, ast.Expr):
                    words = ast.unparse(before)
                    if words.endswith(".kill()") or "SIGKILL" in words:
                        killed.add(id(after.value))
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        name = node.func.attr
        if name not in WAITS or id(node) in killed:
            continue
        owner = ast.unparse(node.func.value)
        if "timeout" in {keyword.arg for keyword in node.keywords}:
            continue
        if (
            (name in {"wait", "join", "communicate"} and not node.args)
            or (name == "select" and owner == "select" and len(node.args) < 4)
            or name in {"recv", "accept"}
            or (name == "create_connection" and len(node.args) < 2)
            or (name in {"flock", "lockf"} and "LOCK_NB" not in ast.unparse(node))
        ):
            yield name
        elif (owner, name) in RUNS:
            yield f"{owner}.{name}"


def test_every_wait_has_a_limit_or_a_reason():
    found = {}
    for path in sorted((ROOT / "tennis").rglob("*.py")):
        if names := set(unlimited(ast.parse(path.read_text()))):
            found[str(path.relative_to(ROOT / "tennis"))] = names
    assert found == {file: set(reasons) for file, reasons in ENDS.items()}


def test_the_test_finds_them():
    text = "p.wait()\nsubprocess.run(x)\np.kill()\np.wait()\nt.join()\n','.join(x)\np.wait(3)\n"
    assert list(unlimited(ast.parse(text))) == ["wait", "subprocess.run", "join"]
