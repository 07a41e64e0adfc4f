"""Tennis: measure real-time Linux from the outside."""

from typing import TYPE_CHECKING, Any

from tennis.kit.checkout import version

if TYPE_CHECKING:
    from tennis.api import OpenRally, open, plot  # noqa: A004

__version__ = version()
__all__ = ["OpenRally", "__version__", "open", "plot"]


def __getattr__(name: str) -> Any:
    """Import the Python interface when it is used: the command line begins without it."""
    if name in __all__:
        from tennis import api

        return getattr(api, name)
    raise AttributeError(f"module 'tennis' has no attribute {name!r}")
