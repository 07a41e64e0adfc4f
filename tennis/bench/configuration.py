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
_OFF = re.compile(r"# (CONFIG_[A-Za-z0-9_]+) is not set")
_SET = re.compile(r'(CONFIG_[A-Za-z0-9_]+)=("?)(.*)', re.DOTALL)
_STRING = re.compile(r'(?:[^"\\]|\\.)*')
_TEXT = re.compile(r"\\(.)")


def read_config(text: str) -> dict[str, str]:
    """Return option -> value of a kernel's configuration; without options that are not set.

    The rules are kbuild's (scripts/kconfig/confdata.c): the last line of an option counts.
    """
    return dict(_read(text))


@lru_cache(maxsize=8)  # each boot asks five times, a match for hundreds of boots
def _read(text: str) -> Mapping[str, str]:
    options: dict[str, str] = {}
    for line in text.split("\n"):
        if off := _OFF.match(line):
            options.pop(off[1], None)
        elif found := _SET.fullmatch(line.removesuffix("\r")):
            name, quote, value = found.groups()
            if quote:
                value = _TEXT.sub(r"\1", _STRING.match(value)[0])  # type: ignore[index]
            elif value[:1] in {"y", "m", "n"}:  # the letter decides, and a comment may follow
                value = value[0]
            options[name] = value
            if not quote and value == "n":
                del options[name]
    return options


def flavour_of(config: Mapping[str, str]) -> Flavour:
    """Return the flavour of a kernel by its configuration (option -> value)."""
    return next((DECISIVE[name] for name in DECISIVE if config.get(name) == "y"), "mainline")
