# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Kernels: which there are, what they must have, and what is built for them."""
