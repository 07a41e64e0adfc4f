# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Boot a target into one of its kernels, and be sure which one it came up with.

The choice is made on the target by ``tennis-boot`` (ansible/roles/kernel): the kernel is taken
once, and only made the default after this program has seen it run. Whatever goes wrong in between,
the next reset brings the default back.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, ValidationError

from tennis.bench.targets.ssh import SshError, SshTarget
from tennis.errors import BenchError
from tennis.rally.text import plain

PROGRAM = "/usr/local/sbin/tennis-boot"
WAIT_S = 300.0


class Flavour(BaseModel):
    """A kernel that is installed; ``missing`` says which of its files is not there any more."""

    model_config = ConfigDict(extra="ignore")

    release: str
    missing: str | None = None


class Running(BaseModel):
    """The kernel that runs; its flavour is None where provisioning did not install it."""

    model_config = ConfigDict(extra="ignore")

    release: str
    flavour: str | None = None


class Kernels(BaseModel):
    """What ``tennis-boot list`` says."""

    model_config = ConfigDict(extra="ignore")

    loader: str
    fallback: str
    default: str | None = None
    running: Running
    boot_id: str
    flavours: dict[str, Flavour]


@dataclass(frozen=True)
class Booted:
    """The kernel that runs now, and whether the target had to be rebooted for it."""

    release: str
    rebooted: bool


def kernels_of(target: SshTarget) -> Kernels:
    """Ask a target which kernels it has. Raises SshError, BenchError."""
    said = _ask(target, "list")
    try:
        return Kernels.model_validate(json.loads(said))
    except (ValueError, ValidationError) as error:
        raise BenchError(
            f"{target.host} gave no sensible answer about its kernels: provision it again"
        ) from error


def boot(  # noqa: PLR0913
    target: SshTarget,
    flavour: str,
    say: Callable[[str], None],
    *,
    wait_s: float = WAIT_S,
    keep: bool = True,
    again: bool = False,
) -> Booted:
    """Boot a target into a flavour, wait for it, and check that it is the kernel that runs.

    ``keep``: make it the default once it has come up. ``again``: reboot even if it runs already.
    Raises BenchError with what runs instead where it did not come up, and SshError where nothing
    did.
    """
    before = kernels_of(target)
    wanted = _wanted(target, before, flavour)
    if before.running.release == wanted and not again:
        if keep and before.default != flavour:
            _ask(target, f"keep {flavour}")
        return Booted(wanted, rebooted=False)
    _ask(target, f"once {flavour}")
    say(f"{target.host}: rebooting from {before.running.release} into {wanted}")
    _ask(target, "reboot")
    try:
        target.wait_until_up(wait_s, after_boot=before.boot_id)
    except SshError as error:
        raise BenchError(
            f"{target.host} did not come back within {wait_s:g} s of booting {flavour} ({wanted}): "
            f"pull its plug and put it back, then it boots {before.default or before.fallback} "
            f"({error})"
        ) from error
    runs = target.run("uname -r", what="asking which kernel runs").strip()
    if runs != wanted:
        raise BenchError(
            f"{target.host}: {flavour} ({wanted}) did not come up, it is back on "
            f"{plain(runs, 100)}: see its console, or `journalctl -k -b -1` on it, for why; "
            "provision it again if files are missing"
        )
    if keep:
        _ask(target, f"keep {flavour}")
    return Booted(wanted, rebooted=True)


def _wanted(target: SshTarget, kernels: Kernels, flavour: str) -> str:
    entry = kernels.flavours.get(flavour)
    if entry is None:
        names = ", ".join(plain(name, 32) for name in kernels.flavours)
        raise BenchError(
            f"{target.host} has no kernel {flavour!a}: it has {names}; others are installed by "
            "provisioning (kernel_flavours, see docs/provisioning.md)"
        )
    return entry.release


def _ask(target: SshTarget, words: str) -> str:
    done = target.attempt(f"{PROGRAM} {words}", what=f"tennis-boot {words}", root=True)
    if done.code == 127 or re.search("not found|No such file", done.errors):
        raise BenchError(f"{target.host} is not provisioned: see docs/provisioning.md")
    if done.code:
        lines = done.errors.strip().splitlines()
        why = plain(lines[-1].removeprefix("tennis-boot: "), 300) if lines else "no reason given"
        raise BenchError(f"{target.host}: {why}")
    return done.output
