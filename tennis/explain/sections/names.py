# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The functions in which a section began and ended."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.phases import Symbol
from tennis.explain.sections.records import SCHEDULES, VECTOR

# they only do what their caller asks for, and call nobody before they do: x30 tells the caller
_FOR_OTHERS = re.compile(r"_raw_(spin|read|write)_\w+|__raw_\w+|local_irq_\w+|__cond_resched\w*")
_VECTORS = {0x080: "interrupt", 0x000: "exception", 0x180: "error", 0x100: "fast interrupt"}

Named = tuple[list[str], NDArray[np.int64]]  # names, each once; of each thing the index of its own


def alike(columns: Sequence[NDArray[Any]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first of each kind of rows, and of each row its kind; columns of one length.

    numpy's own, np.unique of rows, takes minutes for a million.
    """
    group = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        values, which = np.unique(column, return_inverse=True)
        _, group = np.unique(group * len(values) + which, return_inverse=True)
    _, first = np.unique(group, return_index=True)
    return first, group


class Places:
    """Makes names of places, which are offsets from the kernel's first function."""

    def __init__(self, symbols: Sequence[Symbol], base: int) -> None:
        self._names = [str(symbol) for symbol in symbols]
        self._at = np.array([symbol.address - base for symbol in symbols], np.int64)

    def of(self, place: NDArray[Any], caller: NDArray[Any], how: NDArray[Any]) -> Named:
        """Return the names of places."""
        first, which = alike([place, caller, how])
        keys = zip(*(column[first].tolist() for column in (place, caller, how)), strict=True)
        names, index = np.unique(np.array([self.name(*key) for key in keys]), return_inverse=True)
        return [str(name) for name in names], index[which]

    def name(self, place: int, caller: int, how: int) -> str:
        """Return the function there, or its caller, if it works for others; or what came."""
        if how & VECTOR:
            return _VECTORS[how & 0x180]
        if how == SCHEDULES:
            return "schedule"
        function = self._function(place)
        if not _FOR_OTHERS.fullmatch(function):
            return function
        return f"{self._function(caller - 4)} ({function})"

    def _function(self, place: int) -> str:
        index = int(np.searchsorted(self._at, place, "right")) - 1
        return self._names[index] if index >= 0 else "?"
