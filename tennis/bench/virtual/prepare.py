"""Prepare all that a rally on the virtual bench needs: then it works offline."""

from collections.abc import Iterable

from tennis.bench import loads
from tennis.bench.kernels import catalogue, modules
from tennis.bench.qemu import plugins as instrument
from tennis.bench.virtual import initramfs
from tennis.kit.checkout import ROOT, cache_folder
from tennis.kit.errors import UsageError
from tennis.kit.log import log

# a fetched kernel takes about 300 MB while it is unpacked
NEEDED_MB = 400


def prepare(names: Iterable[str], *, again: bool = False) -> None:
    """Fetch kernels and programs, and build the modules and the instrument for them.

    Raises UsageError for an unknown name, before anything is fetched, and BenchError if something
    cannot be fetched or built.
    """
    names = list(dict.fromkeys(names))
    unknown = [name for name in names if name not in catalogue.catalogue()]
    if unknown:
        raise UsageError(f"no kernel {unknown[0]}: there are {', '.join(catalogue.catalogue())}")
    missing = [name for name in names if again or not catalogue.is_fetched(name)]
    if catalogue.free_space_mb() < NEEDED_MB * len(missing):
        raise UsageError(
            f"{cache_folder()} has {catalogue.free_space_mb()} MB free, about "
            f"{NEEDED_MB * len(missing)} MB are needed",
            next_step="free some, or set TENNIS_CACHE",
        )
    initramfs.fetch(again=again)
    instrument.build(instrument.find_qemu())
    for source in (ROOT / "target/racquet/racquet-user.c", ROOT / "target/virtual/racquet-ready.c"):
        modules.program(source)
    for part in (part for load in map(loads.find, loads.names()) for part in load.parts):
        for source in part.sources:
            modules.program(source, part.file.libraries)
    for name in names:
        kernel = catalogue.fetch(name, again=again and name in missing)
        modules.kernel_module(ROOT / "target/racquet/racquet.c", kernel)
        for load in map(loads.find, loads.names()):
            if load.file.module:
                modules.kernel_module(load.folder / f"{load.file.module}.c", kernel)
        log.info(f"{name}: Linux {kernel.release} is ready")
