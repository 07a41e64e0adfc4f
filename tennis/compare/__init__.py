"""Two sides made of boots: which is later, at which level, and how sure that is."""

BOOTS_MAX = 1000  # of a side
