"""Explain a late ball: replay, words, pictures; try remedies."""
