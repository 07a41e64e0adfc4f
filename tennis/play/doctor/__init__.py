"""Checks for what would spoil a rally: on this computer, a Pico, a target."""
