# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What tests share: made-up data, stand-ins, machines in QEMU. No tests."""
