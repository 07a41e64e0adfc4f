# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Shared by tests: synthetic data, stand-ins, machines in QEMU. No tests."""
