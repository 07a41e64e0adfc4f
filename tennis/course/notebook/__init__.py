# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Notebooks that run in a box, or for a page."""
