# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Benches: an instrument, a target and the wires between them, behind one small protocol."""
