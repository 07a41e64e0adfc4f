# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Tennis: measure real-time Linux from the outside."""

from importlib.metadata import version

__version__ = version("tennis")
