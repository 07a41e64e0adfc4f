# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What would spoil a rally: on this computer, a Pico, a target."""
