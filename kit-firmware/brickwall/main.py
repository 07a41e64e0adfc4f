# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Boot: become the instrument; a line with Ctrl-C alone makes it a MicroPython board again."""

import sys

import micropython

try:
    import service

    service.Service().run()
except Exception as error:  # whatever it is, the board must stay reachable
    sys.print_exception(error)
finally:
    micropython.kbd_intr(3)
