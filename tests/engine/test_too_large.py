"""Requests above socket.request.max.bytes, on which brokers hang up: named, whether they can be held or not."""

from __future__ import annotations

import io
import struct

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.engine.search import MAX_FRAME, REFUSED
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.findings.facts import FactKind

from ..traffic import Talk, pcap


def found_in(talk: Talk) -> tuple[int, list[Finding]]:
    engine = Engine()
    with open_capture(io.BytesIO(pcap(talk))) as capture:
        exchanges = [*engine.run(capture.blocks())]
    found = [finding for one in exchanges for finding in one.all_findings()]
    return len(exchanges), [*found, *(finding for _, finding in engine.findings)]


def asks(size: int, api: int = 0, version: int = 3) -> Talk:
    """A client that begins a request of so many bytes behind a sound exchange."""
    front = struct.pack(">ihhih", size, api, version, 2, 4) + b"kdbg" + b"\xff\xff\0\1"
    return Talk().ask("Metadata", 1).answer().send(front + bytes(3000)).end()


@pytest.mark.parametrize("size", [REFUSED + 1, MAX_FRAME, MAX_FRAME + 1, (1 << 31) - 1])
def test_it_is_named_with_its_size_and_the_limit(size: int) -> None:
    _, found = found_in(asks(size))
    (large,) = [one for one in found if one.kind is Kind.REQUEST_TOO_LARGE]
    assert large.facts == FactKind.REQUEST_TOO_LARGE.of(api="Produce", version=3, size=size, most=REFUSED)


@pytest.mark.parametrize("size", [REFUSED, 4000])
def test_a_request_that_brokers_take_is_not(size: int) -> None:
    count, found = found_in(asks(size))
    assert count == 2
    assert Kind.REQUEST_TOO_LARGE not in {one.kind for one in found}


def test_what_is_no_request_is_not() -> None:
    _, found = found_in(asks((1 << 31) - 1, api=31_999))
    assert Kind.REQUEST_TOO_LARGE not in {one.kind for one in found}
