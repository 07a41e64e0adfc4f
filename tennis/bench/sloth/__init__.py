"""SLOTH on bare metal: tasks that the interrupt controller schedules (target/sloth)."""

# the names that `--kernel` takes, and their processors (image.CORES)
PICO = "sloth-pico"  # on a Pico, emulated or not
PICO2 = "sloth-pico2"  # on a Pico 2, which has no emulator here; the others run in QEMU
KERNELS = {"sloth": "m3", "sloth-m33": "m33", "sloth-m0": "m0", PICO: "m0", PICO2: "m33"}


def is_sloth(kernel: str) -> bool:
    """Tell whether ``--kernel`` names SLOTH."""
    return kernel in KERNELS
