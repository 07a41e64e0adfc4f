"""Pictures of rallies: figures for people, with words for those who cannot see them."""

from tennis.report.plots.home import give_home

give_home()  # before matplotlib is imported

from tennis.report.picture_words import alt_text  # noqa: E402
from tennis.report.plots.compare import comparison, overview  # noqa: E402
from tennis.report.plots.one import distribution, histogram, series  # noqa: E402
from tennis.report.plots.picture import Picture  # noqa: E402

__all__ = ["Picture", "alt_text", "comparison", "distribution", "histogram", "overview", "series"]
