# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What is drawn and printed of any rally, published figures, a second instrument beside it."""
