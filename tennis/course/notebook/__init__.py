"""Notebooks that run in a box, or for a page."""
