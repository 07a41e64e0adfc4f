"""`tennis card`: what it writes onto a boot partition, and what it says of others' cards.

The card is a real FAT file system in an image, read back as the board's firmware would.
"""

from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from tennis.cli import cli
from tests.provisioning.test_card import lay_out
from tests.support import pi_card
from tests.support.pi_firmware import BOARDS, Firmware

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + "Tennis0" * 6 + "A room 12"
# as an image of Debian 13 comes: comments only
TEMPLATE = "#cloud-config\n# The following is an example\n#hostname: x\n#users:\n"
# as Imager 2 writes it
IMAGER = f"""#cloud-config
hostname: bench-1
user:
  name: pi
  lock_passwd: false
  passwd: "$6$abcdefgh$0123456789abcdefghijklmnopqrstuvwxyz"
  ssh_authorized_keys:
    - "{KEY}"
ssh_pwauth: false
runcmd:
  - [ systemctl, enable, --now, ssh ]
"""
FIRST = "console=tty1 root=PARTUUID=1-02 init=/usr/lib/raspberrypi-sys-mods/firstboot\n"


@pytest.fixture
def boot(tmp_path) -> Path:
    """Return the boot partition of an image of Debian 13."""
    place = tmp_path / "bootfs"
    lay_out(place)
    (place / "user-data").write_text(TEMPLATE)
    (place / "network-config").write_text("# comments\n")
    (place / "meta-data").write_text("dsmode: local\ninstance_id: rpios-image\n")
    (tmp_path / "key.pub").write_text(f"{KEY}\n")
    return place


def debian_12(boot: Path, command_line: str) -> None:
    """Make it that of an image of Debian 12, which knows nothing of cloud-init."""
    for name in ("user-data", "network-config", "meta-data"):
        (boot / name).unlink()
    (boot / "cmdline.txt").write_text(command_line)


def card(*words: object):
    return CliRunner().invoke(cli, ["card", *map(str, words)])


def write(boot: Path, *words: str):
    return card(boot, "--host", "bench-1", "--key", boot.parent / "key.pub", *words)


@pytest.mark.parametrize("board", BOARDS)
def test_a_written_card_boots_and_tells_cloud_init_all(boot, tmp_path, board):
    done = write(boot)
    assert done.exit_code == 0, done.output
    pi_card.write(tmp_path / "card.img", boot)
    read = pi_card.read(tmp_path / "card.img")
    loaded = Firmware(BOARDS[board]).start(read)
    assert loaded.configuration == "config.txt"
    said = yaml.safe_load(read["user-data"])
    assert read["user-data"].startswith(b"#cloud-config\n")
    assert said["hostname"] == "bench-1"
    assert said["user"]["name"] == "pi"
    assert said["user"]["ssh_authorized_keys"] == [KEY]
    assert said["user"]["lock_passwd"] is True
    assert said["ssh_pwauth"] is False
    assert ["systemctl", "enable", "--now", "ssh"] in said["runcmd"]
    wired = yaml.safe_load(read["network-config"])["network"]["ethernets"]["eth0"]
    assert wired["dhcp4"] is True
    assert yaml.safe_load(read["meta-data"])["instance-id"].startswith("tennis-")
    assert card(boot).exit_code == 0


def test_a_first_boot_below_the_first_line_is_none(boot):
    """The firmware does not read that file: the card would let in nobody."""
    debian_12(boot, f"console=tty1 root=PARTUUID=1-02\n# before: {FIRST}")
    assert "has neither cloud-init's user-data nor a first boot" in str(write(boot).exception)


def test_the_first_boot_is_in_the_file_that_config_txt_names(boot):
    """The image's own is read by nobody then; a file that is included may name another one."""
    debian_12(boot, FIRST)
    with (boot / "config.txt").open("a") as config:
        config.write("include user.txt\n")
    (boot / "user.txt").write_text("cmdline=other.txt\n")
    assert "other.txt" in str(write(boot).exception)  # it is not there
    (boot / "other.txt").write_text("console=tty1 root=PARTUUID=1-02\n")
    assert "nor a first boot in other.txt" in str(write(boot).exception)
    (boot / "other.txt").write_text(FIRST)
    (boot / "cmdline.txt").unlink()
    assert write(boot).exit_code == 0
    assert card(boot).exit_code == 0
    (boot / "user.txt").write_text("[pi4]\ncmdline=other.txt\n")
    assert "only the board knows" in str(write(boot).exception)


def test_what_imager_2_wrote_is_sound_and_its_password_is_told(boot):
    (boot / "user-data").write_text(IMAGER)
    (boot / "meta-data").write_text("instance-id: rpi-imager-1\n")
    done = card(boot)
    assert done.exit_code == 0, done.output
    assert "1 that may log in" in done.output
    assert "note  password: its hash is in the boot partition" in done.output
    # and is not written over by accident
    assert "has settings already, in user-data" in str(write(boot).exception)
    assert (boot / "user-data").read_text() == IMAGER
    assert write(boot, "--replace").exit_code == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda boot: (boot / "config.txt").unlink(), "is no boot partition of Raspberry Pi OS"),
        (lambda boot: (boot / "kernel8.img").unlink(), "an image for 32 bits"),
        (
            lambda boot: (boot / "user-data").write_text("#cloud-config\nhostname: x\n"),
            "none that may",
        ),
        (
            lambda boot: (boot / "user-data").write_text(IMAGER.partition("runcmd")[0]),
            "not started",
        ),
        (lambda boot: (boot / "meta-data").write_text("\n"), "no instance-id"),
        (lambda boot: [(boot / n).unlink() for n in ("user-data", "meta-data")], "was booted"),
    ],
)
def test_a_card_that_would_not_let_in_is_found_before_it_is_put_in(boot, change, words):
    (boot / "user-data").write_text(IMAGER)
    (boot / "meta-data").write_text("instance-id: rpi-imager-1\n")
    change(boot)
    done = card(boot)
    assert done.exit_code == 1
    assert words in done.output


def test_a_link_on_a_card_is_not_followed(boot, tmp_path):
    (tmp_path / "elsewhere").write_text("mine\n")
    (boot / "user-data").unlink()
    (boot / "user-data").symlink_to(tmp_path / "elsewhere")
    write(boot, "--replace")
    assert (tmp_path / "elsewhere").read_text() == "mine\n"
