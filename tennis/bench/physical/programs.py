"""A user's own program on a board: its files, and how it runs.

It is in the Racquet's place or behind it, or wakes by itself.

It is compiled here, and copied. ``target/agent-program`` starts it as nobody's user, in a folder
of the rally, and removes both in the end.
"""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench.kernels import own_program, program_packages, program_record
from tennis.bench.kernels.own_program import HOME, OwnProgram
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.checkout import ROOT
from tennis.kit.digests import sha256_of
from tennis.kit.errors import BenchError
from tennis.rally import program
from tennis.rally.manifest import NO_MODULE
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.program import RACQUET, TOML
from tennis.rally.text import plain

SCRIPT = ROOT / "target" / "agent-program"
USER = 64917  # as SCRIPT has it
FOLDER = "program"  # of its files, in the rally's folder on the board
FILE_MAX_BYTES = 64 << 20  # of a file that it writes, and so of its words, too
ENVIRONMENT = {"HOME": "/run/program", "LANG": "C.UTF-8"}
VERSION = re.compile(r"^installed (\S{1,100}) (\S{1,100})", re.MULTILINE)


@dataclass(frozen=True)
class BoardProgram:
    """A user's own program, compiled for a board."""

    own: OwnProgram

    @classmethod
    def of(cls, plan: Plan) -> "BoardProgram | None":
        """Return the program of a plan, compiled; None: a Racquet answers.

        Raises UsageError, NotBuiltError and BenchError.
        """
        if plan.program is None:
            return None
        brought = program.read(Path(plan.program))
        return cls(
            own_program.built(brought, program_packages.root_of(brought.about.build_packages))
        )

    def versions(self, target: SshTarget) -> dict[str, str]:
        """Return what must stay the same of a program, its packages on the board among it.

        Raises BenchError if the board lacks one of these.
        """
        names = self.own.brought.about.packages
        found: dict[str, str] = {}
        if names:
            shown = "${db:Status-Status} ${Package} ${Version}\\n"
            words = " ".join(map(shlex.quote, names))
            done = target.attempt(f"dpkg-query -W -f '{shown}' {words}")
            found = dict(VERSION.findall(done.output))
            missing = [name for name in names if name not in found]
            if missing:
                raise BenchError(
                    f"{target.host} lacks what the program {self.own.brought.name} needs",
                    next_step=f"there, as root, run `apt-get install {' '.join(missing)}`",
                )
        alone = {"target_module": NO_MODULE, "target_module_sha256": UNKNOWN}
        return {
            **program_record.versions(self.own, {name: plain(found[name], 100) for name in names}),
            **({} if self.behind_racquet else alone),
            "program_start_sha256": sha256_of(SCRIPT),
        }

    @property
    def behind_racquet(self) -> bool:
        """Tell whether a program answers behind the Racquet's hard handler."""
        return self.own.brought.about.way == RACQUET

    def files(self, folder: str) -> dict[str, bytes | Path]:
        """Return a program's files for the board; ``folder``: that of the rally there."""
        here = {
            place.removeprefix(f"{HOME}/"): content
            for place, content in (self.own.files or {f"{HOME}/{TOML}": b""}).items()
        }
        return {
            "agent-program": SCRIPT,
            "program-command": _command(self.own, f"{folder}/{FOLDER}"),
            **{f"{FOLDER}/{place}": content for place, content in here.items()},
        }

    def settings(self, priorities: str, *, loops: bool) -> tuple[dict[str, str | int], str]:
        """Return the settings of target/agent for a program, and the rest of ``priorities``.

        ``loops``: it wakes by itself, and hears no ping.
        """
        others, priority, irq = program_record.priorities_of(self.own, priorities)
        limits = self.own.brought.about.limits
        return {
            "program": "yes",
            "program_priority": priority,
            "program_irq": irq,
            "program_start_s": limits.start_s,
            "program_loop": "yes" if loops else "",
            "program_way": RACQUET if self.behind_racquet else "",
        }, others


def _command(own: OwnProgram, folder: str) -> bytes:
    """Return the script that starts a program as nobody's user, with its limits.

    Each command of util-linux becomes the next one, so that the last one is the program.
    """
    about = own.brought.about
    limits = about.limits
    variables: Mapping[str, str] = {
        **ENVIRONMENT,
        "PATH": f"/usr/bin:/bin:{folder}",
        **about.environment,
    }
    words = [
        *("prlimit", f"--rtprio={limits.priority}", "--nice=20", "--core=0"),
        *(f"--memlock={limits.locked_mb << 20}", f"--nproc={limits.processes}"),
        f"--fsize={FILE_MAX_BYTES}",
    ]
    user = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--no-new-privs"]
    environment = ["env", "-i", *(f"{name}={value}" for name, value in variables.items())]
    return (
        "#!/bin/sh\n"
        "# short of memory, the kernel ends this one first, and not the load\n"
        "echo 1000 > /proc/self/oom_score_adj\n"
        f"cd {shlex.quote(folder)} || exit\n"
        '[ "$1" = 0 ] && priority= || priority="chrt -f $1"\n'
        f"exec setsid {shlex.join(words)} $priority {shlex.join([*user, *environment])} "
        f"{shlex.join(about.words)}\n"
    ).encode()
