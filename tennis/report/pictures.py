"""The list of pictures: a table that imports none of them, because matplotlib takes a while."""

# subject -> the names of its pictures, and the functions that draw them
PICTURES: dict[str, dict[str, str]] = {
    "rally": {
        "histogram": "tennis.report.plots.one:histogram",
        "distribution": "tennis.report.plots.one:distribution",
        "series": "tennis.report.plots.one:series",
        "coverage": "tennis.report.plots.instants:with_search",
    },
    "sweep": {
        "rates": "tennis.match.sweep.picture:rates",
        "screens": "tennis.match.sweep.picture:screens",
    },
    "drill": {
        "spans": "tennis.report.plots.drill:spans",
        "sizes": "tennis.report.plots.drill:sizes",
    },
    "rallies": {
        "overview": "tennis.report.plots.compare:overview",
        "histogram": "tennis.report.plots.compare:histograms",
        "distribution": "tennis.report.plots.compare:comparison",
    },
    "sweeps": {"rates": "tennis.match.sweep.picture:rates_of_several"},
    "drills": {},
}
