"""The late balls of a rally, and why they were late."""

from dataclasses import dataclass
from typing import Any

from tennis.explain.flame import FlameFrame, causes, flame
from tennis.explain.stalls import Stall, stalls_of
from tennis.explain.story import Share, Story, share_json, shares
from tennis.rally import Rally
from tennis.rally.command import command_of


@dataclass(frozen=True)
class Explanation:
    """The late balls of a rally, and why they were late."""

    rally: Rally
    rule: str  # which balls these are, in words
    stories: list[Story]  # the latest ball first
    replayed: int  # balls that were played again, all the same as in the rally
    changed: list[str]  # versions that are not the rally's; its balls came all the same

    @property
    def story(self) -> Story:
        """Return the latest ball's."""
        return self.stories[0]

    @property
    def waited(self) -> int:
        """Return how long all of them waited together, in ns."""
        return sum(story.waited for story in self.stories)

    def shares(self) -> list[Share]:
        """Return what ran while they waited, the longest first."""
        return shares(self.stories)

    def stalls(self) -> list[Stall]:
        """Return what they waited for memory, the longest first; empty without a profile."""
        return stalls_of([(story.ball, story.parts) for story in self.stories])

    def causes(self) -> list[tuple[str, int, int]]:
        """Return their causes: in words, how many balls, and their ns together."""
        return causes(self.stories)

    def flame(self) -> FlameFrame:
        """Return all their call stacks as one tree."""
        return flame(self.stories)

    def as_json(self) -> dict[str, Any]:
        """Return everything but the call stacks as JSON values; times in ns."""
        return {
            "rally": self.rally.label,
            "time_note": self.rally.manifest.time_note,
            "command": command_of(self.rally.manifest),
            "balls": self.rally.balls,
            "replayed": self.replayed,
            "identical": True,
            "changed_versions": self.changed,
            "rule": self.rule,
            "sentence": self.story.sentence,
            "waited_ns": self.waited,
            "causes": [
                {"cause": cause, "balls": balls, "ns": ns} for cause, balls, ns in self.causes()
            ],
            "shares": [share_json(share) for share in self.shares()],
            **({"stalls": [one.as_json() for one in found]} if (found := self.stalls()) else {}),
            "explained": [story.as_json() for story in self.stories],
        }
