# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What answers the balls."""
