# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Whether a capture and a rally agree: ball by ball, and in one verdict."""
