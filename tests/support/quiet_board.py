"""A board that is quiet, as ``target/snapshot`` tells it: nothing of it spoils a rally."""

from tennis.bench.kernels.requirements import requirements
from tennis.bench.targets import snapshot

QUIET = """\
= release
 6.12.0-rt
= version
 #1 SMP PREEMPT_RT
= machine
 aarch64
= command_line
 console=tty1 root=/dev/mmcblk0p2
= realtime
 1
= modules
 racquet 6.12.0-rt SMP preempt_rt mod_unload aarch64
 racquet.sha256 0123
= governor
 cpu0/cpufreq/scaling_governor performance
 cpu1/cpufreq/scaling_governor performance
= idle_states
 cpu0/state0 WFI 1 0
 cpu0/state1 cpu-sleep 400 1
= clocksource
 arch_sys_counter
= rt_runtime_us
 -1
= huge_pages
 madvise
= tracer
 nop
= throttled
 throttled=0x0
= temperature_mc
 thermal_zone0/temp 52100
= tainted
 12288
= interrupts
            CPU0       CPU1
  11:        856         12 GICv2  30 Level     arch_timer
  60:         17          0  pinctrl-bcm2835  17 Edge      racquet
= config
{config}= end
 yes
"""


def config_of(flavour: str) -> str:
    """Return the lines of a configuration that has what is asked for."""
    known = requirements(flavour)
    wanted = {**known.required, **known.recommended}
    return "".join(
        f" {name}={option.value[0]}\n" for name, option in wanted.items() if option.value[0] != "n"
    )


def seen(old: str = "", new: str = "") -> snapshot.Snapshot:
    """Return what it tells, with some of it replaced."""
    text = QUIET.replace("{config}", config_of("rt"))
    assert old in text
    return snapshot.read(text.replace(old, new))
