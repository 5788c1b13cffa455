"""Hexdumps straight from bytes say, to the byte, what those by inspection say; what is odd is left to these."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol.grammars.payloads import TOPICS
from kdbg.protocol.wire.language import Api, Direction
from kdbg.protocol.wire.readings.outline import NamesThen, Topics
from kdbg.ui.cli.exchange_output import ExchangeOutput
from kdbg.ui.cli.output import Writer
from kdbg.ui.cli.runner import Runner
from kdbg.views.render.hex.source import Dumping
from kdbg.views.render.hex.view import HexView
from kdbg.views.render.style import Look
from kdbg.views.render.values import quote
from kdbg.views.render.views import LONG

from ..cases import by_day, for_each
from ..grammars.values import CUT_OFF, append_time, batch, control, message, record
from .test_drawn import CAPTURES, captured, fetched, halves, produce

ORDERS = UUID("8f1e3c5a-9b2d-4c67-a1f0-5e2d7b90c384")
LOOKS = {
    "pipe": Look(),
    "16 bytes a line": Look(width=120),
    "room for notes on lengths": Look(width=250),
    "secrets": Look(show_secrets=True),
}
OTHERS = {
    "terminal": Look("TRUECOLOR", 80, full=False),
    "colour": Look("STANDARD"),
    "meanings": Look(meanings=True),
}
"""Looks that are left to inspection."""
in_looks = for_each("look", LOOKS.values(), ids=LOOKS)


class ByInspection(HexView):
    """The view without what dumps straight from bytes."""

    def compiled(self, api: Api, version: int, direction: Direction) -> Dumping | None:
        return None


@pytest.mark.parametrize("path", by_day(sorted(CAPTURES.glob("*.pcap*")), 6), ids=lambda path: path.name)
def test_every_capture_is_dumped_the_same_by_bytes_and_by_inspection(path: Path) -> None:
    topics: dict[UUID, str] = {}
    exchanges = list(kdbg.read(path))
    for exchange in exchanges:
        for half in halves(exchange):
            topics |= half.known.topics if half.known is not None else {}
    for name, look in LOOKS.items():
        fast, plain = HexView(look, topics), ByInspection(look, topics)
        for exchange in exchanges:
            assert fast(exchange) == plain(exchange), name


def test_nearly_all_messages_of_clients_that_send_and_fetch_are_dumped_by_their_bytes() -> None:
    for name in ("first-contact.pcap", "codecs.pcap", "real-codecs-4.4.0.pcap"):
        view = HexView(Look(), {})
        sent = [half for exchange in kdbg.read(CAPTURES / name) if view(exchange) for half in halves(exchange)
                if exchange.api and exchange.api.name in ("Produce", "Fetch")]  # fmt: skip
        assert sum(half.sound for half in sent) > 0.9 * len(sent)


@pytest.mark.parametrize("look", OTHERS.values(), ids=OTHERS)
def test_looks_that_are_left_to_inspection(look: Look) -> None:
    view = HexView(look, {})
    for exchange in kdbg.read(CAPTURES / "first-contact.pcap"):
        assert view(exchange) == ByInspection(look, {})(exchange)
        assert not any(half.sound for half in halves(exchange))


def dumped(half: CapturedMessage, topics: Topics | None = None, look: Look = LOOKS["pipe"]) -> tuple[str, bool]:
    """The lines of a message, the same by its bytes and by inspection, and whether its bytes were enough."""
    exchange, texts = of(half), []
    for view in (HexView, ByInspection):
        texts.append(b"".join(view(look, topics or {}).half(half, exchange)).decode())
    assert texts[0] == texts[1]
    return texts[0], half.sound


class TestRecordSets:
    @in_looks
    @pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
    def test_several_batches_with_headers_in_every_codec(self, codec: int, look: Look) -> None:
        text, fast = dumped(produce([batch(codec), batch(), batch(codec)]), look=look)
        assert fast
        assert text.count("topic_data[0].partition_data[0].records[2].records, decompressed: ") == bool(codec)
        assert text.count("headers[1].key") == 3

    def test_entries_that_a_broker_cut_off(self) -> None:
        for records in ([batch(), {"partial": CUT_OFF}], [{"partial": CUT_OFF[:9]}], [{"partial": CUT_OFF[:16]}]):
            text, fast = dumped(fetched(records, ORDERS, {}))
            assert fast
            assert f"records[{len(records) - 1}]  " in text

    def test_none_at_all_and_other_times(self) -> None:
        for records in ([], [batch(records=[])], [append_time()]):
            assert dumped(produce(records))[1]

    def test_what_is_left_to_inspection(self) -> None:
        wrong = produce([batch()])
        wrong.data = wrong.data[:-1] + bytes([wrong.data[-1] ^ 1])
        for half in (produce([message(1, 0)]), produce([control()]), wrong):
            assert not dumped(half)[1]


class TestValues:
    @in_looks
    @pytest.mark.parametrize("value", [
        b"", b"v", b"\\", b'"', b"%s %d %", b" " * 9, b" " * 100, "κενό".encode(), "κενό".encode() * 9, b"\xff" * 50,
        "日本".encode() + b"x" * 40, b"x" * 43 + b"\n", *(b"ab " * n for n in (2, 3, 30, 333, 5000)), bytes(range(256)),
    ], ids=lambda value: value[:10].hex())  # fmt: skip
    def test_of_every_kind(self, value: bytes, look: Look) -> None:
        records = [record(0, 0, key=value, value=value), record(1, 1, key=value[:40], value=None)]
        for codec in (0, 1):
            assert dumped(produce([batch(codec, records=records)]), look=look)[1]

    @in_looks
    def test_at_places_of_more_than_four_digits(self, look: Look) -> None:
        for before in by_day(range(0xFF90, 0xFFF0, 7), 3):
            records = [record(0, 0, value=b"x" * before), record(1, 1, value=b"y " * 5000), record(2, 2, value=b"z")]
            assert dumped(produce([batch(records=records)]), look=look)[1]

    def test_are_padded_by_letters(self) -> None:
        lines = dumped(produce([batch(records=[record(0, 0, key="日本".encode(), value=b"v")])], "t"))[0].splitlines()
        ends = {line.index("NULLABLE_VARINT_BYTES") for line in lines if line.endswith("NULLABLE_VARINT_BYTES")}
        assert len(ends) == 1


class TestTopics:
    @pytest.mark.parametrize("topic", TOPICS)
    def test_the_records_of_kafkas_own_topics_are_payloads(self, topic: str) -> None:
        assert not dumped(produce([batch()], topic))[1]
        assert not dumped(fetched([batch()], ORDERS, {ORDERS: topic}))[1]

    def test_names_are_looked_up_when_ids_are_dumped(self) -> None:
        topics: dict[UUID, str] = {}
        view, half = HexView(Look(), topics), fetched([batch()], ORDERS, {})
        exchange = of(half)
        for name in ("orders", "or\x1bders"):
            assert quote(name).encode() not in b"".join(view.half(half, exchange))
            topics[ORDERS] = name
            assert quote(name).encode() in b"".join(view.half(half, exchange))
        assert half.sound


def test_a_long_exchange_is_shown_in_pieces_none_of_which_is_long() -> None:
    records = [record(i, i, value=b"0123456789" * 100) for i in range(100)]
    exchange = of(produce([batch(records=records)]))
    view = HexView(Look(), {})
    output = ExchangeOutput(Runner(Filters(), Writer()), "hex", Look())
    output.begin(NamesThen({}))
    shown = list(output.texts([exchange]))
    assert b"".join(shown) == view(exchange)
    assert max(map(len, shown)) < LONG / 8 < len(view(exchange))


def of(half: CapturedMessage) -> Exchange:
    """An exchange that nobody answered."""
    exchange = Exchange(Peers(1, ("a", 1), ("b", 2)), half.api, half.version, 1, None)
    exchange.request = half
    return exchange


def member(metadata: bytes) -> CapturedMessage:
    protocols: list[dict[str, Any]] = [{"name": "range", "metadata": metadata}]
    body = {"group_id": "g", "session_timeout_ms": 1, "member_id": "", "protocol_type": "consumer",
            "protocols": protocols}  # fmt: skip
    return captured("JoinGroup", 0, "request", body)


def test_fields_that_hold_payloads_are_dumped_if_they_are_empty() -> None:
    assert dumped(member(b""))[1]
    assert not dumped(member(b"\0\0\0\0\0\0\0\0\0\0"))[1]


def test_bytes_that_are_missing_are_left_to_inspection() -> None:
    half = produce([batch()])
    half.missing = 3
    text, fast = dumped(half)
    assert "3 bytes are missing" in text
    assert not fast
