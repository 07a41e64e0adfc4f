# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Options of the commands that know the benches of an Ansible inventory."""

from pathlib import Path

import click

inventory_option = click.option(
    "--inventory",
    type=click.Path(path_type=Path),
    help="The Ansible inventory. [default: TENNIS_INVENTORY, or ansible/inventory]",
)
holder_option = click.option(
    "--as",
    "holder",
    metavar="NAME",
    help="In whose name. [default: TENNIS_HOLDER, or USER@MACHINE]",
)
