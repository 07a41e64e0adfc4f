"""A user's request for the first evening with a board: the options of `tennis commission`."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from tennis.rally.manifest import StrictModel
from tennis.rally.request import serving_of
from tennis.rally.serving import Serving


@dataclass(frozen=True)
class Amount:
    """The numbers of balls to measure."""

    each: int = 200  # of each delay
    random: int = 5000


class CommissionRequest(StrictModel):
    """A user's request; a description is an option's help."""

    port: Annotated[
        str | None, Field(description="The Pico's serial port. [default: that of the only Pico]")
    ] = None
    generator_port: Annotated[
        str | None,
        Field(
            description="The port of a second Pico, which answers with known delays; takes --port."
        ),
    ] = None
    umpire: Annotated[
        bool, Field(description="Record one more rally with a logic analyser, too.")
    ] = False
    analyser: Annotated[
        str | None,
        Field(description="The analyser, as `sigrok-cli -d` takes it. [default: the only one]"),
    ] = None
    balls: Annotated[
        Annotated[int, Field(ge=10, le=1_000_000)],
        Field(description="The number of balls of a rally."),
    ] = 2000
    target: str | None = None
    serving: dict[str, float] = Field(default_factory=dict)  # other settings of a rally's balls
    amount: Amount | None = None  # of known delays

    @property
    def served(self) -> Serving:
        """Return how the balls of a rally are served. Raises UsageError."""
        return serving_of({**self.serving, "balls": self.balls})
