# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Instants of one boot that were played: which are next, and what is known of the others."""
