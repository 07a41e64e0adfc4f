"""A program for a Pico's RAM as a UF2 file: what its boot loader takes.

Format: the UF2 specification (github.com/microsoft/uf2); families: pico-sdk, boot/uf2.h. The flash,
with MicroPython maybe, stays as it is; the program ends with the power.
"""

import struct
import tempfile
from pathlib import Path

from tennis.bench.commands import run
from tennis.bench.sloth import PICO, PICO2
from tennis.bench.sloth.application import BOARDS
from tennis.kit.errors import UsageError

FAMILIES = {PICO: 0xE48BFF56, PICO2: 0xE48BFF59}  # of a Pico 2: its Arm processor, secure
PAYLOAD = 256  # bytes of a block, which has room for 476
HEADER = struct.Struct("<8I")
BLOCK = 512
MAGIC, MAGIC_AFTER, MAGIC_END = 0x0A324655, 0x9E5D5157, 0x0AB16F30
FAMILY_PRESENT = 0x2000


def uf2(elf: Path, kernel: str) -> bytes:
    """Return a program as a UF2 file for the board of ``sloth-pico`` or ``sloth-pico2``.

    Raises UsageError for a kernel that runs on no board.
    """
    if kernel not in FAMILIES:
        raise UsageError(
            f"{kernel} is not a kernel of a Pico", next_step=f"use {' or '.join(FAMILIES)}"
        )
    with tempfile.TemporaryDirectory(prefix="tennis-uf2-") as scratch:
        plain = Path(scratch) / "program.bin"
        run(["arm-none-eabi-objcopy", "-O", "binary", elf, plain], what=f"reading {elf.name}")
        program = plain.read_bytes()
    address, count = BOARDS[kernel].code, -(-len(program) // PAYLOAD)
    blocks = []
    for number in range(count):
        header = HEADER.pack(
            *(MAGIC, MAGIC_AFTER, FAMILY_PRESENT, address + number * PAYLOAD),
            *(PAYLOAD, number, count, FAMILIES[kernel]),
        )
        data = program[number * PAYLOAD : (number + 1) * PAYLOAD]
        block = (header + data).ljust(BLOCK - 4, b"\0") + MAGIC_END.to_bytes(4, "little")
        blocks.append(block)
    return b"".join(blocks)
