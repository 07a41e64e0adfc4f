#!/bin/sh
# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: GPL-2.0-only
# answer.sh - answers each ping in a shell: gpiomon tells of it, and gpioset answers it.
#
# gpioset holds the line only as long as it runs, so that each answer is a program that starts, finds
# the line by its name, takes it, and ends. All of them are ordinary processes.
gpiomon --banner --edges=rising --format=%e GPIO17 | {
  read -r _                          # gpiomon waits
  # at first it only shows that it can have the line, which stays low; by "--toggle 500ms,0" it would
  # end high, and the first answer would be no rise
  gpioset --hold-period 500ms --toggle 0 GPIO27=0
  while read -r _; do
    gpioset --toggle 1ms,0 GPIO27=1
  done
}
