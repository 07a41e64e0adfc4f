# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Why a ball was late: from counted instructions to words."""
