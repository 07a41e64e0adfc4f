"""Checks, before a boot or a rally, whether a kernel will load a module of ours.

Signatures, lockdown, the versions of symbols and with them the layout of structures.
``target/kernels/*.toml`` has the rules for its configuration; here are those for its boot and for a
running kernel.
"""

import re
from collections.abc import Sequence
from pathlib import Path

from tennis.bench.findings import Finding
from tennis.bench.targets.snapshot import Snapshot
from tennis.kit.errors import UsageError
from tennis.rally.text import plain

OFF = {"0", "n", "no", "off", "false"}
# a word of the command line -> why a module of ours is refused then: kernel/module/main.c,
# kernel/module/signing.c, security/lockdown, security/loadpin
SIGNED = "the kernel takes signed modules only"
SWITCHES = {
    "module.sig_enforce": SIGNED,
    "nomodule": "the kernel takes no module at all",
    "sysctl.kernel.modules_disabled": "the kernel takes no module at all",
    "loadpin.enforce": "the kernel takes modules from one file system only",
}
REPORTED = {"module.sig_enforce", "nomodule", "sysctl.kernel.modules_disabled"}  # while it runs
# a word, or a name, or a name before the dot -> the hardware that it is for. The image of a kernel
# for arm64 has some of them, and takes them without a word
X86, IDLE = "an x86 processor", "the idle states of a real processor"
HARDWARE = {
    **dict.fromkeys(("tsc", "clocksource=tsc", "hpet", "mce", "idle", "intel_pstate"), X86),
    **dict.fromkeys(("cpuidle", "processor", "intel_idle"), IDLE),
    **dict.fromkeys(("efi", "acpi_irq_nobalance", "pcie_aspm", "nosmt"), "a real machine"),
}
LOCKED = {"integrity", "confidentiality"}
MAGIC_AT, MAGIC = 0x38, b"ARM\x64"  # of an arm64 Image (Documentation/arch/arm64/booting.rst)
BLACKLISTS = ("module_blacklist", "modprobe.blacklist")


def _keeps_out(word: str) -> str:
    """Say why a kernel that is booted with a word takes no module of ours; empty: it does."""
    name, equals, value = word.replace('"', "").partition("=")
    name = name.replace("-", "_")  # the kernel reads both alike
    if name in SWITCHES and not (equals and value.lower() in OFF):
        return SWITCHES[name]
    if name == "lockdown" and value in LOCKED:
        return SIGNED
    if name in BLACKLISTS and any(one.startswith("racquet") for one in value.split(",")):
        return "this word forbids the kernel to load the Racquet"
    return ""


def check_command_line(command_line: str, kernel: str, image: Path) -> None:
    """Raise UsageError for a word that is unknown, or with which the Racquet is not loaded."""
    for word in command_line.split():
        if why := _keeps_out(word):
            raise UsageError(
                f"--command-line {word}: {why}, and the Racquet is a module that nobody signed",
                next_step="leave it out",
            )
    _check_known(command_line, kernel, image)


def _check_known(command_line: str, kernel: str, image: Path) -> None:
    """Raise UsageError for a word that a kernel does not know, as far as its image tells.

    A parameter's name is in the image as it is written, and ends there. Only the target can check a
    name with a dot, or a compressed image (``image`` has no arm64 magic).
    """
    own, _, _ = command_line.partition(" -- ")  # the rest goes to the first process
    for word in own.split():
        first = _name(word).partition(".")[0].replace("-", "_")
        if of := HARDWARE.get(word) or HARDWARE.get(first):
            raise UsageError(
                f"--command-line {word}: it is for {of}, and does nothing in a simulated machine",
                next_step="leave it out",
            )
    words = [word for word in own.split() if "." not in _name(word) and word[0] != "/"]
    if not words:
        return
    content = image.read_bytes()
    if content[MAGIC_AT : MAGIC_AT + len(MAGIC)] != MAGIC:
        return
    for word in words:
        name = re.sub(rb"[-_]", rb"[-_]", _name(word).encode())  # the kernel reads both alike
        if not re.search(rb"(?<![A-Za-z0-9_.-])" + name + rb"=?\0", content):
            raise UsageError(
                f"--command-line {word}: {kernel} does not know this word; its image has none of "
                "that name",
                next_step="leave it out, or use another kernel",
            )


def _name(word: str) -> str:
    return word.partition("=")[0]


def check(snapshot: Snapshot, module: str) -> Finding | None:
    """Say why the kernel that runs would not take a module; None: nothing speaks against it."""
    known = snapshot.pairs("modules")
    for why, advice in (
        *_switches(snapshot, signed=f"{module}.signed" in known),
        *_versions(snapshot),
    ):
        return Finding("bad", "Racquet", f"{module} would not be loaded: {why}", advice)
    return None


def _switches(snapshot: Snapshot, *, signed: bool) -> list[tuple[str, str]]:
    """Return what forbids it, and what to do. A module that is signed may be taken."""
    told = snapshot.pairs("loading")
    words: Sequence[str] = (snapshot.line("command_line") or "").split()
    reboot = "take it out of the command line, and reboot"
    found = [
        (f"{plain(word, 60)} on the command line: {why}", reboot)
        for word in words
        if word.partition("=")[0] not in REPORTED
        and (why := _keeps_out(word))
        and not (signed and why == SIGNED)
    ]
    if told.get("modules_disabled") == "1":
        found.append(("kernel.modules_disabled is 1, until the next boot", "reboot it"))
    if signed:
        return found
    sign = "sign it with a key that the kernel has, or boot a kernel that takes unsigned modules"
    if told.get("sig_enforce", "").upper() in {"Y", "1"}:
        found.append((f"module.sig_enforce is on: {SIGNED}", sign))
    if told.get("lockdown") in LOCKED:
        found.append((f"the kernel is locked down ({told['lockdown']}): {SIGNED}", sign))
    return found


def _versions(snapshot: Snapshot) -> list[tuple[str, str]]:
    """Return differences to this kernel if the module was made for another one of this release."""
    known, of_kernel, name = snapshot.pairs("modules"), snapshot.pairs("loading"), snapshot.module
    again = "build it again with the headers of the kernel that runs, then run depmod there"
    ours, theirs = known.get(name, ""), of_kernel.get("vermagic", "")
    found = []
    # one that has versions of symbols is taken without comparing what it was built with
    if theirs and ours and _built(ours) != _built(theirs):
        found.append((f"it is for {plain(ours, 80)}, the kernel is {plain(theirs, 80)}", again))
    layout, theirs = known.get(f"{name}.layout", ""), of_kernel.get("layout", "")
    if layout and theirs and layout != theirs:
        what = "another configuration of the kernel, whose structures lie elsewhere"
        found.append((f"it was built for {what} (module_layout {layout}, not {theirs})", again))
    return found


def _built(vermagic: str) -> list[str]:
    """Return the words of a vermagic that must be equal."""
    return sorted(re.split(r"\s+", vermagic.strip()))
