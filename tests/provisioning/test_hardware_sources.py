# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Each name of hardware that the kit relies on has its source in ``docs/hardware-sources.md``."""

import re
import tomllib

import pytest
import yaml

from tennis.checkout import ROOT

PAGE = (ROOT / "docs/hardware-sources.md").read_text(encoding="utf-8")
FIRMWARE = (ROOT / "kit-firmware/brickwall/registers.py").read_text(encoding="utf-8")
BOOT = (ROOT / "ansible/roles/kernel/files/tennis_boot.py").read_text(encoding="utf-8")
OVERLAYS = "".join(path.read_text() for path in (ROOT / "target/overlays").glob("*.dts"))


def packages() -> set[str]:
    """Return the packages that roles and loads install."""
    found = set()
    for path in (ROOT / "ansible/roles").glob("*/[dv]*/main.yml"):
        for key, value in (yaml.safe_load(path.read_text()) or {}).items():
            if key.endswith("_packages"):
                found |= set(value)
        found |= set(
            re.findall(r"linux-(?:image|headers)-(?:rpi-|rt-)?[a-z][a-z0-9-]+", path.read_text())
        )
    for path in (ROOT / "loads").glob("*/load.toml"):
        load = tomllib.loads(path.read_text())
        found |= {*load.get("packages", []), *load.get("host_packages", [])}
    return found


NAMES = {
    "package": packages(),
    # a whole address; offsets within a device are in its row
    "register": set(re.findall(r"0x[0-9A-F]{8}\b", FIRMWARE)) - {"0xFFFFFFFF"},  # that is a mask
    "word of config.txt": set(re.findall(r'"([a-z_0-9]+)=', BOOT)) & set(re.findall(r"\w+", BOOT)),
    "node": set(re.findall(r"<&(\w*gpio)\b", OVERLAYS)),
}


# what the facts begin with whose source was not to be had again
READ_ONCE = (
    "an RP2350's PIO (version 1)",
    "the flash's clock is the RP2040's by an even number",
    "`machine.freq` sets the flash's divider",
    "`auto_initramfs=0`",
    "EVL keeps branches",
)


@pytest.mark.parametrize("kind", NAMES)
def test_each_name_has_its_row(kind):
    """Whoever adds one says where it is from."""
    assert NAMES[kind]
    assert [name for name in sorted(NAMES[kind]) if not re.search(rf"\b{name}\b", PAGE)] == []


def test_no_row_claims_a_board_and_each_says_when_it_was_read_again():
    rows = [line for line in PAGE.splitlines() if line.startswith("| ")]
    facts = [row for row in rows if not row.startswith("| what is assumed")]
    assert len(facts) > 50
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in facts]
    assert {len(row) for row in cells} == {5}
    assert {row[3] for row in cells} == {"no"}
    again = {row[0]: row[4] for row in cells}
    assert all(re.fullmatch(r"(\d{4}-\d{2}-\d{2})?", day) for day in again.values())
    unread = [row[0] for row in cells if not row[4] and "*not found*" not in row[1]]
    assert [fact for fact in unread if not fact.startswith(READ_ONCE)] == []
    assert len(unread) == len(READ_ONCE)
