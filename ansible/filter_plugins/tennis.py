"""What the roles need that Ansible has no filter for."""

import hashlib
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path


def loads_of(folder):
    """Return name -> content of load.toml of every load below one of this machine's folders."""
    paths = sorted(Path(folder).glob("*/load.toml"))
    return {path.parent.name: tomllib.loads(path.read_text()) for path in paths}


def checksum_of(paths):
    """Return a SHA-256 over the names and contents of files and folders of this machine."""
    sha = hashlib.sha256()
    for path in map(Path, [paths] if isinstance(paths, str) else paths):
        files = sorted(p for p in path.rglob("*") if p.is_file()) if path.is_dir() else [path]
        for file in files:
            name = str(file.relative_to(path.parent)).encode()
            data = file.read_bytes()
            sha.update(b"%d %d " % (len(name), len(data)) + name + data)
    return sha.hexdigest()


FLAVOURS = ("mainline", "rt", "evl", "cobalt")
ORIGINS = ("packages", "debs", "source")
SOURCES = ("git", "tarball", "tree")
KEYS = (*ORIGINS, "base", "config", "stock")


def flavour_faults(flavours, fallback):
    """Return what is wrong with ``kernel_flavours``, in words; none of them has a password."""
    faults = []
    for name, flavour in flavours.items():
        if name not in FLAVOURS:
            faults.append(f"kernel_flavours names {name}; the flavours are {', '.join(FLAVOURS)}")
        elif not isinstance(flavour, Mapping):
            faults.append(f"kernel_flavours.{name} must be a mapping")
        else:
            faults += [f"kernel_flavours.{name} {fault}" for fault in _flavour_faults(flavour)]
    if fallback not in flavours:
        faults.append(f"kernel_fallback is {fallback}, which is not one of {', '.join(flavours)}")
    return faults


def _flavour_faults(flavour):
    said = [key for key in ORIGINS if key in flavour]
    if len(said) != 1:
        return [f"must have one of {', '.join(ORIGINS)}; it has {', '.join(flavour) or 'nothing'}"]
    faults = [f"has {key}, which means nothing" for key in flavour if key not in KEYS]
    for key in ("packages", "debs", "config"):
        value = flavour.get(key, [""])
        if isinstance(value, str) or not isinstance(value, Sequence) or (key in said and not value):
            faults.append(f"must have a list of {key}")
    files = [*_list(flavour, "debs"), *_list(flavour, "config")]
    if said == ["source"]:
        source = flavour["source"]
        kinds = [key for key in SOURCES if isinstance(source, Mapping) and key in source]
        if len(kinds) != 1 or (kinds == ["git"]) != ("ref" in source):
            faults.append(
                "must have a source {git: URL, ref: NAME}, {tarball: PATH} or {tree: FOLDER}"
            )
        elif kinds != ["git"]:
            files.append(source[kinds[0]])
        elif re.match(r"https?://[^/]*@", str(source["git"])):
            faults.append(
                "has a name or a password in its source's address, which would get into logs: "
                "use a credential helper of git, or an address for SSH"
            )
    faults += [f"names {file}, which is not there" for file in files if not Path(file).exists()]
    return faults


# their interrupt controller sends what is not a processor's own to the first one, and moves nothing
FIRST_PROCESSOR_ONLY = re.compile(r"Raspberry Pi (3|Zero 2|Compute Module 3)")


def isolation_faults(isolated, interrupts, model):
    """Return why a ping would not come to the processors that are isolated for it, in words."""
    kept, others = cpus_of(isolated), cpus_of(interrupts)
    faults = []
    if kept and FIRST_PROCESSOR_ONLY.search(model):
        faults.append(
            f"all interrupts of a {model} come to processor 0, and an isolated one would see no "
            "ping: leave tuning_isolated_cpus empty there, or use a Pi 4 or 5"
        )
    if 0 in kept:
        faults.append("processor 0 cannot be isolated: the kernel needs it, isolate another one")
    both = ", ".join(map(str, sorted(kept & others)))
    if both:
        faults.append(
            f"tuning_isolated_cpus and tuning_interrupt_cpus both name {both}: name it in one"
        )
    return faults


def cpus_of(text):
    """Return the processors of a list as Linux writes it, "2-3,5"."""
    found = set()
    for first, last in re.findall(r"(\d+)(?:-(\d+))?", text):
        found |= set(range(int(first), min(int(last or first), 4095) + 1))
    return found


def _list(flavour, key):
    value = flavour.get(key, [])
    return [] if isinstance(value, str) or not isinstance(value, Sequence) else value


def debs_of(flavours, built):
    """Return [flavour, file] of every package that this machine has or has built."""
    pairs = []
    for name, flavour in flavours.items():
        files = [*flavour.get("debs", []), *built.get(name, {}).get("debs", [])]
        pairs += [[name, file] for file in files]
    return pairs


def deb_fields(results):
    """Return what ``dpkg-deb -f`` said, as a list of flavour, file, Package, Version, ..."""
    found = []
    for result in results:
        fields = dict(re.findall(r"^([A-Z]\w+): *(\S+)", result["stdout"], re.MULTILINE))
        flavour, file = result["item"]
        found.append({"flavour": flavour, "file": file, **fields})
    return found


def debs_missing(debs, installed):
    """Return the files of those packages of which this very version is not installed."""
    return [
        deb["file"]
        for deb in debs
        if f"{deb['Package']}={deb['Version']}=installed" not in installed
    ]


def kernel_entries(flavours, debs):
    """Return FLAVOUR=PACKAGE[,stock] for ``tennis-boot register``."""
    entries = []
    for flavour_name, flavour in flavours.items():
        packages = [
            *flavour.get("packages", []),
            *(deb["Package"] for deb in debs if deb["flavour"] == flavour_name),
        ]
        images = [name for name in packages if re.match(r"linux-image-(?!.*-dbg$)", name)]
        if not images:
            raise ValueError(f"{flavour_name}: none of its packages is a linux-image: {packages}")
        entries.append(f"{flavour_name}={images[0]}{',stock' if flavour.get('stock') else ''}")
    return entries


def racquets_of(built):
    """Return flavour -> module of the kernels that were built here."""
    return {name: said["racquet"] for name, said in built.items() if said.get("racquet")}


class FilterModule:
    """Tells Ansible the names."""

    def filters(self):
        """Return name -> filter."""
        filters = (
            *(checksum_of, deb_fields, debs_missing, debs_of),
            *(flavour_faults, isolation_faults, kernel_entries, loads_of, racquets_of),
        )
        return {function.__name__: function for function in filters}
