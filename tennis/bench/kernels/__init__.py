# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Kernels: the catalogue, their requirements, and modules and programs built for them."""
