"""Provisioned benches: the inventory, who holds them, and what they boot."""
