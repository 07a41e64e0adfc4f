"""Shared by all benches in QEMU: its plugins, and a session with the built-in instrument."""
