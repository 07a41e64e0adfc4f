# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A match: its plan's file, and the folder of its rallies."""
