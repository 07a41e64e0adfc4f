"""A rally that is being played on a managed board."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tennis.bench.physical.wired import WiredSession
from tennis.bench.targets.agent_session import AgentSession
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.log import log
from tennis.rally.journal import Frame
from tennis.rally.manifest import Drill

DRILL_OVER_S = 5.0  # then every pulse of a drill that ended has come


@dataclass(frozen=True)
class SetUpSteps:
    """The set-up of a board: steps before the target's side begins, and a check at the end."""

    steps: Callable[[], None]
    confirm: Callable[[], None]


class PiSession:
    """A rally that is being played on a managed board: it is set up when the frames begin."""

    garbage_bytes = 0

    def __init__(
        self,
        wired: WiredSession,
        agent: AgentSession,
        target: SshTarget,
        setting: SetUpSteps,
        drill: Drill | None = None,
    ) -> None:
        self._wired = wired
        self._agent = agent
        self._target = target
        self._setting = setting
        self._drill = drill
        self._plays = False
        self._stopped = False

    @property
    def doing(self) -> str:
        """Describe the activity while no ball comes."""
        if self._stopped and not self._plays:
            return f"undoing everything on {self._target.host}"
        return self._wired.doing if self._plays else self._agent.doing

    def frames(self) -> Iterator[Frame | None]:
        """Yield the instrument's frames; end the instrument if the target is in trouble.

        Raises BenchError if the target does not get ready.
        """
        yield None
        if not self._stopped:
            for _ in self._agent.set_up(self._setting.steps):
                yield None
                if self._stopped:
                    break
            else:
                self._setting.confirm()
                yield from self._see_where_pings_come()
        if self._stopped:
            return
        self._plays = True
        stopped = False
        waits = self._drill is not None
        over_s: float | None = None  # since when the drill is
        for frame in self._wired.frames():
            if waits and frame is not None:  # the Brickwall listens
                waits = False
                self._agent.go()
            if over_s is None and self._agent.has_fact("drill_done"):
                over_s = time.monotonic()
            if over_s is not None and time.monotonic() - over_s > DRILL_OVER_S:
                self._agent.complain(
                    "repetitions_lost",
                    "the drill is over, and the instrument saw fewer repetitions: check the reply "
                    "wire, or use a longer period",
                )
            yield frame
            if self._agent.trouble and not stopped:
                stopped = True
                self._wired.stop()

    def _see_where_pings_come(self) -> Iterator[None]:
        """Send some pings before the first ball if the target must count their processors.

        Raises BenchError if they come to a wrong one, or not at all.
        """
        if not self._agent.has_fact("to_be_counted") or self._stopped:
            return
        self._agent.doing = "checking on which CPU the pings arrive"
        self._wired.ping()
        for _ in self._agent.count():
            yield
            if self._stopped:
                return

    def stop(self) -> None:
        """Ask the Brickwall to end; before it was asked to begin, nothing is played."""
        self._stopped = True
        if self._plays:
            self._wired.stop()

    def close(self) -> None:
        """Give the port up; undo everything that was done to the target."""
        try:
            self._agent.close()
            if not self._plays:  # else it is a fault of the rally
                for change in self._agent.left:
                    log.info(f"{self._target.host}: not undone: {change}")
        finally:
            self._wired.close()
            self._target.close()
