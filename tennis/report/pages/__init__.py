# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The pages that people read: of a rally, a match, the umpire, a late ball."""
