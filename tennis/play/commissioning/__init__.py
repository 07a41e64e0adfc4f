# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Commissioning: measure each step on what is there, and keep the record."""
