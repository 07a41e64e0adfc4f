"""A match: its plan, its schedule, its folder; sweeps."""
