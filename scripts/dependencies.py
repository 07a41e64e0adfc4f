"""Print all packages that an installed Tennis needs, with their versions: those of this .venv.

One requirement a line, sorted, as pip writes them. For scripts/dist.sh.
"""

import re
import sys
from importlib.metadata import distribution
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from packaging.requirements import Requirement

from tennis.kit.checkout import DISTRIBUTION


def needed(name: str, found: dict[str, str]) -> None:
    """Add what a package needs, and what that needs, to ``found``: name -> version."""
    for line in distribution(name).requires or ():
        requirement = Requirement(line)
        if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
            continue
        key = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if key not in found:
            found[key] = distribution(requirement.name).version
            needed(requirement.name, found)


every: dict[str, str] = {}
needed(DISTRIBUTION, every)
for name, version in sorted(every.items()):
    print(f"{name}=={version}")
