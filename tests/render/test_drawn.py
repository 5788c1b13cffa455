"""Trees drawn straight from bytes say, to the byte, what trees drawn by values say; what is odd is left to these."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.known import Known
from kdbg.protocol import grammars
from kdbg.protocol.grammars.payloads import TOPICS
from kdbg.protocol.wire.language import Api, Direction
from kdbg.protocol.wire.readings.outline import Topics
from kdbg.views.render.style import Look
from kdbg.views.render.tree.source import Drawing, TreeView
from kdbg.views.render.values import quote

from ..cases import by_day, for_each
from ..grammars.values import CUT_OFF, append_time, batch, control, message, record

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
PIPE = Look()
ORDERS = UUID("8f1e3c5a-9b2d-4c67-a1f0-5e2d7b90c384")
LOOKS = {
    "pipe": PIPE,
    "terminal": Look("TRUECOLOR", 80, full=False),
    "colour": Look("STANDARD"),
    "secrets": Look(show_secrets=True),
    "meanings": Look(meanings=True),
}


class ByValue(TreeView):
    """The view without what draws straight from bytes."""

    def compiled(self, api: Api, version: int, direction: Direction) -> Drawing | None:
        return None


@for_each("look", LOOKS.values(), ids=LOOKS)
@pytest.mark.parametrize("path", by_day(sorted(CAPTURES.glob("*.pcap*")), 4), ids=lambda path: path.name)
def test_every_capture_is_drawn_the_same_by_bytes_and_by_values(path: Path, look: Look) -> None:
    topics: dict[UUID, str] = {}
    exchanges = list(kdbg.read(path))
    for exchange in exchanges:
        for half in halves(exchange):
            topics |= half.known.topics if half.known is not None else {}
    fast, plain = TreeView(look, topics), ByValue(look, topics)
    for exchange in exchanges:
        assert fast(exchange) == plain(exchange)


def test_nearly_all_messages_of_clients_that_send_and_fetch_are_drawn_by_their_bytes() -> None:
    for name in ("first-contact.pcap", "codecs.pcap", "real-codecs-4.4.0.pcap"):
        view = TreeView(Look(), {})
        sent = [half for exchange in kdbg.read(CAPTURES / name) if view(exchange) for half in halves(exchange)
                if exchange.api and exchange.api.name in ("Produce", "Fetch")]  # fmt: skip
        assert sum(half.sound for half in sent) > 0.9 * len(sent)


def halves(exchange: Exchange) -> Iterator[CapturedMessage]:
    yield from (half for half in (exchange.request, exchange.response) if half is not None)


def produce(records: list[dict[str, Any]], topic: str = "t") -> CapturedMessage:
    topics = [{"name": topic, "partition_data": [{"index": 0, "records": records}]}]
    return captured("Produce", 8, "request", {"acks": 1, "timeout_ms": 1, "topic_data": topics})


def fetched(records: list[dict[str, Any]], topic_id: UUID, known: Topics) -> CapturedMessage:
    partitions = [{"partition_index": 0, "records": records}]
    return captured("Fetch", 13, "response", {"responses": [{"topic_id": topic_id, "partitions": partitions}]}, known)


def captured(
    api: str, version: int, direction: Direction, body: dict[str, Any], known: Topics | None = None
) -> CapturedMessage:
    side = {"api": api, "version": version, "direction": direction}
    data = kdbg.encode(body, header={"correlation_id": 1}, **side)
    half = CapturedMessage(data, (0, 0), (1, 1), direction)
    half.api, half.version, half.known = grammars.api(api), version, Known.nothing(dict(known or {}))
    return half


def drawn(half: CapturedMessage, topics: Topics | None = None, look: Look = PIPE) -> tuple[str, bool]:
    """The lines of a message, the same by its bytes and by its value, and whether its bytes were enough."""
    texts = []
    for view in (TreeView(look, topics or {}), ByValue(look, topics or {})):
        out: list[bytes] = []
        view.half(half, out)
        texts.append(b"".join(out).decode())
    assert texts[0] == texts[1]
    return texts[0], half.sound


class TestRecordSets:
    @pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
    def test_several_batches_with_headers_in_every_codec(self, codec: int) -> None:
        text, fast = drawn(produce([batch(codec), batch(), batch(codec)]))
        assert fast
        assert "records  3 batches, 6 records\n" in text
        assert text.count("compressed_records  ") == 2 * bool(codec)
        assert text.count('headers  "trace" = "\\x01", "κενό" = null\n') == 3

    def test_append_time_is_the_time_of_every_record(self) -> None:
        text, fast = drawn(produce([append_time()]))
        assert fast
        assert text.count("timestamp 1700000000500  2023-11-14 22:13:20.500 UTC") == 3

    def test_an_entry_that_a_broker_cut_off(self) -> None:
        for records in ([batch(), {"partial": CUT_OFF}], [{"partial": CUT_OFF[:9]}], [{"partial": CUT_OFF[:16]}]):
            text, fast = drawn(fetched(records, ORDERS, {}))
            assert fast
            assert "1 piece, " in text
        assert drawn(fetched([batch(records=[])], ORDERS, {}))[1]

    def test_what_is_left_to_the_value(self) -> None:
        wrong = produce([batch()])
        wrong.data = wrong.data[:-1] + bytes([wrong.data[-1] ^ 1])
        for half in (produce([message(1, 0)]), produce([control()]), wrong):
            assert not drawn(half)[1]

    def test_no_records_and_none_at_all(self) -> None:
        for records in ([], [batch(records=[])]):
            assert drawn(produce(records))[1]


@for_each("counts", list(product((0, 1, 3), repeat=4)), ids=str)
def test_arrays_of_none_one_and_several_items_in_each_other(counts: tuple[int, ...]) -> None:
    topics, partitions, aborted, records = counts
    said = record(0, 0, headers=[{"key": "h%d", "value": None}] * (topics % 3))
    partition = {
        "partition_index": 7, "aborted_transactions": [{"producer_id": 5, "first_offset": 6}] * aborted,
        "preferred_read_replica": 2, "records": [batch(records=[said] * records)] * max(aborted, 1),
    }  # fmt: skip
    topic = {"topic": "50%d", "partitions": [partition] * partitions}
    text, fast = drawn(captured("Fetch", 11, "response", {"responses": [topic] * topics}))
    assert fast
    assert text.count("aborted_transactions  ") == topics * partitions
    assert text.count(f"records  {records}\n") == topics * partitions * max(aborted, 1)


class TestTopics:
    @pytest.mark.parametrize("topic", TOPICS)
    def test_the_records_of_kafkas_own_topics_are_payloads(self, topic: str) -> None:
        assert not drawn(produce([batch()], topic))[1]
        assert not drawn(fetched([batch()], ORDERS, {ORDERS: topic}))[1]

    def test_names_are_looked_up_when_ids_are_drawn(self) -> None:
        topics: dict[UUID, str] = {}
        view, half = TreeView(Look(), topics), fetched([batch()], ORDERS, {})
        for name in ("orders", "or\x1bders"):
            out: list[bytes] = []
            view.half(half, out)
            assert (quote(name).encode() in b"".join(out)) is (topics.get(ORDERS) == name)
            topics[ORDERS] = name
            out.clear()
            view.half(half, out)
            assert quote(name).encode() in b"".join(out)
        assert half.sound


def test_what_is_more_than_the_look_shows_is_left_to_the_value() -> None:
    short = Look(width=80, full=False)
    for records in ([batch()] * 13, [batch(records=[record(i, 0) for i in range(13)])]):
        text, fast = drawn(produce(records), look=short)
        assert "… 1 more" in text
        assert not fast
    assert drawn(produce([batch(records=[record(0, 0, value=b"x" * 100)])] * 12), look=short)[1]


def test_zeros_of_either_sign_are_told_apart_in_one_tree() -> None:
    values = [{"key": "producer_byte_rate", "value": value} for value in (0.0, -0.0, 0.0)]
    body = {"error_code": 0, "entries": [{"entity": [], "values": values}]}
    text, fast = drawn(captured("DescribeClientQuotas", 0, "response", body))
    assert fast
    assert [line.split()[-1] for line in text.splitlines() if "producer_byte_rate" in line] == ["0.0", "-0.0", "0.0"]
