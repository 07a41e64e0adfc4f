# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a logic analyser's file holds: edges on two wires."""
