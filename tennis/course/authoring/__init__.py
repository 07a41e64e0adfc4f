# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What those who make a course use: pages, recorded rallies, a release, the sessions."""
