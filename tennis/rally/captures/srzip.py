"""sigrok's session files (.sr): a zip of ``version``, ``metadata`` and chunks of samples.

The form is that of https://sigrok.org/wiki/File_format:Sigrok/v2. A sample is ``unitsize`` bytes, a
bit a channel. Samples between two edges are looked at eight at a time, and never kept.
"""

import configparser
import contextlib
import os
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tennis.kit.units import NS_PER_S
from tennis.rally.captures.channels import Wires, chosen
from tennis.rally.captures.edges import MAX_TICKS, Capture, CaptureError, Edges, MissingError
from tennis.rally.disk import writing
from tennis.rally.text import plain

# Python's zipfile unpacks others, too, and then ignores how much was asked for
METHODS = {zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED}
# what a damaged zip file does to zipfile; an OSError is a place before the file's beginning
DAMAGE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, struct.error, NotImplementedError),
    *(ValueError, OverflowError, OSError),
)


def _directory_of(path: Path) -> tuple[int, int]:
    """Return how many members a zip file says it has, and the bytes of its directory.

    zipfile holds the whole directory in memory: who opens a stranger's file bounds it before.
    Raises zipfile.BadZipFile, OSError.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - (1 << 16) - 22 - 76))
        tail = file.read()
    at = tail.rfind(b"PK\x05\x06")
    if at < 0 or at + 22 > len(tail):
        raise zipfile.BadZipFile("it has no end")
    members, directory = struct.unpack_from("<HI", tail, at + 10)
    # zipfile believes the larger form whenever it is there, so this form must be bounded
    if at >= 76 and tail[at - 20 : at - 16] == b"PK\x06\x07":
        if tail[at - 76 : at - 72] != b"PK\x06\x06":
            raise zipfile.BadZipFile("its end is not whole")
        members, directory = struct.unpack_from("<QQ", tail, at - 76 + 32)
    return members, directory


# bounds for files from somebody else
MAX_MEMBERS = 1 << 16  # of 4 million samples each, as sigrok writes them
MAX_DIRECTORY = 1 << 23  # bytes
MAX_METADATA = 1 << 16  # bytes
MAX_CHANNELS = 64
READ_BYTES = 1 << 20

CHUNK_SAMPLES = 1 << 22  # of a written file
TIME_SCALE_HZ = NS_PER_S  # of a VCD in nanoseconds, more often than of an analyser
ROUNDED = Fraction(1, 1000)  # how exactly a rate is named
UNITS = {"hz": 1, "khz": 10**3, "mhz": 10**6, "ghz": 10**9}
DAMAGED = "it was truncated or damaged; copy it again from its origin, or capture again"


def open_srzip(path: Path, wires: Wires) -> Capture:
    """Open a session file. Raises CaptureError."""
    asked = wires.rate_hz
    with _archive(path) as archive:
        device = _device(path, archive)
        names = _names(path, device)
        members = _members(path, archive, device)
        unit = _whole(path, device, "unitsize", 1, 8)
        said = _rate(path, device.get("samplerate", ""))
    _check_rates(path, said, asked)
    which, notes = chosen(path, [name for _, name in names], wires)
    if said is None and asked is not None:
        notes.append(f"its samples are counted at the {_mhz(asked)} of --rate-mhz")
    bits = [names[place][0] for place in which]
    if max(bits) >= 8 * unit:
        raise CaptureError(f"{path} names more channels than its samples hold", next_step=DAMAGED)
    tick_hz = _possible(path, said or asked or Fraction(0))

    def read(capture: Capture) -> Iterator[Edges]:
        return _read(capture, members, unit, (bits[0], bits[1]))

    return Capture(
        path=path,
        tick_hz=tick_hz,
        ping=names[which[0]][1],
        reply=names[which[1]][1],
        read=read,
        samples=sum(size for _, size in members) // unit,
        resolution_ticks=max(tick_hz / asked, Fraction(1)) if asked else Fraction(1),
        rate_asked=asked is not None,
        counted=said is None,
        notes=notes,
    )


def _check_rates(path: Path, said: Fraction | None, asked: Fraction | None) -> None:
    """Refuse a rate that nobody says, or that cannot be. Raises CaptureError."""
    if asked is None:
        if said is None:
            raise MissingError(
                f"{path} does not say how fast it was sampled",
                next_step="name the rate with --rate-mhz",
            )
        if said >= TIME_SCALE_HZ:
            raise MissingError(
                f"{path} has {_mhz(said)}, which is the time scale of a file that sigrok-cli made "
                "a session of",
                next_step="name the analyser's rate with --rate-mhz",
            )
    # of a session that was made of another file the samples are more than the analyser took
    elif said is not None and asked > said * (1 + ROUNDED):
        raise CaptureError(
            f"{path} was sampled at {_mhz(said)}, not at {_mhz(asked)}: it says so",
            next_step="leave out --rate-mhz",
        )


def _mhz(hz: Fraction) -> str:
    return f"{float(hz) / 1e6:.6g} MHz"


def _possible(path: Path, hz: Fraction) -> Fraction:
    """Return a sample rate that can be: 1 Hz to 1 THz. Raises CaptureError."""
    if not 1 <= hz <= 10**12:
        raise CaptureError(f"{path} says that it was sampled at {float(hz):g} Hz: that cannot be")
    return hz


@contextmanager
def _archive(path: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file, if its directory is no larger than it may be. Raises CaptureError."""
    _check_directory(path)
    try:
        archive = zipfile.ZipFile(path)
    except DAMAGE as error:
        raise CaptureError(f"{path} is not a whole zip file", next_step=DAMAGED) from error
    with archive:
        strange = [info.compress_type for info in archive.infolist()]
        strange = [method for method in strange if method not in METHODS]
        if strange:
            raise CaptureError(
                f"{path} is packed in a way that sigrok does not use (method {strange[0]})",
                next_step="capture again",
            )
        try:
            yield archive
        except CaptureError:
            raise
        except (*DAMAGE, RuntimeError) as error:
            if isinstance(error, RuntimeError) and "encrypted" in str(error):
                raise CaptureError(f"{path} is encrypted", next_step="capture again") from error
            if not isinstance(error, DAMAGE):
                raise
            raise CaptureError(f"{path} cannot be unpacked", next_step=DAMAGED) from error


def _check_directory(path: Path) -> None:
    """Refuse a zip file whose directory alone would fill the memory. Raises CaptureError."""
    try:
        entries, directory = _directory_of(path)
    except zipfile.BadZipFile as error:
        raise CaptureError(f"{path} is not a whole zip file", next_step=DAMAGED) from error
    if entries > MAX_MEMBERS or directory > MAX_DIRECTORY:
        raise CaptureError(
            f"{path} has {entries} members, at most {MAX_MEMBERS} are read: "
            "it is not a capture of a rally"
        )


def _bounded(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """Return a small member's bytes; do not trust its declared size. Raises CaptureError."""
    try:
        with archive.open(name) as data:
            content = data.read(MAX_METADATA + 1)
    except KeyError as error:
        raise CaptureError(
            f"{path} holds no {name}: it is a zip file, but not one of sigrok's"
        ) from error
    if len(content) > MAX_METADATA:
        raise CaptureError(f"{path}: its {name} is too large: it is not one of sigrok's")
    return content


def _device(path: Path, archive: zipfile.ZipFile) -> configparser.SectionProxy:
    """Return the metadata of the first device."""
    version = _bounded(path, archive, "version").strip()
    if version not in {b"1", b"2"}:
        raise CaptureError(f"{path} has version {version[:8]!r} of sigrok's form: 1 and 2 are read")
    # % is just a letter; sigrok 0.2 indents a channel's trigger, which continues no value
    parser = configparser.ConfigParser(interpolation=None, strict=False, allow_no_value=True)
    metadata = _bounded(path, archive, "metadata").decode("utf-8-sig", errors="replace")
    try:
        parser.read_string("\n".join(line.strip() for line in metadata.splitlines()))
    except configparser.Error as error:
        raise CaptureError(f"{path}: its metadata cannot be read", next_step=DAMAGED) from error
    if not parser.has_section("device 1"):
        raise CaptureError(f"{path} names no device", next_step=DAMAGED)
    return parser["device 1"]


def _names(path: Path, device: configparser.SectionProxy) -> list[tuple[int, str]]:
    """Return (bit, name) of each logic channel."""
    names = []
    for key, value in device.items():
        number = re.fullmatch(r"probe([0-9]{1,4})", key)
        if number and 1 <= int(number[1]) <= MAX_CHANNELS:
            names.append((int(number[1]) - 1, plain(value or "", 40)))
    if not names and any(key.startswith("analog") for key in device):
        raise CaptureError(f"{path} holds analog channels only", next_step="capture logic channels")
    return sorted(names)


def _whole(path: Path, device: configparser.SectionProxy, key: str, low: int, high: int) -> int:
    text = device.get(key) or ""
    if not re.fullmatch(r"[0-9]{1,9}", text) or not low <= int(text) <= high:
        raise CaptureError(
            f"{path}: {key} is {plain(text, 20)!a}, not {low} to {high}", next_step=DAMAGED
        )
    return int(text)


def _rate(path: Path, text: str | None) -> Fraction | None:
    """Read "24 MHz"; None: it has none. Raises CaptureError."""
    text = (text or "").strip()
    match = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?) *([kMG]?Hz)?", text, re.IGNORECASE)
    if match:
        hz = Fraction(match[1]) * UNITS[(match[2] or "Hz").lower()]
        return _possible(path, hz) if hz else None
    if text:
        raise CaptureError(f"{path}: its samplerate is {plain(text, 20)!a}", next_step=DAMAGED)
    return None


def _members(
    path: Path, archive: zipfile.ZipFile, device: configparser.SectionProxy
) -> list[tuple[str, int]]:
    """Return the names and sizes of the members that hold samples, in their order."""
    base = device.get("capturefile") or "logic-1"
    sizes = {info.filename: info.file_size for info in archive.infolist()}
    if base in sizes:
        members = [base]
    else:
        members = []
        while f"{base}-{len(members) + 1}" in sizes:
            members.append(f"{base}-{len(members) + 1}")
        held = sum(name.startswith(f"{base}-") for name in sizes)
        if held > len(members):
            raise CaptureError(
                f"{path} lacks {plain(base, 20)}-{len(members) + 1}", next_step=DAMAGED
            )
    if not members:
        raise CaptureError(f"{path} holds no samples", next_step="capture again")
    if sum(sizes[name] for name in members) > MAX_TICKS:
        raise CaptureError(
            f"{path} holds more than {MAX_TICKS} samples: not a capture of a rally, or one at "
            "too high a rate"
        )
    return [(name, sizes[name]) for name in members]


def _read(
    capture: Capture, members: list[tuple[str, int]], unit: int, bits: tuple[int, int]
) -> Iterator[Edges]:
    changes = _Changes(unit, bits)
    left = b""
    with _archive(capture.path) as archive:
        for name, _ in members:
            with archive.open(name) as data:
                while block := data.read(READ_BYTES):
                    block = left + block
                    whole = len(block) - len(block) % unit
                    left = block[whole:]
                    if not whole:
                        continue
                    edges = changes.take(block[:whole])
                    capture.end_ticks = changes.samples
                    yield edges
    if left:
        raise CaptureError(f"{capture.path} ends within a sample", next_step=DAMAGED)


class _Changes:
    """Finds the edges in blocks of samples."""

    def __init__(self, unit: int, bits: tuple[int, int]) -> None:
        self.unit = unit
        self.bits = bits
        self.samples = 0  # taken so far
        self._level = 0  # the last sample: bit 0 ping, bit 1 reply

    def take(self, block: bytes | memoryview) -> Edges:
        """Return the edges of a block, which is a whole number of samples."""
        edges = self._states(np.frombuffer(block, np.uint8))
        if self.samples == 0:
            self._level = int(edges[1][0])
        where, states = edges
        before = np.concatenate([[self._level], states[:-1]]).astype(np.uint8)
        ticks, codes = [], []
        for wire in (0, 1):
            mask = np.uint8(1 << wire)
            changed = np.flatnonzero((states ^ before) & mask)
            ticks.append(where[changed] + self.samples)
            codes.append(((states[changed] & mask) >> wire).astype(np.uint8) * 2 + wire)
        self._level = int(states[-1])
        self.samples += len(block) // self.unit
        every, kinds = np.concatenate(ticks), np.concatenate(codes)
        order = np.lexsort((kinds, every))
        return Edges(every[order], kinds[order].astype(np.uint8))

    def _states(self, data: NDArray[np.uint8]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return samples at which something may have changed, the first one among them."""
        ping, reply = self.bits
        if self.unit > 1:
            table = data.reshape(-1, self.unit)
            state = (table[:, ping // 8] >> np.uint8(ping % 8)) & np.uint8(1)
            state = state | (
                ((table[:, reply // 8] >> np.uint8(reply % 8)) & np.uint8(1)) << np.uint8(1)
            )
            changed = np.flatnonzero(np.diff(state, prepend=state[0] ^ 1)).astype(np.int64)
            return changed, state[changed]
        mask = (1 << ping) | (1 << reply)
        groups = data[: data.size - data.size % 8].view(np.uint64) & np.uint64(
            mask * 0x0101010101010101
        )
        # eight samples at once: they differ among each other, or from the eight before
        odd = groups != (groups & np.uint64(0xFF)) * np.uint64(0x0101010101010101)
        odd[1:] |= groups[1:] != groups[:-1]
        odd[:1] = True
        picked = np.flatnonzero(odd)
        eights = (picked[:, None] * 8 + np.arange(8)).ravel().astype(np.int64)
        rest = np.arange(groups.size * 8, data.size, dtype=np.int64)
        where = np.concatenate([eights, rest])
        picks = data[where]
        state = (picks >> np.uint8(ping)) & np.uint8(1)
        return where, state | (((picks >> np.uint8(reply)) & np.uint8(1)) << np.uint8(1))


class Writer:
    """Writes a session file a chunk at a time: idle wires take next to nothing.

    All methods raise DiskFullError and RallyError.
    """

    def __init__(self, out: Path, rate_hz: int, names: tuple[str, ...] = ("ping", "reply")) -> None:
        self._out = out
        self._chunks = 0
        self._held = bytearray()
        probes = "".join(f"probe{n}={name}\n" for n, name in enumerate(names, 1))
        about = (
            "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\n"
            f"total probes={len(names)}\nsamplerate={_rate_text(rate_hz)}\n"
            f"total analog=0\n{probes}unitsize=1\n"
        )
        with writing(out):
            self._zip = zipfile.ZipFile(out, "x", zipfile.ZIP_DEFLATED, compresslevel=1)
            self._store("version", b"2")
            self._store("metadata", about.encode())

    def _store(self, name: str, data: bytes | memoryview) -> None:
        # the same samples give the same bytes
        info = zipfile.ZipInfo(name, (2008, 1, 1, 0, 0, 0))
        info.compress_type = zipfile.ZIP_DEFLATED
        info.external_attr = 0o644 << 16
        self._zip.writestr(info, bytes(data), zipfile.ZIP_DEFLATED, compresslevel=1)

    def write(self, samples: bytes | memoryview) -> None:
        """Append samples, a byte each."""
        with writing(self._out):
            if not self._held and len(samples) == CHUNK_SAMPLES:
                self._chunk(samples)
                return
            self._held += samples
            while len(self._held) >= CHUNK_SAMPLES:
                with memoryview(self._held) as view, view[:CHUNK_SAMPLES] as chunk:
                    self._chunk(chunk)
                del self._held[:CHUNK_SAMPLES]

    def _chunk(self, samples: bytes | memoryview) -> None:
        self._chunks += 1
        self._store(f"logic-1-{self._chunks}", samples)

    def close(self) -> None:
        """Write the rest, and the zip's directory."""
        with writing(self._out):
            if self._held:
                self._chunk(bytes(self._held))
                self._held.clear()
            self._zip.close()


def _rate_text(hz: int) -> str:
    for unit, size in (("GHz", 10**9), ("MHz", 10**6), ("kHz", 10**3)):
        if hz % size == 0:
            return f"{hz // size} {unit}"
    return f"{hz} Hz"


def write_levels(out: Path, rate_hz: int, edges: Edges, start: int, samples: int) -> None:
    """Write edges as a session file: ``start`` is the first level (bit 0 ping, bit 1 reply).

    ``samples`` is how long it is. Raises DiskFullError, RallyError.
    """
    states = start ^ np.bitwise_xor.accumulate(np.uint8(1) << (edges.codes & 1))
    bounds = np.concatenate([[0], edges.ticks, [samples]])
    levels = np.concatenate([[start], states]).astype(np.uint8)
    with contextlib.closing(Writer(out, rate_hz)) as writer:
        # no more than a chunk at once, however long nothing happens
        for i in range(0, levels.size, 4096):
            _repeat(writer, levels[i : i + 4096], np.diff(bounds[i : i + 4097]))


def _repeat(writer: Writer, levels: NDArray[np.uint8], lengths: NDArray[np.int64]) -> None:
    if int(lengths.sum()) <= 4 * CHUNK_SAMPLES:
        writer.write(np.repeat(levels, lengths).tobytes())
        return
    for level, length in zip(levels.tolist(), lengths.tolist(), strict=True):
        block = bytes([level]) * min(length, CHUNK_SAMPLES)
        for _ in range(length // CHUNK_SAMPLES):
            writer.write(block)
        writer.write(block[: length % CHUNK_SAMPLES])
