# SPDX-FileCopyrightText: The Tennis authors
# SPDX-License-Identifier: MIT
# The types of wire.py, which MicroPython reads too and which therefore has none.
from collections.abc import Mapping
from typing import Final, Literal

Frame = tuple[int, int, bytes]  # kind, sequence, payload

MAGIC: Final[bytes]
VERSION: Final[int]
HELLO: Final[int]
BALLS: Final[int]
EVENTS: Final[int]
END: Final[int]
ANSWER: Final[int]
PLACES: Final[int]
HEADER: Final[str]
HEADER_SIZE: Final[int]
CRC_SIZE: Final[int]
PAYLOAD_MAX: Final[int]
BALL: Final[str]
BALL_SIZE: Final[int]
NONE_TICKS: Final[int]
EVENT: Final[str]
EVENT_SIZE: Final[int]
EVENT_NAMES: Final[dict[int, str]]
OVERRUNS: Final[dict[int, str]]
PLACE: Final[str]
END_FORMAT: Final[str]
END_REASONS: Final[dict[int, str]]
LINE_MAX: Final[int]
NO_NUMBER: Final[int]
BARE_VERBS: Final[tuple[str, ...]]

class WireError(Exception): ...
class ChecksumError(WireError): ...

def encode(kind: int, sequence: int, payload: bytes) -> bytes: ...
def decode_one(
    data: bytes | bytearray | memoryview, start: int = 0
) -> tuple[int, int, bytes, int] | Literal[False] | None: ...

class Decoder:
    buffer: bytes
    garbage_bytes: int
    def __init__(self) -> None: ...
    def feed(self, data: bytes) -> list[Frame]: ...
    def finish(self) -> list[Frame]: ...

def encode_command(
    number: int, verb: str, parameters: Mapping[str, int | str] | None = None
) -> bytes: ...
def parse_command(line: bytes | bytearray | memoryview) -> tuple[int, str, dict[str, str]]: ...
