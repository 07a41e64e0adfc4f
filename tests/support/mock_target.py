"""A mock of what a target's root does to its kernel, for tests on this machine alone.

No Racquet can be loaded into the kernel that runs the tests. So ``modprobe``, ``rmmod``,
``modinfo``, ``chrt``, ``dmesg``, ``dpkg-query`` and ``vcgencmd`` are stand-ins here that keep their
effects in a folder; SSH, shells, loads, processes and signals are real. The small board
(tests/support/small_board.py) and the virtual Pi have the real ones.
"""

import os
from pathlib import Path

from tests.support.processes import stand_in

STAND_INS = {
    "modprobe": r"""
[ "$1" != -c ] || { cat $state/modprobe.d 2>/dev/null; exit 0; } # it only tells
[ "$1" != --dump-modversions ] || { cat $state/modversions 2>/dev/null; exit 0; }
echo "modprobe $*" >> $state/log
name=$1; shift
[ "$name" != configs ] || exit 1
if [ -e $state/refuse ]; then
  echo "modprobe: ERROR: could not insert '$name': Exec format error" >&2
  exit 1
fi
mkdir -p $state/sys/module/$name/parameters
echo -1 > $state/sys/module/$name/parameters/interrupt_cpu
options=$(sed -n "s/^options $name //p" $state/modprobe.d 2>/dev/null)
for word in $options "$@"; do
   echo "${word#*=}" > $state/sys/module/$name/parameters/${word%%=*}; done
case "$*" in *=forced* | *=explicit* | *=thread)
  sh -c 'printf irq/55-racquet > /proc/$$/comm; while :; do sleep 1; done' \
    < /dev/null > /dev/null 2>&1 9>&- &
  echo $! > $state/thread ;;
esac
[ ! -e $state/no-lines ] || exit 0
device=$state/sys/bus/platform/drivers/$name/$name
mkdir -p $device
for counter in pings replies overruns; do echo 7 > $device/$counter; done
""",
    "rmmod": r"""
echo "rmmod $*" >> $state/log
[ ! -e $state/in-use ] || { echo "rmmod: ERROR: Module $1 is in use" >&2; exit 1; }
[ ! -e $state/thread ] || { kill $(cat $state/thread); rm $state/thread; }
rm -r $state/sys/module/$1
rm -rf $state/sys/bus/platform/drivers/$1
""",
    "modinfo": r"""
[ "$3" = racquet ] && [ ! -e $state/no-module ] || exit 1
case $2 in
  filename) echo $state/racquet.ko ;;
  vermagic) cat $state/vermagic 2>/dev/null || echo "$(uname -r) SMP mod_unload" ;;
  signer) cat $state/signer 2>/dev/null ;;
esac
""",
    "chrt": r"""
echo "chrt $*" >> $state/log
[ "$1" = -p ] || exit 0
echo "pid $2's current scheduling policy: SCHED_OTHER"
echo "pid $2's current scheduling priority: 0"
""",
    "dmesg": r"""
[ -e $state/dmesg ] && cat $state/dmesg
exec sleep 1000
""",
    "dpkg-query": r"""
echo "installed sh"
""",
    "vcgencmd": r"""
cat $state/throttled
""",
}


class MockTarget:
    """The stand-ins' folder, and what they did."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.programs = folder / "stand-ins"
        self.report = self.state / "report"
        (self.state / "sys" / "module").mkdir(parents=True)
        (self.state / "racquet.ko").write_bytes(b"a module")
        self.write("throttled", "throttled=0x0\n")
        self.interrupts([0, 0])
        (self.state / "irq" / "55").mkdir(parents=True)
        for name, text in STAND_INS.items():
            self.program(name, f"state={self.state}\n{text.lstrip()}")
        self.environment = {
            "TENNIS_SYS": self.state / "sys",
            "TENNIS_LOCK": self.state / "locks" / "rally",
            "TENNIS_KEEPER": self.state / "tennis-bench",
            "TENNIS_INTERRUPTS": self.state / "interrupts",
            "TENNIS_IRQ": self.state / "irq",
            "TENNIS_DEVICE_TREE": self.state / "device-tree",
            # where loads report: other tests' targets are this machine, too
            "TENNIS_REPORTS": self.report,
            # programs replace the kernel's threads
            "TENNIS_KERNEL_THREAD": -1,
        }

    def program(self, name: str, text: str) -> None:
        """Put a program in the place of the target's own."""
        stand_in(self.programs / name, text)

    def write(self, name: str, text: str = "") -> None:
        """Write what the target's stand-ins, or its kernel, say: the name is a place in state."""
        path = self.state / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def interrupts(self, counted: list[int]) -> None:
        """Write the Racquet's lines of /proc/interrupts, by CPU."""
        head = "".join(f"{f'CPU{cpu}':>11}" for cpu in range(len(counted)))
        row = "".join(f"{count:>11}" for count in counted)
        self.write("interrupts", f"    {head}\n 55:{row}  pinctrl-bcm2835  17 Edge      racquet\n")

    def isolate(self, cpus: str) -> None:
        """Write the kernel's list of isolated processors."""
        self.write("sys/devices/system/cpu/isolated", f"{cpus}\n")

    @property
    def log(self) -> list[str]:
        path = self.state / "log"
        return path.read_text().splitlines() if path.exists() else []

    @property
    def loaded(self) -> list[str]:
        names = {path.name for path in (self.state / "sys" / "module").iterdir()}
        return sorted(names - {"pcie_aspm", "module"})  # they are built in


def running(words: str) -> list[int]:
    """Return the processes whose command line holds these words."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if words.encode() in path.read_bytes().replace(b"\0", b" "):
                found.append(int(path.parent.name))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]
