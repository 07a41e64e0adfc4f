# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The virtual target: real arm64 kernels in QEMU, in deterministic virtual time."""
