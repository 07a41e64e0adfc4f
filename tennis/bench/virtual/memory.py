"""Profiles of a memory: ``target/virtual/memory/NAME.toml``, read, bounded, given to memory.c.

Each figure has its source, or the word ``assumed`` and a range that it is thought to be in. Sizes
are those of the processor, times are ns that come on top of what an instruction takes.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, TypeAlias, TypeVar

from pydantic import AfterValidator, Field, ValidationError, model_validator

from tennis.bench.qemu import plugins
from tennis.bench.qemu.plugins import QemuPlugin
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.edited import EditedError, toml_of
from tennis.rally.manifest import StrictModel
from tennis.rally.memory import NONE, base_of, canonical, clock_of, file_of, name_of

ASSUMED = "assumed"
NS_MAX = 10_000  # of a cost
CYCLES_MAX = 1000
CLOCKED_INSTRUCTION_NS = 1  # QEMU's time for an instruction if the profile has a clock
LISTED_MAX = 64  # entries of a first TLB, as memory.c holds them
# as memory.c numbers them
REPLACEMENTS = ("least recently used", "round robin", "random")

Source = Annotated[str, Field(min_length=3, max_length=400)]


Value = TypeVar("Value")


class _Figure(StrictModel, Generic[Value]):
    """A number and its source."""

    value: Value
    source: Source
    range: tuple[float, float] | None = Field(default=None, strict=False)  # of an assumed one

    @model_validator(mode="after")
    def _is_founded(self) -> "_Figure[Value]":
        if (self.source == ASSUMED) != (self.range is not None):
            raise ValueError(f"a range is given with source = '{ASSUMED}', and only there")
        value: Any = self.value if (cycles := getattr(self, "cycles", None)) is None else cycles
        if self.range and value is not None and not self.range[0] <= value <= self.range[1]:
            raise ValueError(f"the value {value} is not in its range")
        return self


class _Time(_Figure[Annotated[int, Field(ge=0, le=NS_MAX)] | None]):
    """A time: ``value`` in ns, or ``cycles`` of the profile's clock. A range has the same unit."""

    value: Annotated[int, Field(ge=0, le=NS_MAX)] | None = None
    cycles: Annotated[float, Field(ge=0, le=CYCLES_MAX)] | None = None

    @model_validator(mode="after")
    def _has_one_unit(self) -> "_Time":
        if (self.value is None) == (self.cycles is None):
            raise ValueError("a time is a value in ns, or cycles")
        return self

    def ps(self, clock: "_Megahertz | None") -> int:
        """Return the time in ps. ``clock``: of the profile, which has one if it has cycles."""
        if self.cycles is None or clock is None:
            return (self.value or 0) * 1000
        return round(self.cycles * 1_000_000 / clock.value)


def _power_of_two(value: int) -> int:
    if value < 1 or value & (value - 1):
        raise ValueError(f"{value} is no power of two")
    return value


_PowerOfTwo = Annotated[int, AfterValidator(_power_of_two)]
# of an instruction's class
_Cycles: TypeAlias = _Figure[Annotated[float, Field(ge=0, le=CYCLES_MAX)]]
_Megahertz: TypeAlias = _Figure[Annotated[int, Field(ge=10, le=10_000)]]
# of a part of the predictor; 0: it has no such part
_PredictorEntries: TypeAlias = _Figure[
    Literal[0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384]
]
_Kibibytes: TypeAlias = _Figure[Annotated[int, Field(ge=1, le=65_536)]]
_Ways: TypeAlias = _Figure[Annotated[int, Field(ge=1, le=64)]]  # lines, or pages, of a set
# of a first TLB, in which every page fits everywhere
_Listed: TypeAlias = _Figure[Annotated[int, Field(ge=1, le=LISTED_MAX)]]
_Entries: TypeAlias = _Figure[Annotated[int, Field(ge=0, le=16_384)]]  # 0: no second TLB
_Line: TypeAlias = _Figure[Annotated[_PowerOfTwo, Field(ge=16, le=256)]]  # bytes
# in which a TLB holds the kernel's code
_Page: TypeAlias = _Figure[Annotated[_PowerOfTwo, Field(ge=4096, le=2 << 20)]]


class _Replacement(StrictModel):
    """The rule by which a line of a set is replaced."""

    value: Literal["least recently used", "round robin", "random"]
    source: Source


class _Cache(StrictModel):
    """A cache of one level."""

    kib: _Kibibytes
    ways: _Ways
    replacement: _Replacement


class _Tlbs(StrictModel):
    """Two first TLBs, and a second one that both share."""

    code_entries: _Listed
    data_entries: _Listed
    second_entries: _Entries
    second_ways: _Ways
    kernel_code_page_bytes: _Page


class _Costs(StrictModel):
    """The cost of a line or a page found in this place, on top of a hit in the first."""

    second_ns: _Time | None = None
    third_ns: _Time | None = None
    memory_ns: _Time
    store_second_ns: _Time | None = None
    store_third_ns: _Time | None = None
    store_memory_ns: _Time
    second_tlb_ns: _Time | None = None
    walk_ns: _Time  # beside the line of its last entry
    write_back_ns: _Time | None = None  # of a dirty line, to memory; without: no line is dirty


class _Device(StrictModel):
    """The cost of an access to a device's registers."""

    read_ns: _Time
    write_ns: _Time


class _Devices(StrictModel):
    """By device; the timer's registers are the processor's own."""

    gpio: _Device
    interrupts: _Device
    timer: _Device
    other: _Device


class _Classes(StrictModel):
    """What an instruction takes by its class, and what two events take; cycles.c has the order."""

    plain: _Cycles
    load: _Cycles  # that finds its line in the first cache
    store: _Cycles
    branch: _Cycles  # that was predicted
    barrier: _Cycles
    system: _Cycles  # access to a system register, and what maintains caches and TLBs
    atomic: _Cycles  # each exclusive load and store
    exception_return: _Cycles
    mispredicted: _Cycles
    exception_entry: _Cycles


class _Predictor(StrictModel):
    """Counters by a branch's address, return addresses, last targets of indirect branches."""

    counters: _PredictorEntries
    returns: _PredictorEntries
    targets: _PredictorEntries


class _Profile(StrictModel):
    """All of a profile's file."""

    title: Source
    about: Source
    base: str | None = None  # the profile that has the other figures
    line_bytes: _Line
    emptied_by_switches: bool = False  # caches that know virtual addresses only, and no TLB entry
    code: _Cache  # first level
    data: _Cache
    second: _Cache | None = None
    third: _Cache | None = None
    tlb: _Tlbs
    costs: _Costs
    devices: _Devices
    clock_mhz: _Megahertz | None = None  # without: an instruction takes --instruction-ns
    cycles: _Classes | None = None
    predictor: _Predictor | None = None

    @model_validator(mode="after")
    def _fits_together(self) -> "_Profile":
        for level in ("second", "third"):
            for cost in (f"{level}_ns", f"store_{level}_ns"):
                if (getattr(self, level) is None) != (getattr(self.costs, cost) is None):
                    raise ValueError(f"costs.{cost} belongs to a cache [{level}], as it to that")
        if self.third and not self.second:
            raise ValueError("a cache [third] needs a [second]")
        if bool(self.tlb.second_entries.value) != (self.costs.second_tlb_ns is not None):
            raise ValueError("costs.second_tlb_ns belongs to tlb.second_entries, as they to it")
        if self.tlb.second_entries.value % self.tlb.second_ways.value:
            raise ValueError("tlb.second_entries are no whole sets of tlb.second_ways")
        for name, cache in self.caches().items():
            _sets(name, cache, self.line_bytes.value)
        parts = (self.clock_mhz, self.cycles, self.predictor)
        if any(parts) and not all(parts):
            raise ValueError("clock_mhz, [cycles] and [predictor] belong together")
        if not self.clock_mhz and any(time.cycles is not None for time in self.times().values()):
            raise ValueError("a cost in cycles needs clock_mhz")
        return self

    def times(self) -> dict[str, _Time]:
        """Return what lines, pages and devices cost, by memory.c's parameter."""
        times = {name: time for name, time in self.costs if time is not None}
        if "second_tlb_ns" in times:
            times["pages_ns"] = times.pop("second_tlb_ns")
        for device, prices in self.devices:
            times |= {f"{device}_{name}": time for name, time in prices}
        return times

    def caches(self) -> dict[str, _Cache]:
        """Return the caches that there are, by level."""
        every = {"code": self.code, "data": self.data, "second": self.second, "third": self.third}
        return {name: cache for name, cache in every.items() if cache is not None}


def _sets(name: str, cache: _Cache, line_bytes: int) -> int:
    """Return a cache's number of sets. Raises ValueError if its sizes make none."""
    sets, rest = divmod(cache.kib.value * 1024, cache.ways.value * line_bytes)
    if rest or not sets or sets & (sets - 1):
        raise ValueError(
            f"[{name}]: {cache.kib.value} KiB in {cache.ways.value} ways of lines of {line_bytes} "
            "bytes are no power of two of sets"
        )
    return sets


@dataclass(frozen=True)
class _Memory:
    """A profile that is played with."""

    name: str
    profile: _Profile
    file: Path

    def plugin(self, qemu: plugins.Qemu, instruction_ns: int) -> QemuPlugin:
        """Build the plugin, with its figures. Raises BenchError: QEMU lacks what it needs."""
        plugins.check_exports(qemu, "memory", "--memory")
        return QemuPlugin(plugins.build(qemu, "memory"), self.parameters(instruction_ns))

    def parameters(self, instruction_ns: int) -> dict[str, int]:
        """Return memory.c's parameters; times are rounded to whole instructions, half of one up."""
        unit_ps = 1000 * instruction_ns

        def rounded(ps: int) -> int:
            return (2 * ps + unit_ps) // (2 * unit_ps) * instruction_ns

        profile = self.profile
        found: dict[str, int] = {"line_bytes": profile.line_bytes.value}
        for name, cache in profile.caches().items():
            found[f"{name}_sets"] = _sets(name, cache, profile.line_bytes.value)
            found[f"{name}_ways"] = cache.ways.value
            found[f"{name}_replacement"] = REPLACEMENTS.index(cache.replacement.value)
        tlb = profile.tlb
        found |= {
            "emptied_by_switches": int(profile.emptied_by_switches),
            "code_entries": tlb.code_entries.value,
            "data_entries": tlb.data_entries.value,
            "pages_sets": tlb.second_entries.value // tlb.second_ways.value,
            "pages_ways": tlb.second_ways.value if tlb.second_entries.value else 0,
            "kernel_code_page_bytes": tlb.kernel_code_page_bytes.value,
        }
        clock = profile.clock_mhz
        found |= {name: rounded(time.ps(clock)) for name, time in profile.times().items()}
        if clock and profile.cycles and profile.predictor:
            for name, cycles in profile.cycles:
                found[f"{name}_ps"] = round(cycles.value * 1_000_000 / clock.value)
            found |= {f"predictor_{name}": part.value for name, part in profile.predictor}
        return found


def _figures(path: Path) -> dict[str, Any]:
    """Return what a file says, on top of what its base says. Raises EditedError and OSError."""
    own, base = toml_of(path.read_bytes()), base_of(path)
    figures = toml_of(base.read_bytes()) if base else {}
    if "base" in figures or ("base" in own and not base):
        raise EditedError("base: it is no profile, or is based on one itself", "name another one")
    for name, part in own.items():
        old = figures.get(name)
        merged = isinstance(old, dict) and isinstance(part, dict) and "source" not in part
        figures[name] = old | part if merged else part  # a figure is taken as a whole
    return figures


def _read(path: Path) -> _Profile:
    """Return the profile in a file. Raises TennisError in one line."""
    try:
        return _Profile.model_validate(_figures(path))
    except EditedError as error:
        raise TennisError(f"{path} {error}", next_step=error.next_step) from error
    except OSError as error:
        raise TennisError(
            f"{path} cannot be read: {error.strerror}", next_step="look at its owner and mode"
        ) from error
    except ValidationError as error:
        # a name that is written wrong is missing, too
        first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
        where = ".".join(map(str, first["loc"]))
        said = {"extra_forbidden": "nothing has this name", "missing": "it is missing"}
        why = said.get(first["type"], first["msg"].removeprefix("Value error, "))
        raise TennisError(
            f"{path} is not right: {f'{where}: ' if where else ''}{why}",
            next_step="docs/memory.md says what is in a profile",
        ) from error


def find(setting: str) -> _Memory | None:
    """Return the profile of a plan, None for ``none``. Raises UsageError and TennisError."""
    if setting == NONE:
        return None
    name: Any = name_of(setting)
    path = file_of(name)
    if not path.is_file() or canonical(name) != setting:
        there = canonical(name) if path.is_file() else "no such profile"
        raise UsageError(
            f"--memory {setting}: here is {there}",
            next_step="check out the Tennis that the rally was played with",
        )
    profile, mhz = _read(path), clock_of(name)
    if mhz and not profile.clock_mhz:
        raise UsageError(
            f"--memory {name}: {path.stem} has no clock",
            next_step="docs/memory.md lists those that have",
        )
    if mhz and profile.clock_mhz:
        clock = profile.clock_mhz.model_copy(update={"value": mhz})
        profile = profile.model_copy(update={"clock_mhz": clock})
    return _Memory(name, profile, path)


def has_clock(setting: str) -> bool:
    """Tell whether the profile of a plan has a clock. Raises UsageError and TennisError."""
    memory = find(setting)
    return memory is not None and memory.profile.clock_mhz is not None
