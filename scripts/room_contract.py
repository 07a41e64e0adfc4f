# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
"""A contract of the import linter: a room's modules, and which other rooms may import them.

``protected_modules``: the room's own. ``allowed_rooms``: names of other rooms. So each module
stands in one list.
"""

import tomllib

from importlinter import ContractCheck, fields
from importlinter.contracts.protected import ProtectedContract

from tennis.checkout import ROOT


def rooms() -> dict[str, list[str]]:
    """Return each room's modules, or the packages whose modules are its."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    contracts = tomllib.loads(text)["tool"]["importlinter"]["contracts"]
    return {
        one["name"].removeprefix("room ").partition(":")[0]: one["protected_modules"]
        for one in contracts
        if one["type"] == "room"
    }


class RoomContract(ProtectedContract):
    """Only the room itself and the named rooms import its modules."""

    type_name = "room"

    allowed_importers = fields.ListField(subfield=fields.ModuleExpressionField(), required=False)
    allowed_rooms = fields.ListField(subfield=fields.StringField(), required=False)

    def check(self, graph, verbose: bool) -> ContractCheck:  # type: ignore[no-untyped-def]
        """Check it. Raises KeyError for a room that there is not."""
        known = rooms()
        own = known[self.name.removeprefix("room ").partition(":")[0]]
        names = [*own, *(module for room in self.allowed_rooms or () for module in known[room])]
        parse = fields.ModuleExpressionField().parse
        self.allowed_importers = [parse(name) for name in names]
        return super().check(graph, verbose)
