"""What the register takes from a folder that was played: values, and how people write them.

A value's source is one of:

    FOLDER LATENCY FIGURE     interrupt, scheduling or both; min, median, max, jitter, "99 %",
                              "1 in 1,000" (of several boots: the median boot)
    FOLDER LATENCY later than 100us     how many balls
    FOLDER LATENCY answered 99.9 %      as if missed balls were left out, or "answered max"
    FOLDER LATENCY ball of max          its number, from 0; or of median: the first that has it
    FOLDER LATENCY share later than 10us
    FOLDER balls              or missed; unpaired: of an open loop, their share
    output N REGEX            the first group of a regular expression, in what command N printed
    json FILE KEY KEY ...     what a file of JSON has there; of a key that ends in _ns: a time

A folder may be a pattern, as ``demo/rt-*``: balls of all boots together.
"""

import json
import math
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tennis.compare.boots import Boot
from tennis.compare.folders import LATENCIES
from tennis.compare.sides import Side
from tennis.kit.errors import UsageError
from tennis.kit.units import format_ns
from tennis.rally import Rally, open_folder
from tennis.rally.folder import MANIFEST
from tennis.rally.statistics.balls import latencies_ns
from tennis.rally.statistics.pairing import pairing
from tennis.rally.statistics.summary import summarize
from tennis.replicate.story import joined

Value = int | float | str | dict[str, Any]  # {"ns": 1556}: a time

_LEVELS = {"median": "median", "99 %": "p99", "99.9 %": "p999"}
_UNITS_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000}


class Played:
    """A folder in which the commands of a play were executed."""

    def __init__(self, folder: Path, outputs: list[str]) -> None:
        self.folder, self.outputs = folder, outputs
        self._rallies: dict[str, Rally] = {}

    def rallies(self) -> dict[str, Rally]:
        """Return every rally and drill in the folder, by its path there."""
        found = {}
        for manifest in sorted(self.folder.rglob(MANIFEST)):
            name = str(manifest.parent.relative_to(self.folder))
            found[name] = self.rally(name)
        return found

    def rally(self, name: str) -> Rally:
        """Return a rally, or of a pattern all of them as one. Raises UsageError."""
        if name not in self._rallies:
            if "*" in name:
                folders = sorted(path.parent for path in self.folder.glob(f"{name}/{MANIFEST}"))
                if not folders:
                    raise UsageError(f"nothing was played as {name}")
                self._rallies[name] = joined([open_folder(path) for path in folders])
            else:
                self._rallies[name] = open_folder(self.folder / name)
        return self._rallies[name]

    def value(self, source: str) -> Value:
        """Return the value of a source. Raises UsageError for a source that cannot be read."""
        if match := re.fullmatch(r"output (\d+) (.*)", source):
            found = re.search(match[2], self.outputs[int(match[1]) - 1], re.MULTILINE)
            if not found:
                raise UsageError(f"command {match[1]} did not print {match[2]}")
            return " ".join(found[1].split())
        if source.startswith("json "):
            return self._of_json(*source.split()[1:])
        if match := re.fullmatch(r"(\S+) unpaired", source):
            found = pairing(self.rally(match[1]))
            return f"{100 * (1 - found.share):.2f} %"
        if match := re.fullmatch(r"(\S+) (balls|missed)", source):
            rally = self.rally(match[1])
            return rally.balls if match[2] == "balls" else rally.misses
        if match := re.fullmatch(r"(\S+) (interrupt|scheduling|both) (.*)", source):
            return self._of_latency(*match.groups())
        raise UsageError(f"the register cannot take {source!r}")

    def _of_json(self, file: str, *keys: str) -> Value:
        found: Any = json.loads((self.folder / file).read_text())
        for key in keys:
            found = found[int(key)] if isinstance(found, list) else found[key]
        if keys[-1].endswith("ns"):
            return {"ns": found}
        assert isinstance(found, str | int | float)  # noqa: S101 (the register's author sees it)
        return found

    def _of_latency(self, name: str, latency: str, what: str) -> Value:
        if match := re.fullmatch(r"(share )?later than ([\d.]+)(ns|us|ms)", what):
            limit_ns = float(match[2]) * _UNITS_NS[match[3]]
            late = sum(int((times > limit_ns).sum()) for times in self._times_ns(name, latency))
            return f"{100 * late / self.rally(name).balls:.2g} %" if match[1] else late
        if match := re.fullmatch(r"answered (99\.9 %|max)", what):
            times = np.sort(np.concatenate(self._times_ns(name, latency)))
            times = times[np.isfinite(times)]
            rank = -1 if match[1] == "max" else math.ceil(0.999 * times.size) - 1
            return {"ns": int(times[rank])}
        if match := re.fullmatch(r"ball of (max|median)", what):
            (times,) = self._times_ns(name, latency)
            wanted = times.max() if match[1] == "max" else np.sort(times)[(times.size - 1) // 2]
            return int(np.flatnonzero(times == wanted)[0])
        if latency != "both" and (what in _LEVELS or what in {"min", "max", "jitter"}):
            figures = getattr(summarize(self.rally(name)), f"{latency}_ns")
            value = getattr(figures, _LEVELS.get(what, what))
            return "missed" if value is None else {"ns": value}
        boots = [Boot.of(times) for times in self._times_ns(name, latency)]
        if match := re.fullmatch(r"1 in ([\d,]+)", what):  # the median boot, as in all verdicts
            at = Side(boots).median_boot(int(match[1].replace(",", "")))
        elif what in {"min", "median", "max"}:
            times = np.sort(np.concatenate(self._times_ns(name, latency)))
            at = times[{"min": 0, "median": (len(times) - 1) // 2, "max": -1}[what]]
        else:
            raise UsageError(f"the register knows no figure {what!r}")
        return {"ns": int(at)} if math.isfinite(at) else "missed"

    def _times_ns(self, name: str, latency: str) -> list[NDArray[np.float64]]:
        """Return every ball's latency of each boot, ns; infinite: it was missed."""
        folders = [self.folder / name]
        if "*" in name:
            folders = sorted(path.parent for path in self.folder.glob(f"{name}/{MANIFEST}"))
        parts = []
        for rally in map(open_folder, folders):
            interrupt, scheduling = (latencies_ns(rally, one) for one in LATENCIES)
            of = {"interrupt": interrupt, "scheduling": scheduling, "both": interrupt + scheduling}
            parts.append(of[latency])
        return parts


def said(value: Value, form: str = "") -> str:
    """Write a value as pages do; ``form``: ns, us, ms: without a unit; plain: without commas."""
    if isinstance(value, dict):
        ns = value["ns"]
        if not form:
            return format_ns(ns)
        if form == "ns":
            return f"{ns:,}"
        number = ns / _UNITS_NS[form]
        digits = max(0, 2 - math.floor(math.log10(number))) if number else 0
        return f"{number:,.{digits}f}"
    if isinstance(value, str):
        return value
    return str(value) if form == "plain" else f"{value:,}"


def holds(condition: str, values: Mapping[str, Value]) -> bool:
    """Tell whether a relation of values holds, as in ``0.9 * a < b < 1.1 * a``."""
    parts = re.split(r"\s*(<=|>=|<|>|==)\s*", condition)
    compare: dict[str, Callable[[float, float], bool]] = {
        "<": lambda a, b: a < b,
        ">": lambda a, b: a > b,
        "<=": lambda a, b: a <= b,
        ">=": lambda a, b: a >= b,
        "==": lambda a, b: a == b,
    }
    if len(parts) < 3:
        raise UsageError(f"{condition!r} compares nothing")
    terms = [_term(part, values) for part in parts[::2]]
    return all(
        compare[sign](a, b) for sign, a, b in zip(parts[1::2], terms, terms[1:], strict=False)
    )


def _term(text: str, values: Mapping[str, Value]) -> float:
    product = 1.0
    for factor in text.split("*"):
        word = factor.strip()
        product *= _number(values[word]) if word in values else float(word.replace(",", ""))
    return product


def _number(value: Value) -> float:
    if isinstance(value, dict):
        return float(value["ns"])
    if value == "missed":
        return math.inf
    if isinstance(value, str):
        match = re.fullmatch(r"([\d.,]+) ?(ns|µs|us|ms|s|%)?", value)
        if not match:
            raise UsageError(f"{value!r} is no number")
        scale = {"ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9}.get(match[2] or "", 1)
        return float(match[1].replace(",", "")) * scale
    return float(value)
