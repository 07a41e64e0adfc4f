"""Targets, which answer the balls."""
