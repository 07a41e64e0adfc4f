"""Benches with a real Pico: by hand, or with a target that is reached over SSH."""
