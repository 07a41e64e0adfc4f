# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""Memory at aligned addresses: a DMA channel's ring must begin at a multiple of its size."""

from array import array

from uctypes import addressof

WORD_BYTES = 4


def zeros(count):
    """Return ``count`` words of 0."""
    return array("I", bytes(WORD_BYTES * count))


def aligned_words(count, rings=1):
    """Return ``rings`` times ``count`` words, each beginning at a multiple of their size.

    ``count`` is a power of two. The result is a list of memoryviews.
    """
    whole = memoryview(zeros(count * (rings + 1)))
    start = -addressof(whole) // WORD_BYTES % count
    return [whole[start + n * count : start + (n + 1) * count] for n in range(rings)]
