# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A kernel's configuration, and the flavour that it makes."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Literal, get_args

Flavour = Literal["mainline", "rt", "evl", "cobalt"]
FLAVOURS: tuple[Flavour, ...] = get_args(Flavour)
# EVL and Cobalt are Xenomai 4 and 3. Either decides, whatever kernel is below it.
DECISIVE: dict[str, Flavour] = {
    "CONFIG_EVL": "evl",
    "CONFIG_XENOMAI": "cobalt",
    "CONFIG_PREEMPT_RT": "rt",
}


def read_config(text: str) -> dict[str, str]:
    """Return option -> value of a kernel's configuration; without options that are not set."""
    return dict(_read(text))


@lru_cache(maxsize=8)  # each boot asks five times, a match for hundreds of boots
def _read(text: str) -> Mapping[str, str]:
    options = {}
    for line in text.splitlines():
        name, equals, value = line.strip().partition("=")
        if equals and re.fullmatch(r"CONFIG_[A-Za-z0-9_]+", name):
            options[name] = value.strip('"')
    return options


def flavour_of(config: Mapping[str, str]) -> Flavour:
    """Return the flavour of a kernel by its configuration (option -> value)."""
    return next((DECISIVE[name] for name in DECISIVE if config.get(name) == "y"), "mainline")
