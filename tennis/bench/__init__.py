"""Benches: an instrument, a target and the wires between them, behind one small protocol."""
