"""Connections that were asked for and never came to be: what is told of them, and what is not taken for one."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.peers import Tried
from kdbg.protocol.findings import ATTEMPTS, Finding
from kdbg.protocol.findings.facts import NoConnection
from kdbg.streams.tcp.paths import Paths

from ..traffic import START, Talk, pcap

INCIDENTS = Path(__file__).parents[1] / "incidents" / "captures"
FROM = START * 10**9


def engine_of(data: bytes, paths: Paths | None = None) -> Engine:
    """An engine that has seen a capture; `paths` see its packets, too."""
    engine = Engine()
    with open_capture(io.BytesIO(data)) as capture:
        for packets in capture.blocks():
            if paths is not None:
                paths.receive_all(packets)
            engine.receive_all(packets)
    engine.close()
    return engine


def found_in(*talks: Talk) -> list[Finding]:
    return [finding for _, finding in engine_of(pcap(*talks)).findings]


def first(talk: Talk, many: int) -> Talk:
    """The first packets of a connection alone."""
    talk.segments = talk.segments[:many]
    return talk


def test_a_connection_that_is_turned_down_is_told_and_is_no_other_one() -> None:
    engine = engine_of(pcap(Talk.in_vain(0, refused=1)))
    [(peers, finding)] = engine.findings
    assert finding.facts == NoConnection(1, FROM, FROM + 10**6, refused=True)
    assert (peers.client[0], peers.broker, peers.number, peers.first_packet) == ("10.0.0.1", ("10.0.0.2", 9092), 1, 1)
    assert (engine.other_connections, engine.connections) == (0, 0)


def test_a_connection_that_nobody_answers_is_told_when_it_was_asked_for_again() -> None:
    [finding] = found_in(Talk.in_vain(0, 1000, 3000))
    assert finding.facts == NoConnection(3, FROM, FROM + 3 * 10**9, refused=False)
    assert found_in(Talk.in_vain(0)) == [], "the capture may end before the answer"
    assert found_in(Talk.in_vain(0, 0)) == [], "a packet that was captured twice"


def test_it_may_be_turned_down_at_the_second_try() -> None:
    [finding] = found_in(Talk.in_vain(0, 1000, refused=1001))
    assert finding.facts == NoConnection(2, FROM, FROM + 1_001 * 10**6, refused=True)


@pytest.mark.parametrize(
    "talk",
    [
        first(Talk(), 2),
        Talk().end(),
        Talk().ask("Metadata", 1).answer(),
        first(Talk().ask("Metadata", 1), 3),
    ],
    ids=["opened", "opened and closed", "used", "used by half"],
)
def test_what_was_granted_is_none(talk: Talk) -> None:
    assert not ATTEMPTS & {finding.kind for finding in found_in(talk)}


def test_what_was_reset_after_it_was_open_is_none() -> None:
    talk = Talk()
    talk.segments += [one._replace(at=50) for one in Talk.in_vain(refused=9).segments]
    assert found_in(talk) == []


def test_of_very_many_each_host_and_broker_is_told_once() -> None:
    tried = Tried()
    talks = [Talk.in_vain(0, refused=1, client=("10.0.0.1", 50_000 + n), at=10 * n) for n in range(40)]
    talks.append(Talk.in_vain(0, 1000, broker=("10.0.0.9", 9092)))
    for peers, finding in engine_of(pcap(*talks)).findings:
        tried.take(peers, finding)
    refused, unreached = tried.found
    assert (refused.connections, refused.tries, refused.kind) == (40, 40, "connection-refused")
    assert (refused.since, refused.until) == (FROM, FROM + 391 * 10**6)
    assert (unreached.connections, unreached.tries, unreached.broker) == (1, 2, ("10.0.0.9", 9092))


@pytest.mark.parametrize(
    "name", ["advertised-localhost-librdkafka", "advertised-black-hole-librdkafka", "rolling-restart"]
)
def test_staged_ones_are_as_many_as_their_packets_say(name: str) -> None:
    paths = Paths()
    engine = engine_of(gzip.decompress((INCIDENTS / f"{name}.pcap.gz").read_bytes()), paths)
    told = sorted((peers.first_packet, finding.kind == "connection-refused") for peers, finding in engine.findings
                  if finding.kind in ATTEMPTS)  # fmt: skip
    seen = sorted((path.first_packet, path.refused is not None) for path in paths.all()
                  if path.refused is not None or path.unanswered)  # fmt: skip
    assert told == seen != []
