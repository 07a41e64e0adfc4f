# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Pictures and pages of any rally, published figures, and a second instrument beside it."""
