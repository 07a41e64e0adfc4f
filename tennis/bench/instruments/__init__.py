# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Instruments, which time the balls."""
