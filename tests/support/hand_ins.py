"""Students' folders and hand-ins, as a class would make them; rallies are made up (synthetic)."""

import hashlib
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tennis.bench.registry import bench_for
from tennis.bench.virtual.machine import COMMAND_LINE
from tennis.course import work
from tennis.course.checking import sweep_work
from tennis.course.checking.plays import _key_of, plan_of_rally
from tennis.course.choices import numbered
from tennis.course.lab_files import load_solution, solved, source_of
from tennis.course.labs import Lab, LabRally
from tennis.explain import stages
from tennis.grading import hand_in
from tennis.kit.checkout import ROOT
from tennis.match.plan import parse_plan
from tennis.match.schedule import scheduled_rallies
from tennis.match.sweep.folder import SweepRecord as RecordOfSweep
from tennis.rally import instants
from tennis.rally.manifest import NO_MODULE, OWN, PROGRAM, OnProcessor, Program, Protocol
from tennis.rally.program import read as read_program
from tennis.rally.statistics.pairing import pairing
from tests.support.synthetic import TIME_NOTE, latencies, make_rally
from tests.support.synthetic_drill import make_drill
from tests.support.synthetic_match import bursts, record_of

# in which a search for the worst instant played; and whose stages were recorded
SEARCHED = {("07-worst-case", "closed")}
STAGED = {("07-worst-case", "cold")}
# interrupt latency of most balls, and of one in a hundred; ns
CELLS = {
    ("mainline", "idle"): (1_000, 1_500),
    ("mainline", "stress"): (1_000, 800_000),
    ("rt", "idle"): (2_000, 3_000),
    ("rt", "stress"): (2_000, 5_000),
}
# as rallies of the virtual bench have it
VIRTUAL = {"instrument": "virtual", "command_line": COMMAND_LINE}
EXPLICIT = (2_000, 90_000)  # a driver that no claim is about: counted in, it shows


def own_words(student: str, question: str) -> str:
    """Return a text as long as a real one, that shares nothing with those of others."""
    digest = hashlib.sha256(f"{student} {question}".encode()).hexdigest()
    words = " ".join(f"w{digest[at : at + 4]}" for at in range(0, len(digest), 4))
    return f"{student} on {question}: {words}"


def right_answers(lab: Lab, student: str) -> dict[str, Any]:
    """Return answers of which those that are not texts are right; choices by their names."""
    solution = load_solution(lab)
    found: dict[str, Any] = {}
    for question in lab.questions:
        known = solution.of(question.id) if solution else None
        if known is not None and known.answer is not None:
            found[question.id] = known.answer
        elif question.kind == "file":
            continue
        elif question.computed and question.kind == "choice":
            found[question.id] = "confirmed"
        elif question.computed:
            found[question.id] = 1.0
        elif question.kind == "prediction":
            found[question.id] = {"number": 2, "reason": own_words(student, "guess")}
        else:
            found[question.id] = own_words(student, question.id)
    return found


def written(lab: Lab, student: str, name: str, answer: Any) -> Iterator[str]:
    """Yield the lines of an answer; a choice that is named is written as the student's number."""
    question = lab.question(name)
    if isinstance(answer, dict):
        yield from (f"{name}.{part} = {value!r}" for part, value in answer.items())
        return
    if answer in (question.choices or {}):
        numbers = numbered(lab.slug, question, work.seed_of(lab, student))
        answer = next(number for number, choice in numbers.items() if choice == answer)
    yield f"{name} = {answer!r}" if isinstance(answer, str) else f"{name} = {answer}"


def make_work(
    folder: Path,
    lab: Lab,
    student: str,
    *,
    answers: Mapping[str, Any] | None = None,
    rallies: Mapping[str, Mapping[str, Any] | None] | None = None,
    match: Mapping[str, Any] | None = None,
    sweep: Mapping[str, Any] | None = None,
    minutes: int = 80,
    edited: Callable[[str, str], str] = lambda _, text: text,
) -> Path:
    """Do a lab: answers that are right but for ``answers`` (None: none), rallies but for those.

    ``edited``: takes the name of a file that students complete, and its solution.
    """
    work.start(lab, student, folder)
    for name in lab.files:
        text = solved(source_of(lab, name).read_text())
        (folder / name).write_text(edited(name, text))
    path = folder / work.ANSWERS
    text = path.read_text().partition("[answers]")[0].replace("minutes = 0", f"minutes = {minutes}")
    lines = ["[answers]"]
    for name, answer in {**right_answers(lab, student), **(answers or {})}.items():
        lines += [f'{name} = ""'] if answer is None else written(lab, student, name, answer)
    path.write_text(text + "\n".join(lines) + "\n")
    if lab.match is not None and (match or {}).get("there", True):
        make_match(folder / lab.match.name, lab, student, **(match or {}))
    if lab.sweep is not None and (sweep or {}).get("there", True):
        make_sweep(folder / lab.sweep.name, lab, student, **(sweep or {}))
    for asked in lab.to_play:
        about = (rallies or {}).get(asked.name, {})
        if about is None:
            continue
        if asked.drill is not None:
            make_lab_drill(folder, asked, work.seed_of(lab, student) + asked.boot, **about)
            continue
        settings = {
            "kernel": asked.kernel,
            "load": asked.load,
            "bottom_half": asked.bottom_half,
            "top_half": asked.top_half,
            "priorities": asked.priorities,
            "beneath": asked.beneath,
            "balls": asked.balls,
            "seed": work.seed_of(lab, student) + asked.boot,
            "rate_hz": asked.rate_hz,
            "gap_us": asked.gap_us,
            "bench": "virtual",
            "module": OWN if asked.racquet else "racquet",
            **(answered(folder / asked.program) if asked.program else {}),
            "processors": asked.processors if asked.processors > 1 else None,
            "interrupt_cpu": asked.interrupt_cpu,
            "bottom_half_cpu": asked.bottom_half_cpu,
            "load_cpus": asked.load_cpus,
            "memory": asked.memory,
            "added": asked.command_line,
            "where": counted(asked),
            "searched": (lab.slug, asked.name) in SEARCHED,
            "stages": (lab.slug, asked.name) in STAGED,
        }
        settings = {**settings, **about}
        searched, staged = settings.pop("searched"), settings.pop("stages")
        if late_us := settings.pop("late_us", None):  # one ball
            what = (settings["balls"], settings["seed"], settings["kernel"], settings["load"])
            settings["rise"] = np.rint(latencies(*what))
            settings["rise"][settings["balls"] // 2] = late_us * 1000
        made = make_rally(folder / asked.name, **{**VIRTUAL, **as_served(asked, settings)})
        if searched:
            about = instants.About(until="rise", drawn=2, low_ns=0, high_ns=9_000, step_ns=2)
            rows = np.array([(0, 900, 2_000), (4_000, 1_100, 2_400)], np.int64)
            instants.write(made, instants.Instants(about, rows))
        if staged:
            row = (*range(100, 900, 100), 0, "interrupt", None, None, "racquet", 360, "a line")
            stages.write(made, [(ball, *row) for ball in range(made.balls)])
    return folder


def answered(path: Path) -> dict[str, Any]:
    """Return what a manifest says where a program answered, and no Racquet."""
    brought = read_program(path)
    program = Program(
        name=brought.name,
        kind=brought.kind,
        sha256=brought.sha256,
        built_sha256="0" * 64,
        command=brought.about.command,
        way="GPIO character device",
        priority=None,
    )
    return {"program": program, "module": NO_MODULE, "top_half": PROGRAM, "bottom_half": PROGRAM}


def as_served(asked: LabRally, settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings with the protocol of the lab's rally, except for their own values."""
    gap_us, rate_hz = settings.pop("gap_us"), settings.pop("rate_hz") or None
    served = {"seed": settings["seed"], "balls": settings["balls"], "rate_hz": rate_hz}
    served["loop"] = "open" if rate_hz else "closed"
    if gap_us is not None:
        served |= {"gap_min_ns": round(gap_us[0] * 1000), "gap_max_ns": round(gap_us[1] * 1000)}
    usual = plan_of_rally(asked, 0).protocol.model_dump()
    if usual["loop"] == "open" and not rate_hz:  # whose timeout is a period
        served["timeout_ns"] = 200_000_000
    protocol = Protocol(**{**usual, **served})
    if rate_hz and "rise" not in settings:  # the next ball does not wait: no answer is later
        what = (settings["balls"], settings["seed"], settings["kernel"], settings["load"])
        rise = np.minimum(np.rint(latencies(*what)), 0.4 * protocol.timeout_ns)
        settings = {**settings, "rise": rise, "schedule": rise}
    return {"protocol": protocol, **settings}


def counted(asked: LabRally) -> list[OnProcessor]:
    """Make up what was counted: pings and replies on one processor, and work on both."""
    here = asked.interrupt_cpu or 0
    answers = [asked.balls if cpu == here else 0 for cpu in range(asked.processors)]
    return [
        OnProcessor(processor=cpu, pings=count, replies=count, busy=asked.balls // (2 + cpu))
        for cpu, count in enumerate(answers)
        if asked.processors > 1
    ]


def make_lab_drill(folder: Path, asked: LabRally, seed: int, **about: Any) -> None:
    """Make up a drill: most repetitions on time, one in a hundred not, half of these unseen."""
    assert asked.drill is not None
    settings = {"context": asked.drill.context, "period_us": asked.drill.period_us, **about}
    drill = asked.drill.model_copy(
        update={key: settings.pop(key) for key in ("context", "period_us")}
    ).to_do
    balls = settings.pop("balls", asked.balls)
    random = np.random.default_rng(seed)
    off_ns = {"user": 9_000_000, "user-rt": 17_000}.get(drill.context, 900)
    intervals = np.full(balls - 1, drill.period_ns) + random.integers(-20, 20, balls - 1)
    intervals[50::100] += off_ns
    inside = np.full(balls, 8_000) + random.integers(-20, 20, balls)
    outside = inside + 3_600
    inside[20::100] += 6_000
    outside[20::50] += 6_000
    make_drill(
        folder / asked.name,
        drill,
        intervals,
        inside,
        outside=outside,
        seed=seed,
        bench=settings.pop("bench", "virtual"),
        **VIRTUAL,
        **{"kernel": asked.kernel, "load": asked.load, **settings},
    )


def make_sweep(
    folder: Path, lab: Lab, own: str, *, student: str = "", rates: int | None = None
) -> None:
    """Make up a lab's sweep that breaks at 70 kHz: for ``student`` if it is not one's own."""
    asked = sweep_work._sweep_request(lab, work.seed_of(lab, student or own))
    folder.mkdir()
    record = RecordOfSweep(
        tennis="0",
        created="2026-01-01T00:00:00+00:00",
        bench="virtual",
        time_note=TIME_NOTE,
        range=asked.range,
        plan=asked.plan,
    )
    record.write(folder)
    shares: dict[int, float] = {}
    while (rate_hz := asked.range.next_rate(shares)) is not None and len(shares) != rates:
        planned = record.at(rate_hz)
        protocol = planned.plan.protocol
        rise = np.full(protocol.balls, 1_000) + np.arange(protocol.balls) % 7
        made = make_rally(
            folder / planned.name,
            rise=rise,
            schedule=np.full(protocol.balls, 500),
            misses=0 if rate_hz < 70_000 else protocol.balls // 4,
            kernel=planned.plan.kernel,
            load=planned.plan.load,
            bottom_half=planned.plan.bottom_half,
            bench="virtual",
            protocol=protocol,
        )
        shares[rate_hz] = pairing(made).share


def make_match(
    folder: Path, lab: Lab, own: str, *, student: str = "", repetitions: int | None = None
) -> None:
    """Make up a lab's match that confirms both claims: for ``student`` if it is not one's own."""
    text = work.plan_of_match(lab, student or own)
    if repetitions is not None:
        text = re.sub(r"(?m)^repetitions = \d+", f"repetitions = {repetitions}", text)
    plan = parse_plan(text.encode(), folder)
    scheduled, _ = scheduled_rallies(plan, {}, ROOT / "plans")
    folder.mkdir()
    for number, entry in enumerate(scheduled):
        explicit = entry.plan.top_half == "explicit"
        base, worst = EXPLICIT if explicit else CELLS[entry.plan.kernel, entry.plan.load]
        # in another order for each: a boot that is another's copy is refused
        rise = np.roll(bursts(worst, entry.plan.protocol.balls, base), number)
        make_rally(
            folder / entry.name,
            rise=rise,
            schedule=rise,
            kernel=entry.plan.kernel,
            load=entry.plan.load,
            priorities=entry.plan.priorities,
            top_half=entry.plan.top_half,
            bottom_half=entry.plan.bottom_half,
            bench="virtual",
            protocol=entry.plan.protocol,
            seed=entry.plan.protocol.seed,  # other gaps for each, too
        )
    record_of(plan, scheduled, bench="virtual").write(folder)


def zipped(folder: Path, out: Path) -> Path:
    """Pack a folder as it is, complete or not."""
    hand_in.pack(work.read(folder), out)
    return out


def played_by_marker(plays: Path, lab: Lab, student: str, scratch: Path, **about: Any) -> None:
    """Make up what the marker would play for a student: the same rallies as in ``make_work``."""
    made = make_work(scratch, lab, student, **about)
    plays.mkdir(exist_ok=True)
    for asked in lab.to_play:
        own = made / asked.own_file if asked.own_file else None
        plan = plan_of_rally(asked, work.seed_of(lab, student), own=own)
        plan = plan.model_copy(update={"versions": bench_for(plan).versions(plan)})
        shutil.move(made / asked.name, plays / _key_of(plan))
