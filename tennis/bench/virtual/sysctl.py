"""Words ``sysctl.NAME=VALUE`` of the kernel's command line: read back before the load begins.

Linux applies them before init starts, and only complains in its log. So the target's init looks
into ``/proc/sys``. It does so only if there is such a word: other rallies keep each byte.
"""

from pathlib import Path

from tennis.bench.virtual.initramfs import Link
from tennis.bench.virtual.program import INIT

_UNKNOWN = "\nunknown=$(unknown_parameters "
_LOOK = """
for word in $words; do
  case $word in
    sysctl.*=*)
      name=${word%%=*} value=${word#*=}
      file=/proc/sys/$(echo "${name#sysctl.}" | tr . /)
      [ -f "$file" ] || fail unknown_parameter "this kernel has no $file ($word)"
      now=$(cat "$file") # read takes a byte at a time, and such a file gives the first one only
      [ "$now" = "$value" ] || fail sysctl_refused "the kernel did not take $word: $file is $now"
      ;;
  esac
done
"""
_CHANGES = (
    (_UNKNOWN, _LOOK + _UNKNOWN[1:]),
    ("\n      tennis.* | *=*.*=*) ;;\n", "\n      tennis.* | *=*.*=* | sysctl.*=*) ;;\n"),
)


def words_of(command_line: str) -> list[str]:
    """Return the words that set a sysctl."""
    return [word for word in command_line.split() if word.startswith("sysctl.")]


def init(content: bytes | Path | Link) -> bytes:
    """Return the target's init, which also reads sysctl words back.

    Raises ValueError if init is not as this file expects.
    """
    made = content.decode() if isinstance(content, bytes) else INIT.read_text()
    for before, after in _CHANGES:
        if made.count(before) != 1:
            raise ValueError(f"{INIT}: it lacks {before!r}")
        made = made.replace(before, after)
    return made.encode()
