"""A board that is quiet, as ``target/snapshot`` tells it: nothing of it spoils a rally."""

from pathlib import Path

from tennis.bench.kernels.requirements import requirements
from tennis.bench.targets import snapshot

QUIET = Path(__file__).with_suffix(".txt").read_text()


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
