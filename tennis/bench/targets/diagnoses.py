# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What it means that ssh failed, or a command on a target, and what to do about it."""

import re

# what ssh says -> what that means, and what to do; the first that fits
OF_SSH = [
    ("Could not resolve hostname", "no such host: check the name, the inventory, ~/.ssh/config"),
    (
        "REMOTE HOST IDENTIFICATION HAS CHANGED",
        "its host key has changed: if you set it up again, run `ssh-keygen -R HOST`, `ssh HOST`",
    ),
    (
        "Host key verification failed|host key is known",
        "its host key is unknown here: run `ssh HOST` once and compare the fingerprint",
    ),
    (
        "Permission denied",
        "it does not accept your key: give it with `ssh-copy-id HOST`, and load it into the agent",
    ),
    ("Too many authentication failures", "too many keys are offered: name one in ~/.ssh/config"),
    ("Connection refused", "nobody answers on its SSH port: is it still booting, is sshd enabled?"),
    (
        "timed out|No route to host|Network is unreachable|Host is down",
        "unreachable: is it switched on, and in this network?",
    ),
    (
        "closed by|reset by|Broken pipe|not responding|disconnect|mux_client",
        "the connection was lost: is it switched on, does its network hold?",
    ),
]
# what a target's shell and its programs say -> what that means
OF_TARGET = [
    (
        r"sudo: a (?:password|terminal) is required|sudo: a password",
        "sudo asks for a password there: allow it without one (the bench role of ansible/ does)",
    ),
    (
        r"sudo: .*not found|is not in the sudoers|may not run sudo",
        "there is no sudo for this user there: log in as root, or install and allow it",
    ),
    ("No space left on device|Disk quota exceeded", "its disk is full: free some space there"),
    ("Read-only file system", "its disk is read-only: look at its SD card (dmesg)"),
]


def of_ssh(host: str, errors: str) -> str | None:
    """Return what it means that ssh said this of a host; None where nobody knows."""
    for pattern, meaning in OF_SSH:
        if re.search(pattern, errors, re.IGNORECASE):
            return meaning.replace("HOST", host)
    return None


def of_target(errors: str) -> str | None:
    """Return what it means that a command on a target said this; None where nobody knows."""
    for pattern, meaning in OF_TARGET:
        if re.search(pattern, errors):
            return meaning
    return None
