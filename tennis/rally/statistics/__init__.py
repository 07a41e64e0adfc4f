"""Integer statistics of rallies: real observed values, intervals, and what N supports."""

from tennis.rally.statistics.intervals import quantile_ranks
from tennis.rally.statistics.summary import Interval, Latency, Summary, summarize

__all__ = ["Interval", "Latency", "Summary", "quantile_ranks", "summarize"]
