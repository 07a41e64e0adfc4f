# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A term's rallies in one folder: sealed folders, a catalogue of them, questions in SQL."""

from tennis.store.opening import open_store
from tennis.store.store import Store

__all__ = ["Store", "open_store"]
