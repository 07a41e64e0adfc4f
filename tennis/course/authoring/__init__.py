# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Tools for authors of a course: pages, recorded rallies, a release, the sessions."""
