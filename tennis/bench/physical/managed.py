"""The managed physical bench: a Brickwall on a serial port, and a target that is reached over SSH.

The rally's ``target-before.txt`` and ``target-after.txt`` describe the target. A permanent flaw (a
governor, another interrupt) is a part of what was measured: Tennis warns before the rally and keeps
an event. A change during the rally mixes two measurements: that is a fault, and the rally is
suspect.
"""

import hashlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from tennis.bench import flavours, isolation, witnesses
from tennis.bench import loads as load_folder
from tennis.bench.configuration import Flavour
from tennis.bench.findings import Finding
from tennis.bench.fitting import Capabilities
from tennis.bench.fleet import boot, inventory, leases
from tennis.bench.kernels import boards, modules, program_record, requirements
from tennis.bench.patience import USUAL, Patience
from tennis.bench.physical.differences import changes
from tennis.bench.physical.managed_session import PiSession, SetUpSteps
from tennis.bench.physical.programs import BoardProgram
from tennis.bench.physical.wired import WiredBench
from tennis.bench.protocol import (
    Access,
    Position,
    PreparingBench,
    ResumableBench,
    RunRecord,
    Session,
)
from tennis.bench.targets import latency_settings, snapshot
from tennis.bench.targets.agent_session import AgentSession
from tennis.bench.targets.console import LIMIT_BYTES, Console
from tennis.bench.targets.ssh import SshTarget
from tennis.kit.checkout import ROOT
from tennis.kit.errors import BenchError, UsageError
from tennis.kit.log import log
from tennis.kit.units import NS_PER_S
from tennis.rally import drills
from tennis.rally.disk import writing
from tennis.rally.folder import AFTER, BEFORE, CONSOLE, PEER
from tennis.rally.manifest import (
    PROGRAM,
    THREADED,
    BenchKind,
    Drill,
    LoadRecord,
    OnProcessor,
    Priority,
    Protocol,
    Target,
)
from tennis.rally.plan import UNKNOWN, Plan
from tennis.rally.settings import option_of, taken_by
from tennis.rally.text import plain

# what a witness tells, packed and in base64: a sample of each millisecond, a stamp of each ball
SAMPLE_BYTES, STAMP_BYTES = 6, 8
TRACERS = (
    "mount -t tracefs tracing /sys/kernel/tracing 2> /dev/null; "
    "cat /sys/kernel/tracing/available_tracers"
)


def _refuse_target(plan: Plan, facts: snapshot.Snapshot, host: str) -> Flavour:
    """Return the flavour that runs; raise UsageError or BenchError for what it cannot play."""
    for option in ("interrupt_cpu", "bottom_half_cpu"):
        if plan.program and getattr(plan, option) is not None:
            raise UsageError(
                f"{option_of(option)} with --program needs --bench virtual: on a board, nothing "
                "moves a program and its line",
                next_step="leave it out; the program may pin itself",
            )
    flavour = facts.flavour
    if plan.kernel not in {UNKNOWN, *flavours.RACQUETS}:
        raise UsageError(
            f"--kernel {plan.kernel} with --target",
            next_step=f"use {', '.join(flavours.RACQUETS)}, the flavour that runs there",
        )
    if plan.kernel not in {UNKNOWN, flavour}:
        raise BenchError(
            f"{host} runs {flavour} ({facts.line('release')}), not {plan.kernel}",
            next_step=f"boot it with `tennis benches boot {host} {plan.kernel}`",
        )
    if plan.drill is None:
        flavours.check(flavour, plan)
    elif flavour not in {"mainline", "rt"}:
        raise UsageError(f"drills are for Linux so far: {host} runs {flavour}")
    running = facts.line("command_line") or ""
    missing = [word for word in plan.kernel_words.split() if word not in running.split()]
    if missing:
        raise BenchError(
            f"{host} was booted without {' '.join(missing)}: it has {plain(running)}",
            next_step="put it into the target's cmdline.txt, and reboot",
        )
    machine = facts.line("machine")
    if plan.program and machine not in {None, "aarch64"}:
        raise BenchError(
            f"{host} is {machine}, and programs are built for arm64",
            next_step="use a 64-bit system there",
        )
    alone = plan.bottom_half == PROGRAM
    needed = None if alone else requirements.check_module(facts)
    for found in (boards.gpio_lock(facts), needed):
        if found and found.verdict == "bad":
            raise BenchError(f"{host}: {found.found}", next_step=found.advice)
    _check_place(plan, facts, host)
    _check_witness_place(plan, facts)
    return flavour


def _refuse_packages(plan: Plan, load: load_folder.Load, target: SshTarget) -> None:
    """Raise BenchError if the target lacks packages of a load or a witness."""
    needed = [*load.packages, *witnesses.packages(plan.witness)]
    if not needed:
        return
    names = " ".join(needed)
    done = target.attempt(f"dpkg-query -W -f '${{db:Status-Status}} ${{Package}}\\n' {names}")
    here = {line.split()[1] for line in done.output.splitlines() if line.startswith("inst")}
    missing = [name for name in needed if name not in here]
    if missing:
        whom = f"the load {load.name}" if missing[0] in load.packages else "--witness"
        raise BenchError(
            f"{target.host} lacks what {whom} needs",
            next_step=f"there, as root, run `apt-get install {' '.join(missing)}`",
        )


def _refuse_witness(plan: Plan, flavour: str, target: SshTarget) -> None:
    """Refuse a witness that cannot look on, or that would tell more than is kept."""
    if plan.witness == "none":
        return
    if flavour not in {"mainline", "rt"}:
        raise UsageError(
            f"--witness {plan.witness} with {flavour}: Linux does not see that core's pings, "
            "and nothing else ties the target's clock to the instrument's",
            next_step="start the core's own latency test there yourself",
        )
    protocol = plan.protocol
    told = SAMPLE_BYTES * 1000 * _seconds_of(protocol) + STAMP_BYTES * protocol.balls
    if told > LIMIT_BYTES // 2:
        balls = int(protocol.balls * (LIMIT_BYTES // 2) / told)
        raise UsageError(
            f"--balls {protocol.balls} with --witness: it would see more than is kept",
            next_step=f"use --balls {balls} or fewer",
        )
    if plan.witness != "cyclictest":
        tracers = target.attempt(TRACERS, root=True).output.split()
        if plan.witness not in tracers:
            raise BenchError(
                f"--witness {plan.witness}: the kernel of {target.host} lacks that tracer",
                next_step="use --witness cyclictest, or a kernel with "
                f"{witnesses.OPTIONS[plan.witness]}",
            )


def _seconds_of(protocol: Protocol) -> float:
    """Return how long a rally takes at least."""
    between_ns = (protocol.gap_min_ns + protocol.gap_max_ns) / 2
    if protocol.rate_hz:
        between_ns = NS_PER_S / protocol.rate_hz
    return (protocol.settle_ns + protocol.balls * between_ns) / NS_PER_S


def _check_place(plan: Plan, facts: snapshot.Snapshot, host: str) -> None:
    """Refuse a processor for the ping that cannot be. Raises UsageError, BenchError."""
    if plan.interrupt_cpu is None:
        return
    if plan.drill is not None:
        raise UsageError(
            "--interrupt-cpu moves the ping, and a drill gets none", next_step="leave it out"
        )
    if model := boards.fixed_interrupts(facts):
        raise BenchError(
            f"{host} is a {model}: all of its pings come to processor 0",
            next_step="leave --interrupt-cpu out, or use a Pi 4 or 5",
        )


def _check_witness_place(plan: Plan, facts: snapshot.Snapshot) -> None:
    """Refuse a witness on the isolated processor of the ping: it would run there itself."""
    isolated = isolation.cpus_of(facts.line("isolated") or "", 0)
    if plan.witness == "none" or not isolated:
        return
    if plan.interrupt_cpu is None or plan.interrupt_cpu in isolated:
        raise UsageError(
            f"--witness {plan.witness}: it runs on the ping's processor, which is isolated there "
            f"({facts.line('isolated')}), and would be its only load",
            next_step="leave it out, or say --interrupt-cpu with another processor",
        )


MANAGED = "managed by tennis over SSH"
INSTALLED = "/usr/local/lib/tennis/loads"  # on the target; provisioning puts the loads there
RACQUET_USER = ROOT / "target" / "racquet" / "racquet-user.c"


class PiBench(ResumableBench, PreparingBench):
    """Plays plans on a board that tennis manages."""

    kind: BenchKind = "pi"
    repeats = False
    kernels: ClassVar[Collection[str]] = ()
    can: ClassVar[Capabilities] = Capabilities(
        name="a board, managed", where="--target", takes=taken_by("managed"), instruments=("pico",)
    )

    def __init__(self, host: str, port: str | None = None, *, patience: Patience = USUAL) -> None:
        self._holder = leases.holder_of()
        self.target = inventory.connect(host, patience=patience)
        self._wired = WiredBench(port, patience)
        self._seen: snapshot.Snapshot | None = None

    @staticmethod
    def plays(plan: Plan) -> bool:
        """Tell whether a plan is for a board that tennis manages."""
        return plan.bench == "pi" and plan.target is not None

    @staticmethod
    def defaults(plan: Plan, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return instrument, load, halves and priorities if nobody asked for them."""
        del options
        flavour: Flavour = next((f for f in flavours.RACQUETS if f == plan.kernel), "mainline")
        defaults = {"instrument": "pico", "load": "idle", "top_half": "hard"}
        return defaults | flavours.defaults(flavour)

    @classmethod
    def of(cls, plan: Plan, access: Access) -> "PiBench":
        """Return the bench. Raises UsageError if no target was named."""
        if access.target is None:
            raise UsageError(
                f"{plain(str(plan.target), 80)}: you did not name this target here",
                next_step="name it with --target",
            )
        return cls(access.target, access.port)

    def time_note(self, plan: Plan) -> str:
        """Return the meaning of a nanosecond."""
        return self._wired.time_note(plan)

    def prepare(self, plan: Plan, stop: Callable[[], bool] = lambda: False) -> None:
        """Boot the target into the plan's kernel, also if it runs: each rally of a match begins so.

        Raises BenchError if somebody else holds the target, or the kernel does not come up.
        """
        try:
            leases.refuse_if_held(self.target, self._holder, playing=False)
            boot.boot(self.target, plan.kernel, self._holder, again=True, stop=stop)
        except BaseException:
            self.target.close()
            raise

    def versions(self, plan: Plan) -> dict[str, str]:
        """Return the versions that a rally must keep: instrument, kernel, module, load.

        Warns about what would spoil the rally. Raises UsageError, BenchError if it is impossible.
        """
        try:
            load = load_folder.find(plan.load, plan.load_options)
            held = leases.refuse_if_held(self.target, self._holder)
            leases.say_if_it_ends(held, self.target.host, self._holder, _seconds_of(plan.protocol))
            seen = self._seen = self.target.facts()
            flavour = _refuse_target(plan, seen, self.target.host)
            _refuse_packages(plan, load, self.target)
            _refuse_witness(plan, flavour, self.target)
            own = BoardProgram.of(plan)
            builds, tasks = self._builds_there(load, flavour)
            findings = self._unsound(seen, flavour)
            for finding in findings:
                if finding.verdict == "bad":
                    log.info(f"unsound: {finding.words}")
            known = seen.pairs("modules")
            return {
                **self._wired.versions(plan),
                "target_flavour": flavour,
                "target_release": seen.line("release") or UNKNOWN,
                "target_config_sha256": seen.config_sha256 or UNKNOWN,
                "target_module": seen.module,
                "target_module_sha256": known.get(f"{seen.module}.sha256", UNKNOWN),
                **(_drill_versions(plan.drill) if plan.drill and not own else {}),
                **(own.versions(self.target) if own else {}),
                "load": load.command,
                **load_folder.cycle_version(load, None),
                **({"load_builds": " ".join(builds)} if builds else {}),
                **({"load_tasks": tasks} if tasks else {}),
                **witnesses.versions(plan.witness),
            }
        except BaseException:
            self.target.close()
            raise

    def _builds_there(self, load: load_folder.Load, flavour: str) -> tuple[list[str], str | None]:
        """Return the user's builds for this flavour, "NAME.FLAVOUR SHA256" each, and their tasks.

        The tasks are those of the builds, or of the programs built here. A build in the load's
        folder on this machine comes first, then one on the target. Raises BenchError if there is no
        build, UsageError if its tasks are not the core's: tasks of Linux would not load it.
        """
        builds, tasks = [], None
        if any(part.file.flavours and flavour not in part.file.flavours for part in load.parts):
            tasks = "posix"
        for part in load.parts:
            for program in part.file.programs if flavour in part.file.flavours else ():
                here = part.prebuilt(program, flavour)
                if here:
                    content = here.read_bytes()
                    builds.append(f"{here.name} {hashlib.sha256(content).hexdigest()}")
                    tasks = load_folder.tasks_of(content)
                    continue
                place = _installed(part.name, program, flavour)
                done = self.target.attempt(
                    f"test -x {place} && sha256sum < {place} && "
                    f"tr -c a-z= '\\n' < {place} | "
                    "grep -E '^tasks=(posix|evl|alchemy)$' | head -n 1"
                )
                told = re.fullmatch(r"([0-9a-f]{64}) [^\n]*\n(?:tasks=(\w+)\n)?", done.output)
                if done.code or not told:
                    raise BenchError(
                        f"the load {load.name} needs {program}.{flavour}, its tasks as those of "
                        f"{flavour}",
                        next_step=(
                            f"build {part.folder / program}.c for it (docs/loads.md), and "
                            f"put it beside that, or on {self.target.host} to {place}"
                        ),
                    )
                builds.append(f"{program}.{flavour} {told[1]}")
                tasks = told[2]
                load_folder.check_tasks(f"{self.target.host}: {place}", tasks, flavour)
        return builds, tasks

    @staticmethod
    def _unsound(facts: snapshot.Snapshot, flavour: str) -> list[Finding]:
        known = requirements.requirements(flavour)
        return [f for f in requirements.check(known, facts) if f.verdict != "good"]

    def start(self, plan: Plan, folder: Path) -> Session:
        """Begin to play."""
        return self.go_on(plan, folder, Position(balls=0, sequence=0, clock_ticks=0))

    def go_on(self, plan: Plan, folder: Path, position: Position) -> "PiSession":
        """Set the target up, and begin to play the missing balls of a rally.

        Raises UsageError for a rally with a witness that began already.
        """
        if plan.witness != "none" and position.balls:
            self.target.close()
            raise UsageError(
                "a rally with a witness is played in one go: the target's clock differs after "
                "a break",
                next_step="play it again under another name",
            )
        if plan.drill and position.balls:
            self.target.close()
            raise UsageError(
                "a drill on a board is played in one go: its measurements ended with it",
                next_step="do it again under another name",
            )
        seen = self._seen or self.target.facts()
        with writing(folder / BEFORE):
            if not (folder / BEFORE).exists():
                (folder / BEFORE).write_text(seen.text, encoding="utf-8")
        agent = AgentSession(self.target, folder / CONSOLE, folder / AFTER)
        try:
            wired = self._wired.go_on(plan, folder, position)
        except BaseException:
            self.target.close()
            raise

        def steps() -> None:
            self._set_up(plan, seen, agent, folder)

        def confirm() -> None:
            # nobody gets a lease while a rally is played; somebody may have got one just before
            leases.refuse_if_held(self.target, self._holder)

        return PiSession(wired, agent, self.target, SetUpSteps(steps, confirm), plan.drill)

    def _set_up(
        self, plan: Plan, facts: snapshot.Snapshot, agent: AgentSession, folder: Path
    ) -> None:
        """Copy all needed files to the target."""
        agent.doing = "building the load's programs"
        load = load_folder.find(plan.load, plan.load_options)
        load_programs: dict[str, Path] = {}
        files: dict[str, bytes | Path] = {}
        for part in load.parts:
            for source in part.sources:
                if facts.flavour not in part.file.flavours:
                    load_programs[source.stem] = modules.program(source, part.file.libraries)
                elif built := part.prebuilt(source.stem, facts.flavour):
                    load_programs[source.stem] = built
                else:
                    place = _installed(part.name, source.stem, facts.flavour)
                    files[f"load/{part.name}/{source.stem}"] = (
                        f'#!/bin/sh\nexec {place} "$@"\n'.encode()
                    )
        for name, content in load.files(load_programs).items():
            files[f"load/{name}"] = content
        own = BoardProgram.of(plan)
        files.update(_files_of_answer(plan, own, agent.folder))
        if plan.witness != "none":
            files["witness"] = witnesses.SCRIPT
        priorities = ""
        if own or not plan.drill:
            priorities = flavours.priorities_on(facts.flavour, plan)
        its_own: dict[str, str | int] = {"program": ""}
        module = _drill_module(plan, facts)
        if own:
            loops = plan.drill is not None
            its_own, priorities = own.settings(priorities, loops=loops)
            if not own.behind_racquet:
                module = ""
        (folder / AFTER).unlink(missing_ok=True)
        agent.doing = f"copying to {self.target.host}"
        agent.copy(
            files,
            {
                **its_own,
                "module": module,
                # Xenomai's have one bottom half only, and no parameter for it
                "module_parameters": _module_parameters(plan, facts.module),
                "bottom_half": plan.bottom_half,
                "bottom_half_cpu": "" if plan.bottom_half_cpu is None else plan.bottom_half_cpu,
                "priorities": priorities,
                "drill": plan.drill.name if plan.drill else "",
                "context": plan.drill.context if plan.drill else "",
                "period_ns": plan.drill.period_ns if plan.drill else "",
                "load_cpus": plan.load_cpus or "",
                "load_module": load.file.module or "",
                "load_parameters": load.module_parameters if load.file.module else "",
                "witness": "" if plan.witness == "none" else plan.witness,
                "balls": plan.protocol.balls,
                "silent_s": self.target.patience.target_silent_s,
            },
        )
        command = load.host_command(self.target.address())
        if command:
            agent.start_peer(folder / PEER, command)
        agent.doing = f"waiting for {self.target.host}"

    def circumstances(self, plan: Plan, folder: Path) -> RunRecord:
        """Return the record of the run: who took part, the target's report, the changes there."""
        known = self._wired.circumstances(plan, folder)
        recorded = plan.versions
        report = Console(folder / CONSOLE).report()
        before, after = _kept_snapshot(folder / BEFORE), _kept_snapshot(folder / AFTER)
        governors = before.pairs("governor").values() if before else ()
        told_there = {
            "kernel": recorded["target_flavour"],
            "interrupt_cpu": _placed(plan, report.facts),
        }
        target = Target(
            board=(before and before.line("model")) or UNKNOWN,
            release=recorded["target_release"],
            version=(before and before.line("version")) or UNKNOWN,
            config_sha256=_known_hash(recorded["target_config_sha256"]),
            command_line=(before and before.line("command_line")) or UNKNOWN,
            added=plan.command_line,
            module=recorded["target_module"],
            module_sha256=_known_hash(recorded["target_module_sha256"]),
            program=program_record.record(recorded, report.facts),
            governor=", ".join(dict.fromkeys(governors)) or None,
            gpio_link=boards.gpio_link(before) if before else None,
            kernel_settings=latency_settings.settings_of(before) if before else None,
            tasks=[Priority(task=t, policy=p, priority=n) for t, p, n in report.tasks],
            managed=MANAGED,
            **(plan.of_target() | told_there),
        )
        events: list[dict[str, Any]] = []
        for when, seen in (("before", before), ("after", after)):
            if seen:
                events += [
                    {"what": "unsound", "when": when, "verdict": f.verdict, "text": f.words}
                    for f in self._unsound_now(seen, recorded["target_flavour"])
                ]
                events += [
                    {"what": "temperature", "when": when, "zone": zone, "millidegrees": value}
                    for zone, value in seen.pairs("temperature_mc").items()
                ]
        events += _other_interrupts(before, after)
        own = plan.program is not None
        found = program_record.faults(report.faults) if own else report.faults
        counts = {name: report.facts[name] for name in COUNTED if name in report.facts}
        if counts:
            events.append({"what": "racquet", **counts})
        return replace(
            known,
            target=target,
            load=LoadRecord(
                name=plan.load,
                command=recorded["load"],
                options=plan.load_options,
                cpus=plan.load_cpus,
                cycle_ns=load_folder.cycle_of(recorded),
                tasks=recorded.get("load_tasks"),
                health=list(report.health.values()),
            ),
            # the target's own words are the cause of what the instrument saw
            faults=[*found, *changes(before, after), *known.faults],
            advice={
                **known.advice,
                **(program_record.advice(report.facts, report.tasks) if own else {}),
            },
            events=[*events, *known.events, *report.events],
            where=[
                OnProcessor(processor=cpu, pings=pings, replies=None, busy=None)
                for cpu, pings in sorted(report.pings.items())
            ],
            unchecked=report.unchecked(plan.witness)
            or ("" if after else "what the target is (governor, power, heat)")
            or ("what the program did" if own and program_record.OVER not in report.facts else ""),
        )

    @classmethod
    def _unsound_now(cls, facts: snapshot.Snapshot, flavour: str) -> list[Finding]:
        """Return the flaws, without those of the configuration, which cannot change."""
        names = ("CONFIG_", "configuration", "kernel:")
        return [f for f in cls._unsound(facts, flavour) if not f.words.startswith(names)]


def _files_of_answer(
    plan: Plan, own: BoardProgram | None, folder: str
) -> Mapping[str, bytes | Path]:
    """Return the answerer's files for the target; ``folder``: that of the rally there."""
    if own:
        return own.files(folder)
    if plan.drill:
        return _drill_files(plan.drill)
    is_process = plan.bottom_half == "user"
    return {"racquet-user": modules.program(RACQUET_USER)} if is_process else {}


def _installed(part: str, program: str, flavour: str) -> str:
    return f"{INSTALLED}/{part}/{program}.{flavour}"


COUNTED = ("pings", "replies", "overruns")


def _known_hash(recorded: str) -> str | None:
    return None if recorded == UNKNOWN else recorded


def _module_parameters(plan: Plan, module: str) -> str:
    """Return the Racquet's module parameters; Xenomai's have one bottom half and no parameter."""
    words = []
    if module == "racquet":
        words.append(f"bottom_half={plan.bottom_half}")
        words += [f"top_half={plan.top_half}"] if plan.top_half in THREADED else []
    if plan.interrupt_cpu is not None:
        words.append(f"interrupt_cpu={plan.interrupt_cpu}")
    return " ".join(words)


def _placed(plan: Plan, facts: Mapping[str, str]) -> int | None:
    """Return the processor that the Racquet put its interrupt on, asked for here or there."""
    told = facts.get("interrupt_cpu", "")
    return int(told) if re.fullmatch(r"\d{1,3}", told) else plan.interrupt_cpu


def _kept_snapshot(path: Path) -> snapshot.Snapshot | None:
    """Return the snapshot of the target in a rally's folder; None if missing or incomplete."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            return snapshot.read(file.read(snapshot.SIZE_MAX))
    except (OSError, BenchError):  # missing, or its end was lost with the connection
        return None


def _other_interrupts(
    before: snapshot.Snapshot | None, after: snapshot.Snapshot | None
) -> Iterator[dict[str, Any]]:
    """Yield how often other GPIO interrupts came in between: they take the ping's turn."""
    if before is None or after is None:
        return
    earlier = requirements.gpio_interrupts(before)
    for name, times in requirements.gpio_interrupts(after).items():
        if times > earlier.get(name, 0):
            came = times - earlier.get(name, 0)
            yield {"what": "other_interrupt", "name": name, "times": came}


def _drill_module(plan: Plan, facts: snapshot.Snapshot) -> str:
    """Return the module to load; empty for a drill that is a process."""
    if plan.drill is None:
        return facts.module
    return plan.drill.name if plan.drill.in_kernel else ""


def _drill_files(drill: Drill) -> dict[str, bytes | Path]:
    """Return a drill's files for the target: a program, or its module's sources."""
    source = drills.find(drill.name).code
    if drill.in_kernel:
        return {f"drill-source/{path.name}": path for path in modules.sources(source)}
    return {"drill": modules.program(source)}


def _drill_versions(drill: Drill) -> dict[str, str]:
    """Return the versions that a drill must keep: those of a module's sources, if it is one."""
    content = (
        path if isinstance(path, bytes) else path.read_bytes()
        for _, path in sorted(_drill_files(drill).items())
    )
    sha256 = hashlib.sha256(b"".join(content)).hexdigest()
    return {"target_module": f"drill {drill.name}", "target_module_sha256": sha256}
