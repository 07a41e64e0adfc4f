"""Words that a user adds to a kernel's command line: ``threadirqs rcu_nocbs=0``.

Some are files of a running kernel: ``/sys/kernel/mm/ksm/run=0``. The target's init writes them.
"""

import hashlib
import re

from pydantic_core import PydanticCustomError

from tennis.rally.text import plain

LENGTH_MAX = 512
# what the bench itself needs as it is
RESERVED = ("console", "earlycon", "init", "rdinit", "initrd", "root", "panic", "oops", "dyndbg")
_WORD = re.compile(r"[A-Za-z0-9_.-]+(=[A-Za-z0-9_.,:/@+-]+)?")
# Linux' Documentation: core-api/irq/irq-affinity.rst, core-api/workqueue.rst, RCU, admin-guide/mm
FILES = re.compile(
    r"/proc/irq/(default_smp_affinity|\d+/smp_affinity(_list)?)"
    r"|/sys/(devices/virtual|bus)/workqueue/(devices/)?(\w+/)?(cpumask|nice|max_active)"
    r"|/sys/kernel/(rcu_expedited|rcu_normal|mm/(ksm/run|lru_gen/enabled"
    r"|transparent_hugepage/(enabled|defrag)))"
)
_FILE = re.compile(rf"({FILES.pattern})=[a-z0-9,-]+")


def canonical(value: object) -> object:
    """Return a command line with single spaces; a pydantic validator.

    Raises PydanticCustomError for a word that is no parameter, and for the bench's own.
    """
    if not isinstance(value, str):
        return value
    words = value.split()
    strange = [word for word in words if not (_FILE if word[0] == "/" else _WORD).fullmatch(word)]
    reserved = [
        word for word in words if word.partition("=")[0] in RESERVED or word.startswith("tennis.")
    ]
    if strange or reserved or len(value) > LENGTH_MAX:
        why = (
            "is the bench's own"
            if reserved
            else "is not a parameter of a kernel (NAME or NAME=VALUE), and no file that can be set"
        )
        raise PydanticCustomError(
            "command_line",
            "{word} {why}",
            {"word": plain((strange or reserved or [value])[0], 60), "why": why},
        )
    return " ".join(words)


def file_name(command_line: str) -> str:
    """Return a command line as part of a folder's name: its words, or cut ones with a digest."""
    if not command_line:
        return ""
    words = re.sub(r"[^A-Za-z0-9._+-]", "", command_line.replace(" ", "+").replace("=", "."))
    if len(words) == len(command_line) <= 24:
        return words
    return f"{words[:16]}.{hashlib.sha256(command_line.encode()).hexdigest()[:6]}"
