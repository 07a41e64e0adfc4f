# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all benches in QEMU share: its plugins, and a session with the built-in instrument."""
