"""Shared by tests: synthetic data, stand-ins, machines in QEMU. No tests."""
