# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Why a ball was late: played again, told in words, drawn; remedies tried."""
