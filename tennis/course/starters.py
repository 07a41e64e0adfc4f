# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Files of a lab that students complete: one source holds the gaps and what belongs into them.

Between ``/* [solution] */`` and ``/* [/solution] */`` stands what students do not see, between
``/* [mistake] */`` and ``/* [/mistake] */`` what the solution has no longer, and ``[gap]`` becomes
``GAP``, which editors find. A file without these marks is as students get it.
"""

import re


def _between(mark: str) -> re.Pattern[str]:
    begin, end = (rf"^[ \t]*/\* \[{slash}{mark}\] \*/\n" for slash in ("", "/"))
    return re.compile(f"{begin}(?P<text>.*?){end}", re.MULTILINE | re.DOTALL)


_SOLUTION, _MISTAKE = _between("solution"), _between("mistake")
_MARK = re.compile(r"\[(?:/?solution|/?mistake|gap)\]")


def starter(text: str) -> str:
    """Return a file as students get it. Raises ValueError where the marks do not pair."""
    return _without_marks(_MISTAKE.sub(_kept, _SOLUTION.sub("", text)))


def solved(text: str) -> str:
    """Return a file as it is with the solution. Raises ValueError where the marks do not pair."""
    return _without_marks(_SOLUTION.sub(_kept, _MISTAKE.sub("", text)))


def _kept(match: re.Match[str]) -> str:
    return match["text"]


def _without_marks(text: str) -> str:
    text = text.replace("[gap]", "GAP")
    if left := _MARK.search(text):
        raise ValueError(f"{left[0]} stands alone")
    return text
