# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commissioning: measure each step on the equipment, and keep the record."""
