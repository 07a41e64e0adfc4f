"""SLOTH on a second Pico, played by the Brickwall on the first: a bench that nobody manages."""

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from tennis.bench import flavours
from tennis.bench.fitting import Capabilities
from tennis.bench.physical.wired import WiredBench
from tennis.bench.sloth import KERNELS, PICO, PICO2, is_sloth
from tennis.kit.errors import UsageError
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.settings import taken_by


class SecondPicoBench(WiredBench):
    """Plays plans whose kernel is SLOTH on a board."""

    kernels: ClassVar[Collection[str]] = tuple(KERNELS)
    can: ClassVar[Capabilities] = Capabilities(
        name="a second Pico, SLOTH",
        where="--bench pi",
        takes=taken_by("second pico"),
        instruments=("pico",),
        system="sloth",
    )

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for SLOTH on a board."""
        return plan.bench == "pi" and is_sloth(plan.kernel)

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load and halves. Raises UsageError if SLOTH does not run there."""
        if plan.kernel not in {PICO, PICO2}:
            raise UsageError(
                f"--kernel {plan.kernel} is QEMU's: it runs on no board",
                next_step=f"use {PICO} or {PICO2}",
            )
        defaults = flavours.defaults("sloth")
        halves = {name: options.get(name) or value for name, value in defaults.items()}
        flavours.check("sloth", plan.model_copy(update=halves))
        return {"instrument": "pico", "load": UNKNOWN, **defaults}
