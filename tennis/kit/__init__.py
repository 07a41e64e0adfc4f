# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What all rooms need: units, errors, the environment, what is where, the wire."""
