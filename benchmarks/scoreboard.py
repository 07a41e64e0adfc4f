# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a scoreboard costs: 30 benches that play 1,000 balls a second each, and a real browser.

The balls are made up, their journals are real. Then one rally of ten million balls: how long it
takes to read, and to draw whole and one by one. Exits with 1 where the page is behind the journals
by more than ten seconds of play, or where the server takes more than half a core.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

BENCHES, RATE = 30, 1000
BEHIND_MAX_S, CORES_MAX = 10, 0.5


def memory_mb(pid: int) -> float:
    """Return the resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1000


def wall(folder: Path, seconds: float) -> bool:
    """Play on 30 made-up benches before a browser; print what it cost. Tell whether it is well."""
    from playwright.sync_api import sync_playwright

    from tests.support.made_up_journals import MadeUpRally, some_balls
    from tests.support.patience import processor_s
    from tests.support.terminal import TENNIS

    rallies = [MadeUpRally(folder / f"bench-{n:02}" / "r", 10**6) for n in range(BENCHES)]
    command = [TENNIS, "scoreboard", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split()[4]
    played = 0
    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1920, "height": 1080})
        page.goto(address)
        page.get_by_text(f"{BENCHES} rallies being played").wait_for()
        began, used, all_used = time.monotonic(), processor_s(server.pid), processor_s(os.getpid())
        own = time.process_time()
        while (now := time.monotonic() - began) < seconds:
            due = int(now * RATE) - played
            if due > 0:
                for number, rally in enumerate(rallies):
                    rally.play(some_balls(due, number, played))
                played += due
            page.wait_for_timeout(200)
        said = page.get_by_text("rallies being played").inner_text()
        took = time.monotonic() - began
        seen = int(re.search(r"([\d,]+) balls", said)[1].replace(",", ""))  # type: ignore[index]
        behind_s = (played * BENCHES - seen) / (RATE * BENCHES)
        cores = (processor_s(server.pid) - used) / took
        others = processor_s(os.getpid()) - all_used - (time.process_time() - own)
        browsers = others / took - cores  # all of Chromium's processes, and playwright's driver
        heap = page.evaluate("performance.memory.usedJSHeapSize") / 1e6
        print(
            f"{BENCHES} benches, {played:,} balls each in {took:.0f} s, one browser of 1920 x 1080"
        )
        print(f"  server: {cores:.3f} of a core, {memory_mb(server.pid):.0f} MB")
        print(f"  browser: {browsers:.2f} of a core")
        print(f"  page: {heap:.0f} MB of JavaScript's heap, {behind_s:.1f} s behind the journals")
        browser.close()
    server.terminate()
    server.wait()
    return behind_s < BEHIND_MAX_S and cores < CORES_MAX


def explorer(folder: Path, balls: int) -> None:
    """Read and draw a rally of so many balls; print how long it took."""
    from tennis.scoreboard.points import Points
    from tests.support.synthetic import make_rally

    path = make_rally(folder / "many", balls=balls, kernel="mainline", load="stress").path
    began = time.monotonic()
    points = Points(path)
    read_s = time.monotonic() - began
    whole = points.whole("interrupt")
    points.draw(whole, "interrupt", (1200, 520))  # the first one compiles
    times = []
    for window in (whole, points.around(balls // 2, "interrupt", 500)):
        began = time.monotonic()
        drawn = points.draw(window, "interrupt", (1200, 520))
        times.append((drawn.balls, (time.monotonic() - began) * 1000))
    print(f"{balls:,} balls: read and checked in {read_s:.1f} s")
    for inside, took_ms in times:
        print(f"  a picture of {inside:,} balls: {took_ms:.0f} ms")


def main() -> int:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--balls", type=int, default=10_000_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        well = wall(Path(folder), asked.seconds)
    with tempfile.TemporaryDirectory() as folder:
        explorer(Path(folder), asked.balls)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
