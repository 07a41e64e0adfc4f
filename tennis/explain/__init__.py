# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Explain a late ball: replay, words, pictures; try remedies."""
