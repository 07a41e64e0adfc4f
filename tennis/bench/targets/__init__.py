# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Targets, which answer the balls."""
