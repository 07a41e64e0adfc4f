# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The bench in QEMU: real kernels, and an instrument outside of their time."""
