"""A table in memory: columns of numbers or words, each with a name; some values may be missing."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

KINDS: dict[str, type[np.generic]] = {
    "uint32": np.uint32,
    "int64": np.int64,
    "int8": np.int8,
    "string": np.object_,
}


@dataclass(frozen=True)
class Field:
    """The name of a column, and what it holds: one of ``KINDS``."""

    name: str
    kind: str
    nullable: bool = True  # a value may be missing


@dataclass(frozen=True, eq=False)
class Column:
    """Values in their order, one-dimensional: any for what is missing."""

    values: NDArray[Any]
    missing: NDArray[np.bool_] | None = None  # None: nothing is

    def __post_init__(self) -> None:
        if self.missing is not None and not self.missing.any():
            object.__setattr__(self, "missing", None)

    @classmethod
    def of(cls, values: Sequence[object], kind: str) -> "Column":
        """Return the column of some Python objects; None: it is missing."""
        none = "" if kind == "string" else 0
        missing = np.array([value is None for value in values], np.bool_)
        some = np.array([none if value is None else value for value in values], KINDS[kind])
        return cls(some, missing)

    @classmethod
    def joined(cls, parts: Sequence["Column"]) -> "Column":
        """Put columns of one kind one behind the other."""
        parts = [part for part in parts if len(part)] or parts[:1]
        if len(parts) == 1:
            return parts[0]
        missing = None
        if any(part.missing is not None for part in parts):
            missing = np.concatenate([part.flags for part in parts])
        return cls(np.concatenate([part.values for part in parts]), missing)

    def __len__(self) -> int:
        return int(self.values.size)

    def __getitem__(self, where: slice | NDArray[Any]) -> "Column":
        missing = None if self.missing is None else self.missing[where]
        return Column(self.values[where], missing)

    @property
    def flags(self) -> NDArray[np.bool_]:
        """Return for each value whether it is missing."""
        return np.zeros(len(self), np.bool_) if self.missing is None else self.missing

    @cached_property
    def nulls(self) -> int:
        """Return how many values are missing."""
        return 0 if self.missing is None else int(np.count_nonzero(self.missing))

    def filled(self, none: float) -> NDArray[Any]:
        """Return the numbers as int64, ``none`` for those that are missing; NaN: as float64."""
        numbers = self.values.astype(np.int64 if isinstance(none, int) else np.float64)
        if self.missing is not None:
            numbers[self.missing] = none
        return numbers

    def tolist(self) -> list[Any]:
        """Return Python objects, None for what is missing."""
        values: list[Any] = self.values.tolist()
        for at in np.flatnonzero(self.flags).tolist():
            values[at] = None
        return values


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of one length."""

    columns: Mapping[str, Column]

    @classmethod
    def joined(cls, parts: Iterable["Table"], fields: Iterable[Field]) -> "Table":
        """Put tables, or none at all, with the same columns one behind the other."""
        every = list(parts)
        columns = {
            one.name: [Column.of([], one.kind), *(part[one.name] for part in every)]
            for one in fields
        }
        return cls({name: Column.joined(each) for name, each in columns.items()})

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> Column:
        return self.columns[name]

    def part(self, begin: int, end: int) -> "Table":
        """Return some rows."""
        return Table({name: one[begin:end] for name, one in self.columns.items()})

    def cut(self, most: int) -> Iterable["Table"]:
        """Yield the rows, at most so many at a time."""
        return (self.part(at, at + most) for at in range(0, len(self), most))

    def pandas(self) -> "pd.DataFrame":
        """Return a pandas DataFrame; numbers that are missing are NaN."""
        import pandas as pd  # noqa: PLC0415 (half a second, and optional)

        of_numbers = {
            name: one.values if one.missing is None else one.filled(np.nan)
            for name, one in self.columns.items()
            if one.values.dtype != np.object_
        }
        words = {name: one.tolist() for name, one in self.columns.items() if name not in of_numbers}
        return pd.DataFrame(of_numbers | words, columns=list(self.columns))
