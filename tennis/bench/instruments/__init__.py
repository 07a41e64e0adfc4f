"""Instruments, which time the balls."""
