"""Commissioning: measure each step on the equipment, and keep the record."""
