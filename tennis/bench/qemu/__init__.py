# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Shared by all benches in QEMU: its plugins, and a session with the built-in instrument."""
