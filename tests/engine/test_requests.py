"""What can be a request, by its header alone, and what is one beyond doubt."""

from __future__ import annotations

import struct

import pytest

import kdbg
from kdbg.exchanges.engine import requests
from kdbg.exchanges.engine.requests import AnyRequest, begins, prove, read_header
from kdbg.exchanges.engine.search import MAX_FRAME

from ..cases import for_each
from .playbook import opaque, request


def header(frame: bytes, upto: int | None = None) -> tuple[bool | None, requests.RequestHeader | None]:
    return read_header(frame[:upto], 4, len(frame) - 4)


@for_each(("api", "version"), [("Metadata", 1), ("Metadata", 12), ("ApiVersions", 3), ("Produce", 3)])
@for_each("client", ["kdbg", "", None, "Grüße"])
def test_a_header_is_read(api: str, version: int, client: str | None) -> None:
    accepted, found = header(request(-7, api, version, client=client))
    assert accepted
    assert found is not None
    assert (found.api.name, found.version, found.correlation_id, found.client_id) == (api, version, -7, client)
    assert found.known


def test_controlled_shutdown_0_has_no_client_id() -> None:
    message = kdbg.encode({"broker_id": 1}, api=7, version=0, direction="request", header={"correlation_id": 5})
    accepted, found = read_header(message, 0, len(message))
    assert accepted
    assert found is not None
    assert (found.api.name, found.correlation_id, found.client_id) == ("ControlledShutdown", 5, None)


def test_a_header_that_is_cut_wants_more_bytes() -> None:
    frame = request(5)
    for end in range(4, 4 + 8 + 2 + 4):
        assert header(frame, end) == (None, None), end
    assert header(frame, 4 + 8 + 2 + 4)[0]


@pytest.mark.parametrize(("key", "version"), [(-1, 0), (3, -1)])
def test_four_bytes_are_enough_to_say_that_it_is_none(key: int, version: int) -> None:
    frame = struct.pack(">ihhih", 30, key, version, 1, -1)
    assert header(frame, 7) == (None, None)
    assert header(frame, 8)[0] is False


@for_each(
    "message",
    [
        struct.pack(">hhih", -1, 0, 1, -1),
        struct.pack(">hhih", 3, -1, 1, -1),
        struct.pack(">hhih", 3, 1, 1, 500) + b"x" * 20,
        struct.pack(">hhih", 3, 1, 1, -2) + b"x" * 20,
        struct.pack(">hhih", 3, 1, 1, 2) + b"\xff\xff",
        struct.pack(">hhih", 31999, 1, 1, 0),
        struct.pack(">hhih", 31999, 300, 1, 4) + b"kdbg",
        struct.pack(">hhih", 31999, 1, 1, 4) + b"\0\1\2\3",
        struct.pack(">hhi", 3, 1, 1)[:7],
    ],
    ids=["key", "version", "long client id", "length", "not text", "nameless", "version of it", "name of it", "short"],
)
def test_what_cannot_be_a_request(message: bytes) -> None:
    assert read_header(message, 0, len(message)) == (False, None)


@for_each("client", ["kdbg", None])
@for_each(("key", "version", "known"), [(31999, 0, False), (3, 99, False), (3, 1, True)])
def test_an_unknown_api_or_version_is_believed_by_its_client_id(
    key: int, version: int, known: bool, client: str | None
) -> None:
    accepted, found = header(opaque(5, key, version, b"\0\0\0\0", client))
    assert accepted
    assert found is not None
    assert (found.api.key, found.version, found.known, found.client_id) == (key, version, known, client)


def test_a_length_shorter_than_the_header_is_none() -> None:
    frame = request(5)
    assert read_header(frame, 4, 12) == (False, None)
    assert read_header(frame, 4, 7) == (False, None)


def test_a_client_id_that_never_ends_is_not_waited_for() -> None:
    message = struct.pack(">hhih", 3, 1, 1, 30_000) + b"x" * 1100
    assert read_header(message[:500], 0, 40_000) == (None, None)
    assert read_header(message, 0, 40_000) == (False, None)


def test_begins() -> None:
    assert begins(b"") is None
    assert begins(b"\0\0\0\x20") is None
    assert begins(b"HTTP/1.1 200 OK\r\n\r\n") is None
    found = begins(request(5))
    assert found is not None
    assert found.correlation_id == 5


def proof(data: bytes, frame: bytes, final: bool = False) -> bool | None:
    place = data.index(frame)
    return prove(data, place + 4, place + len(frame), final)


def test_a_clean_request_proves_itself() -> None:
    assert proof(request(5), request(5))
    assert proof(b"rubbish" + request(5) + b"rubbish", request(5))


def test_a_request_whose_body_ends_elsewhere_does_not() -> None:
    frame = request(5)
    assert prove(frame + b"\0" * 20, 4, len(frame) + 10) is False
    assert prove(frame + b"\xff" * 20, 4, len(frame) - 3) is False
    assert proof(opaque(5, 3, 99, b""), opaque(5, 3, 99, b"")) is False, "nobody knows where its body ends"


def test_an_odd_request_is_proved_by_the_one_behind_it() -> None:
    """librdkafka's Metadata request for all topics is three bytes too long."""
    odd = opaque(5, 3, 1, b"\xff\xff\xff\xff" + b"\1\0\0")
    assert proof(odd, odd) is None
    assert proof(odd, odd, final=True) is True
    assert proof(odd + request(6)[:10], odd) is None
    assert proof(odd + request(6), odd) is True
    assert proof(odd + request(6, client="other"), odd) is False
    assert proof(odd + b"rubbish" * 9, odd) is False


def test_a_client_id_that_is_not_printable_proves_nothing() -> None:
    frame = request(5, client="\x01\x02")
    assert proof(frame, frame) is False


@pytest.mark.parametrize("client", [None, ""])
def test_where_nothing_speaks_for_it_a_nameless_request_needs_another_one(client: str | None) -> None:
    one, two = request(5, client=client), request(6, client=client)
    seek = AnyRequest()
    assert seek.prove(one, 4, len(one)) is None
    assert seek.prove(one, 4, len(one), True) is True
    assert seek.prove(one + two[:-1], 4, len(one)) is None
    assert seek.prove(one + two, 4, len(one)) is True
    assert seek.prove(one + bytes(30), 4, len(one)) is False
    assert AnyRequest().prove(request(5), 4, len(request(5))) is True


@pytest.mark.parametrize("length", [0, 1, 13, 14, 300])
def test_search_finds_the_length_of_a_request(length: int) -> None:
    data = b"\xee" * length + request(5)
    assert requests.search(data, 0) == length
    assert requests.search(data[: length + 13], 0) is None


def test_search_goes_up_to_the_largest_frame() -> None:
    """The pattern of a length knows the same limit."""
    assert requests.search(struct.pack(">i", MAX_FRAME) + request(5)[4:], 0) == 0
    assert requests.search(struct.pack(">i", MAX_FRAME + 1) + request(5)[4:], 0) != 0
    assert begins(struct.pack(">i", MAX_FRAME) + request(5)[4:]) is not None
    assert begins(struct.pack(">i", MAX_FRAME + 1) + request(5)[4:]) is None
