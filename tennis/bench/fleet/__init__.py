# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Provisioned benches: the inventory, who holds them, and what they boot."""
