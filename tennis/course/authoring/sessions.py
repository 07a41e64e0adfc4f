"""A term's sessions in the teacher's plan: ``labs/sessions.toml``.

Times are minutes. Each lab's ``lab.toml`` has its own time.
"""

from pathlib import Path
from typing import Annotated, Self

from pydantic import Field, ValidationError, model_validator

from tennis.course.labs import (
    LABS,
    Lab,
    LabError,
    OneLine,
    Slug,
    StrictPart,
    first_error,
    load_course,
    read_toml,
)

SESSIONS = LABS / "sessions.toml"

Minutes = Annotated[int, Field(gt=0, le=600)]


class _Session(StrictPart):
    """A session: a talk, work on a lab, a discussion."""

    slug: Slug  # the lab's
    title: OneLine | None = None  # of a session without a lab
    work_minutes: Minutes | None = None  # of a session without a lab
    talk_minutes: Minutes
    discussion_minutes: Minutes
    needs: list[Slug] = Field(default=[])  # labs that come before
    dropped: OneLine | None = None  # when a class can do without
    before: Annotated[list[OneLine], Field(min_length=1)]  # what to know
    goals: Annotated[list[OneLine], Field(min_length=2, max_length=4)]  # what one can do afterwards

    @model_validator(mode="after")
    def _has_both_or_neither(self) -> Self:
        if (self.title is None) != (self.work_minutes is None):
            raise ValueError("a session without a lab has a title and work_minutes")
        return self


class Planned(StrictPart):
    """A session with its lab, and how its time is spent."""

    session: _Session
    lab: Lab | None
    room_minutes: int  # at the lab, in the room
    home_minutes: int  # at the lab, the rest of it

    @property
    def title(self) -> str:
        """Return the lab's title, or the session's own."""
        return self.lab.title if self.lab else str(self.session.title)


class _Effort(StrictPart):
    """The effort of a term besides its sessions and labs."""

    report: Slug  # the lab that is the report
    report_hours: Annotated[int, Field(gt=0, le=100)]  # in place of its lab's minutes at home
    reading_minutes: Minutes  # of each session, at home
    exam_hours: Annotated[int, Field(ge=0, le=100)]
    text_minutes: Minutes  # a teacher marks a text
    class_size: Annotated[int, Field(gt=0, le=1000)]


class _Marks(StrictPart):
    """Shares of the mark, in per cent; the report's lab is no part of ``labs``."""

    labs: Annotated[int, Field(ge=0, le=100)]
    report: Annotated[int, Field(ge=0, le=100)]
    exam: Annotated[int, Field(ge=0, le=100)]
    exam_minutes: Minutes

    @model_validator(mode="after")
    def _is_a_whole(self) -> Self:
        if self.labs + self.report + self.exam != 100:
            raise ValueError("the shares of the mark are not 100 % together")
        return self


class Term(StrictPart):
    """All sessions, in their order."""

    session_minutes: Minutes
    break_minutes: Minutes
    effort: _Effort
    marks: _Marks
    sessions: Annotated[list[_Session], Field(min_length=1)]

    @classmethod
    def load(cls, path: Path = SESSIONS) -> Self:
        """Return the term as it was planned. Raises LabError if the file is not usable."""
        try:
            return cls.model_validate(read_toml(path))
        except ValidationError as error:
            message = f"{path}: {first_error(error)}"
            raise LabError(message, next_step="correct that part of the file") from error

    def planned(self, labs: list[Lab]) -> list[Planned]:
        """Return the sessions with their labs and times.

        A lab is worked at in the room until the session is over, and finished at home. A lab
        without a session is no part of the term. Raises LabError if a session's lab is not in
        the course, or comes in another order.
        """
        known = {lab.slug: lab for lab in labs}
        with_lab = [session.slug for session in self.sessions if session.title is None]
        unknown = [slug for slug in with_lab if slug not in known]
        if unknown:
            message = f"{SESSIONS.name}: {unknown[0]} is not a lab of course.toml"
            raise LabError(
                message, next_step="name a lab, or give the session title and work_minutes"
            )
        if with_lab != [slug for slug in known if slug in with_lab]:
            message = f"{SESSIONS.name}: labs come in another order than in course.toml, or twice"
            raise LabError(message, next_step="put the sessions into the order of course.toml")
        return [self._plan(session, known.get(session.slug)) for session in self.sessions]

    def workload_hours(self, planned: list[Planned]) -> dict[str, float]:
        """Return how many hours of a student each part of the term takes."""
        home = [one for one in planned if one.session.slug != self.effort.report]
        return {
            "contact": len(planned) * self.session_minutes / 60,
            "labs": sum(one.home_minutes for one in home) / 60,
            "reading": len(planned) * self.effort.reading_minutes / 60,
            "report": float(self.effort.report_hours),
            "exam": float(self.effort.exam_hours),
        }

    def _plan(self, session: _Session, lab: Lab | None) -> Planned:
        talked = session.talk_minutes + session.discussion_minutes + self.break_minutes
        work = lab.minutes if lab else int(session.work_minutes or 0)
        room = min(work, self.session_minutes - talked)
        return Planned(session=session, lab=lab, room_minutes=room, home_minutes=work - room)


def needs_of(planned: Planned) -> str:
    """Return the numbers of the labs that come before: ``5, 7``."""
    return ", ".join(f"{int(slug[:2])}" for slug in planned.session.needs)


def load_sessions(path: Path = SESSIONS) -> list[Planned]:
    """Return the term's sessions in their order. Raises LabError if the file is not usable."""
    return Term.load(path).planned(load_course()[1])


def texts_of(lab: Lab) -> list[int]:
    """Return the points of each question of a lab that a teacher marks: a text."""
    return [question.points for question in lab.questions if question.kind == "text"]
