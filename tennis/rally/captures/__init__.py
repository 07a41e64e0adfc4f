# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The contents of a logic analyser's file: edges on two wires."""
