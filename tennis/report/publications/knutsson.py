"""T. Knutsson's thesis of 2008: its target, its instrument, its results (tables 7.1 to 7.4)."""

from functools import cache

from pydantic import BaseModel, ConfigDict, Field

from tennis.report.publications.load import load


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _PublishedBoard(_Table):
    """The target that the thesis measured (tables 4.1 and 5.1)."""

    board: str
    cpu: str
    memory_mb: int
    linux: str
    preempt_rt: str
    xenomai: str


class _CounterCard(_Table):
    """The instrument that the thesis measured with (section 6.1)."""

    mcu: str
    timer_hz: int
    tick_ns_as_stated: int
    uart_baud: int
    pulse_us: int
    balls: int
    duration_h: int


class _Verification(_Table):
    """The Brickwall against an oscilloscope (table 6.1); microseconds."""

    kind: str
    oscilloscope: list[float]
    brickwall: list[float]
    error: list[float]


class Maximum(_Table):
    """A published maximum and jitter (max - min); microseconds."""

    max: int
    jitter: int


class Result(_Table):
    """The thesis' result for one kernel, its priorities and a load."""

    irq: Maximum
    sched: Maximum


class KernelTable(_Table):
    """One of the tables 7.1 to 7.4."""

    kernel: str
    priorities: str
    idle: Result
    stress: Result
    network: Result
    xload: Result | None = None


class _Thesis(_Table):
    """All figures of the thesis."""

    target: _PublishedBoard
    instrument: _CounterCard
    verification: list[_Verification]
    loads: dict[str, str | bool]
    results: list[KernelTable] = Field(alias="result")
    conclusions: dict[str, str]
    notes: dict[str, str]


@cache
def knutsson_2008() -> _Thesis:
    """Return the thesis' figures."""
    return _Thesis.model_validate(load("knutsson-2008"))


def result(kernel: str, priorities: str, load_name: str) -> Result | None:
    """Return the thesis' result for a kernel, priorities and a load; None if it has none.

    Names are those of a rally's manifest: kernels ``mainline`` and ``rt``, priorities ``default``
    and ``chrt``, loads ``idle`` and ``stress``.
    """
    for table in knutsson_2008().results:
        if (table.kernel, table.priorities) == (kernel, priorities):
            rows = {
                "idle": table.idle,
                "stress": table.stress,
                "network": table.network,
                "xload": table.xload,
            }
            return rows.get(load_name)
    return None
