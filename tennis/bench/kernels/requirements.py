"""The requirements of a kernel of a flavour: ``target/kernels/*.toml``.

Two things come from there: the fragment with which such a kernel is built (``fragment``), and the
check-list for one that runs (``check``).
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from tennis.bench.configuration import FLAVOURS, Flavour
from tennis.bench.findings import Finding, Mark
from tennis.bench.kernels import boards, loading
from tennis.bench.targets.snapshot import Snapshot
from tennis.kit.checkout import ROOT
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.text import plain

FOLDER = ROOT / "target" / "kernels"
Level = Literal["note", "bad"]

# `vcgencmd get_throttled`: https://www.raspberrypi.com/documentation/computers/os.html
THROTTLED_NOW = {0: "under-voltage", 1: "frequency capped", 2: "throttled", 3: "soft limit"}
THROTTLED_BEFORE = 16  # the same four, since boot
# /proc/sys/kernel/tainted, Documentation/admin-guide/tainted-kernels.rst: what says that something
# went wrong; modules from outside the tree (the Racquet) set others
TAINTS = {4: "a machine check", 5: "a bad page", 7: "an oops", 9: "a warning", 14: "a soft lock-up"}
# chips on whose lines a board's devices interrupt, as /proc/interrupts calls them
GPIO_CHIP = re.compile(r"gpio|pinctrl|pl061|rp1", re.IGNORECASE)


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


class _Option(_Part):
    """An option of the configuration, and why."""

    value: Annotated[list[str], BeforeValidator(_listed), Field(min_length=1)] = ["y"]
    reason: str
    source: str
    only_with: str | None = None

    def suits(self, value: str) -> bool:
        """Tell whether a value will do; an unset option is "n"."""
        return value in self.value


class _KernelParameter(_Part):
    """A parameter of the kernel's command line."""

    parameter: str
    want: Literal["present", "absent"]
    level: Level
    reason: str


class _FactRule(_Part):
    """A rule for a fact of the snapshot."""

    name: str
    title: str
    check: Literal["values", "idle", "throttled", "taint", "gpio_interrupts", "link", "swaps"] = (
        "values"
    )
    keyed: bool = False
    allow: list[str] | None = None
    maximum: int | None = None
    absent: Literal["good", "note", "bad"] = "good"
    told_by: str | None = None  # boards whose model says this do tell it
    level: Level
    reason: str
    advice: str
    missing: str = ""  # what to do if a board that can report it does not


class _Requirements(_Part):
    """All of a flavour's file, with what it extends."""

    flavour: Flavour
    about: str
    extends: Flavour | None = None
    required: dict[str, _Option] = {}
    forbidden: dict[str, _Option] = {}
    recommended: dict[str, _Option] = {}
    command_line: list[_KernelParameter] = []
    fact: list[_FactRule] = []

    def upon(self, base: "_Requirements") -> "_Requirements":
        """Return these requirements with those that they extend; these win."""
        own = {*self.required, *self.forbidden, *self.recommended}
        sections: dict[str, object] = {}
        for section in ("required", "forbidden", "recommended"):
            kept = {name: o for name, o in getattr(base, section).items() if name not in own}
            sections[section] = kept | getattr(self, section)
        facts = {rule.name: rule for rule in [*base.fact, *self.fact]}
        parameters = {rule.parameter: rule for rule in [*base.command_line, *self.command_line]}
        return self.model_copy(
            update={
                **sections,
                "fact": list(facts.values()),
                "command_line": list(parameters.values()),
            }
        )


class _BenchNeeds(_Part):
    """The needs of any kernel on the virtual bench: ``target/kernels/virtual.toml``."""

    about: str
    required: dict[str, _Option]
    network: dict[str, _Option]  # of loads with a network
    recommended: dict[str, _Option] = {}


@cache
def virtual_needs() -> _BenchNeeds:
    """Return the needs of the virtual bench. Raises TennisError."""
    return _read(FOLDER / "virtual.toml", _BenchNeeds)


File = TypeVar("File", bound=_Part)


def _read(path: Path, model: type[File]) -> File:
    try:
        return model.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, ValidationError) as error:
        raise TennisError(f"{path}: {error}", next_step="restore it from the repository") from error


@cache
def requirements(flavour: str, folder: Path = FOLDER) -> _Requirements:
    """Return a flavour's requirements. Raises UsageError for an unknown one, TennisError."""
    if flavour not in FLAVOURS:
        raise UsageError(f"no flavour {flavour!r}", next_step=f"use {', '.join(FLAVOURS)}")
    read = _read(folder / f"{flavour}.toml", _Requirements)
    return read.upon(requirements(read.extends, folder)) if read.extends else read


def fragment(flavour: str) -> str:
    """Return a configuration fragment, as the kernel's scripts/kconfig/merge_config.sh takes it.

    It has the required, forbidden and recommended options, each behind its reason. Raises
    UsageError.
    """
    known = requirements(flavour)
    lines = [f"# {known.flavour}: {known.about}", f"# from target/kernels/{known.flavour}.toml"]
    for section, options in (
        ("required", known.required),
        ("forbidden", known.forbidden),
        ("recommended", known.recommended),
    ):
        lines += ["", f"# --- {section} ---"]
        for name, option in options.items():
            value = "n" if section == "forbidden" else option.value[0]
            lines.append(f"# {option.reason} ({option.source})")
            lines.append(f"# {name} is not set" if value == "n" else f"{name}={value}")
    return "\n".join(lines) + "\n"


def check_config(requirements: _Requirements, config: Mapping[str, str]) -> Iterator[Finding]:
    """Yield what there is to say about a configuration (option -> value)."""
    wrong = 0
    for name, option in {
        **requirements.required,
        **requirements.forbidden,
        **requirements.recommended,
    }.items():
        if option.only_with and config.get(option.only_with, "n") == "n":
            continue
        value = config.get(name, "n")
        forbidden = name in requirements.forbidden
        if value == "n" if forbidden else option.suits(value):
            continue
        recommended = name in requirements.recommended
        wrong += not recommended
        want = "n" if forbidden else option.value[0]
        yield Finding(
            "note" if recommended else "bad",
            name,
            f"{plain(value, 60)}; {option.reason}",
            f"{'better' if recommended else 'build the kernel with'} {name}={want}",
        )
    if not wrong:
        many = len(requirements.required) + len(requirements.forbidden)
        yield Finding("good", "configuration", f"all {many} required and forbidden options right")


def check_virtual(requirements: _Requirements, config: Mapping[str, str]) -> Iterator[Finding]:
    """Yield findings about a configuration (option -> value) on the virtual bench.

    An option that the flavour requires, too, is left to ``check_config``.
    """
    needs = virtual_needs()

    def lacking(options: Mapping[str, _Option]) -> list[str]:
        return [name for name, one in options.items() if not one.suits(config.get(name, "n"))]

    bad = [name for name in lacking(needs.required) if name not in requirements.required]
    for name in bad:
        value = plain(config.get(name, "n"), 60)
        yield Finding(
            "bad",
            name,
            f"{value}; {needs.about} needs {needs.required[name].reason}",
            f"build the kernel with {name}=y; of a kernel for a board, check --bench pi",
        )
    if network := lacking(needs.network):
        yield Finding(
            "note",
            needs.about,
            f"no load with a network plays: {', '.join(network)} is missing",
            "better build the kernel with it (target/kernels/small.config has all)",
        )
    for name in lacking(needs.recommended):
        reason = needs.recommended[name].reason
        yield Finding("note", name, f"n; {reason}", f"better {name}=y")
    if not bad:
        many = len(needs.required)
        yield Finding("good", needs.about, f"all {many} options right that it needs")


def check(requirements: _Requirements, snapshot: Snapshot) -> Iterator[Finding]:
    """Yield findings about a running kernel, from the target's snapshot."""
    release = snapshot.line("release") or "of an unknown release"
    same = snapshot.flavour == requirements.flavour
    yield Finding(
        "good" if same else "bad",
        "kernel",
        f"{release}, flavour {snapshot.flavour}"
        + ("" if same else f", not {requirements.flavour}"),
        "" if same else f"boot the {requirements.flavour} kernel (tennis benches boot)",
    )
    if snapshot.config:
        yield from check_config(requirements, snapshot.config)
    else:
        yield Finding(
            "note",
            "configuration",
            "unknown: there is neither /proc/config.gz nor a file in /boot",
            "build the kernel with CONFIG_IKCONFIG_PROC=y",
        )
    yield from boards.check(snapshot)
    yield from _check_command_line(requirements, snapshot)
    for rule in requirements.fact:
        yield _check_fact(rule, snapshot)


def check_module(snapshot: Snapshot) -> Finding:
    """Say whether the Racquet is there for the kernel that runs, and would be loaded."""
    known, name = snapshot.pairs("modules"), snapshot.module
    release = snapshot.line("release") or "of an unknown release"
    made_for = known.get(name, "").partition(" ")[0]
    if not made_for:
        return Finding(
            "bad",
            "Racquet",
            f"there is no {name} for the kernel {release}",
            "install it there: docs/provisioning.md, or by hand docs/racquet.md",
        )
    if made_for != release:
        return Finding(
            "bad",
            "Racquet",
            f"{name} was built for the kernel {made_for}, not for {release} that runs",
            "build it again for this kernel, then run depmod there",
        )
    return loading.check(snapshot, name) or Finding("good", "Racquet", f"{name} for {release}")


def _check_command_line(requirements: _Requirements, snapshot: Snapshot) -> Iterator[Finding]:
    parameters = (snapshot.line("command_line") or "").split()
    given = {word.partition("=")[0]: word for word in parameters}
    wrong = False
    for rule in requirements.command_line:
        if (rule.parameter in given) == (rule.want == "present"):
            continue
        wrong = True
        present = rule.want == "absent"
        yield Finding(
            rule.level,
            "command line",
            f"{given[rule.parameter] if present else f'no {rule.parameter}'}: {rule.reason}",
            f"{'take it out of' if present else 'add it to'} the command line, and reboot",
        )
    if not wrong:
        yield Finding("good", "command line", "nothing on it that spoils a rally")


def _check_fact(rule: _FactRule, snapshot: Snapshot) -> Finding:
    lines = snapshot.lines(rule.name)
    if not lines and rule.told_by and rule.told_by in (snapshot.line("model") or ""):
        return Finding("note", rule.title, f"not reported, a {rule.told_by} can", rule.missing)
    if not lines:
        none = "none" if rule.allow == [] else "not reported"
        advice = "" if rule.absent == "good" else rule.advice
        return Finding(rule.absent, rule.title, none, advice)
    judge = {
        "values": _values,
        "idle": _idle,
        "throttled": _throttled,
        "taint": _taint,
        "gpio_interrupts": _gpio_interrupts,
        "link": _link,
        "swaps": _swaps,
    }[rule.check]
    verdict, found = judge(rule, snapshot)
    if verdict == "good":
        return Finding("good", rule.title, found)
    return Finding(verdict, rule.title, f"{found}; {rule.reason}", rule.advice)


def _values(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    values = (
        list(snapshot.pairs(rule.name).values())
        if rule.keyed
        else [plain(line, 100) for line in snapshot.lines(rule.name)]
    )
    shown = ", ".join(dict.fromkeys(values))
    if rule.maximum is not None:
        numbers = [int(value) for value in values if re.fullmatch(r"-?\d{1,12}", value)]
        return ("good" if max(numbers, default=0) <= rule.maximum else rule.level), shown
    right = rule.allow is None or all(value in rule.allow for value in values)
    return ("good" if right else rule.level), shown


def _idle(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    deep: dict[str, int] = {}
    for state in snapshot.pairs("idle_states").values():
        name, latency_us, disabled = [*state.split(), "", "", ""][:3]
        if latency_us.isdigit() and int(latency_us) > (rule.maximum or 0) and disabled == "0":
            deep[name] = int(latency_us)
    if not deep:
        return "good", f"none that takes longer than {rule.maximum} µs to leave is enabled"
    return rule.level, ", ".join(f"{plain(n, 40)} takes {us} µs to leave" for n, us in deep.items())


def _link(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    policy = snapshot.pairs("gpio_link").get("policy") or "unknown"
    if boards.gpio_link(snapshot) == "awake":
        return "good", f"stays awake (policy {policy})"
    return rule.level, f"may sleep (policy {policy})"


def _swaps(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    """Tell memory that is packed (zram) from a disk; it may have a file behind it, too."""
    behind = snapshot.pairs("zram")
    packed, disks = [], []
    for line in snapshot.lines("swaps"):
        place = plain(line.split()[0], 80)
        name = place.removeprefix("/dev/")
        backing = behind.get(f"{name}/backing_dev", "none")
        if not re.fullmatch(r"zram\d+", name):
            disks.append(place)
        elif backing != "none":
            disks.append(f"{place}, which writes to {plain(backing, 80)}")
        else:
            packed.append(name)
    if disks:
        return rule.level, ", ".join(disks)
    return "good", f"in memory, packed ({', '.join(packed)}): nothing comes from a card"


def throttled(snapshot: Snapshot) -> tuple[list[str], list[str]]:
    """Return the firmware's warnings about power and heat: now, and since boot."""
    match = re.fullmatch(r"throttled=0x([0-9a-fA-F]{1,8})", snapshot.line("throttled") or "")
    bits = int(match[1], 16) if match else 0
    now = [reason for bit, reason in THROTTLED_NOW.items() if bits >> bit & 1]
    before = [reason for bit, reason in THROTTLED_NOW.items() if bits >> bit + THROTTLED_BEFORE & 1]
    return now, before


def _throttled(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    now, before = throttled(snapshot)
    if now:
        return rule.level, f"now: {', '.join(now)}"
    if before:
        return "note", f"since boot: {', '.join(before)}"
    return "good", "nothing since boot"


def _taint(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    value = snapshot.line("tainted") or "0"
    bits = int(value) if re.fullmatch(r"\d{1,12}", value) else 0
    reasons = [reason for bit, reason in TAINTS.items() if bits >> bit & 1]
    return (rule.level, ", ".join(reasons)) if reasons else ("good", "none since boot")


def gpio_interrupts(snapshot: Snapshot) -> dict[str, int]:
    """Return how often each interrupt of a GPIO line came, without the Racquet's: name -> times."""
    interrupts = {}
    lines = snapshot.lines("interrupts")
    cpus = lines[0].count("CPU") if lines else 0
    for line in lines[1:]:
        number, *fields = line.split()
        name = " ".join(fields[cpus:])
        own = re.search(r"\bracquet", name)
        if number.rstrip(":").isdigit() and GPIO_CHIP.search(name) and not own:
            interrupts[plain(name, 80)] = sum(int(word) for word in fields[:cpus] if word.isdigit())
    return interrupts


def _gpio_interrupts(rule: _FactRule, snapshot: Snapshot) -> tuple[Mark, str]:
    interrupts = gpio_interrupts(snapshot)
    if not interrupts:
        return "good", "none"
    return rule.level, ", ".join(f"{name} ({times} times)" for name, times in interrupts.items())
