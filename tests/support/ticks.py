"""The latencies of a rally as it recorded them: whole ticks, misses left out."""

from tennis.rally import Rally


def interrupt_ticks(rally: Rally) -> list[int]:
    """Return each rise, counted from its serve."""
    columns = [batch["rise_ticks"].tolist() for batch in rally.batches()]
    return [rise for column in columns for rise in column if rise is not None]


def scheduling_ticks(rally: Rally) -> list[int]:
    """Return each fall, counted from its rise."""
    edges = ("rise_ticks", "fall_ticks")
    columns = [[batch[edge].tolist() for edge in edges] for batch in rally.batches()]
    pairs = [pair for column in columns for pair in zip(*column, strict=True)]
    return [fall - rise for rise, fall in pairs if rise is not None and fall is not None]
