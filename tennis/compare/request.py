"""A user's request for a comparison, besides the two sides: options of `tennis compare`."""

from typing import Annotated, Literal

from pydantic import Field

from tennis.compare import BOOTS_MAX
from tennis.rally.inside import REPETITIONS_MAX
from tennis.rally.manifest import StrictModel


class CompareRequest(StrictModel):
    """A user's request; a description is an option's help."""

    period_us: Annotated[
        Annotated[float, Field(ge=10, le=1_000_000, allow_inf_nan=False)] | None,
        Field(
            description="Play control loops of this period in place of balls (`tennis drill "
            "periodic`)."
        ),
    ] = None
    repetitions: Annotated[
        Annotated[int, Field(ge=1, le=REPETITIONS_MAX)] | None,
        Field(description="With --period-us: how many periods to play. [default: 3000]"),
    ] = None
    margin: Annotated[
        float,
        Field(
            ge=0.1, le=1000, allow_inf_nan=False, description="Smaller differences count as equal."
        ),
    ] = 10.0
    boots: Annotated[
        int, Field(ge=1, le=BOOTS_MAX, description="Play at most this many boots of each side.")
    ] = 32
    minutes: Annotated[
        Annotated[float, Field(ge=0.1, le=10_000, allow_inf_nan=False)] | None,
        Field(description="Stop after this time. The same command continues."),
    ] = None
    once: Annotated[
        bool,
        Field(
            description="Judge once, when all --boots are played. Fewer boots then show that "
            "nothing changed."
        ),
    ] = False
    fail_on: Annotated[
        Literal["undecided", "worse"],
        Field(
            description="Which verdicts give an exit code other than 0: with worse, undecided "
            "gives 0, too."
        ),
    ] = "undecided"

    @property
    def margin_share(self) -> float:
        """Return the margin as a share of the time before."""
        return self.margin / 100

    @property
    def period_ns(self) -> int | None:
        """Return the period of control loops; None: balls are played."""
        return None if self.period_us is None else round(self.period_us * 1000)
