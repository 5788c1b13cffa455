"""How schema ids travel with the bytes of keys and values: the framing of Confluent's serializers, and headers.

In front of the data stand 00 and an id of 4 bytes, or 01 and a GUID of 16; behind these, for Protobuf, the indexes of
the message. Or a header, __key_schema_id or __value_schema_id, has them, and then nothing stands in front of the data.
"""

from __future__ import annotations

from typing import NamedTuple
from uuid import UUID

from .value import Headers, Part

ID, GUID = 0, 1
"""First bytes: what follows is an id of 4 bytes, or a GUID of 16."""
SIZES = {ID: 5, GUID: 17}
HEADERS: dict[Part, str] = {"key": "__key_schema_id", "value": "__value_schema_id"}
INT64 = 8
PLAUSIBLE = 1 << 27
"""Ids that registries give are small: greater numbers are data."""


class Framed(NamedTuple):
    """The id or GUID of a schema, and where the data begins behind it; `indexes` stand in front of Protobuf's."""

    id: int | UUID
    start: int
    in_header: bool = False

    @property
    def text(self) -> str:
        """The id as a person says it."""
        return f"schema {'id' if isinstance(self.id, int) else 'GUID'} {self.id}"


def framed(data: bytes, part: Part, headers: Headers) -> Framed | None:
    """Return the id that stands in a header, else that in front of the data; None where neither may be one."""
    for name, value in headers:
        if name == HEADERS[part] and value and (found := _id(value)) is not None:
            return Framed(found, 0, in_header=True)
    found = _id(data[: SIZES.get(data[0], 0)]) if data else None
    return None if found is None else Framed(found, SIZES[data[0]])


def likely(data: bytes, part: Part, headers: Headers) -> Framed | None:
    """Return what `framed` does where nobody said that there is one: an INT64 may look like it, and a great id."""
    found = framed(data, part, headers)
    if found is None or found.in_header or isinstance(found.id, UUID):
        return found if found is not None and found.in_header else None
    return found if len(data) != INT64 and len(data) > found.start and found.id < PLAUSIBLE else None


def _id(data: bytes) -> int | UUID | None:
    if len(data) != SIZES.get(data[0] if data else -1):
        return None
    number = int.from_bytes(data[1:], "big")
    if data[0] == GUID:
        return UUID(bytes=data[1:])
    return number or None
