# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""What the virtual target's processor does while a ball waits: counted, not sampled."""
