"""Boot a target into one of its kernels, and check which one came up.

``tennis-boot`` on the target (ansible/roles/kernel) selects the kernel for one boot. It becomes the
default only after this program has seen it run. If anything fails in between, the next reset boots
the default again.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tennis.bench.fleet.state import output_of
from tennis.bench.targets.ssh import SshError, SshTarget, StoppedError, as_root
from tennis.kit.errors import BenchError
from tennis.kit.log import log
from tennis.rally.text import plain

PROGRAM = "/usr/local/sbin/tennis-boot"
WAIT_S = 300.0
ANSWER_MAX = 1 << 16  # bytes

Words = Annotated[str, Field(max_length=1000)]


class _InstalledKernel(BaseModel):
    """A kernel that is installed; ``missing`` says which of its files is not there any more."""

    model_config = ConfigDict(extra="ignore")

    release: Words
    missing: Words | None = None


class _Running(BaseModel):
    """The kernel that runs; its flavour is None if provisioning did not install it."""

    model_config = ConfigDict(extra="ignore")

    release: Words
    flavour: Words | None = None


class _Kernels(BaseModel):
    """The answer of ``tennis-boot list``."""

    model_config = ConfigDict(extra="ignore")

    loader: Words
    fallback: Words
    default: Words | None = None
    running: _Running
    boot_id: Words
    flavours: dict[Words, _InstalledKernel]


@dataclass(frozen=True)
class _Booted:
    """The kernel that runs now, and whether it needed a reboot."""

    release: str
    rebooted: bool


def kernels_of(target: SshTarget) -> _Kernels:
    """Ask a target which kernels it has. Raises SshError, BenchError."""
    answer = _ask(target, "list")
    try:
        return _Kernels.model_validate(json.loads(answer))
    except (ValueError, ValidationError, RecursionError) as error:
        raise BenchError(
            f"{target.host} gave no sensible answer about its kernels: provision it again"
        ) from error


def boot(  # noqa: PLR0913
    target: SshTarget,
    flavour: str,
    holder: str,
    *,
    wait_s: float = WAIT_S,
    keep: bool = True,
    again: bool = False,
    stop: Callable[[], bool] = lambda: False,
) -> _Booted:
    """Boot a target into a flavour, wait for it, and check that it is the kernel that runs.

    ``holder``: in whose name. The target refuses while somebody else holds it, or a rally plays.
    ``keep``: make it the default once it has come up. ``again``: reboot even if it runs already.
    ``stop``: is asked often whether to stop waiting. Raises BenchError, naming the kernel that runs
    instead, if the kernel did not come up, if nothing came up, or if ``stop`` ended the waiting.
    """
    before = kernels_of(target)
    wanted = _release_of(target, before, flavour)
    if before.running.release == wanted and not again:
        if keep and before.default != flavour:
            _ask(target, f"keep {flavour} {holder}")
        return _Booted(wanted, rebooted=False)
    _ask(target, f"once {flavour} {holder}")
    log.info(f"{target.host}: rebooting from {before.running.release} into {wanted}")
    _ask(target, f"reboot {holder}")
    default = plain(before.default or before.fallback, 32)
    try:
        target.wait_until_up(wait_s, after_boot=before.boot_id, stop=stop)
    except (KeyboardInterrupt, StoppedError):
        raise BenchError(
            f"stopped waiting for {target.host}: it tries {flavour} once, its default is still "
            f"{default}",
            next_step=f"see what runs with `tennis benches boot {target.host}`",
        ) from None
    except SshError as error:
        raise BenchError(
            f"{target.host} did not come back within {wait_s:g} s of booting {flavour} ({wanted}): "
            f"pull its plug and put it back, then it boots {default} "
            f"({error})"
        ) from error
    runs = target.run("uname -r", what="asking which kernel runs").strip()
    if runs != wanted:
        raise BenchError(
            f"{target.host}: {flavour} ({wanted}) did not come up, it is back on "
            f"{plain(runs, 100)}",
            next_step=(
                "see its console, or `journalctl -k -b -1` on it, for why; "
                "provision it again if files are missing"
            ),
        )
    if keep:
        _ask(target, f"keep {flavour} {holder}")
    return _Booted(wanted, rebooted=True)


def _release_of(target: SshTarget, kernels: _Kernels, flavour: str) -> str:
    entry = kernels.flavours.get(flavour)
    if entry is None:
        names = ", ".join(plain(name, 32) for name in kernels.flavours)
        raise BenchError(
            f"{target.host} has no kernel {flavour!a}: it has {names}; others are installed by "
            "provisioning (kernel_flavours, see docs/provisioning.md)"
        )
    return entry.release


def _ask(target: SshTarget, request: str) -> str:
    line = as_root([PROGRAM, *request.split()])
    done = target.attempt(line, what=f"tennis-boot {request}", limit=ANSWER_MAX)
    return output_of(done, target.host, "tennis-boot")
