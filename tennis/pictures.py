# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Which pictures there are: a table that imports none of them, because matplotlib takes a while."""

# what is drawn -> the names of its pictures, and the functions that draw them
PICTURES: dict[str, dict[str, str]] = {
    "rally": {
        "histogram": "tennis.plots.one:histogram",
        "distribution": "tennis.plots.one:distribution",
        "series": "tennis.plots.one:series",
        "coverage": "tennis.explain.instants.picture:with_search",
    },
    "sweep": {
        "rates": "tennis.sweep.picture:rates",
        "screens": "tennis.sweep.picture:screens",
    },
    "drill": {"spans": "tennis.plots.drill:spans", "sizes": "tennis.plots.drill:sizes"},
    "rallies": {
        "overview": "tennis.plots.compare:overview",
        "histogram": "tennis.plots.compare:histograms",
        "distribution": "tennis.plots.compare:comparison",
    },
    "sweeps": {"rates": "tennis.sweep.picture:rates_of_several"},
    "drills": {},
}
