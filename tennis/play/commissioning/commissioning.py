"""A commissioning folder: go through the steps, keep each result, seal it after each."""

import contextlib
import datetime
import getpass
import hashlib
import os
import shutil
import socket
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from tennis import __version__
from tennis.bench.instruments import firmware
from tennis.kit.digests import sha256_of
from tennis.kit.errors import AlteredError, RallyError, UsageError
from tennis.kit.log import log
from tennis.play.commissioning.equipment import Equipment, equipment_for
from tennis.play.commissioning.measure import Outcome, Work, measure
from tennis.play.commissioning.page import page
from tennis.play.commissioning.record import PAGE, RECORD, Number, Record, StepResult, read_record
from tennis.play.commissioning.request import CommissionRequest
from tennis.play.commissioning.sharing import to_share
from tennis.play.commissioning.steps import names, step
from tennis.play.rally import Watch
from tennis.rally.disk import open_below, write_whole, writing
from tennis.rally.folder import MANIFEST
from tennis.rally.in_play import part_path
from tennis.rally.manifest import Sha256, StrictModel
from tennis.rally.opening import open_rally
from tennis.rally.statistics.summary import summarize
from tennis.rally.text import plain, quoted

STATE = "state.json"  # of this folder only: it is not sent
STATE_MAX = 1 << 12  # bytes: two hashes
RALLIES = ("idle", "load", "umpire", "misses")


class _State(StrictModel):
    """Hashes of the Pico and the target that the folder is about."""

    pico: Sha256 | None = None
    target: Sha256 | None = None


def _digest(word: str) -> str:
    return hashlib.sha256(f"tennis commission {word}".encode()).hexdigest()


def _today() -> str:
    return datetime.datetime.now(datetime.UTC).date().isoformat()


class Commissioning:
    """A folder that is begun, or continued.

    Raises RallyError if this tennis cannot continue the folder, AlteredError if somebody changed
    it, UsageError if it is about another target.
    """

    def __init__(
        self,
        out: Path,
        request: CommissionRequest,
        watch: Watch,
        equipment: Equipment | None = None,
    ) -> None:
        self.out, self.request, self._watch = out, request, watch
        self.equipment = equipment or equipment_for(request)
        self._state = _State()
        if os.path.lexists(out / RECORD):
            self.record = self._opened()
        else:
            self._begin()
        self._leave_out()

    def _begin(self) -> None:
        if os.path.lexists(self.out) and (not self.out.is_dir() or any(self.out.iterdir())):
            raise UsageError(
                f"{self.out} exists and holds no {RECORD}", next_step="choose another --out"
            )
        self.record = Record(
            schema_version=1,
            created=_today(),
            tennis=__version__,
            kind=self.equipment.kind,
            steps=[],
        )
        self._state = _State(target=self._target)
        with writing(self.out):
            self.out.mkdir(exist_ok=True)

    @property
    def _target(self) -> str | None:
        return _digest(self.request.target) if self.request.target else None

    def _opened(self) -> Record:
        record = read_record(self.out / RECORD)
        try:
            with open_below(self.out, STATE) as file:
                self._state = _State.model_validate_json(file.read(STATE_MAX))
        except (OSError, ValidationError) as error:
            raise RallyError(
                f"{self.out / STATE} cannot be read", next_step="begin another folder with --out"
            ) from error
        if record.kind != self.equipment.kind:
            raise UsageError(
                f"{self.out} is about {record.kind} hardware, and this is {self.equipment.kind}",
                next_step="choose another --out",
            )
        if self._state.target and self._state.target != self._target:
            raise UsageError(
                f"{self.out} is about another target", next_step="name that one, or another --out"
            )
        if self._target and not self._state.target:
            self._state = self._state.model_copy(update={"target": self._target})
        # the page is written behind the record: it may be missing after a crash
        files = {name: digest for name, digest in record.files.items() if name != PAGE}
        record.model_copy(update={"files": files}).check_files(self.out)
        flashed = record.result("firmware")
        if flashed and flashed.facts.get("firmware_sha256", firmware.sha256()) != firmware.sha256():
            log.info(
                f"{self.out}: its Pico has the firmware of tennis {plain(record.tennis, 40)}: the "
                "step firmware and all steps that need it are to be done again"
            )
            record = self._without(record, {"firmware", *step("firmware").dependents})
        return record.model_copy(update={"tennis": __version__})

    def _leave_out(self) -> None:
        """Leave out what takes a target or a second Pico, if none is named."""
        for name in names():
            result, lacking = self.record.result(name), self._lacking(name)
            named = step(name).second_pico or self.equipment.reached
            if step(name).optional:
                continue
            if lacking and not self.record.passed(name):
                self._put(name, Outcome("left out", lacking))
            elif not lacking and result and result.verdict == "left out" and named:
                self.record = self._without(self.record, {name})

    def _lacking(self, name: str) -> str:
        """Say what a step needs and was not named; empty if nothing is missing."""
        if step(name).target and not self.equipment.reached:
            return "no target was named"
        if step(name).board and not self.equipment.counts:
            return "no board was named"
        if step(name).second_pico and not self.equipment.has_second_pico:
            return "no second Pico was named (--generator-port)"
        return ""

    # --- doing steps ---

    def missing(self, name: str) -> list[str]:
        """Return the steps that must pass before one."""
        done = {r.name for r in self.record.steps if r.verdict in {"pass", "left out"}}
        return [one for one in step(name).after if one not in done]

    def todo(self) -> list[str]:
        """Return the steps that are left, in their order."""
        wanted = self.record.open_steps
        if self.request.umpire and not self.record.passed("umpire"):
            wanted.append("umpire")
        if self.equipment.counts and not self.record.result("misses"):
            wanted.append("misses")  # once: not every board's processor counts
        return [name for name in names() if name in wanted]

    def refuse_if_lacking(self, name: str) -> None:
        """Raise UsageError if a step takes a target or a second Pico, and none was named."""
        if lacking := self._lacking(name):
            takes = step(name)
            what = (
                "a second Pico" if takes.second_pico else "a board" if takes.board else "a target"
            )
            raise UsageError(f"the step {name} takes {what}: {lacking}", next_step="name one")

    def do(self, name: str) -> StepResult:
        """Do a step, or repeat it; if it fails, the steps that depend on it count no longer.

        Raises UsageError if another step must pass first.
        """
        self.refuse_if_lacking(name)
        if first := self.missing(name):
            raise UsageError(
                f"the step {name} needs {' and '.join(first)}",
                next_step=f"tennis commission --out {quoted(self.out)} --step {first[0]}",
            )
        self._clear(name)
        outcome = measure(name, Work(self.equipment, self.out, self._watch))
        outcome = self._same_pico(name, outcome)
        lost = step(name).dependents & {result.name for result in self.record.steps}
        lost = {one for one in lost if self.record.passed(one)}
        if outcome.verdict == "fail" and lost:
            log.info(f"do again: {', '.join(one for one in names() if one in lost)}")
            self.record = self._without(self.record, lost)
            for one in lost:
                self._clear(one)
        self._put(name, outcome)
        self.save()
        result = self.record.result(name)
        assert result is not None  # noqa: S101 (it was just put there)
        return result

    def _same_pico(self, name: str, outcome: Outcome) -> Outcome:
        """Take another Pico only for the first step, from which all is measured again."""
        if not outcome.serial:
            return outcome
        self.equipment.private.add(outcome.serial)
        serial = _digest(outcome.serial)
        if self._state.pico in {None, serial}:
            self._state = self._state.model_copy(update={"pico": serial})
            return outcome
        if name == "pico":
            log.info("another Pico than before: do all its steps again")
            self.record = self._without(self.record, step("pico").dependents)
            self._state = self._state.model_copy(update={"pico": serial})
            return outcome
        return Outcome(
            "fail",
            "another Pico than in the steps before",
            "plug in the first one, or do the step pico again (--step pico)",
        )

    def _clear(self, name: str) -> None:
        """Remove the rallies of a step that is done again."""
        if name in RALLIES:
            for more in ("", "-virtual", "-virtual-one"):
                place = self.out / f"{name}{more}"
                for one in (place, part_path(place)):
                    shutil.rmtree(one, ignore_errors=True)

    @staticmethod
    def _without(record: Record, gone: set[str]) -> Record:
        kept = [result for result in record.steps if result.name not in gone]
        return record.model_copy(update={"steps": kept})

    def _put(self, name: str, outcome: Outcome) -> None:
        hide = self._discreet()
        result = StepResult(
            name=name,
            verdict=outcome.verdict,
            date=_today(),
            reason=hide(plain(outcome.reason, 600)),
            advice=hide(plain(outcome.advice, 600)),
            failure=outcome.failure,
            numbers=outcome.numbers,
            facts={key: hide(plain(words, 200)) for key, words in outcome.facts.items()},
            notes=[hide(plain(words, 400)) for words in outcome.notes[:40]],
        )
        others = [one for one in self.record.steps if one.name != name]
        ordered = sorted([*others, result], key=lambda one: names().index(one.name))
        self.record = self.record.model_copy(update={"steps": ordered})

    def _discreet(self) -> Callable[[str], str]:
        """Return what takes names of people, machines, ports and Picos out of words."""
        private = dict.fromkeys(self.equipment.private, "…")
        private |= {socket.gethostname(): "…", str(self.out.resolve()): "…", f"{self.out}/": "…/"}
        private[str(Path.home())] = "~"
        with contextlib.suppress(OSError, KeyError):
            private[getpass.getuser()] = "…"
        # "root" is a name that everybody has, and a short word is part of others
        words = sorted((w for w in private if len(w) > 2 and w != "root"), key=len, reverse=True)

        def hide(text: str) -> str:
            for word in words:
                text = text.replace(word, private[word])
            return text

        return hide

    # --- the folder ---

    def save(self) -> None:
        """Write record and page. Raises DiskFullError, RallyError."""
        text = page(self.record).encode()
        files = {PAGE: hashlib.sha256(text).hexdigest()}
        for rally in RALLIES:
            for name in (rally, f"{rally}-virtual", f"{rally}-virtual-one"):
                manifest = self.out / name / MANIFEST
                if manifest.is_file():
                    files[f"{name}/{MANIFEST}"] = sha256_of(manifest)
        self.record = self.record.model_copy(update={"files": files})
        write_whole(self.out / STATE, (self._state.model_dump_json() + "\n").encode(), force=True)
        write_whole(self.out / RECORD, self.record.sealed_text(), force=True)
        write_whole(self.out / PAGE, text, force=True)


def share(folder: Path, out: Path | None = None) -> tuple[Path, Record]:
    """Write the one file that somebody sends; return it and its record.

    The folder is checked before: seals, files, and that the medians are those of its rallies.
    Raises RallyError, AlteredError, UsageError.
    """
    record = read_record(folder / RECORD)
    record.check_files(folder)
    for name in RALLIES[:2]:
        _check_medians(folder, record, name)
    sent = to_share(record)
    text = sent.sealed_text()
    number = hashlib.sha256(text).hexdigest()[:8]
    place = out or Path(f"tennis-commissioning-{record.created}-{number}.json")
    write_whole(place, text)
    return place, sent


def _check_medians(folder: Path, record: Record, name: str) -> None:
    """Compare a step's medians with the rally in its folder."""
    result = record.result(name)
    if result is None or not result.numbers:
        return
    summary = summarize(open_rally(folder / name))
    for kind, latency in (
        ("interrupt", summary.interrupt_ns),
        ("scheduling", summary.scheduling_ns),
    ):
        number: Number | None = record.number(name, f"{kind}_median_ns")
        if (number.value if number else None) != latency.median:
            raise AlteredError(
                f"{folder / RECORD}: the {kind} median of the step {name} is not its rally's",
                next_step=f"do it again (--step {name})",
            )
