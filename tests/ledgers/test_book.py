"""What ledgers take of exchanges, as an engine hands them out: what is slow, unanswered, throttled, wrong, counted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.ledgers.sessions import KafkaConnection
from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine

from ..traffic import START, Talk, pcap

MS = 1_000_000
FIRST = START * 1_000_000_000
NOWHERE: dict[str, Any] = {"brokers": [], "controller_id": 1, "topics": []}


@pytest.fixture
def kept(tmp_path: Path) -> Any:
    """What ledgers hold of some connections, and of the first of these."""

    def read(*talks: Talk) -> tuple[Ledgers, KafkaConnection]:
        path = tmp_path / "made.pcap"
        path.write_bytes(pcap(*talks))
        engine = Engine()
        ledgers = Ledgers(engine.names_then)
        with open_capture(path) as capture:
            for packets in capture.blocks():
                ledgers.packets(packets)
                ledgers.take(engine.receive_all(packets))
            ledgers.take(engine.close())
            ledgers.left_over(engine.findings)
        return ledgers, ledgers.sessions[1]

    return read


class Told(Talk):
    """A connection whose packets come when `when` says, in ms."""

    def when(self, ms: int) -> Told:
        self.at = ms - len(self.segments)
        return self

    def asks(self, at: int, until: int, api: str, version: int, answer: dict[str, Any], **body: Any) -> Told:
        self.when(at).ask(api, version, **body)
        self.when(until).answer(**answer)
        return self


def test_answers_that_take_a_tenth_of_a_second_are_remembered(kept: Any) -> None:
    talk = Told()
    talk.asks(10, 109, "Metadata", 1, NOWHERE, topics=None).asks(200, 300, "Metadata", 1, NOWHERE, topics=None)
    polls = {"max_wait_ms": 500, "min_bytes": 1, "replica_id": -1, "topics": []}
    talk.asks(400, 900, "Fetch", 4, {"throttle_time_ms": 0, "responses": []}, **polls)
    produce = {"transactional_id": None, "acks": -1, "timeout_ms": 30000, "topic_data": []}
    talk.asks(1000, 1200, "Produce", 7, {"responses": [], "throttle_time_ms": 0}, **produce)
    ledgers, session = kept(talk)
    assert [(one.mark.number, one.api_key, (one.start - FIRST) // MS, (one.first - FIRST) // MS, one.held // MS,
             one.acks, one.late // MS) for one in session.slow] == [
        (2, 3, 200, 300, 0, None, 100), (3, 1, 400, 900, 500, None, 0), (4, 0, 1000, 1200, 0, -1, 200)]  # fmt: skip
    assert (ledgers.exchanges, ledgers.first_time, ledgers.last_time) == (4, FIRST, FIRST + 1200 * MS)
    assert ledgers.pulses[session.broker].last == FIRST + 1200 * MS


def test_answers_that_arrive_in_pieces_are_slow_by_their_last(kept: Any) -> None:
    talk = Told()
    talk.when(10).ask("Metadata", 1, topics=None)
    talk.when(20).most = 10
    before = len(talk.segments)
    talk.answer(**NOWHERE)
    assert len(talk.segments) == before + 2
    talk.segments[-1] = talk.segments[-1]._replace(at=119)
    assert kept(talk)[1].slow == []
    talk.segments[-1] = talk.segments[-1]._replace(at=120)
    assert len(kept(talk)[1].slow) == 1


def test_requests_that_are_never_answered(kept: Any) -> None:
    talk = Told()
    for _ in range(40):
        talk.ask("Metadata", 1, topics=None)
    session = kept(talk.end())[1]
    assert (session.unanswered_count, len(session.unanswered)) == (40, 32)
    first = session.unanswered[0]
    assert (first.mark.number, first.api_key, first.version, first.missing) == (1, 3, 1, 0)
    assert first.size == session.used(3).size > 10
    silent = Told()
    silent.ask("Produce", 7, transactional_id=None, acks=0, timeout_ms=1, topic_data=[])
    assert kept(silent.end())[1].unanswered_count == 0


def test_a_throttle_is_counted_and_the_longest_remembered(kept: Any) -> None:
    talk = Told()
    for number, throttle in enumerate((0, 30, 70, 50)):
        talk.asks(10 + number, 11 + number, "Produce", 7, {"responses": [], "throttle_time_ms": throttle}, acks=-1)
    session = kept(talk)[1]
    assert (session.throttled.count, session.throttled.numbers, session.throttle_ms) == (3, (2, 3, 4), 70)


def test_errors_by_what_a_request_is_about(kept: Any) -> None:
    talk = Told()
    talk.asks(10, 11, "Heartbeat", 2, {"error_code": 25}, group_id="sums", generation_id=1, member_id="m")
    talk.asks(12, 13, "InitProducerId", 1, {"error_code": 53}, transactional_id="books")
    talk.asks(14, 15, "FindCoordinator", 1, {"error_code": 15}, key="sums", key_type=0)
    talk.asks(16, 17, "SaslHandshake", 1, {"error_code": 33, "mechanisms": []}, mechanism="PLAIN")
    found = [{"error_code": 16}, {"error_code": 16}]
    talk.asks(18, 19, "FindCoordinator", 4, {"coordinators": found}, coordinator_keys=["a", "b"])
    rows = [{"name": "orders", "partition_responses": [{"index": 3, "error_code": 6}, {"index": 4, "error_code": 6}]}]
    talk.asks(20, 21, "Produce", 7, {"responses": rows}, acks=-1, topic_data=[])
    talk.asks(22, 23, "ListGroups", 1, {"error_code": 41})
    ledgers = kept(talk)[0]
    assert [(key, api, subject, one.seen.count, sorted(one.partitions))
            for (key, api, subject, _), one in ledgers.failures.items()] == [
        (25, 12, "sums", 1, []), (53, 22, "books", 1, []), (15, 10, "sums", 1, []), (33, 17, "PLAIN", 1, []),
        (16, 10, "a", 2, []), (6, 0, "orders", 2, [3, 4]), (41, 16, "", 1, [])]  # fmt: skip


def test_of_very_many_exchanges_one_in_sixteen_is_read_closely(kept: Any) -> None:
    talk = Told(most=60_000)
    batch = {"magic": 2, "records": [{"value": b"x"}, {"value": b"y"}]}
    rows = [{"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}]
    done = [{"name": "orders", "partition_responses": [{"index": 0, "error_code": 0, "base_offset": 1}]}]
    for _ in range(1024 + 40):
        talk.ask("Produce", 7, acks=-1, topic_data=rows).answer(responses=done, throttle_time_ms=0)
    ledgers, session = kept(talk)
    flow = ledgers.written[1, "orders", 0]
    assert session.sampled
    assert (flow.requests.count, flow.batches, flow.records, flow.acks) == (1064, 1064, 2128, {-1: 1026})
    talk.segments = talk.segments[: 2 + 2 * 1024]
    ledgers, session = kept(talk)
    assert not session.sampled
    assert ledgers.written[1, "orders", 0].acks == {-1: 1024}


def test_answers_to_nothing_and_what_is_left_over(kept: Any) -> None:
    talk = Told().asks(10, 11, "Metadata", 1, NOWHERE, topics=None)
    talk.asked = [("Metadata", 1, 77), ("Metadata", 1, 78)]
    talk.answer(**NOWHERE).answer(**NOWHERE)
    ledgers, session = kept(talk)
    assert (session.findings["unsolicited-response"].count, session.exchanges) == (2, 3)
    ledgers, _ = kept(talk, Talk.in_vain(0, 1000, client=("10.0.0.9", 1), refused=2000))
    assert ledgers.left == []
    assert len(list(ledgers.paths.all())) == 2
