# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The first evening with a board: its steps as data, and the record of what was measured."""
