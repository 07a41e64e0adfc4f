"""Folders that look like a built kernel tree, as far as Tennis looks before it builds there."""

from pathlib import Path

from tennis.bench.kernels.requirements import virtual_needs

IMAGE = "arch/arm64/boot/Image"


def kernel_tree(folder: Path, *options: str, release: str = "5.10.1-mine") -> Path:
    """Write a tree with these options of its configuration; return its folder."""
    for name in ("Makefile", "include/config/auto.conf", "Module.symvers", IMAGE):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    (folder / IMAGE).write_bytes(b"MZ")
    lines = [
        *(f"{option}=y" for option in (*virtual_needs().required, *options)),
        "# CONFIG_X is not set",
    ]
    for name in (".config", "include/config/auto.conf"):
        (folder / name).write_text("\n".join(lines) + "\n")
    header = folder / "include/generated/utsrelease.h"
    header.parent.mkdir(exist_ok=True)
    header.write_text(f'#define UTS_RELEASE "{release}"\n')
    return folder
