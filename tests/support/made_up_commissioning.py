"""A commissioning record as a board might have made it; no board did."""

from tennis.play.commissioning.record import Number, Record, StepResult

DAY = "2026-01-02"


def number(name: str, value: float, unit: str = "ns") -> Number:
    return Number(name=name, words=name.replace("_", " "), value=value, unit=unit)


def made_up_record() -> Record:
    """Return a record in which a step of each verdict occurs."""
    steps = [
        StepResult(name="pico", verdict="pass", date=DAY, reason="a Pico", facts={"board": "Pico"}),
        StepResult(
            name="jumpers",
            verdict="pass",
            date=DAY,
            reason="every ball within the tolerance",
            numbers=[number("loop_ns", 23.7), number("rate_balls_s", 21000.0, "balls/s")],
        ),
        StepResult(name="target", verdict="left out", date=DAY, reason="no target was named"),
        StepResult(
            name="reply",
            verdict="fail",
            date=DAY,
            reason="nothing drives the reply wire (0 of 20 answered): it ends nowhere",
            advice="look at pin 5 of the Pico and pin 13 of the target, then exchange the wire",
            failure="missing",
            numbers=[number("pings", 20.0, ""), number("answered", 0.0, "")],
            facts={"reply_at_rest": "floating"},
            notes=["<b>a note with marks</b> and " + "a_word_without_an_end" * 8],
        ),
    ]
    return Record(schema_version=1, created=DAY, tennis="0", kind="physical", steps=steps)
