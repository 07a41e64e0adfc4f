"""The settings of a match's plan, made from the table: of all, of a kernel, of a combination."""

from typing import TYPE_CHECKING, Any

from pydantic import SerializerFunctionWrapHandler, model_serializer

from tennis.rally.manifest import StrictModel
from tennis.rally.settings import SETTINGS, OptionalSettings, optional_model, rows_of, type_of

# keys of a match's plan that list several values of a setting. Folders are named in this order
AXES = {
    "priorities": "priorities",
    "top_halves": "top_half",
    "bottom_halves": "bottom_half",
    "command_lines": "command_line",
}

# the others: each has one value, of a kernel or of a way to set the target up
OF_A_MATCH = tuple(
    name for name, row in SETTINGS.items() if not row.takers.isdisjoint({"kernel", "setting"})
)


class _MatchSettings(OptionalSettings):
    """Settings of a part of a plan."""

    @property
    def of_a_match(self) -> dict[str, Any]:
        """Return what somebody asked for of the settings that are no axes."""
        return {name: value for name, value in self.explicit.items() if name in OF_A_MATCH}


class _Combined(_MatchSettings):
    """The settings of a combination of a match that the plan gives for it alone."""

    @model_serializer(mode="wrap")
    def _asked(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write a setting that is no axis only if the plan asks for it: files keep their bytes."""
        every: dict[str, Any] = write(self)
        return {k: v for k, v in every.items() if v is not None or k not in OF_A_MATCH}


if TYPE_CHECKING:

    class KernelSettings(_MatchSettings):
        """Settings that a match's plan may have for all kernels, and for one."""

    class TargetSettings(_MatchSettings):
        """Settings that a match's plan may have for all ways to set the target up, and for one."""

        program: str | None = None

    class AxisSettings(StrictModel):
        """Settings of which a match's plan may list several, for all kernels, and for one."""

        command_lines: list[str] | None = None

    class CombinedSettings(_Combined):
        """All of these settings, one of each."""

        program: str | None = None
else:
    KernelSettings, TargetSettings = (
        optional_model(
            title, {row.name: type_of(row.name) for row in rows_of(taker)}, _MatchSettings
        )
        for title, taker in (("KernelSettings", "kernel"), ("TargetSettings", "setting"))
    )
    AxisSettings = optional_model(
        "AxisSettings", {key: list[type_of(name)] for key, name in AXES.items()}, StrictModel
    )
    CombinedSettings = optional_model(
        "CombinedSettings",
        {name: type_of(name) for name in (*AXES.values(), *OF_A_MATCH)},
        _Combined,
    )
