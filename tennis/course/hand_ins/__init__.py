# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What students handed in: unpacked, whose it is, judged, and compared."""
