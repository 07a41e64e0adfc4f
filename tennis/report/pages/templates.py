"""The pages' templates: apart from the rally's page, which loads what draws pictures."""

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from tennis.kit import style
from tennis.kit.units import format_ns, format_us
from tennis.rally.statistics import Latency, Summary
from tennis.rally.statistics.intervals import BOUND_FROM
from tennis.rally.statistics.summary import percent


def _later(summary: Summary, latency: Latency) -> str:
    """Say how many answers may be later than the maximum, if that can be known."""
    if summary.suspect or summary.misses or latency.exceedance_bound_95 is None:
        why = "suspect" if summary.suspect else "misses are later" if summary.misses else "no balls"
        return f"no claim: {why}"
    if latency.n < BOUND_FROM:
        return "too few balls"
    return f"fewer than 3/N = {percent(latency.exceedance_bound_95)}"


def _interval(latency: Latency, key: str) -> str:
    return latency.said_interval(key, "to")


@cache
def template(name: str) -> Template:
    """Return one of the pages beside this file: what it is given is escaped."""
    environment = Environment(
        loader=PackageLoader("tennis.report.pages", ""),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"time": format_ns, "thesis": format_us}
    environment.globals |= {"interval": _interval, "later": _later, "style": style}
    return environment.get_template(name)
