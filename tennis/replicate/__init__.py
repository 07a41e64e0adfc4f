# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Published claims, and what a match's rallies say about them."""
