# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Exact quantiles of a store of many balls: tennis store, plain DuckDB, pandas; time and memory.

The balls are made up; each rally of a million is there as often as it takes (one file, many names).
Every way runs in a process of its own, twice as many balls each time. Exits with 1 where the
answers differ, or where tennis store takes more than 2 GB.
"""

import argparse
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

EACH = 1_000_000
KINDS = 4
LIMIT_MB = 2000
LEVELS = (0.5, 0.99, 0.999, 0.9999)
PANDAS_MAX = 60_000_000  # balls: more would take more memory than a laptop has


def make(folder: Path, count: int) -> Path:
    """Return a store of so many rallies."""
    from tennis.rally.folder import MANIFEST
    from tennis.rally.manifest import seal_of
    from tennis.store.layout import ID_DIGITS
    from tennis.store.opening import create
    from tennis.store.store import About
    from tests.support.synthetic import make_rally

    store = create(folder / f"store-{count}")
    for seed in range(KINDS):
        played = folder / f"played-{seed}"
        if not played.is_dir():
            make_rally(played, balls=EACH, seed=seed)
        for _ in store.add(played, About()):
            pass
    originals = store.ids()
    for number in range(count - KINDS):
        original = store.place(originals[number % KINDS])
        content = json.loads((original / MANIFEST).read_bytes())
        content["protocol"]["seed"] = KINDS + number  # another rally, of the same balls
        manifest = json.dumps(content | {"seal": seal_of(content)}).encode()
        copy = store.place(hashlib.sha256(manifest).hexdigest()[:ID_DIGITS])
        copy.mkdir()
        (copy / MANIFEST).write_bytes(manifest)
        for file in original.iterdir():
            if file.name != MANIFEST:
                os.link(file, copy / file.name)
    return store.path


def with_tennis(path: Path) -> list[float]:
    """Return the quantiles that `tennis store stats` gives."""
    from tennis.store.opening import open_store
    from tennis.store.question import quantiles

    store = open_store(path)
    (group,) = quantiles(store, store.catalogue(), [])
    return [group.interrupt_ns[level] for level in LEVELS]


def with_duckdb(path: Path) -> list[float]:
    """Return the quantiles that DuckDB's own function gives, of the same files."""
    import duckdb

    files = str(path / "rallies" / "*" / "balls.parquet")
    asked = ", ".join(f"quantile_disc(rise_ticks, {level})" for level in LEVELS)
    row = duckdb.sql(f"SELECT {asked} FROM read_parquet('{files}')").fetchall()[0]  # noqa: S608
    return [float(value) for value in row]


def with_pandas(path: Path) -> list[float]:
    """Return the quantiles of one column in memory."""
    import pandas as pd

    files = sorted((path / "rallies").glob("*/balls.parquet"))
    column = pd.concat([pd.read_parquet(f, columns=["rise_ticks"])["rise_ticks"] for f in files])
    return [float(column.quantile(level, interpolation="higher")) for level in LEVELS]


WAYS = {"tennis store": with_tennis, "plain DuckDB": with_duckdb, "pandas": with_pandas}


def measured(way: str, path: Path) -> tuple[float, float, list[float]] | None:
    """Return seconds, megabytes and the answers of one way, in a process of its own.

    None where it did not come to its end, for want of memory.
    """
    done = subprocess.run(
        [sys.executable, __file__, "--way", way, "--store", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return None
    told = json.loads(done.stdout)
    return told["seconds"], told["mb"], told["answers"]


def main() -> int:
    """Make stores, ask them, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--store", type=Path)
    asked = parser.parse_args()
    if asked.way:
        began = time.perf_counter()
        answers = WAYS[asked.way](asked.store)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"seconds": time.perf_counter() - began, "mb": peak, "answers": answers}))
        return 0
    wrong = False
    print(f"{'balls':>13}  {'way':14}{'memory':>10}{'time':>9}  of tennis store's")
    with tempfile.TemporaryDirectory() as scratch:
        for millions in asked.millions:
            path = make(Path(scratch), millions)
            first_s, answers = 0.0, list[float]()
            for way in WAYS:
                if way == "pandas" and millions * EACH > PANDAS_MAX:
                    continue
                found = measured(way, path)
                if found is None:
                    wrong |= way == "tennis store"
                    print(f"{millions * EACH:13,}  {way:14} no answer", flush=True)
                    continue
                seconds, mb, told = found
                first_s, answers = first_s or seconds, answers or told
                # pandas has another convention: the next latency at most
                wrong |= way != "pandas" and told != answers
                wrong |= way == "tennis store" and mb > LIMIT_MB
                print(
                    f"{millions * EACH:13,}  {way:14}{mb:7,.0f} MB{seconds:7.1f} s"
                    f"  {seconds / first_s:5.2f}",
                    flush=True,
                )
    if wrong:
        print("answers differ, or too much memory was taken")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
