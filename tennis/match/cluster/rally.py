"""A process on a worker's machine that plays one rally, or plays one again and compares.

    python -m tennis.match.cluster.rally play OUT < SCHEDULED.json
    python -m tennis.match.cluster.rally check RALLY

It writes one line of JSON. SIGTERM ends it, and so does the end of the process that started it.
"""

import json
import os
import signal
import sys
import threading
import time
from pathlib import Path

from tennis.bench.registry import bench_for
from tennis.kit.errors import DiskFullError, RallyError, TennisError
from tennis.match.plan import ScheduledRally
from tennis.match.player import Player, RallyOutcome
from tennis.play.check import check_rally
from tennis.play.rally import Watch, unobserved

POLL_S = 0.5
_stop_requested = threading.Event()


def main(words: list[str]) -> int:
    """Play or check a rally; the exit code is 0 if the result could be printed."""
    signal.signal(signal.SIGTERM, lambda *_: _stop_requested.set())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_watch, args=(os.getppid(),), daemon=True).start()
    what, path = words
    said = _play(Path(path)) if what == "play" else _check(Path(path))
    print(json.dumps(said))
    return 0


def _watch(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_S)
    _stop_requested.set()


def _play(out: Path) -> dict[str, str]:
    planned = ScheduledRally.model_validate_json(sys.stdin.read())
    try:
        seen = Player(bench_for(planned.plan), out, _stop_requested.is_set).play(
            planned, unobserved()
        )
    except DiskFullError as error:
        seen = RallyOutcome(f"FAILED: {error}", "failed", f"the disk is full: {error}")
    # a machine with another Tennis, which is refused, reads and writes these names, too
    return {"said": seen.words, "state": seen.state, "trouble": seen.trouble}


def _check(path: Path) -> dict[str, str]:
    try:
        check_rally(path, watch=Watch(stop=_stop_requested.is_set))
    except RallyError as error:
        return {"verdict": "differs", "why": str(error)}
    except TennisError as error:
        return {"verdict": "open", "why": str(error)}
    return {"verdict": "same", "why": ""}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
