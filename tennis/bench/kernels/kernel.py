"""A kernel: its image, what modules are built with, and its configuration."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tennis.bench import configuration
from tennis.bench.cache import digest
from tennis.bench.configuration import Flavour


@dataclass(frozen=True)
class Kernel:
    """A kernel that can be booted and for which modules can be built."""

    name: str  # as asked for; of a tree: flavour and release, independent of its folder's name
    release: str  # uname -r
    origin: str  # package and version; of a tree: nothing about its path
    image: Path
    build: Path  # the folder in which `make -C` builds modules
    config: Path

    @property
    def options(self) -> Mapping[str, str]:
        """Return its configuration: option -> value; without options that are not set."""
        return configuration.read_config(self.config.read_text(errors="replace"))

    @property
    def flavour(self) -> Flavour:
        """Return what answers in real time, as the kernel's configuration says."""
        return configuration.flavour_of(self.options)

    @property
    def is_tree(self) -> bool:
        """Tell whether it is a user's built tree: then modules are built in the image's folder."""
        return self.image.is_relative_to(self.build)

    @property
    def fingerprint(self) -> str:
        """Return a key that changes when the kernel does."""
        parts = [self.config, self.build / "Module.symvers"]
        what = [self.release, self.origin]
        if self.is_tree:
            # a user's own tree: a header may have changed since
            what.append(str(self.build))
            parts += sorted(
                path
                for folder in ("include", "arch/arm64/include")
                for path in (self.build / folder).rglob("*.h")
                if path.is_file()
            )
        return digest(*what, *parts)
