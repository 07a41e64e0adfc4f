#!/usr/bin/python3 -I
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Choose the kernel that this target boots: once first, for good when it came up.

  tennis-boot list             what there is, what runs and what is the default, as JSON
  tennis-boot once FLAVOUR HOLDER   the next boot takes FLAVOUR, the one after the default again
  tennis-boot keep FLAVOUR HOLDER   FLAVOUR becomes the default; it must be the kernel that runs
  tennis-boot reboot HOLDER    reboot into what was chosen
  tennis-boot register [--check] [--no-trials] FALLBACK FLAVOUR=PACKAGE[,stock]...
                               what provisioning installed; says "changed" if anything is new.
                               --check: say so, and change nothing

HOLDER is in whose name the bench is held: while somebody else holds it, or a rally is being played,
nothing is chosen and nothing reboots. tennis-bench knows.

/etc/tennis/kernels.json says which flavours there are. Two ways to boot are known: the Raspberry
Pi's firmware (tryboot: config.txt stays as it is until a kernel has come up) and GRUB (next_entry).
--no-trials is for boards whose firmware does not know tryboot: config.txt names the kernel before
it was seen running; if it does not come up, config.txt.before-tennis must be put back by hand.
TENNIS_ROOT is put in front of every path; for the tests.
"""

import contextlib
import functools
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ.get("TENNIS_ROOT", "/"))
REGISTRY = ROOT / "etc/tennis/kernels.json"
KEEPER = ROOT / "usr/local/sbin/tennis-bench"  # of the leases
READER = ROOT / "usr/local/sbin/tennis-firmware"  # of what the Pi's firmware reads
BOOT = ROOT / "boot"
FIRMWARE_FOLDERS = (BOOT / "firmware", BOOT)
MODEL = ROOT / "proc/device-tree/model"
GRUB_MENU = BOOT / "grub/grub.cfg"
GRUB_ENVIRONMENT = BOOT / "grub/grubenv"
GRUB_SETTINGS = ROOT / "etc/default/grub"
PACKAGE = re.compile(r"[a-z0-9][a-z0-9.+-]{1,100}")
VCIO = ROOT / "dev/vcio"  # how a program, or the kernel for it, talks to the Pi's firmware
PANIC = "panic=10"  # a kernel that cannot go on reboots, into the default
WATCHDOG_KEPT = "watchdog_disarm=0"


class Refused(Exception):  # noqa: N818 (it is no error of the program)
    """What was asked for cannot be done; the message says what to do instead."""


def main(words):
    """Run one command of the command line."""
    command, *arguments = words or ["help"]
    if command == "register":
        options = {word for word in arguments if word.startswith("-")}
        fallback, *entries = [word for word in arguments if word not in options] or [""]
        if not entries or options - {"--check", "--no-trials"}:
            raise Refused("use: tennis-boot register [--check] [--no-trials] FALLBACK FLAVOUR=...")
        trials, check = "--no-trials" not in options, "--check" in options
        print(
            "changed"
            if register(fallback, entries, trials=trials, check=check)
            else "nothing to do"
        )
        return
    takes = {"list": 0, "once": 2, "keep": 2, "reboot": 1}
    if takes.get(command) != len(arguments):
        raise Refused(
            "use: tennis-boot list | once FLAVOUR HOLDER | keep FLAVOUR HOLDER | reboot HOLDER"
        )
    if command == "list":
        print(json.dumps(describe(read_registry(), find_loader()), indent=2))
        return
    with held_for(arguments[-1]):
        if command == "reboot":
            find_loader().reboot()
        else:
            choose(command, arguments[0])


@contextlib.contextmanager
def held_for(holder):
    """Do something to the bench for its holder; nobody else takes it meanwhile."""
    try:
        keeper = runpy.run_path(str(KEEPER))
    except FileNotFoundError:
        raise Refused(f"{KEEPER} is missing: provision this target again") from None
    try:
        with keeper["held_for"](holder):
            yield
    except keeper["Refused"] as refusal:
        raise Refused(str(refusal)) from None


def choose(command, flavour):
    """Let the next boot take a flavour, or every boot."""
    kernels, loader = read_registry(), find_loader()
    entry = find(kernels, flavour)
    unseen = os.uname().release != entry["release"]
    sure = flavour == kernels["fallback"] and loader.is_sure_of(entry)
    if command == "keep" and unseen and not sure:
        raise Refused(
            f"{flavour} is {entry['release']} and {os.uname().release} runs: boot {flavour} first"
        )
    if command == "once":
        loader.once(entry)
    else:
        loader.keep(entry)
    os.sync()


def read_registry():
    """Return the flavours that provisioning installed."""
    try:
        kernels = json.loads(REGISTRY.read_text())
        assert kernels["fallback"] in kernels["flavours"]
        for entry in kernels["flavours"].values():
            if entry.get("stock"):
                # an upgrade puts a newer one where the firmware looks first
                with contextlib.suppress(Refused):  # somebody removed it: missing() will say so
                    entry["release"] = release_of(entry["package"])
    except FileNotFoundError:
        raise Refused(f"{REGISTRY} is missing: provision this target (ansible/site.yml)") from None
    except (ValueError, KeyError, TypeError, AssertionError):
        raise Refused(f"{REGISTRY} is damaged: provision this target again") from None
    return kernels


def register(fallback, entries, *, trials, check):
    """Write the registry, and what follows from it; tell whether that changes anything."""
    flavours = {}
    for entry in entries:
        name, _, rest = entry.partition("=")
        package, _, stock = rest.partition(",")
        release = release_of(package)
        if missing(release):
            raise Refused(
                f"{name}: {package} is installed and {missing(release)}: install it again"
            )
        flavours[name] = {"release": release, "package": package}
        if stock:
            flavours[name]["stock"] = True
    if fallback not in flavours:
        raise Refused(f"the fallback {fallback} is not one of {', '.join(flavours)}")
    kernels = {"fallback": fallback, "flavours": flavours}
    if not trials:
        kernels["trials"] = False
    fresh = json.dumps(kernels, indent=2) + "\n"
    loader = find_loader()
    changed = read(REGISTRY) != fresh
    if changed and not check:
        REGISTRY.parent.mkdir(exist_ok=True)
        write_whole(REGISTRY, fresh)
    changed |= loader.refresh(check=check)
    # nobody chose, or what was chosen is gone
    if loader.default(flavours) is None and loader.is_sure_of(flavours[fallback]):
        if not check:
            loader.keep(flavours[fallback])
        changed = True
    return changed


def release_of(package):
    """Return the release of a kernel's package, or of the package that it stands for."""
    for _ in range(3):
        found = re.fullmatch(r"linux-image-(\d.*)", package)
        if found:
            return found[1].removesuffix("-unsigned")
        if not PACKAGE.fullmatch(package):
            raise Refused(f"{package!a} is not a name of a package")
        depends = run("dpkg-query", "-W", "-f", "${Depends}", "--", package)
        found = re.search(r"linux-image-[^\s,(|]+", depends)
        if not found:
            raise Refused(f"{package} names no kernel: it depends on {depends or 'nothing'}")
        package = found[0]
    raise Refused(f"{package} leads to no kernel")


def find(kernels, flavour):
    """Return a flavour's entry; its kernel and modules must be there."""
    entry = kernels["flavours"].get(flavour)
    if entry is None:
        raise Refused(f"no kernel {flavour!a} here: there are {', '.join(kernels['flavours'])}")
    why = missing(entry["release"])
    if why:
        raise Refused(f"{flavour}: {why}: provision this target again")
    if flavour == "evl" and is_pi_5():
        raise Refused(
            "evl: the GPIO controller of a Pi 5 (RP1) is not safe in an interrupt pipeline: "
            "use a Pi 4"
        )
    return entry


def missing(release):
    """Return what of a kernel is not there, or None."""
    for path in (BOOT / f"vmlinuz-{release}", ROOT / f"lib/modules/{release}"):
        if not path.exists():
            return f"{path} is missing"
    return None


def is_pi_5():
    """Tell whether this is a Raspberry Pi 5 (or a module of its kind)."""
    return bool(re.search(r"Raspberry Pi (Compute Module )?5", model()))


def model():
    """Return what the device tree says the board is, empty where there is none."""
    try:
        return MODEL.read_bytes().decode(errors="replace").rstrip("\0")
    except OSError:
        return ""


@functools.cache
def reader():
    """Return what reads files as the firmware does."""
    try:
        return runpy.run_path(str(READER))
    except FileNotFoundError:
        raise Refused(f"{READER} is missing: provision this target again") from None


@contextlib.contextmanager
def clearly():
    """Refuse what nobody but the board can tell."""
    try:
        yield
    except reader()["Unclear"] as unclear:
        raise Refused(str(unclear)) from None


def describe(kernels, loader):
    """Return what `list` prints."""
    running = os.uname().release
    flavours = {
        name: {"release": entry["release"], "missing": missing(entry["release"])}
        for name, entry in kernels["flavours"].items()
    }
    names = [name for name, entry in flavours.items() if entry["release"] == running]
    boot_id = (ROOT / "proc/sys/kernel/random/boot_id").read_text().strip()
    return {
        "loader": loader.name,
        "fallback": kernels["fallback"],
        "default": loader.default(kernels["flavours"]),
        "running": {"release": running, "flavour": names[0] if names else None},
        "boot_id": boot_id,
        "flavours": flavours,
    }


def find_loader():
    """Return the way in which this target boots."""
    for folder in FIRMWARE_FOLDERS:
        if (folder / "config.txt").is_file():
            return Firmware(folder)
    if GRUB_MENU.is_file():
        return Grub()
    raise Refused(
        "neither the Raspberry Pi's config.txt nor GRUB is here: tennis-boot knows no other way "
        "to boot; choose the kernel by hand"
    )


class Grub:
    """GRUB: next_entry of its environment is taken once."""

    name = "grub"

    def refresh(self, *, check):
        """Write the menu if its settings are newer, as after a run that stopped half way."""
        settings = [GRUB_SETTINGS, *GRUB_SETTINGS.with_name("grub.d").glob("*.cfg")]
        settings += (ROOT / "etc/grub.d").glob("*")
        written = GRUB_MENU.stat().st_mtime
        old = any(path.is_file() and path.stat().st_mtime > written for path in settings)
        if old and not check:
            run("update-grub")
        return old

    def is_sure_of(self, _entry):
        """Tell whether a kernel may be the default unseen: what GRUB cannot load, it passes by."""
        return True

    def once(self, entry):
        """Let the next boot take a kernel."""
        run("grub-reboot", self._id(entry["release"]))

    def keep(self, entry):
        """Let every boot take a kernel."""
        run("grub-set-default", self._id(entry["release"]))

    def reboot(self):
        """Reboot as soon as this program has ended."""
        reboot_soon()

    def default(self, flavours):
        """Return the flavour that boots when nothing was chosen, None if that is another one."""
        found = re.search(r"^saved_entry=(.*)$", read(GRUB_ENVIRONMENT), re.MULTILINE)
        for flavour, entry in flavours.items():
            if found and f"-{entry['release']}-advanced-" in found[1]:
                return flavour
        return None

    def _id(self, release):
        pattern = rf"'(gnulinux-{re.escape(release)}-advanced-[^']*)'"
        found = re.search(pattern, read(GRUB_MENU))
        if not found:
            raise Refused(f"GRUB's menu has no entry for {release}: run update-grub")
        return found[1]


class Firmware:
    """The Raspberry Pi's firmware: a folder a kernel, and tryboot.txt is taken once.

    A flag that `reboot "0 tryboot"` sets makes the firmware read tryboot.txt in config.txt's place;
    the flag is gone before the kernel starts, so that whatever resets the board (a panic, the
    watchdog, the plug) brings config.txt back. Sources: the Raspberry Pi documentation, "Fail-safe
    OS updates (TRYBOOT)", and os_prefix, upstream_kernel and kernel_watchdog_timeout in
    "config.txt". Only Raspberry Pi's own kernels pass the flag on (rpi-eeprom's issue 716), and the
    same ones have /dev/vcio.
    """

    name = "tryboot"

    def __init__(self, folder):
        self.folder = folder
        self.config, self.trial = folder / "config.txt", folder / "tryboot.txt"
        self.reader = reader()

    def once(self, entry):
        """Write the kernel's files, and tryboot.txt that names them."""
        if not read_registry().get("trials", True):
            self.keep(entry)
        elif not VCIO.exists():
            if not self.is_sure_of(entry):
                raise Refused(
                    f"{os.uname().release} cannot ask the firmware for a trial (it has no "
                    "/dev/vcio): boot Raspberry Pi's own kernel first (if no flavour is that, put "
                    f"{self.folder}/config.txt.before-tennis in config.txt's place and reboot)"
                )
            self.keep(entry)
        elif self._setting("tryboot_a_b", file="autoboot.txt", tryboot=True) not in {"", "0"}:
            raise Refused(
                f"{self.folder}/autoboot.txt has tryboot_a_b=1, so the firmware tries another "
                "partition and never reads tryboot.txt: take that line out, or set kernel_trials "
                "to false and provision again"
            )
        else:
            write_whole(self.trial, self._text(entry))

    def keep(self, entry):
        """Let config.txt name the kernel."""
        self._save_original()
        text = self._text(entry)
        if text != self._config_text():
            write_whole(self.config, text)
        if entry["release"] == os.uname().release and self._seen(entry).parent.is_dir():
            self._seen(entry).touch()
        self.trial.unlink(missing_ok=True)

    def reboot(self):
        """Reboot as soon as this program has ended; with the flag if a kernel is on trial."""
        reboot_soon(*(["--reboot-argument=0 tryboot"] if self.trial.is_file() else []))

    def default(self, flavours):
        """Return the flavour that boots when nothing was chosen, None if that is another one."""
        prefix = self._setting("os_prefix", ours=True)
        found = re.fullmatch(r"tennis/(\S+)/", prefix)
        if prefix.startswith("tennis/") and not found:
            return None
        for flavour, entry in flavours.items():
            if entry["release"] == found[1] if found else entry.get("stock"):
                return flavour
        return None

    def refresh(self, *, check):
        """Give the kernels that were copied the command line that cmdline.txt has by now."""
        if not check:
            self._save_original()
        changed = False
        for path in (self.folder / "tennis").glob("*/cmdline.txt"):
            if read(path) != self._command_line():
                changed = True
                if not check:
                    write_whole(path, self._command_line())
        return changed

    def is_sure_of(self, entry):
        """Tell whether a kernel may be the default: no firmware falls back from config.txt."""
        running = entry["release"] == os.uname().release
        seen = self._seen(entry).exists() and self._is_current(entry["release"])
        return bool(entry.get("stock")) or running or seen

    def _seen(self, entry):
        """Return the mark of a kernel that came up; another copy of it has none."""
        return self.folder / "tennis" / entry["release"] / "came-up"

    def _config_text(self):
        # with each byte as it is: people write comments in other encodings, and lines of Windows'
        return self.config.read_bytes().decode(errors="surrogateescape")

    def _save_original(self):
        original = self.folder / "config.txt.before-tennis"
        if not original.exists():
            write_whole(original, self._config_text())

    def _command_line(self):
        # as the firmware reads it: people keep other lines below the first one
        with clearly():
            name = self.reader["command_line"](self.folder, model())
        words = read(self.folder / name).partition("\n")[0].split()
        if not words:
            raise Refused(
                f"{self.folder / name}, which config.txt names, has no command line: "
                "put root= there"
            )
        words = [word for word in words if not word.startswith(("panic=", "watchdog_disarm="))]
        # the initramfs of Raspberry Pi OS stops the watchdog unless this is behind another word
        kept = [WATCHDOG_KEPT] if is_watchdog_fed() else []
        line = " ".join([*words, PANIC, *kept])
        longest = self.reader["COMMAND_LINE_MAX"]
        if len(line.encode()) > longest:
            raise Refused(
                f"{self.folder / name} has a line of {len(line.encode())} bytes, and a kernel "
                f"takes {longest} beside what the firmware adds: shorten it"
            )
        return line + "\n"

    def _text(self, entry):
        """Return config.txt as it must be for a kernel; the kernel's files are there then."""
        text = self.reader["without_ours"](self._config_text())
        if entry.get("stock"):
            return text  # the distribution keeps its own kernel where the firmware looks first
        begin, end = self.reader["BEGIN"], self.reader["END"]
        return f"{text.rstrip()}\n{begin}\n{self._install(entry['release'])}{end}\n"

    def _setting(self, name, *, file="config.txt", **how):
        """Return what a setting is, empty where it is not said."""
        with clearly():
            lines = self.reader["entries"](self.folder, file, model=model(), **how)
            return self.reader["value_of"](lines, name)

    def _install(self, release):
        """Copy a kernel and its device trees; return the lines that make the firmware take them."""
        home = self.folder / "tennis" / release
        sources = self._sources(release)
        trees = [name for name in sources if name.endswith(".dtb")]
        if not trees:
            raise Refused(
                f"{release} has no device tree for a Raspberry Pi in "
                f"/usr/lib/linux-image-{release}: it was built or packed without them"
            )
        # kernel.org calls a Pi 3's trees bcm2837, Raspberry Pi bcm2710
        upstream = any("bcm2837" in name for name in trees)
        upstream &= not any("bcm2710" in name for name in trees)
        lines = ["[all]", "arm_64bit=1", "auto_initramfs=0", f"os_prefix=tennis/{release}/"]
        lines.append("kernel=vmlinuz")
        if "initrd.img" in sources:
            lines.append("initramfs initrd.img followkernel")
        # said in any case: what the card's own config.txt says of it is meant for its own kernel
        lines += [f"upstream_kernel={int(upstream)}", "cmdline=cmdline.txt"]
        if is_watchdog_fed():
            lines.append("kernel_watchdog_timeout=60")
        for line in lines:
            if len(line.encode()) > self.reader["LINE_MAX"]:
                raise Refused(
                    f"{release} is too long a name: the firmware reads {self.reader['LINE_MAX']} "
                    f"bytes of {line!a}: build it with a shorter one"
                )
        block = "".join(f"{line}\n" for line in lines)
        if read(home / "cmdline.txt") and self._is_current(release):
            if read(home / "cmdline.txt") != self._command_line():
                write_whole(home / "cmdline.txt", self._command_line())
            return block
        self._remove_others()
        needed = sum(source.stat().st_size for source in sources.values()) + (4 << 20)
        free = shutil.disk_usage(self.folder).free
        if needed > free:
            raise Refused(
                f"{self.folder} has {free >> 20} MB free, {release} needs {needed >> 20} MB: "
                "make its partition larger, or remove what is not needed from it"
            )
        fresh = home.with_name("new")
        shutil.rmtree(fresh, ignore_errors=True)
        for name, source in sources.items():
            (fresh / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, fresh / name)
        (fresh / "cmdline.txt").write_text(self._command_line())
        os.sync()
        shutil.rmtree(home, ignore_errors=True)
        fresh.rename(home)
        return block

    def _sources(self, release):
        """Return what must be in a kernel's folder: name -> file."""
        sources = files_of(release)
        # those that provisioning put among the firmware's own
        for overlay in (self.folder / "overlays").glob("tennis-*.dtbo"):
            sources[f"overlays/{overlay.name}"] = overlay
        return sources

    def _is_current(self, release):
        """Tell whether a kernel's folder has what is installed."""
        home = self.folder / "tennis" / release
        sources = self._sources(release).items()
        return all(is_copy(source, home / name) for name, source in sources)

    def _remove_others(self):
        """Remove the folders of kernels that config.txt does not name and nobody asks for."""
        registered = {entry["release"] for entry in read_registry()["flavours"].values()}
        config = read(self.config)
        for folder in (self.folder / "tennis").glob("*"):
            if folder.name not in registered and f"os_prefix=tennis/{folder.name}/" not in config:
                shutil.rmtree(folder)


def files_of(release):
    """Return what the firmware needs of a kernel: name in its folder -> file."""
    sources = {"vmlinuz": BOOT / f"vmlinuz-{release}"}
    initrd = BOOT / f"initrd.img-{release}"
    if initrd.is_file():
        sources["initrd.img"] = initrd
    trees = ROOT / f"usr/lib/linux-image-{release}"  # where kernel packages put device trees
    for folder in (trees / "broadcom", trees):
        sources.update({tree.name: tree for tree in folder.glob("bcm2[78]*.dtb")})
    overlays = (trees / "overlays").glob("*")
    sources.update({f"overlays/{overlay.name}": overlay for overlay in overlays})
    return sources


def is_watchdog_fed():
    """Tell whether systemd is set to feed the watchdog: if not, it would reset every kernel."""
    homes = (ROOT / "etc/systemd/system.conf.d", ROOT / "usr/lib/systemd/system.conf.d")
    texts = [read(path) for home in homes for path in home.glob("*.conf")]
    return any(re.search(r"^RuntimeWatchdogSec=(?!0|off)", t, re.MULTILINE) for t in texts)


def is_copy(source, copy):
    """Tell whether a file was copied, and not been changed since."""
    try:
        same_size = source.stat().st_size == copy.stat().st_size
        return same_size and source.stat().st_mtime <= copy.stat().st_mtime + 2  # as FAT counts
    except FileNotFoundError:
        return False


def read(path):
    """Return a text, empty where there is none."""
    try:
        return path.read_text(errors="replace")
    except FileNotFoundError:
        return ""


def write_whole(path, text):
    """Put a text in a file's place, so that a power cut leaves the old one or the new one."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.write(text.encode(errors="surrogateescape"))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def run(*command):
    """Run a program and return its output; its last line is the reason if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        tail = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise Refused(f"{command[0]} failed: {tail}")
    return done.stdout


def reboot_soon(*words):
    """Reboot in a second, so that who asked for it over SSH still gets an answer."""
    run("systemd-run", "--quiet", "--on-active=1", "systemctl", "reboot", *words)


def program(words):
    """Run a command as a program does: what is refused is one line, and exit code 1."""
    try:
        main(words)
    except Refused as refusal:
        sys.exit(f"tennis-boot: {refusal}")
    except OSError as error:
        sys.exit(f"tennis-boot: {error.filename or error}: {error.strerror or 'failed'}")


if __name__ == "__main__":
    program(sys.argv[1:])
