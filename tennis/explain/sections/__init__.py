# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""When a ping could not be taken, and what one at any instant would have met."""
