"""One HTML page about a commissioning: what passed, every measured number, what to do."""

from dataclasses import dataclass

from markupsafe import Markup

from tennis.kit.edition import VERSION
from tennis.kit.wiring import wiring
from tennis.play.commissioning.record import Record, StepResult
from tennis.play.commissioning.steps import Step, steps
from tennis.report.pages.templates import template
from tennis.report.pages.wiring import step_picture

FACTS = {
    "board": "board",
    "micropython": "MicroPython",
    "firmware": "firmware",
    "firmware_sha256": "firmware's hash",
    "reply_at_rest": "the reply line at rest",
    "ping_line": "the ping's line",
    "reply_line": "the reply's line",
    "version": "its build",
    "virtual_kernel": "kernel of the virtual bench",
}


@dataclass(frozen=True)
class _StepOnPage:
    """A step on the page."""

    step: Step
    result: StepResult | None
    picture: Markup | None

    @property
    def verdict(self) -> str:
        """Return the verdict in words."""
        return self.result.verdict if self.result else "not done"

    @property
    def style(self) -> str:
        """Return the verdict's class on the page."""
        classes = {"pass": "confirmed", "fail": "contradicted"}
        return classes.get(self.verdict, "not-addressed")

    @property
    def facts(self) -> dict[str, str]:
        """Return the facts by what people call them."""
        told = self.result.facts if self.result else {}
        return {FACTS.get(name, name): words for name, words in told.items()}


def page(record: Record) -> str:
    """Return the page: the same record gives the same bytes."""
    shown = [
        _StepOnPage(
            step,
            record.result(step.name),
            # made here, of the wiring only
            Markup(step_picture(wiring(), step.wires, jumpers=step.jumpers))  # noqa: S704
            if step.wires
            else None,
        )
        for step in steps()
    ]
    return template("commission.html.j2").render(record=record, steps=shown, version=VERSION)
