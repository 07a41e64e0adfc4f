"""A model of what a Raspberry Pi's firmware loads from a card, from its documentation.

The firmware itself runs on the board only. This reads a card's boot partition as Raspberry Pi's
documentation says (repository raspberrypi/documentation; docs/hardware-sources.md has the commits):
config_txt/what_is_config_txt (a line's form and length), conditional (filters), boot (kernel,
initramfs, os_prefix, upstream_kernel), autoboot, and "Fail-safe OS updates (TRYBOOT)". Undocumented
behaviour is decided in one place each, and marked "undocumented".
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.support.pi_card import BootPartition

LINE_MAX = 98  # what is behind it on a line is ignored
INCLUDED_MAX = 20  # files within each other; the limit is undocumented
INITRAMFS = {"kernel8.img": "initramfs8", "kernel_2712.img": "initramfs_2712"}


@dataclass(frozen=True)
class Board:
    """A board: the filters that apply to it, and the names that its firmware looks for."""

    filters: frozenset[str]
    tree: str
    upstream_tree: str
    kernels: tuple[str, ...] = ("kernel8.img",)
    arm_64bit: bool = False  # without a word of it


BOARDS = {
    "Pi 3": Board(frozenset({"pi3"}), "bcm2710-rpi-3-b.dtb", "bcm2837-rpi-3-b.dtb"),
    "Zero 2": Board(
        frozenset({"pi0", "pi0w", "pi02"}), "bcm2710-rpi-zero-2-w.dtb", "bcm2837-rpi-zero-2-w.dtb"
    ),
    "Pi 4": Board(frozenset({"pi4"}), *["bcm2711-rpi-4-b.dtb"] * 2, arm_64bit=True),
    "Pi 5": Board(
        *(frozenset({"pi5"}), *["bcm2712-rpi-5-b.dtb"] * 2, ("kernel_2712.img", "kernel8.img")),
        arm_64bit=True,
    ),
}


MODELS = {  # as /proc/device-tree/model says
    "Pi 3": "Raspberry Pi 3 Model B Rev 1.2",
    "Zero 2": "Raspberry Pi Zero 2 W Rev 1.0",
    "Pi 4": "Raspberry Pi 4 Model B Rev 1.5",
    "Pi 5": "Raspberry Pi 5 Model B Rev 1.0",
}


class NothingStarts(AssertionError):  # noqa: N818 (as pytest names what fails)
    """The firmware finds no kernel, or no device tree, or none that runs in this mode."""


@dataclass(frozen=True)
class Loaded:
    """The boot of the firmware: names on the card, contents, and missing files."""

    configuration: str  # config.txt or tryboot.txt
    prefix: str
    kernel: bytes
    tree: str
    initramfs: bytes | None
    command_line: str
    overlays: tuple[tuple[str, tuple[str, ...]], ...]  # file on the card, parameters
    missing_overlays: tuple[str, ...]
    settings: dict[str, str]


@dataclass
class Firmware:
    """A board's firmware. ``tryboot`` is the flag that outlives one reset."""

    board: Board
    tryboot: bool = False
    _now: bool = field(default=False, init=False)

    def start(self, card: BootPartition) -> Loaded:
        """Read a card, as after a reset. The flag is taken before anything is started."""
        self._now, self.tryboot = self.tryboot, False
        name = "tryboot.txt" if self._now and not self._by_partition(card) else "config.txt"
        if name not in card:
            raise NothingStarts(f"no {name}")
        lines = list(self._lines(card, name))
        settings, initramfs, overlays = _collected(lines)
        if settings.get("arm_64bit", "1" if self.board.arm_64bit else "0") == "0":
            raise NothingStarts("in 32-bit mode")
        upstream = settings.get("upstream_kernel", "0") != "0"
        wanted = settings.get("os_prefix", "upstream/" if upstream else "")
        prefix = wanted if self._viable(card, wanted, settings, upstream=upstream) else ""
        kernel, tree = self._kernel(card, prefix, settings), self._tree(card, prefix, upstream)
        if kernel is None or tree is None:
            raise NothingStarts(f"no {'kernel' if kernel is None else 'device tree'}")
        if upstream and not tree.endswith(self.board.upstream_tree):
            overlays = [("upstream", ()), *overlays]
        if initramfs is None and settings.get("auto_initramfs", "0") != "0":
            # undocumented if kernel= has a name of its own: none, then
            initramfs = INITRAMFS.get(kernel.rpartition("/")[2])
        found, absent = self._overlays(card, prefix, overlays)
        ramdisk = _placed(prefix, initramfs) if initramfs else None
        line = card[_placed(prefix, settings.get("cmdline", "cmdline.txt"))]
        return Loaded(
            configuration=name,
            prefix=prefix,
            kernel=card[kernel],
            tree=tree,
            initramfs=card[ramdisk] if ramdisk and ramdisk in card else None,
            command_line=line.decode().split("\n", 1)[0],
            overlays=found,
            missing_overlays=absent,
            settings=settings,
        )

    def _by_partition(self, card: BootPartition) -> bool:
        """Tell whether a trial is another partition's, and its file config.txt."""
        if "autoboot.txt" not in card:
            return False
        settings, _, _ = _collected(self._lines(card, "autoboot.txt"))
        return settings.get("tryboot_a_b", "0") == "1"

    def _lines(self, card: BootPartition, name: str) -> Iterator[str]:
        """Yield the lines that apply to this board, comments and filters left out.

        An included file's lines stand in the line's place: so its filters continue after it.
        """
        filters: dict[str, bool] = {}
        places = [iter(self._cut(card, name))]
        while places:
            line = next(places[-1], None)
            if line is None:
                places.pop()
                continue
            heading = re.fullmatch(r"\[(.*)\]", line)
            if heading:
                kind, passes = self._filter(heading[1].strip().lower())
                filters = {} if kind == "all" else filters | {kind: passes}
            elif all(filters.values()):
                if line.startswith("include "):
                    assert len(places) < INCLUDED_MAX, "files that include each other"
                    places.append(iter(self._cut(card, line.split(None, 1)[1])))
                else:
                    yield line

    @staticmethod
    def _cut(card: BootPartition, name: str) -> list[str]:
        """Return a file's lines, each to its longest; undocumented: a missing one has none."""
        if name not in card:
            return []
        lines = [line[:LINE_MAX].decode(errors="replace") for line in card[name].split(b"\n")]
        return [line.strip() for line in lines if line.strip() and not line.strip().startswith("#")]

    def _filter(self, word: str) -> tuple[str, bool]:
        """Return a filter's kind and whether it passes: of one kind the last one counts."""
        if word in {"all", "none"}:
            return word, word == "all"
        if word == "tryboot":
            return word, self._now
        if re.fullmatch(r"(pi|cm)\d\S*|board-type=\S+", word):
            return "model", word in self.board.filters
        # a monitor, a serial number, a pin: none of these is this board's
        return re.split(r"[=:\d]", word)[0], False

    def _viable(
        self, card: BootPartition, prefix: str, settings: dict[str, str], *, upstream: bool
    ) -> bool:
        """Tell whether kernel and tree are behind a prefix; it is ignored if not."""
        tree = self._tree(card, prefix, upstream)
        return self._kernel(card, prefix, settings) is not None and tree is not None

    def _kernel(self, card: BootPartition, prefix: str, settings: dict[str, str]) -> str | None:
        names = [settings["kernel"]] if "kernel" in settings else self.board.kernels
        return _first(card, prefix, names)

    def _tree(self, card: BootPartition, prefix: str, upstream: bool) -> str | None:
        both = [self.board.upstream_tree, self.board.tree]
        # undocumented: a missing downstream name is replaced by an upstream one
        return _first(card, prefix, both if upstream else [self.board.tree])

    @staticmethod
    def _overlays(
        card: BootPartition, prefix: str, overlays: list[tuple[str, tuple[str, ...]]]
    ) -> tuple[tuple[tuple[str, tuple[str, ...]], ...], tuple[str, ...]]:
        """Return the overlays' files, and the names that have none."""
        home = "overlays/"
        if f"{prefix}{home}README" in card:
            home = prefix + home
        names = [(f"{home}{name}.dtbo", parameters) for name, parameters in overlays]
        missing = tuple(name for name, _ in names if name not in card)
        return tuple(one for one in names if one[0] in card), missing


Overlays = list[tuple[str, tuple[str, ...]]]


def _collected(lines: Iterator[str] | list[str]) -> tuple[dict[str, str], str | None, Overlays]:
    """Return settings (the last of each), the initramfs and the overlays that lines ask for."""
    settings: dict[str, str] = {}
    overlays: Overlays = []
    initramfs = None
    for line in lines:
        name, _, value = line.partition("=")
        if line.startswith("initramfs "):
            initramfs = line.split()[1]  # undocumented: the last of several counts
        elif line.startswith(("cmdline ", "kernel ")):  # as the firmware's author wrote it once
            word, file = line.split(None, 1)
            settings[word] = file
        elif name == "dtparam" and overlays and overlays[-1][0]:  # of the overlay above it
            overlays[-1] = (overlays[-1][0], (*overlays[-1][1], value))
        elif name == "dtoverlay":
            overlay, *parameters = value.split(",")
            overlays.append((overlay, tuple(parameters)))
        else:
            settings[name.strip()] = value.strip()
    return settings, initramfs, [one for one in overlays if one[0]]


def _placed(prefix: str, name: str) -> str:
    """Return where a file is looked for: an absolute name passes the prefix by."""
    return name if name.startswith("/") else prefix + name


def _first(card: BootPartition, prefix: str, names: list[str] | tuple[str, ...]) -> str | None:
    return next((_placed(prefix, n) for n in names if _placed(prefix, n) in card), None)
