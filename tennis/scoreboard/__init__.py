# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""The scoreboard: what is being played, what waits and what failed, as a page for the wall.

It only reads. Who plays writes a journal (``OUT.part/frames.bin``), and the scoreboard reads it as
it grows: no player has to know of it, and none waits for it.
"""
