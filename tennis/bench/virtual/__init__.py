"""The bench in QEMU: real kernels, and an instrument outside of their time."""
