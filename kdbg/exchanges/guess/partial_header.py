"""Headers of requests in bytes that end early: as much of one as there is."""

from __future__ import annotations

from ...protocol.grammars import find
from ..engine.requests import RequestHeader
from .hints import Extent

MOST_ASKED, LONGEST_CLIENT_ID = 1 << 24, 255
"""Requests of a connection, and bytes of a client id, that are likely."""


def int32(data: bytes, start: int) -> int:
    """Return the INT32 at a place; as many bytes of it as there are."""
    return int.from_bytes(data[start : start + 4], "big", signed=True)


def names_client(head: RequestHeader) -> bool:
    """Return whether a header has a client id that somebody may have chosen."""
    return head.client_id is not None and len(head.client_id) > 1 and head.client_id.isprintable()


def ends_in_client_id(data: bytes, start: int) -> bool:
    """Return whether bytes may be a request's header up to some byte of its client id, which is text as far as it goes.

    The correlation id has to be one that clients come to: it is all that tells a header from a response's beginning.
    """
    length, text = data[start + 8 : start + 10], data[start + 10 :]
    if len(data) - start < 10 or not 0 <= int32(data, start + 4) < MOST_ASKED:
        return False
    return len(text) < int.from_bytes(length, "big") <= LONGEST_CLIENT_ID and all(32 <= byte < 127 for byte in text)


def header_so_far(data: bytes, place: Extent) -> RequestHeader | None:
    """Return the header of a request that is cut off inside it; None for an unknown key or version, and for key 0."""
    key, version = int32(data, place.start) >> 16, int32(data, place.start) & 0xFFFF
    api = find(key) if key else None
    if api is None or not api.reads("request", version):
        return None
    return RequestHeader(api, version, int32(data, place.start + 4), None, True)
