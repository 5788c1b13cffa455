"""Structures that stand alone, by their names: what `--api` takes beside APIs.

They are the payloads of Kafka's messages and internal topics, and what stands in record sets and on a broker's disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from ...errors import UnknownApi, WireError
from ...protocol.grammars import plain
from ...protocol.grammars.payloads.registry import known, payloads
from ...protocol.wire import Api
from ...protocol.wire.language.payload import Payload
from .hints import Hints
from .single_message import Alone, batch_api, files, payload_api, registry_framing

Structure: TypeAlias = Callable[[bytes, int | None], tuple[Alone, int]]
"""Says as what bytes are read: (structure, its version); the version that the user said goes before their own."""

BATCH = "RecordBatch"
MAGIC_AT = {"messageset": 16, "message": 4}
"""The byte that says which of two old formats it is."""


def structure(name: str) -> Structure | None:
    """Return the structure of a name, None where there is none; case, dashes and underscores do not count."""
    payload = known(name)
    if payload is not None:
        return lambda data, version: _payload(payload, data, version)
    if plain(name) == plain(BATCH):
        return lambda data, version: (batch_api(data), 0)
    found = [alone for alone in _others() if plain(alone.name) == plain(name)]
    return (lambda data, version: (found[_magic(name, data) % len(found)], 0)) if found else None


def names() -> Iterator[str]:
    """Yield the names of all of them."""
    yield from (payload.name for payload in payloads())
    yield from dict.fromkeys([BATCH, *(alone.name for alone in _others())])


def _others() -> Iterator[Alone]:
    yield from files()
    yield registry_framing()


def _magic(name: str, data: bytes) -> int:
    at = MAGIC_AT.get(plain(name), len(data))
    return data[at] if at < len(data) else 0


def _payload(payload: Payload, data: bytes, version: int | None) -> tuple[Alone, int]:
    """Return a payload in the version that was said, else in that of the bytes, else in the newest."""
    if version is None:
        try:
            version = payload.version_of(data)
        except WireError:
            version = payload.versions[-1]
    version = version if version in payload.versions else payload.versions[-1]
    return payload_api(payload, version), version


def hints_for(named: Structure, data: bytes, told: Hints) -> Hints:
    """Return what is known of bytes that are such a structure."""
    alone, version = named(data, told.version)
    return told._replace(api=alone, version=version, direction="response", header=False)


def api_or_structure(name: str | int, find: Callable[[str | int], Api]) -> tuple[Api | None, Structure | None]:
    """Return the API of a name, or the structure; raise `UnknownApi`, with the nearest names, where neither has it."""
    try:
        return find(name), None
    except UnknownApi as error:
        found = structure(name) if isinstance(name, str) else None
        if found is None:
            raise _unknown(name, error) from None
        return None, found


def _unknown(name: str | int, error: UnknownApi) -> UnknownApi:
    """Return the error with the names of structures that are near."""
    import difflib

    near = {plain(each): each for each in names()}
    found = difflib.get_close_matches(plain(str(name)), near, n=3, cutoff=0.8)
    return UnknownApi(name, tuple(dict.fromkeys([*error.near, *(near[word] for word in found)]))) if found else error
