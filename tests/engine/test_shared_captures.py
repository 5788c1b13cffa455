"""The captures beside the checkout: what was found in them by other means is found, every byte has its place.

They are no part of the project; without them these tests are skipped.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.message import explain
from kdbg.streams.tcp.connection import Connection
from kdbg.streams.tcp.table import ConnectionTable

from ..cases import for_each

SHARED = Path(__file__).resolve().parents[3] / "shared" / "captures"
APART = {"tls", "hostile", "client-id"}
"""Folders of what is not whole traffic in clear: their captures are read where their tests say what must come out."""
NAMES = sorted(
    str(path.relative_to(SHARED))
    for path in SHARED.rglob("*.pcap*")
    if not APART.intersection(path.relative_to(SHARED).parts)
)
DAMAGED = {
    "file-truncated.pcap",
    "lossy-segmented.pcap",
    "midstream-in-message.pcap",
    "snaplen-96.pcap",
    "tailcut-txn.pcap",
}
if not NAMES:
    pytest.skip(f"{SHARED} is absent: these recordings are no part of the project", allow_module_level=True)


@cache
def read(name: str) -> tuple[list[Exchange], Engine]:
    session = Engine()
    with open_capture(SHARED / name) as capture:
        return list(session.run(capture.blocks())), session


@cache
def expected() -> dict[str, dict[str, list[list[int]]]]:
    path = SHARED / "expected.json"
    return json.loads(path.read_bytes()) if path.exists() else {}  # type: ignore[no-any-return]


def halves(exchanges: Iterable[Exchange]) -> list[CapturedMessage]:
    return [half for one in exchanges for half in (one.request, one.response) if half is not None]


def name_of(exchange: Exchange) -> tuple[Any, ...]:
    """What makes an exchange the same in two captures of the same traffic."""
    api = exchange.api.key if exchange.api is not None else None
    return exchange.peers.client[1], exchange.correlation_id, api, exchange.version


def whole(half: CapturedMessage | None) -> bytes | None:
    return half.data if half is not None and not half.missing else None


@for_each("name", NAMES)
def test_every_capture_is_read(name: str) -> None:
    exchanges, session = read(name)
    assert exchanges
    assert [exchange.number for exchange in exchanges] == list(range(1, len(exchanges) + 1))
    assert session.connections
    for exchange in exchanges:
        assert exchange.request is not None or exchange.response is not None
        exchange.all_findings()


@for_each("name", sorted(expected()))
def test_what_plain_reassembly_finds_is_found(name: str) -> None:
    exchanges, _ = read(name)
    requests = [[*name_of(one)] for one in exchanges if one.request is not None]
    responses = [[*name_of(one)[:2]] for one in exchanges if one.response is not None]
    assert sorted(requests) == sorted(expected()[name]["requests"])
    assert sorted(responses) == sorted(expected()[name]["responses"])


@for_each("name", NAMES)
def test_every_byte_of_a_message_is_explained(name: str) -> None:
    """The spans tile the message; what no field claims has a finding that names the bytes (behind a length)."""
    for half in halves(read(name)[0]):
        message = half.message()
        if message is None or half.api is None:
            continue
        place = 0
        _, inspection = explain(half.api, half.version, half.direction, half.data)
        for span in inspection.spans:
            if span.buffer == 0:
                assert span.start == place
                place = span.end
        assert place == len(half.data) == message.size
        if message.unexplained:
            places = [finding.start for finding in message.findings if finding.start is not None]
            assert places
            assert len(half.data) - min(places) + 4 >= message.unexplained


class Counted:
    """A receiver that counts."""

    def __init__(self) -> None:
        self.bytes = self.lost = 0

    def data(self, payload: bytes, time: int, number: int) -> None:
        self.bytes += len(payload)

    def gap(self, length: int, time: int, number: int) -> None:
        self.lost += length

    def end(self, time: int, number: int) -> None: ...


def sent(name: str) -> dict[int, int]:
    """Bytes sent by both sides of each connection, with those that the capture lacks."""
    counts: dict[int, tuple[Counted, Counted]] = {}

    def accept(connection: Connection) -> tuple[Counted, Counted]:
        counts[connection.number] = Counted(), Counted()
        return counts[connection.number]

    table = ConnectionTable(accept)
    with open_capture(SHARED / name) as capture:
        for packet in capture:
            table.receive(packet)
    table.close()
    return {number: sum(side.bytes + side.lost for side in both) for number, both in counts.items()}


PASSED_OVER = ("undecoded-bytes", "midstream")


@for_each("name", NAMES)
def test_every_byte_that_was_sent_is_accounted_for(name: str) -> None:
    """In messages, or passed over. (A hole lies in messages, or in what the search passed over.)"""
    exchanges, session = read(name)
    found: Counter[int] = Counter()
    for one in exchanges:
        found[one.peers.number] += sum(half.size for half in halves([one]))
        found[one.peers.number] += sum(finding.length for finding in one.findings if finding.kind in PASSED_OVER)
    for peers, finding in session.findings:
        found[peers.number] += finding.length if finding.kind in PASSED_OVER else 0
    kafka = {number: count for number, count in sent(name).items() if number in found}
    assert dict(found) == kafka


@for_each("name", sorted(set(NAMES) - DAMAGED))
def test_nothing_is_skipped_or_unasked_in_a_whole_capture(name: str) -> None:
    exchanges, session = read(name)
    kinds = Counter(finding.kind for one in exchanges for finding in one.findings)
    kinds.update(finding.kind for _, finding in session.findings)
    assert set(kinds) <= {"no-response", "connection-refused"}


@pytest.mark.parametrize("name", ["reordered-segmented.pcap", "retransmitted-segmented.pcap"])
def test_shuffled_and_repeated_packets_change_nothing(name: str) -> None:
    same, _ = read("segmented-mtu1500.pcap")
    other, _ = read(name)
    assert {name_of(one): (whole(one.request), whole(one.response)) for one in other} == {
        name_of(one): (whole(one.request), whole(one.response)) for one in same
    }
    assert len(other) == len(same)


def first_packets(half: CapturedMessage | None, first: int, last: int) -> bool:
    return half is not None and first <= half.first_packet and half.last_packet <= last


@pytest.mark.parametrize(
    ("name", "original", "first", "last"),
    [
        ("midstream-in-message.pcap", "segmented-mtu1500.pcap", 30, 10_000),
        ("tailcut-txn.pcap", "rdkafka-txn.pcap", 1, 200),
        ("file-truncated.pcap", "rdkafka-basic.pcap", 1, 145),
        ("vlan.pcap", "rdkafka-basic.pcap", 1, 150),
        ("ipv6.pcap", "rdkafka-basic.pcap", 1, 150),
    ],
)
def test_a_part_of_a_capture_holds_its_part_of_the_messages(name: str, original: str, first: int, last: int) -> None:
    part = {name_of(one): one for one in read(name)[0]}
    inside = 0
    for one in read(original)[0]:
        for which in ("request", "response"):
            half = getattr(one, which)
            if first_packets(half, first, last) and (which == "request" or first_packets(one.request, first, last)):
                inside += 1
                assert getattr(part[name_of(one)], which).data == half.data
    assert inside > 40
    assert len(halves(part.values())) <= inside + 2, "no more than what breaks off at the ends"


def test_segments_lost_inside_messages_cost_no_exchange() -> None:
    original = {name_of(one): one for one in read("segmented-mtu1500.pcap")[0]}
    lossy = {name_of(one): one for one in read("lossy-segmented.pcap")[0]}
    assert lossy.keys() == original.keys()
    broken = [half for half in halves(lossy.values()) if half.missing]
    assert len(broken) == 4
    for name, one in lossy.items():
        for which in ("request", "response"):
            ours, theirs = getattr(one, which), getattr(original[name], which)
            assert (ours is None) == (theirs is None)
            if ours is not None:
                assert ours.size == theirs.size
                assert theirs.data.startswith(ours.data)


def test_packets_cut_by_the_snaplen_cost_no_exchange() -> None:
    """Other programs count 53 messages in this capture."""
    exchanges, session = read("snaplen-96.pcap")
    assert len(halves(exchanges)) == 53
    assert sum(1 for half in halves(exchanges) if half.missing) == 40
    assert not [finding for _, finding in session.findings if finding.kind != "tcp-gap"]
    assert not [finding for one in exchanges for finding in one.findings if finding.kind == "undecoded-bytes"]
