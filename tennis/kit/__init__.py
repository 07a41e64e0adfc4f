"""Shared by all rooms: units, errors, the environment, the kit's folders, the wire."""
