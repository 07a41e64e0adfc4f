"""SLOTH for real Picos: registers as the chips' own header files have them, and UF2 files."""

import re
import struct
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from tennis.bench.sloth.application import application
from tennis.bench.sloth.image import CORES, RP2040, RP2350, SLOTH, image
from tennis.cli import cli
from tests.support import pico_sdk

BOARDS = {"rp2040": "board-rp2040.h", "rp2350": "board-rp2350.h"}
# what target/sloth says -> what the pico-sdk says; {pin} is each pin that is used
REGISTERS = {
    "RESETS_CLEAR": "RESETS_BASE + REG_ALIAS_CLR_BITS + RESETS_RESET_OFFSET",
    "RESETS_DONE": "RESETS_BASE + RESETS_RESET_DONE_OFFSET",
    "BOARD_RESETS": "RESETS_RESET_IO_BANK0_BITS | RESETS_RESET_PADS_BANK0_BITS | "
    "RESETS_RESET_PLL_SYS_BITS | RESETS_RESET_UART0_BITS",
    "XOSC_CTRL": "XOSC_BASE + XOSC_CTRL_OFFSET",
    "XOSC_STATUS": "XOSC_BASE + XOSC_STATUS_OFFSET",
    "XOSC_STARTUP": "XOSC_BASE + XOSC_STARTUP_OFFSET",
    "PLL_CS": "PLL_SYS_BASE + PLL_CS_OFFSET",
    "PLL_PWR_CLEAR": "PLL_SYS_BASE + REG_ALIAS_CLR_BITS + PLL_PWR_OFFSET",
    "PLL_FBDIV": "PLL_SYS_BASE + PLL_FBDIV_INT_OFFSET",
    "PLL_PRIM": "PLL_SYS_BASE + PLL_PRIM_OFFSET",
    "CLK_REF_CTRL": "CLOCKS_BASE + CLOCKS_CLK_REF_CTRL_OFFSET",
    "CLK_REF_SELECTED": "CLOCKS_BASE + CLOCKS_CLK_REF_SELECTED_OFFSET",
    "CLK_SYS_CTRL": "CLOCKS_BASE + CLOCKS_CLK_SYS_CTRL_OFFSET",
    "CLK_SYS_SELECTED": "CLOCKS_BASE + CLOCKS_CLK_SYS_SELECTED_OFFSET",
    "CLK_PERI_CTRL": "CLOCKS_BASE + CLOCKS_CLK_PERI_CTRL_OFFSET",
    "IO_CTRL({pin})": "IO_BANK0_BASE + IO_BANK0_GPIO{pin}_CTRL_OFFSET",
    "IO_INTR0": "IO_BANK0_BASE + IO_BANK0_INTR0_OFFSET",
    "IO_PROC0_INTE0": "IO_BANK0_BASE + IO_BANK0_PROC0_INTE0_OFFSET",
    "PING_RISES": "IO_BANK0_INTR0_GPIO2_EDGE_HIGH_BITS",
    "SIO_OUT_SET": "SIO_BASE + SIO_GPIO_OUT_SET_OFFSET",
    "SIO_OUT_CLEAR": "SIO_BASE + SIO_GPIO_OUT_CLR_OFFSET",
    "SIO_OE_SET": "SIO_BASE + SIO_GPIO_OE_SET_OFFSET",
    "UART_DR": "UART0_BASE + UART_UARTDR_OFFSET",
    "UART_FR": "UART0_BASE + UART_UARTFR_OFFSET",
    "UART_IBRD": "UART0_BASE + UART_UARTIBRD_OFFSET",
    "UART_FBRD": "UART0_BASE + UART_UARTFBRD_OFFSET",
    "UART_LCR_H": "UART0_BASE + UART_UARTLCR_H_OFFSET",
    "UART_CR": "UART0_BASE + UART_UARTCR_OFFSET",
    "PING_TASK_LINE": "IO_IRQ_BANK0",
}
# what is written where
VALUES = {
    "0xAA0": "XOSC_CTRL_FREQ_RANGE_VALUE_1_15MHZ",
    "0xFABAA0": "XOSC_CTRL_ENABLE_VALUE_ENABLE << XOSC_CTRL_ENABLE_LSB | "
    "XOSC_CTRL_FREQ_RANGE_VALUE_1_15MHZ",
    "2": "CLOCKS_CLK_REF_CTRL_SRC_VALUE_XOSC_CLKSRC",
    "1": "CLOCKS_CLK_SYS_CTRL_SRC_VALUE_CLKSRC_CLK_SYS_AUX",
    "0": "CLOCKS_CLK_SYS_CTRL_AUXSRC_VALUE_CLKSRC_PLL_SYS",
    "(1 << 11)": "CLOCKS_CLK_PERI_CTRL_ENABLE_BITS",
    "(1 << 0 | 1 << 5)": "PLL_PWR_PD_BITS | PLL_PWR_VCOPD_BITS",
    "(1 << 3)": "PLL_PWR_POSTDIVPD_BITS",
    "(6 << 16 | 2 << 12)": "6 << PLL_PRIM_POSTDIV1_LSB | 2 << PLL_PRIM_POSTDIV2_LSB",
    "5": "IO_BANK0_GPIO2_CTRL_FUNCSEL_VALUE_{sio}",
    "(0 + 2)": "IO_BANK0_GPIO0_CTRL_FUNCSEL_VALUE_UART0_TX",
    "(3 << 5 | 1 << 4)": "3 << UART_UARTLCR_H_WLEN_LSB | UART_UARTLCR_H_FEN_BITS",
    "(1 << 8 | 1)": "UART_UARTCR_TXE_BITS | UART_UARTCR_UARTEN_BITS",
    "(1 << 5)": "UART_UARTFR_TXFF_BITS",
}
OF_RP2350 = {
    "PADS_CTRL(3)": "PADS_BANK0_BASE + PADS_BANK0_GPIO3_OFFSET",
    "0x56": "PADS_BANK0_GPIO0_RESET & ~PADS_BANK0_GPIO0_ISO_BITS & ~PADS_BANK0_GPIO0_PDE_BITS | "
    "PADS_BANK0_GPIO0_IE_BITS | 1 << 2",
    "FREE_LINE(0)": "SPAREIRQ_IRQ_0",
    "FREE_LINE(5)": "SPAREIRQ_IRQ_5",
}


@pytest.fixture(scope="module")
def sdk() -> Path:
    """Return the pico-sdk's sources."""
    return pico_sdk.sdk()


def evaluated(chip: str, ours: dict[str, str], sdk: Path, tmp_path: Path) -> list[tuple[int, int]]:
    """Return pairs of numbers: ours, and the pico-sdk's; the compiler reads both."""
    headers = sorted((sdk / chip / "hardware_regs/include/hardware/regs").glob("*.h"))
    wanted = {"addressmap", "clocks", "intctrl", "io_bank0", "pads_bank0", "pll", "resets", "sio"}
    wanted |= {"uart", "xosc"}
    included = "\n".join(f'#include "{h}"' for h in headers if h.stem in wanted)
    # ours come under names of their own: some are the same
    text = "".join((SLOTH / name).read_text() for name in (BOARDS[chip], "board-pico.h"))
    text = text.replace('#include "board-pico.h"', "")
    resets = re.search(r"enum board_resets \{(.*?)\};", text, re.DOTALL)
    lines = re.search(r"enum board_lines \{(.*?)\};", text, re.DOTALL)
    names = [name for name in ours if re.match(r"[A-Z]\w+(\(\w+\))?$", name)]
    defines = "\n".join(re.findall(r"^#define (?!BOARD_ENTRY)(?:.*\\\n)*.*", text, re.MULTILINE))
    numbers = dict(re.findall(r"(\w+) = ([^,]+?)\s*(?:,|$)", resets[1] + lines[1]))
    own = tmp_path / "own.c"
    own.write_text(
        f"#define REGISTER(address) (address)\n{defines}\n"
        + "".join(f"#define {n} ({e.strip()})\n" for n, e in numbers.items())
        + "".join(f"OURS {name}\n" for name in names)
    )
    theirs = tmp_path / "theirs.c"
    theirs.write_text(
        f"#define _u(x) x\n{included}\n" + "".join(f"SDK {e}\n" for e in ours.values())
    )

    def read(path: Path, mark: str) -> list[int]:
        words = [
            "arm-none-eabi-gcc",
            "-E",
            "-P",
            "-D__ASSEMBLER__",
            f"-I{sdk / chip / 'hardware_regs/include'}",
        ]
        words += [f"-I{sdk / 'common/pico_base_headers/include'}", str(path)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        found = re.findall(rf"^{mark} (.*)", done.stdout, re.MULTILINE)
        return [eval(re.sub(r"(?<=[0-9a-fA-F])u\b", "", one), {}) for one in found]  # noqa: S307

    said = dict(zip(names, read(own, "OURS"), strict=True))
    right = read(theirs, "SDK")
    return [
        (said[name] if name in said else eval(name, {}), number)  # noqa: S307
        for name, number in zip(ours, right, strict=True)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("chip", BOARDS)
def test_each_register_is_where_the_chips_own_header_says(chip, sdk, tmp_path):
    asked = {
        name.format(pin=pin): words.format(pin=pin)
        for name, words in REGISTERS.items()
        for pin in ((0, 2, 3, 4) if "{pin}" in name else (0,))
    }
    sio = {"rp2040": "SIO_2", "rp2350": "SIOB_PROC_2"}[chip]
    asked |= {name: words.format(sio=sio) for name, words in VALUES.items()}
    if chip == "rp2350":
        asked |= OF_RP2350
    pairs = evaluated(chip, asked, sdk, tmp_path)
    assert len(pairs) > 40
    assert {n: p for n, p in zip(asked, pairs, strict=True) if p[0] != p[1]} == {}


@pytest.mark.slow
def test_a_pico_2_finds_what_its_boot_rom_looks_for(sdk):
    """The vectors first; within 4 kB the block that says: a program, Arm, secure, RP2350."""
    told = (sdk / "common/boot_picobin_headers/include/boot/picobin.h").read_text()

    def of(name: str) -> int:
        return int(re.search(rf"#define PICOBIN_{name} +_u\((\w+)\)", told)[1], 0)

    program = loaded(image(SLOTH / "racquet.c", CORES["m33"], RP2350))
    stack, reset = struct.unpack_from("<II", program)
    assert stack == 0x2004_0000
    assert reset & 1
    assert 0x2000_0000 < reset < 0x2000_0000 + len(program)
    at = program.index(of("BLOCK_MARKER_START").to_bytes(4, "little"))
    assert at < 4096
    assert at % 4 == 0
    item, last, link, end = struct.unpack_from("<4I", program, at + 4)
    kind = of("IMAGE_TYPE_EXE_CHIP_RP2350") << of("IMAGE_TYPE_EXE_CHIP_LSB")
    kind |= of("IMAGE_TYPE_EXE_SECURITY_S") << of("IMAGE_TYPE_EXE_SECURITY_LSB")
    kind |= of("IMAGE_TYPE_EXE_CPU_ARM") << of("IMAGE_TYPE_EXE_CPU_LSB") | 1  # 1: executable
    assert item == of("BLOCK_ITEM_1BS_IMAGE_TYPE") | 1 << 8 | kind << 16
    assert (last, link, end) == (0xFF | 1 << 8, 0, of("BLOCK_MARKER_END"))


def loaded(elf: Path) -> bytes:
    """Return what a loader stores from 0x20000000 on, read off the file by hand."""
    data = elf.read_bytes()
    table, size, count = (
        struct.unpack_from(f, data, at)[0] for f, at in (("<I", 28), ("<H", 42), ("<H", 44))
    )
    memory = bytearray()
    for at in range(table, table + size * count, size):
        kind, offset, _, address, length = struct.unpack_from("<5I", data, at)
        if kind == 1 and length:
            assert address - 0x2000_0000 == len(memory)
            memory += data[offset : offset + length]
    return bytes(memory)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kernel", "idle", "family"),
    [
        ("sloth-pico", ("m0", RP2040), "RP2040_FAMILY_ID"),
        ("sloth-pico2", ("m33", RP2350), "RP2350_ARM_S_FAMILY_ID"),
    ],
)
def test_a_uf2_file_holds_the_program(kernel, idle, family, sdk, tmp_path):
    out = tmp_path / "sloth.uf2"
    words = ["kernels", "uf2", kernel, "--load", "hog", "--load-option", "hold_us=50"]
    done = CliRunner().invoke(cli, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert f"--bench pi --kernel {kernel} --load hog" in done.output
    told = (sdk / "common/boot_uf2_headers/include/boot/uf2.h").read_text()
    known = {n: int(v, 16) for n, v in re.findall(r"#define (\w+) +(0x[0-9a-fA-F]+)u", told)}
    data = out.read_bytes()
    blocks = [data[at : at + 512] for at in range(0, len(data), 512)]
    memory = b""
    for number, block in enumerate(blocks):
        assert struct.unpack_from("<8I", block) == (
            *(known["UF2_MAGIC_START0"], known["UF2_MAGIC_START1"]),
            *(known["UF2_FLAG_FAMILY_ID_PRESENT"], 0x2000_0000 + 256 * number, 256),
            *(number, len(blocks), known[family]),
        )
        assert block[-4:] == known["UF2_MAGIC_END"].to_bytes(4, "little")
        assert not any(block[32 + 256 : -4])
        memory += block[32 : 32 + 256]
    elf = application(kernel, "hog", {"hold_us": 50}).elf
    program = loaded(elf)
    assert memory[: len(program)] == program
    assert not any(memory[len(program) :])
    core, board = idle
    assert loaded(image(SLOTH / "racquet.c", CORES[core], board)) != program  # the load is in it
    again = CliRunner().invoke(cli, [*words, "--out", str(out)])
    assert again.exit_code != 0
