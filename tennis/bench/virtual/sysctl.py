"""Words ``sysctl.NAME=VALUE`` of the kernel's command line: read back before the load begins.

Linux applies them before init starts, and only complains in its log. So the target's init looks
into ``/proc/sys``. It does so only if there is such a word: other rallies keep each byte. Words
``/sys/FILE=VALUE`` and ``/proc/irq/FILE=VALUE`` are not Linux's: init writes the files, too.
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
_WRITE = """
for word in $words; do
  case $word in
    /*=*)
      file=${word%%=*} value=${word#*=}
      [ -f "$file" ] || fail unknown_parameter "this kernel has no $file ($word)"
      echo "$value" > "$file"
      now=$(cat "$file")
      case " $now " in
        " $value " | *"[$value]"*) ;; # some list all values
        *) fail file_refused "the kernel did not take $word: $file is $now" ;;
      esac
      ;;
  esac
done
"""
# what a word begins with -> what becomes of init
_CHANGES = {
    "sysctl.": (
        (_UNKNOWN, _LOOK + _UNKNOWN[1:]),
        ("\n      tennis.* | *=*.*=*) ;;\n", "\n      tennis.* | *=*.*=* | sysctl.*=*) ;;\n"),
    ),
    "/": (
        (_UNKNOWN, _WRITE + _UNKNOWN[1:]),
        ("| tr -s ' ' '\\n' |", "| tr -s ' ' '\\n' | grep -v '^/' |"),
    ),
}


def init(content: bytes | Path | Link, command_line: str) -> bytes | Path | Link:
    """Return the target's init, which also sets or reads back what such words name.

    Raises ValueError if init is not as this file expects.
    """
    words = command_line.split()
    for begin, changes in _CHANGES.items():
        if not any(word.startswith(begin) for word in words):
            continue
        made = content.decode() if isinstance(content, bytes) else INIT.read_text()
        for before, after in changes:
            if made.count(before) != 1:
                raise ValueError(f"{INIT}: it lacks {before!r}")
            made = made.replace(before, after)
        content = made.encode()
    return content
