# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The functions in which a section began and ended."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.explain.phases import Symbol
from tennis.explain.sections.records import VECTOR

# they only do what their caller asks for, and call nobody before they do: x30 tells the caller
_FOR_OTHERS = re.compile(r"_raw_(spin|read|write)_\w+|__raw_\w+|local_irq_\w+")
_VECTORS = {0x080: "interrupt", 0x000: "exception", 0x180: "error", 0x100: "fast interrupt"}

Named = tuple[list[str], NDArray[np.int64]]  # names, each once; of each thing the index of its own


class Places:
    """Makes names of places, which are offsets from the kernel's first function."""

    def __init__(self, symbols: Sequence[Symbol], base: int) -> None:
        self._names = [str(symbol) for symbol in symbols]
        self._at = np.array([symbol.address - base for symbol in symbols], np.int64)

    def of(self, place: NDArray[Any], caller: NDArray[Any], how: NDArray[Any]) -> Named:
        """Return the names of places."""
        keys = np.stack([place, caller, how], axis=1).astype(np.int64)
        distinct, which = np.unique(keys, axis=0, return_inverse=True)
        every = np.array([self.name(*key) for key in distinct.tolist()])
        names, index = np.unique(every, return_inverse=True)
        return [str(name) for name in names], index[which.reshape(-1)]

    def name(self, place: int, caller: int, how: int) -> str:
        """Return the function there, or its caller, if it works for others; or what came."""
        if how & VECTOR:
            return _VECTORS[how & 0x180]
        function = self._function(place)
        if not _FOR_OTHERS.fullmatch(function):
            return function
        return f"{self._function(caller - 4)} ({function})"

    def _function(self, place: int) -> str:
        index = int(np.searchsorted(self._at, place, "right")) - 1
        return self._names[index] if index >= 0 else "?"
