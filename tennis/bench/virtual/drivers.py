"""A kernel's own modules for the virtual machine's network cards, which only some loads need."""

import lzma
import re
from pathlib import Path

from tennis.bench.kernels.kernel import Kernel
from tennis.bench.kernels.requirements import virtual_needs
from tennis.kit.errors import BenchError, UsageError

# of what a network on two cards of one machine needs (target/kernels/virtual.toml), the modules
DRIVERS = {"CONFIG_VIRTIO_PCI": "virtio_pci", "CONFIG_VIRTIO_NET": "virtio_net"}


def network(kernel: Kernel) -> dict[str, bytes]:
    """Return the modules to load for the network, in their order: name -> module.

    Empty if all is built in. Raises UsageError for a kernel that lacks something.
    """
    options = kernel.options
    missing = [
        name
        for name, option in virtual_needs().network.items()
        if not option.suits(options.get(name, "n"))
    ]
    if missing:
        raise UsageError(
            f"the kernel {kernel.name} cannot have a load with a network: its configuration lacks "
            f"{', '.join(missing)}",
            next_step="choose another load or kernel",
        )
    modules: dict[str, bytes] = {}
    wanted = [module for option, module in DRIVERS.items() if options[option] == "m"]
    if wanted:
        paths = _paths(kernel)
        for name in wanted:
            if name not in paths:
                raise _not_built(kernel)
            _add(name, paths, modules)
    return modules


def _not_built(kernel: Kernel) -> UsageError:
    return UsageError(
        f"the kernel {kernel.name} has its network drivers as modules, and they are not built",
        next_step="run 'make ARCH=arm64 modules' in its tree",
    )


def _add(name: str, paths: dict[str, Path], modules: dict[str, bytes]) -> None:
    """Add a module behind those that it depends on."""
    if name in modules or name not in paths:
        # what a module depends on and is no module is built in
        return
    try:
        content = paths[name].read_bytes()
        if paths[name].suffix == ".xz":
            content = lzma.decompress(content)
    except (OSError, lzma.LZMAError) as error:
        raise BenchError(f"{paths[name]} cannot be read: {error}") from error
    match = re.search(rb"\0depends=([\w,-]*)\0", content)
    for other in match[1].decode().split(",") if match else ():
        if other:
            _add(_plain(other), paths, modules)
    modules[name] = content


def _paths(kernel: Kernel) -> dict[str, Path]:
    """Return the paths of the modules of a package or of a built tree, by name."""
    package = kernel.image.parents[1]
    folders = [
        kernel.image.parent,  # newer packages keep the image beside the modules
        package / "usr/lib/modules" / kernel.release,
        package / "lib/modules" / kernel.release,
        kernel.build,
    ]
    for folder in folders:
        order = folder / "modules.order"
        if order.is_file():
            paths = [folder / line for line in order.read_text().split()]
            return {
                _plain(path.name.split(".")[0]): file
                for path in paths
                for file in (path.with_suffix(".ko"), path.with_suffix(".ko.xz"))
                if file.is_file()
            }
    raise _not_built(kernel)


def _plain(name: str) -> str:
    """Return a module's name as the kernel says it."""
    return name.replace("-", "_")
