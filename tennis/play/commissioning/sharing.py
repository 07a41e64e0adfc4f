"""The record that somebody sends: made from a list of what may leave, and from nothing else.

Sentences stay in the folder: they may quote a name, a host or a path. A failure leaves by its name,
and gets its words from ``steps``. A fact leaves if it looks as such facts do; else it is "another".
"""

import re

from tennis.play.commissioning.record import Number, Record, StepResult, StepVerdict
from tennis.play.commissioning.steps import EVENTS, Failure, step

ANOTHER = "another"
# number -> its words and unit
NUMBERS = {
    "tick_ns": ("one tick", "ns"),
    "balls": ("balls", "balls"),
    "largest_error_ns": ("largest error", "ns"),
    "loop_ns": ("loop of wires and pads", "ns"),
    "width_ns": ("edges apart", "ns"),
    "rate_balls_s": ("served and kept", "balls/s"),
    "clocks_apart_ppm": ("clocks apart", "ppm"),
    "pings": ("pings served", ""),
    "answered": ("answered", ""),
    "counted": ("counted by the target", ""),
    "misses": ("missed", ""),
    **{
        f"{where}{kind}_{what}_ns": (f"{kind} latency, {words}{beside}", "ns")
        for where, beside in (("", ""), ("virtual_", " on the virtual bench"))
        for kind in ("interrupt", "scheduling")
        for what, words in (("median", "median"), ("max", "latest"))
    },
    **{
        f"{kind}_times_virtual": (f"{kind} median over the virtual one", "")
        for kind in ("interrupt", "scheduling")
    },
    **{f"{kind}_bias_ns": (f"{kind} bias", "ns") for kind in ("interrupt", "scheduling")},
    **{f"{event}_a_ball": (f"{event}, a ball", "") for event in EVENTS},
    **{
        f"virtual_{event}_a_ball": (f"{event}, a ball of the memory profile", "")
        for event in EVENTS
    },
}
# too short for an address of a network
_VERSION = r"\d\.\d{1,2}(?:\.\d{1,3})?"
# suffixes that distributions and kernels add to a version: no user's own name
_ADDED = (
    r"(?:[-+~](?:rc\d{1,2}|rt\d{0,3}|v8|v7l?|2712|arm64|amd64|cloud|rpt\d?|rpi|deb\d{1,2}"
    r"(?:u\d{1,2})?|bpo\d{0,2}|evl\d{0,3}|cobalt\d{0,3}|ipipe\d{0,3}|\d{1,3}))*\+?"
)
_PI = r"Zero|2|3|4|5|400|500|W|Model|A|B|Plus|Compute|Module|CM4S?|CM5|Lite|Rev|\d\.\d"
_GOVERNOR = "performance|powersave|ondemand|conservative|schedutil|userspace"
_CHIP = r"pinctrl-(?:bcm2835|bcm2711|rp1)|[0-9a-f]{4,10}\.pl061"
_LINE = rf"\d{{1,4}} of (?:{_CHIP})"
# fact -> what it looks like
FACTS = {
    "board": r"Raspberry Pi Pico ?2? ?W? with RP2(?:040|350)",
    "micropython": _VERSION,
    "firmware": _VERSION,
    "firmware_sha256": r"[0-9a-f]{64}",
    "model": rf"Raspberry Pi(?: (?:{_PI}))+",
    "system": r"(?:Debian|Raspbian) GNU/Linux \d{1,2} \((?:bookworm|trixie|forky)\)",
    "machine": "aarch64|armv7l|armv6l|x86_64|riscv64",
    "flavour": r"mainline|rt|debian|evl|cobalt|sloth|sloth-beneath|sloth-pico",
    "kernel": r"mainline|rt|debian|evl|cobalt|sloth|sloth-beneath|sloth-pico",
    "release": _VERSION + _ADDED,
    "virtual_kernel": _VERSION + _ADDED,
    "version": rf"#\d{{1,5}}(?: (?:SMP|PREEMPT|PREEMPT_RT|PREEMPT_DYNAMIC|EVL|IRQPIPE|Debian|"
    rf"(?:\d:)?{_VERSION}{_ADDED}|\(\d{{4}}-\d\d-\d\d\)))*",
    "clocksource": "arch_sys_counter|tsc|hpet|acpi_pm|kvm-clock|jiffies|riscv_clocksource",
    "governor": rf"(?:{_GOVERNOR})(?:, (?:{_GOVERNOR}))*",
    "ping_line": _LINE,
    "reply_line": _LINE,
    "reply_at_rest": "low|high|floating",
    "load": "idle|stress",
    "memory": r"cortex-a\d\d@[0-9a-f]{8}",
}


def to_share(record: Record) -> Record:
    """Return the record to share, without parts that only its folder may have."""
    return Record(
        schema_version=record.schema_version,
        created=record.created,
        tennis=_like(_VERSION + r"(?:(?:a|b|rc|\.dev)\d{1,2})?(?:\+[0-9a-f]{8})?", record.tennis),
        kind=record.kind,
        steps=[_result(result) for result in record.steps],
    )


def _like(pattern: str, words: str) -> str:
    return words if re.fullmatch(pattern, words, re.ASCII) else ANOTHER


def _failure(result: StepResult) -> Failure | None:
    """Return the failure that a step named: its own, or one of the step before."""
    for known in (step(result.name), step("ping"), step("idle")):
        for failure in known.failures:
            if failure.name == result.failure and result.reason.startswith(failure.symptom):
                return failure
    own = step(result.name).failures
    return next((failure for failure in own if failure.name == result.failure), None)


def _result(result: StepResult) -> StepResult:
    known = step(result.name)
    failure = _failure(result) if result.verdict == "fail" else None
    reasons: dict[StepVerdict, str] = {
        "pass": known.passes,
        "left out": "it was left out",
        "fail": f"{failure.symptom}: {failure.means}" if failure else "the folder says why",
    }
    return StepResult(
        name=known.name,
        verdict=result.verdict,
        date=result.date,
        reason=reasons[result.verdict],
        advice=failure.mend if failure else "",
        failure=failure.name if failure else "",
        numbers=[
            Number(name=n.name, words=NUMBERS[n.name][0], value=n.value, unit=NUMBERS[n.name][1])
            for n in result.numbers
            if n.name in NUMBERS
        ],
        facts={
            name: _like(FACTS[name], words) for name, words in result.facts.items() if name in FACTS
        },
    )
