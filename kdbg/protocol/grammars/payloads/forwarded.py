"""What an Envelope contains: a complete request of a client, or its response, each with its header (KIP-590).

The request's header says what it is. Its answer does not: it goes by the request, which stands in the Envelope that it
answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from ....errors import BadValue, Truncated, UnknownApi
from ...findings.faults import FaultKind
from ...wire.language import Direction
from ...wire.language.payload import Around, PayloadForm, Readable
from ...wire.nodes import Field, WireStruct
from .. import api as find_by_name
from .. import by_key, find, headers, kept

KEY_AND_VERSION = 4
"""Bytes that every request begins with: its API's key, and the version of that."""


@dataclass(frozen=True)
class Forwarded:
    """A message of the API and version that `request` begins with."""

    direction: Direction
    request: bytes

    def choose(self, data: bytes) -> PayloadForm:
        head = self.request[:KEY_AND_VERSION]
        if len(head) < KEY_AND_VERSION:
            raise Truncated("header", 0, "INT32", KEY_AND_VERSION, len(head))
        key, version = (int.from_bytes(head[start : start + 2], "big") for start in (0, 2))
        api = find(key)
        if api is None or version not in api.versions:
            raise BadValue("header", 0, FaultKind.UNKNOWN_REQUEST.of(key=key, version=version))
        return message(key, version, self.direction)


@kept
def message(key: int, version: int, direction: Direction) -> PayloadForm:
    """Return the reading of a whole message, header and body, under a name such as `CreateTopics request v7`.

    Raise `KeyError` for an unknown API key and `UnknownVersion` for a version without a grammar.
    """
    api = by_key(key)
    header = (headers.REQUEST if direction == "request" else headers.RESPONSE)[api.header_version(direction, version)]
    body = api.at(direction, version)
    both = WireStruct(
        (
            Field("header", header, about="header of the forwarded message"),
            Field("body", body, about="the forwarded message itself, in the layout of its API"),
        ),
        None,
    )
    return PayloadForm(f"{api.name} {direction} v{version}", both)


def named(name: str) -> PayloadForm | None:
    """Return the reading of the message that `message` gives this name; None where there is none."""
    said = re.fullmatch(r"(\w+) (request|response) v(\d+)", name, re.ASCII)
    if said is None:
        return None
    with suppress(UnknownApi):
        api, version = find_by_name(said[1]), int(said[3])
        if said[1] == api.name and version in api.versions:
            return message(api.key, version, cast(Direction, said[2]))
    return None


def request(data: bytes, around: Around) -> Iterable[Readable]:
    """Return what `request_data` may hold: the request that a broker forwards, header included."""
    return [Forwarded("request", data)]


def response(data: bytes, around: Around) -> Iterable[Readable]:
    """Return what `response_data` may hold: the answer to the request; nothing if its Envelope was not seen."""
    forwarded = around.get("request_data")
    return [Forwarded("response", forwarded)] if forwarded else []
