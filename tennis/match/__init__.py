# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match: its plan, its schedule, its folder; sweeps."""
