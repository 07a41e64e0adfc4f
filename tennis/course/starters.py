# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Files of a lab that students complete: one source holds the gaps and what belongs into them.

Between ``/* [solution] */`` and ``/* [/solution] */`` stands what students do not see, and
``[gap]`` becomes ``GAP``, which editors find. A file without these marks is as students get it.
"""

import re

_SOLUTION = re.compile(
    r"^[ \t]*/\* \[solution\] \*/\n(?P<text>.*?)^[ \t]*/\* \[/solution\] \*/\n",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"\[(?:/?solution|gap)\]")


def starter(text: str) -> str:
    """Return a file as students get it. Raises ValueError where the marks do not pair."""
    return _without_marks(_SOLUTION.sub("", text))


def solved(text: str) -> str:
    """Return a file as it is with the solution. Raises ValueError where the marks do not pair."""
    return _without_marks(_SOLUTION.sub(lambda match: match["text"], text))


def _without_marks(text: str) -> str:
    text = text.replace("[gap]", "GAP")
    if left := _MARK.search(text):
        raise ValueError(f"{left[0]} stands alone")
    return text
