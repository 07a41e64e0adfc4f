# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What times the balls."""
