"""The published figures that students compare their rallies with."""

from tennis.report.publications.knutsson import Maximum, Result, knutsson_2008, result
from tennis.report.publications.load import NAMES, load

__all__ = ["NAMES", "Maximum", "Result", "knutsson_2008", "load", "result"]
