"""A Raspberry Pi's card before its first boot: its user, the key, and whether it announces itself.

Which files Raspberry Pi OS reads depends on the image, not on a version: rpi-imager's page
doc/os_customisation_formats.md names them. An image of Debian 13 has cloud-init, and comes with
its ``user-data`` in the boot partition. One of Debian 12 runs raspberrypi-sys-mods' ``firstboot``,
as its command line says, and that reads ``custom.toml``.
"""

import json
import re
import secrets
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tennis.bench.findings import Finding
from tennis.bench.fleet import firmware_files
from tennis.kit.errors import TennisError, UsageError
from tennis.rally.disk import open_below, write_whole
from tennis.rally.text import plain

Way = Literal["cloud-init", "firstboot"]
USER_DATA, NETWORK, META, TOML = "user-data", "network-config", "meta-data", "custom.toml"
FIRSTBOOT = "/raspberrypi-sys-mods/firstboot"
OTHER_WAYS = ("rpi-preseed.toml", "firstrun.sh")
NAME = re.compile(r"[a-z][a-z0-9-]{0,30}[a-z0-9]")
USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}")
KEY = re.compile(
    r"(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+ [A-Za-z0-9+/]{60,4000}={0,3}(?: [^\r\n]{0,200})?"
)
SIZE_MAX = 1 << 16  # bytes of a file that is read
FREE_MIN_MB = 150  # two kernels with their initramfs
HEAD = "#cloud-config\n"


@dataclass(frozen=True)
class Card:
    """The host name, user and key of a card. Raises UsageError for a malformed one."""

    host: str
    user: str
    key: str  # the public half

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.host):
            raise UsageError(
                f"{plain(self.host, 40)!a} is no host name",
                next_step="take small letters, digits and dashes: bench-1",
            )
        if not USER.fullmatch(self.user) or self.user == "root":
            raise UsageError(
                f"{plain(self.user, 40)!a} is no user of a card",
                next_step="name another: --user pi",
            )
        if not KEY.fullmatch(self.key) or not self.key.isprintable():
            raise UsageError(
                "the file of --key holds no public key",
                next_step="name a file like ~/.ssh/id_ed25519.pub, with one line",
            )

    def files(self, way: Way) -> dict[str, str]:
        """Return the first-boot files: name -> text. JSON is YAML, with nothing to quote."""
        if way == "firstboot":
            lines = [
                "config_version = 1",
                f"[system]\nhostname = {_quoted(self.host)}",
                # no password: the account is locked, and the key lets in
                f"[user]\nname = {_quoted(self.user)}",
                "[ssh]\nenabled = true\npassword_authentication = false",
                f"authorized_keys = [{_quoted(self.key)}]",
            ]
            return {TOML: "\n".join(lines) + "\n"}
        sudoers = f"/etc/sudoers.d/010_{self.user}-nopasswd"
        user_data = {
            "hostname": self.host,
            "manage_etc_hosts": True,
            # the distribution's own user gets this name, and keeps its groups
            "user": {
                "name": self.user,
                "shell": "/bin/bash",
                "lock_passwd": True,
                "ssh_authorized_keys": [self.key],
            },
            "ssh_pwauth": False,
            "runcmd": [
                # Raspberry Pi OS starts no sshd by itself
                ["systemctl", "enable", "--now", "ssh"],
                ["sh", "-c", f"echo '{self.user} ALL=(ALL) NOPASSWD:ALL' > {sudoers}"],
                ["chmod", "0440", sudoers],
            ],
        }
        wired = {"eth0": {"dhcp4": True, "optional": True}}
        return {
            USER_DATA: HEAD + _quoted(user_data) + "\n",
            NETWORK: _quoted({"network": {"version": 2, "ethernets": wired}}) + "\n",
            # another one than last time: else cloud-init takes this for a boot of before
            META: f"instance-id: tennis-{secrets.token_hex(8)}\n",
        }

    def write(self, boot: Path, *, replace: bool = False) -> list[str]:
        """Write the first-boot files; return their names. Raises UsageError, DiskFullError."""
        way = _way_of(boot)
        files = self.files(way)
        said = [name for name in (*files, *OTHER_WAYS) if _is_set(boot / name)]
        if said and not replace:
            raise UsageError(
                f"{boot} has settings already, in {' and '.join(said)}",
                next_step="keep them, or say --replace",
            )
        strange = [name for name in said if name in OTHER_WAYS]
        if strange:
            raise UsageError(
                f"{boot / strange[0]} would be read, too, and contradict these settings",
                next_step="write the image again, without settings",
            )
        for name, text in files.items():
            write_whole(boot / name, text.encode(), force=True)
        return list(files)


def _quoted(value: object) -> str:
    """Write as JSON, which is YAML, and of a text TOML: neither knows pairs of escapes."""
    return json.dumps(value, indent=2, ensure_ascii=False)


def _way_of(boot: Path) -> Way:
    """Return how an image is set up for its first boot. Raises UsageError if that is unclear."""
    try:
        named = firmware_files.command_line(boot)
    except firmware_files.Unclear as unclear:
        raise UsageError(
            f"what the firmware would do with this card is unclear: {plain(str(unclear), 300)}",
            next_step="correct that line, or write the image again",
        ) from None
    if named is None or not (boot / named).is_file():
        raise UsageError(
            f"{boot} is no boot partition of Raspberry Pi OS (config.txt and "
            f"{plain(named or firmware_files.COMMAND_LINE, 100)})",
            next_step="name where bootfs is mounted: lsblk -o NAME,LABEL,MOUNTPOINTS",
        )
    if _text(boot / USER_DATA) is not None or _text(boot / META) is not None:
        return "cloud-init"
    # the firmware reads the first line only: below it people keep earlier ones
    if FIRSTBOOT in (_text(boot / named) or "").partition("\n")[0]:
        return "firstboot"
    raise UsageError(
        f"{boot} has neither cloud-init's user-data nor a first boot in {plain(named, 100)}: it "
        "was booted already, or its image is configured in another way",
        next_step="write Raspberry Pi OS Lite (64-bit) again, or use Raspberry Pi Imager 2",
    )


def check_card(boot: Path) -> Iterator[Finding]:
    """Yield what a card's boot partition tells before it is put in."""
    try:
        way = _way_of(boot)
    except TennisError as error:
        yield Finding("bad", "image", *error.finding)
        return
    yield Finding("good", "image", f"Raspberry Pi OS, configured by {way}")
    yield _kernel(boot)
    for number in firmware_files.cut_off(boot):
        yield Finding(
            "note",
            "config.txt",
            f"line {number} is too long: the firmware ignores what is behind its "
            f"{firmware_files.LINE_MAX}th character",
            "write it as several lines: dtparam= below dtoverlay=",
        )
    text = _text(boot / (USER_DATA if way == "cloud-init" else TOML)) or ""
    lines = [
        line for line in text.splitlines() if line.strip() and not line.strip().startswith("#")
    ]
    if not lines:
        yield Finding(
            "bad",
            "settings",
            "none: no user, no key, no SSH (Raspberry Pi Imager before 2.0 writes a file that this "
            "image does not read)",
            "tennis card BOOT --host NAME, or Raspberry Pi Imager 2",
        )
        return
    keys = KEY.findall("\n".join(lines))
    yield Finding(
        "good" if keys else "bad",
        "key",
        f"{len(keys)} that may log in" if keys else "none that may log in",
        "" if keys else "tennis card BOOT --host NAME --replace",
    )
    joined = re.sub(r"\s+", " ", text)
    ssh = re.search(
        r'enable_ssh: true|systemctl[", ]+enable[^]]*ssh|\[ssh\] enabled = true', joined
    )
    yield Finding(
        "good" if ssh else "bad",
        "SSH",
        "started at the first boot" if ssh else "not started at the first boot",
        "" if ssh else "tennis card BOOT --host NAME --replace",
    )
    if re.search(r"\$[0-9a-z]+\$[./A-Za-z0-9$]{20,}", text):
        yield Finding(
            "note",
            "password",
            "its hash is in the boot partition, readable for everybody who has the card",
            "provisioning locks it; tennis card writes none",
        )
    if way == "cloud-init" and not re.search(
        r"^instance-id: *\S", _text(boot / META) or "", re.MULTILINE
    ):
        yield Finding(
            "bad",
            "meta-data",
            "no instance-id: cloud-init ignores the rest",
            "tennis card BOOT --host NAME --replace",
        )
    free_mb = shutil.disk_usage(boot).free // 1_000_000
    yield Finding(
        "good" if free_mb >= FREE_MIN_MB else "note",
        "room",
        f"{free_mb} MB free",
        "" if free_mb >= FREE_MIN_MB else f"two more kernels need some {FREE_MIN_MB} MB",
    )


def _kernel(boot: Path) -> Finding:
    """Say whether a card starts a kernel with 64 bits."""
    if not (boot / "kernel8.img").is_file():
        return Finding(
            "bad",
            "kernel",
            "no kernel8.img: an image for 32 bits",
            "write the 64-bit Raspberry Pi OS Lite",
        )
    try:
        wide = firmware_files.value_of(firmware_files.entries(boot), "arm_64bit", "1")
    except firmware_files.Unclear as unclear:
        return Finding("bad", "kernel", plain(str(unclear), 300), "write arm_64bit=1 below [all]")
    if wide == "0":
        return Finding(
            "bad", "kernel", "config.txt starts it with 32 bits: arm_64bit=0", "write arm_64bit=1"
        )
    return Finding("good", "kernel", "64 bits (kernel8.img)")


def _text(path: Path) -> str | None:
    """Return a file's text, or None if it cannot be read."""
    try:
        with open_below(path.parent, path.name) as file:
            return file.read(SIZE_MAX).decode(errors="replace")
    except OSError:
        return None


def _is_set(path: Path) -> bool:
    """Tell whether a file says anything: images come with files of comments."""
    text = _text(path)
    if text is None or path.name in {META, NETWORK}:
        return False
    return any(line.strip() and not line.strip().startswith("#") for line in text.splitlines())
