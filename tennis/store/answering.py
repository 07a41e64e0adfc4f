# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The process that answers one question in SQL, by DuckDB; it imports nothing of Tennis.

Its time and its memory are bounded by the kernel. The question may read the files that are named,
and nothing else: no other file, no network, no write.

Standard input: a line of JSON (sql, seconds, memory_mb, threads, files), then the catalogue, an
Arrow stream. Standard output: a line of JSON (missing, wrong, next_step), then the answer, an Arrow
stream, unless something is wrong.
"""

import json
import re
import resource
import signal
import sys
from typing import Any

import pyarrow as pa

BATCH_ROWS = 1000
# of the answer, as JSON: who asked has to print it
ANSWER_MAX = 128 << 20
# what DuckDB may take of the memory by its own account, which is not of everything
OWN_SHARE = 0.75


def views(database: Any, rallies: pa.Table, files: list[str]) -> None:
    """Make the views ``rallies`` and ``balls``, and let nothing else be read.

    ``balls``: id, ball, served_ns, rise_ns and fall_ns since the ball was served, and width_ns from
    rise to fall (NULL: it never came), of all that are no drills.
    """
    database.register("rallies", rallies)
    ticks = {"rise": "rise_ticks", "fall": "fall_ticks"}
    ticks |= {"width": "(fall_ticks::BIGINT - rise_ticks)"}
    spans = ", ".join(f"{tick} * (1e9 / tick_hz) AS {name}_ns" for name, tick in ticks.items())
    columns = f"id, ball, served_ns, {spans}"
    exact = [re.sub(r"([*?\[])", r"[\1]", file) for file in files]  # a name, no pattern
    if files:
        database.execute(
            f"CREATE VIEW balls AS SELECT {columns} FROM (SELECT *, "
            "regexp_extract(filename, '/([0-9a-f]+)/[^/]+$', 1) AS id FROM "
            f"read_parquet({_texts(exact)}, filename = true, hive_partitioning = false)) "
            "JOIN (SELECT id, tick_hz FROM rallies) USING (id)"
        )
    else:
        database.execute(
            "CREATE VIEW balls AS SELECT NULL::VARCHAR AS id, NULL::UINTEGER AS ball, NULL::BIGINT "
            "AS served_ns, NULL::DOUBLE AS rise_ns, NULL::DOUBLE AS fall_ns, NULL::DOUBLE AS "
            "width_ns WHERE false"
        )
    database.execute(f"SET allowed_paths = {_texts(sorted({*files, *exact}))}")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def _texts(words: list[str]) -> str:
    return "[" + ", ".join("'" + word.replace("'", "''") + "'" for word in words) + "]"


def answer(database: Any, sql: str) -> pa.Table:
    """Return what a SELECT gives. Raises ValueError for anything else, and for too much."""
    import duckdb  # noqa: PLC0415 (it is there)

    statements = database.extract_statements(sql)
    if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
        raise ValueError("a query is one SELECT")
    reader = database.sql(sql).to_arrow_reader(BATCH_ROWS)
    names = reader.schema.names
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"two columns are named {twice[0]}: give one another name with AS")
    batches, size = [], 0
    for batch in reader:
        # who prints it has no limit: so it is made here what it will be there
        size += len(json.dumps(batch.to_pylist(), default=str))
        if size > ANSWER_MAX:
            raise ValueError(f"the answer is larger than {ANSWER_MAX >> 20} MB: use LIMIT")
        batches.append(batch)
    return pa.Table.from_batches(batches, reader.schema)


def main() -> None:
    """Answer one question."""
    asked = json.loads(sys.stdin.buffer.readline())
    rallies = pa.ipc.open_stream(sys.stdin.buffer).read_all()
    told, found = {"missing": False, "wrong": "", "next_step": ""}, None
    try:
        import duckdb  # noqa: PLC0415 (only a question needs it)
    except ModuleNotFoundError:
        _say(told | {"missing": True}, None)
        return
    memory = asked["memory_mb"] << 20
    config: dict[str, Any] = {
        "memory_limit": f"{int(memory * OWN_SHARE)}B",
        "temp_directory": "",
        "threads": asked["threads"],
        "python_enable_replacements": "false",
    }
    database = duckdb.connect(":memory:", config=config)
    views(database, rallies, asked["files"])
    with open("/proc/self/statm") as sizes:  # noqa: PTH123 (no path to speak of)
        there = int(sizes.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (there + memory, there + memory))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # nothing handles the signal: the kernel ends this process, whatever it does
    signal.setitimer(signal.ITIMER_REAL, asked["seconds"])
    try:
        found = answer(database, asked["sql"])
    except MemoryError:
        told |= {"wrong": _memory(asked), "next_step": "ask for less, or give it more: --memory-mb"}
    except duckdb.OutOfMemoryException:
        told |= {"wrong": _memory(asked), "next_step": "ask for less, or give it more: --memory-mb"}
    except Exception as error:  # DuckDB's and Arrow's have no common ancestor
        said = str(error) or type(error).__name__
        told |= {
            "wrong": f"the query was not answered: {said}"[:2000],
            "next_step": "see `tennis store query --help`",
        }
    _say(told, found)


def _memory(request: dict[str, Any]) -> str:
    return f"the query was not answered within {request['memory_mb']} MB of memory"


def _say(answer: dict[str, Any], table: pa.Table | None) -> None:
    sys.stdout.buffer.write(json.dumps(answer).encode() + b"\n")
    if table is not None:
        with pa.ipc.new_stream(sys.stdout.buffer, table.schema) as stream:
            stream.write_table(table)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
