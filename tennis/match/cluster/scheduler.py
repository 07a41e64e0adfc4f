# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The way to a Dask cluster's scheduler."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tennis.kit.errors import BenchError, UsageError
from tennis.rally.text import plain

if TYPE_CHECKING:
    from distributed import Client

CONNECT_S = 20
SCHEMES = {"tcp", "tls", "ws", "wss"}


def check_address(address: str) -> None:
    """Raise UsageError unless it is a scheduler's: Dask would wait for it, and print a stack."""
    scheme, named, _ = address.partition("://")
    if named and scheme not in SCHEMES:
        raise UsageError(f"{plain(address, 80)} is not an address", next_step="use tcp://HOST:8786")


@contextmanager
def connected(address: str) -> "Iterator[Client]":
    """Yield a client of the cluster whose scheduler is at ``address``.

    Raises UsageError for a malformed address; BenchError if none answers.
    """
    check_address(address)
    from distributed import Client  # noqa: PLC0415 (only a cluster needs it)

    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # one line reports what matters
    try:
        client = Client(address, timeout=CONNECT_S, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise BenchError(
            f"no Dask scheduler answers at {plain(address, 80)} "
            f"({plain(str(error) or type(error).__name__, 120)})",
            next_step="start one (docs/cluster.md), or check the address",
        ) from error
    with client:
        yield client


def gone(why: object, next_step: str) -> BenchError:
    """Return the error for a scheduler that was there, and has gone."""
    return BenchError(
        f"the Dask scheduler is no more or was restarted ({plain(str(why), 120)}); nothing is lost",
        next_step=f"start it and its workers again; {next_step}",
    )
