# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What a class handed in: unpacked, judged, compared, marked; the tables that platforms import."""
