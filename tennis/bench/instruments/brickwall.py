"""The host's side of the Brickwall: commands and their answers, a play and its frames.

A play survives noise on the line, an unplugged cable and a restarted instrument; these events are
counted and noted. Time is measured in reads that brought nothing, so that a host that was stopped
for a while does not take its own pause for the instrument's silence, and an emulated instrument
does not depend on the host's clock.
"""

import binascii
import secrets
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from dataclasses import asdict, replace
from typing import Any

from pydantic import ValidationError

from tennis.bench.instruments import firmware
from tennis.bench.instruments.arq import LineCounts, Receiver
from tennis.bench.instruments.commands import CommandError, Hello, NobodyError, PadReadings, Play
from tennis.bench.instruments.link import Link, LinkLostError
from tennis.bench.patience import USUAL, Patience
from tennis.kit import wire
from tennis.kit.errors import BenchError
from tennis.rally.journal import Frame
from tennis.rally.text import plain

TICK_S = 0.1  # a read that brings nothing
QUIET_TICKS = 3  # so long without a byte: an unfinished frame is garbage
PROBE_TICKS = 10  # a play is silent: ask whether something got lost
SILENT_TICKS = 60  # no answer to that: the line, or the instrument, is gone
BABBLE_S = 60.0  # a play brings bytes and no frame: it is no Brickwall's
REPEAT_TICKS = 10  # a command without an answer is sent again
# while an answer is awaited: something talks without an end
READS_MAX = 5_000
READ_BYTES_MAX = 1 << 20  # ten times what a Brickwall holds
TALK_S = 5.0  # so long may it talk without a frame, on top of the patience with its silence
ECHO_TICKS = 50  # the answer is an echo: a slow MicroPython's prompt comes behind it
RECONNECT_EVERY_S = 0.25
HELLO_AGAIN_S = 2.0
HEARD_BYTES = 4096
BOOT_S = 15.0  # from power to the first answer; an emulated Pico on a busy host takes its time
STRANGER_ATTEMPTS = 4  # so often is asked who answers something else


Note = Callable[[str, str], None]  # what happened (a word), and in words


class Brickwall:
    """A Brickwall on a line."""

    def __init__(
        self, link: Link, *, patience: Patience = USUAL, note: Note = lambda _what, _words: None
    ) -> None:
        self.link = link
        self.counts = LineCounts()
        self.note = note
        self.doing = ""  # while no ball comes
        self.at_ticks = 0  # the last ball served, on the play's clock
        self._receiver = Receiver(self.counts)
        self._reconnect_s = patience.reconnect_s
        self._command = 0
        self._frames: deque[Frame] = deque()  # came while an answer was awaited
        self._heard = b""
        self._stopping = False
        self._babbled_s = 0.0  # of reads since the last frame or answer
        self._misunderstood = False  # the Brickwall got a line with a wrong checksum
        self._hello: Hello | None = None
        self._at = time.monotonic()  # when the last ball came

    # --- commands ---

    def hello(self, patience_s: float = BOOT_S) -> Hello:
        """Return the Brickwall's greeting.

        Raises NobodyError if there is no Brickwall (the message names the other device), BenchError
        if it does not speak this version's language, LinkLostError.
        """
        # ends a line that somebody else may have begun
        self.link.write(b"\n")
        answer = self._ask("hello", {}, patience_s)
        if answer.get("instrument") != "brickwall":
            raise BenchError(
                f"{self.link.name} is not a Brickwall: it says {plain(str(answer), 60)}",
                next_step="name the Brickwall's port with --port",
            )
        spoken = answer.get("firmware")
        flash = f"run `tennis brickwall flash --port {self.link.name}`"
        if spoken != firmware.VERSION:
            raise BenchError(
                f"the Brickwall on {self.link.name} has firmware {plain(str(spoken), 20)}, "
                f"this tennis needs {firmware.VERSION}: {flash}"
            )
        try:
            self._hello = Hello.model_validate(answer)
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))
            raise BenchError(
                f"the Brickwall on {self.link.name} reports a {where} that this tennis does "
                f"not expect: {flash}"
            ) from error
        return self._hello

    def command(self, verb: str, /, patience_s: float = 5, **values: int | str) -> dict[str, Any]:
        """Send a command; return the Brickwall's answer.

        Raises CommandError if it refused, NobodyError, LinkLostError.
        """
        return self._ask(verb, values, patience_s)

    def wires(self) -> dict[str, Any]:
        """Return the levels of the pads, which show the wires. Raises as ``command`` does."""
        try:
            return PadReadings.model_validate(self.command("wires")).model_dump()
        except ValidationError as error:
            raise BenchError(
                f"the Brickwall on {self.link.name} reports its wires in a form that this "
                f"tennis does not know",
                next_step=f"run `tennis brickwall flash --port {self.link.name}`",
            ) from error

    def _ask(self, verb: str, values: dict[str, int | str], patience_s: float) -> dict[str, Any]:
        return self._exchange(*self._line(verb, values), patience_s)

    def _exchange(self, number: int, line: bytes, patience_s: float) -> dict[str, Any]:
        """Send a command until it is answered."""
        self._heard = b""
        attempts = max(1, round(patience_s / (REPEAT_TICKS * TICK_S)))
        reads = read_bytes = strange = 0
        self._babbled_s, limit_s = 0.0, patience_s + TALK_S
        for attempt in range(attempts):
            # a piece of an answer and then silence may be a Brickwall on a busy line
            if strange >= STRANGER_ATTEMPTS or self._babbled_s >= limit_s:
                break
            self.counts.repeated_commands += attempt > 0
            self.link.write(line)
            quiet, before = 0, read_bytes
            while (
                quiet < REPEAT_TICKS
                and reads < READS_MAX
                and read_bytes < READ_BYTES_MAX
                and self._babbled_s < limit_s
            ):
                reads += 1
                data = self._poll()
                read_bytes += len(data)
                quiet = 0 if data else quiet + 1
                for answer in self._answers(number):
                    return self._accept(answer)
                if self._misunderstood:
                    self._misunderstood = False
                    before = read_bytes
                    break
            # a piece of a frame is no evidence: the rest of it may come
            strange += read_bytes > before and not self._receiver.in_frame
        for _ in range(ECHO_TICKS):
            if self._heard.replace(line.strip(), b"").strip() or not self._heard:
                break
            self._poll()
        raise self._nobody(line)

    def _line(self, verb: str, values: dict[str, int | str]) -> tuple[int, bytes]:
        self._command = self._command % (wire.NO_NUMBER - 1) + 1
        return self._command, wire.encode_command(self._command, verb, values)

    def _answers(self, count: int) -> Iterator[dict[str, Any]]:
        """Yield the answers to a command; take note of the others."""
        answers = self._receiver.answers
        while answers:
            number, content = answers.popleft()
            if content.get("code") == "exception":
                reason = plain(str(content.get("error")))
                self.note("exception", f"in the Brickwall's firmware: {reason}")
            if number == count:
                yield content
            elif number == wire.NO_NUMBER and content.get("code") == "checksum":
                self._misunderstood = True  # other answers may be to somebody who was here before

    def _accept(self, answer: dict[str, Any]) -> dict[str, Any]:
        content = answer.get("ok")
        if isinstance(content, dict):
            return content
        reason = plain(str(answer.get("error", "no reason given")), 200)
        raise CommandError(f"the Brickwall refuses: {reason}", str(answer.get("code", "unknown")))

    def _poll(self) -> bytes:
        """Read once; keep what frames there are."""
        began = time.monotonic()
        data = self.link.read(TICK_S)
        # a host that was stopped meanwhile did not wait
        self._babbled_s += min(time.monotonic() - began, TICK_S)
        if data:
            self._heard = (self._heard + data)[-HEARD_BYTES:]
            heard = len(self._receiver.answers)
            fresh = self._receiver.feed(data)
            if fresh or len(self._receiver.answers) > heard:
                self._babbled_s = 0.0
            self._frames += fresh
        return data

    def _nobody(self, line: bytes) -> NobodyError:
        """Return the error that names what answers on the port instead of a Brickwall."""
        name, heard = self.link.name, self._heard
        if not heard:
            return NobodyError(
                f"nothing answers on {name}: is it the Brickwall's port? unplug the Pico and plug "
                f"it in again, or flash it with `tennis brickwall flash --port {name}`",
                silent=True,
            )
        if self._receiver.in_frame:
            description = f"only half of a Brickwall's answer came from {name}"
            advice = "try again; if that does not help, unplug the Pico and plug it in again"
        elif b">>> " in heard or b"raw REPL" in heard or b"MicroPython v" in heard:
            description = f"a MicroPython prompt answers on {name}, not a Brickwall"
            advice = f"flash it with `tennis brickwall flash --port {name}`"
        elif line.strip() in heard:
            description = f"{name} echoes what it is sent: a shell, a modem or a bridge"
            advice = "name the Brickwall's port with --port"
        else:
            text = plain(heard.decode("ascii", "backslashreplace"), 60)
            description = f"{name} is not a Brickwall: it says {text!r}"
            advice = "name the Brickwall's port with --port"
        return NobodyError(f"{description}: {advice}", silent=False)

    # --- a play ---

    def play(self, play: Play) -> Iterator[Frame | None]:
        """Play, and yield the frames in their order; None now and then while nothing comes.

        Raises CommandError if the Brickwall refuses, LinkLostError if the line does not come
        back in time.
        """
        hello = self._hello or self.hello()
        if hello.state == "playing":  # for a host that was killed
            hello = self.end_play()
        play = self._begin(play)
        yield from self._frames_of_play(play, hello)

    def end_play(self) -> Hello:
        """End the play in progress, if there is one; return the Brickwall's greeting."""
        hello = self.hello()
        if hello.state != "playing":
            return hello
        try:
            self.command("stop")
        except CommandError as error:
            if error.code != "idle":  # it came to its end at this moment
                raise
        return self.hello()

    def play_when_ready(
        self, play: Play, deliver: Callable[[bytes], None]
    ) -> Iterator[Frame | None]:
        """Play as ``play`` does, but let ``deliver`` bring the command to the Brickwall, later.

        The rally's name follows from its parameters: an emulated Brickwall repeats.
        """
        if not play.rally:
            play = replace(play, rally=f"{binascii.crc32(repr(play).encode()):08x}")
        hello = self._hello or self.hello()
        number, line = self._line("play", asdict(play))
        self._receiver.begin(play.rally, play.sequence, number)
        deliver(line)
        yield from self._frames_of_play(play, hello)

    def _begin(self, play: Play) -> Play:
        """Begin a play under a name of its own."""
        play = replace(play, rally=secrets.token_hex(4))
        self._frames.clear()
        number, line = self._line("play", asdict(play))
        self._receiver.begin(play.rally, play.sequence, number)
        try:
            self._exchange(number, line, patience_s=5)
        except CommandError as error:
            # the answer may have been lost, and the command have come twice
            if error.code != "playing" or self.hello().rally != play.rally:
                raise
            self._receiver.arm()
        return play

    def _frames_of_play(self, play: Play, hello: Hello) -> Iterator[Frame | None]:
        self._stopping = False
        self.doing = "waiting for the first ball"
        done, quiet = play.first, 0
        self.at_ticks, self._at = play.clock_ticks, time.monotonic()
        lost: LinkLostError | None = None
        while True:
            try:
                if lost is None and not self._frames:
                    quiet = 0 if self._poll() else quiet + 1
                    self._tend(quiet)
                if lost is None and not self._frames:
                    yield None
            except LinkLostError as error:
                lost = error
            if lost is not None and not self._frames:  # earlier frames are taken first
                again = yield from self._come_back(hello, lost)
                lost = None
                if again is None:
                    return
                quiet, restarted = 0, again.boot != hello.boot or again.rally != play.rally
                hello = again
                if restarted and done >= play.balls:
                    return  # only END is missing
                if restarted:
                    play = yield from self._restarted_play(play, done)
            while self._frames:
                frame = self._frames.popleft()
                kind, _, payload = frame
                if kind == wire.BALLS:
                    done += len(payload) // wire.BALL_SIZE
                    self._note_last_serve(payload)
                yield frame
                if kind == wire.END:
                    self._finish()
                    return

    def _note_last_serve(self, payload: bytes) -> None:
        """Remember when the last ball of a frame was served."""
        if len(payload) >= wire.BALL_SIZE:
            self.at_ticks = int.from_bytes(payload[-wire.BALL_SIZE :][:8], "little")
            self._at = time.monotonic()
            self.doing = ""

    def _tend(self, quiet: int) -> None:
        """Send the Brickwall acknowledgements, and requests for missing frames."""
        if quiet >= QUIET_TICKS:
            self._frames += self._receiver.quiet()
        for _ in self._answers(-1):
            pass
        probing = quiet > 0 and quiet % PROBE_TICKS == 0
        missing = probing and self._receiver.armed
        if self._receiver.ack_due(at_once=probing) or missing:  # an earlier one may be lost
            self._tell("ack", next=self._receiver.expected)
        if self._receiver.resend_due() or missing:
            self._tell("resend", **{"from": self._receiver.expected})
        if probing:
            self._tell("stop" if self._stopping else "status")
        if quiet >= SILENT_TICKS:
            self.link.close()
            raise LinkLostError(f"the Brickwall on {self.link.name} is silent")
        if self._babbled_s >= BABBLE_S:
            self.link.close()
            raise LinkLostError(f"{self.link.name} sends data, but not a Brickwall's")

    def _tell(self, verb: str, **values: int | str) -> None:
        """Send a command without waiting for an answer."""
        _, line = self._line(verb, values)
        self.link.write(line)

    def _finish(self) -> None:
        """Acknowledge END, and hear what may come behind it."""
        try:
            self._tell("ack", next=self._receiver.expected)
            self.hello()
        except BenchError:
            return  # the rally is complete without

    def stop(self) -> None:
        """Ask the Brickwall to end the play; its last frames still come."""
        self._stopping = True
        try:
            self._tell("stop")
        except LinkLostError:
            return  # no more frames will come

    def close(self) -> None:
        """Give the line up."""
        self.link.close()

    # --- what happens to a line ---

    def _come_back(self, before: Hello, lost: LinkLostError) -> Generator[None, None, Hello | None]:
        """Wait until the line is there again; return the Brickwall's new greeting.

        None if the session is stopping. Raises LinkLostError after too long.
        """
        self.note("line_lost", str(lost))
        waited_s = 0.0
        while not self._stopping:
            self.doing = f"{lost}: waiting up to {self._reconnect_s - waited_s:.0f} s for it"
            yield None
            try:
                self.link.reopen()
                self._receiver.forget()
                hello = self.hello(patience_s=HELLO_AGAIN_S)
            except (LinkLostError, NobodyError) as error:
                time.sleep(RECONNECT_EVERY_S)
                waited_s += RECONNECT_EVERY_S
                waited_s += HELLO_AGAIN_S if isinstance(error, NobodyError) else 0
                if waited_s >= self._reconnect_s:
                    break
                continue
            if hello.unique_id != before.unique_id:
                self.link.close()
                raise BenchError(
                    f"the rally started with the Brickwall {before.unique_id}, but now "
                    f"{hello.unique_id} is on {self.link.name}",
                    next_step="plug the first one in again",
                )
            for name in ("firmware_sha256", "tick_hz"):
                now, then = getattr(hello, name), getattr(before, name)
                if now != then:
                    self.link.close()
                    raise BenchError(
                        f"the rally started with {name} {then}, but the Brickwall on "
                        f"{self.link.name} came back with {now}"
                    )
            self.counts.reconnects += 1
            self.note("line_back", f"{self.link.name} is back")
            self.doing = ""
            if hello.boot == before.boot:
                self.counts.resends += 1
                self._tell("resend", **{"from": self._receiver.expected})
            return hello
        if self._stopping:
            return None
        raise LinkLostError(f"{lost}, and did not come back in {self._reconnect_s:.0f} s")

    def _restarted_play(self, play: Play, done: int) -> Generator[None, None, Play]:
        """Go on after the Brickwall was restarted: with the ball that is next, on one clock."""
        self.counts.restarts += 1
        self.note(
            "instrument_restarted",
            f"the Brickwall was restarted after {done} balls (check its power and its cable)",
        )
        assert self._hello is not None  # noqa: S101 (it was just heard)
        passed = round((time.monotonic() - self._at) * self._hello.tick_hz)
        play = replace(
            play, first=done, sequence=self._receiver.expected, clock_ticks=self.at_ticks + passed
        )
        yield None
        return self._begin(play)
