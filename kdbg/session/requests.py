"""What a request looks like from outside: its header read, and whether bytes can be one at all.

Recognition goes by what the header says, never by the port: a length that fits, a known API and version, a client id
that is text. A frame of an unknown API or version is believed only where a frame is due.
"""

from __future__ import annotations

import re
import struct
from functools import lru_cache
from typing import NamedTuple

from ..grammars import NAMES, by_key, headers
from ..wire import Api
from ..wire.compiled import UNREADABLE, Reader, reader
from .message import opaque_api, read

LONGEST_HEADER = 1 << 10
"""A header that is not complete after so many bytes is none: client ids are short."""
_key_and_version = struct.Struct(">hh").unpack_from
_read_header = reader(headers.REQUEST[1])
_newest = max(by_key(key).versions[-1] for key in range(len(NAMES)))
_candidate = re.compile(
    rb"(?=[\x00-\x07].{3}\x00[\x00-%b]\x00[\x00-%b].{4}(?:\xff\xff|[\x00\x01].))"
    % (re.escape(bytes([len(NAMES) - 1])), re.escape(bytes([_newest]))),
    re.DOTALL,
)


class RequestHeader(NamedTuple):
    """What the header of a request says. `known`: there is a grammar for this API at this version."""

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    known: bool


class _Shape(NamedTuple):
    api: Api
    version: int
    known: bool
    has_client_id: bool


@lru_cache(maxsize=4096)
def _shape(key: int, version: int) -> _Shape:
    """What a request of this key and version would be."""
    api = by_key(key) if 0 <= key < len(NAMES) else opaque_api(key)
    known = key < len(NAMES) and version in api.versions
    return _Shape(api, version, known, api.header_version("request", version) > 0)


def read_header(data: bytes, start: int, size: int) -> tuple[bool | None, RequestHeader | None]:
    """(True, header) of a believable request of `size` bytes; None: more bytes are needed to say; False: it is none."""
    left = len(data) - start
    if left < 4:
        return None, None
    key, version = _key_and_version(data, start)
    if key < 0 or version < 0 or size < 8:
        return False, None
    shape = _shape(key, version)
    more = None if left < min(size, LONGEST_HEADER) else False
    try:
        head, end = (_read_header if shape.has_client_id else _read_bare)(data, start)
    except UnicodeDecodeError:
        return False, None
    except UNREADABLE:
        return more, None
    if end > start + size:
        return False, None
    if end > len(data):
        return more, None
    client_id = head.get("client_id")
    if not shape.known and not _plausible(version, client_id):
        return False, None
    return True, RequestHeader(shape.api, version, head["correlation_id"], client_id, shape.known)


_read_bare: Reader = reader(headers.REQUEST[0])


def _plausible(version: int, client_id: str | None) -> bool:
    """Whether a request of an unknown API or version can be one: its client id is text, its version is small."""
    return version < 256 and bool(client_id) and len(client_id or "") < 256 and (client_id or "").isprintable()


def search(data: bytes, start: int) -> int | None:
    """The first place at or behind `start` where the length of a known request may stand."""
    found = _candidate.search(data, start)
    return found.start() if found else None


def prove(data: bytes, start: int, end: int) -> bool:
    """Whether these bytes are a request beyond doubt: a known one whose body ends where its length says."""
    accepted, header = read_header(data[:end], start, end - start)
    if not accepted or header is None or not header.known:
        return False
    return leftover(data[start:end], header) == 0


def leftover(frame: bytes, header: RequestHeader) -> int:
    """How many bytes at the end of a request its grammar has no use for; -1 where it does not even get there."""
    message = read(header.api, header.version, "request", frame, shallow=True)
    kinds = {finding.kind for finding in message.findings}
    if kinds & {"truncated", "bad-length", "bad-value"}:
        return -1
    return sum(finding.length for finding in message.findings if finding.kind == "leftover")
