"""A kernel that a match's plan names: its place, its bench, and its defaults."""

from pathlib import Path

from tennis.bench import flavours
from tennis.bench import loads as load_folder
from tennis.bench.kernels import catalogue
from tennis.bench.protocol import RegisteredBench
from tennis.bench.registry import bench_with, boots_afresh, is_named
from tennis.kit.errors import UsageError
from tennis.match.plan import KernelAxis, MatchPlan
from tennis.match.settings import AXES
from tennis.play.planning import plan_for
from tennis.rally.manifest import InstructionNs
from tennis.rally.request import RallyRequest
from tennis.rally.serving import Serving

# a kernel that is called one of these must be one: verdicts go by the names
CALLED: dict[str, set[flavours.Player]] = {
    "mainline": {"mainline"},
    "rt": {"rt"},
    "xenomai": {"evl", "cobalt"},
}


class MatchKernel:
    """A kernel of the plan: its place and its flavour.

    ``own``: the bench whose own kernel it is, such as SLOTH's; None: Linux. ``flavour``: None
    if only that bench knows what its kernel has, and refuses the rest.
    """

    def __init__(self, plan: MatchPlan, name: str, place: str | None, beside: Path) -> None:
        self._of = plan
        self.name = name
        self.axis = plan.kernels.get(name, KernelAxis())
        self.place = place or self.axis.tree
        self.there = self.place is not None or not self.axis.optional
        self.own: type[RegisteredBench] | None = None
        self.flavour: flavours.Player | None = (
            "evl" if name == "xenomai" else "mainline"
        )  # until it is known
        if not self.there:
            return
        own = bench_with(self.place or self.name, plan.bench)
        if own is not None:
            origin = self._of_bench(own)
        elif plan.bench == "virtual":
            origin = self._find(None if place else beside)
        else:
            origin = self._on_target(plan)
        if self.flavour not in CALLED.get(name, {self.flavour}):
            what = f"a kernel of flavour {self.flavour}" if self.flavour else "not a Linux kernel"
            raise UsageError(
                f"kernels.{name}: {origin} is {what}",
                next_step=f"call it otherwise, or give one that is configured as {name}",
            )

    def _of_bench(self, own: type[RegisteredBench]) -> str:
        """Take a kernel that is a bench's own."""
        if not boots_afresh(own):
            raise UsageError(
                f"kernels.{self.name}: {own.can.name}: a match needs a target that tennis can boot "
                "for each rally"
            )
        self.own = own
        self.flavour = "sloth" if own.can.system == "sloth" else None
        return own.can.name

    def _find(self, beside: Path | None) -> str:
        """Find a kernel of the virtual bench; a folder in the plan is relative to ``beside``."""
        if beside and self.axis.tree and not is_named(self.axis.tree):
            self.place = str(beside / self.axis.tree)
        try:
            kernel = catalogue.find(self.place or self.name)
        except UsageError as error:
            hint = f"a plan's own kernel: --with {self.name}=KERNEL"
            raise UsageError(f"kernels.{self.name}: {error} ({hint})") from error
        self.flavour = kernel.flavour
        return kernel.origin

    def _on_target(self, plan: MatchPlan) -> str:
        """Take the name for a flavour that the target has: it says itself whether it does."""
        name = self.place or self.name
        flavours_there = [flavour for flavour in flavours.RACQUETS if flavour == name]
        if not flavours_there:
            raise UsageError(
                f'kernels.{self.name}: on bench = "{plan.bench}" a kernel is one of '
                f"{', '.join(flavours.RACQUETS)} (also as tree, or --with {self.name}=...)"
            )
        self.flavour = flavours_there[0]
        return name

    @property
    def system(self) -> load_folder.System:
        """Return whose loads it takes."""
        return self.own.can.system if self.own else "linux"

    @property
    def instruction_ns(self) -> InstructionNs | None:
        """Return how long an instruction takes; None: its bench cannot choose it."""
        takes = "instruction_ns" in self.own.can.takes if self.own else self._of.bench == "virtual"
        return self._of.instruction_ns if takes else None

    @property
    def has_drills(self) -> bool:
        """Return whether a drill can be done on it."""
        return "drill" in self.own.can.takes if self.own else self.flavour in {"mainline", "rt"}

    @property
    def player(self) -> flavours.Player | None:
        """Return who answers on it, in the plan's settings; None: only its bench knows."""
        said = {**self._of.of_a_match, **self.axis.of_a_match}
        if self.flavour is None or self.own is not None:
            return self.flavour
        if said.get("beneath", "none") != "none":
            return "sloth"
        try:
            return flavours.player_on(self.flavour, said.get("stage"))
        except UsageError as error:
            what = f"kernels.{self.name}: {error.message}"
            raise UsageError(what, next_step=error.next_step) from error

    @property
    def defaults(self) -> dict[str, str]:
        """Return the default priorities, halves and command line."""
        if self.player is None:
            asked = RallyRequest(bench=self._of.bench, kernel=self.place or self.name)
            made = plan_for(asked, Serving())
            return {name: getattr(made, name) for name in AXES.values()}
        racquet = flavours.racquet_of(self.player)
        return {
            "priorities": racquet.priorities[0],
            "top_half": racquet.top_halves[0],
            "bottom_half": racquet.bottom_halves[0],
            "command_line": "",
        }
