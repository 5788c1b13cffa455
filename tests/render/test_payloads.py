"""Payloads as people and programs see them: below their field, byte by byte, as JSON beside their bytes."""

from __future__ import annotations

import base64
import json
from typing import Any
from uuid import UUID

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.grammars.payloads import payload
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.records import build_set
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS, view

from ..cases import for_each
from ..engine.playbook import Playbook, request, response

PIPE, OPEN = Look(), Look(width=150, show_secrets=True)
ASSIGNMENT = bytes.fromhex("0000 00000001 0006 6f7264657273 00000001 00000003 00000000")
OFFSET_KEY = bytes.fromhex("0001 0007 62696c6c696e67 0006 6f7264657273 00000003")
SECRET = b"hunter2:" * 4
ORDERS = UUID(int=0xABC)


def synced() -> Exchange:
    """A member is given partition 3 of `orders`."""
    book = Playbook() >> request(5, "SyncGroup", 5, protocol_type="consumer")
    book << response(5, "SyncGroup", 5, protocol_type="consumer", assignment=ASSIGNMENT)
    book.close()
    return book.exchanges[0]


def fetched(topic: str, *records: dict[str, Any], **batch: Any) -> Exchange:
    """A fetch of these records."""
    return fetched_entries(topic, {"magic": 2, "records": list(records), **batch})


def fetched_entries(topic: str, *entries: dict[str, Any]) -> Exchange:
    """A fetch of this record set."""
    partition = {"records": list(entries)}
    book = Playbook() >> request(5, "Fetch", 12)
    book << response(5, "Fetch", 12, responses=[{"topic": topic, "partitions": [partition]}])
    book.close()
    return book.exchanges[0]


def scram(**said: Any) -> bytes:
    """The record by which the controller remembers a user's password."""
    user = {"frame_version": 1, "api_key": 11, "version": 0, "name": "alice", "mechanism": 1, "salt": SECRET}
    keys = {"stored_key": SECRET, "server_key": SECRET, "iterations": 4096}
    return build(payload("UserScramCredentialRecord").framed(0), user | keys | said)


def shown(exchange: Exchange, format: str, look: Look = PIPE) -> str:
    text = view(format).exchange(look, {ORDERS: "orders"})(exchange)
    return text if isinstance(text, str) else text.decode()


def below(text: str, name: str) -> list[str]:
    """The line of a field in a tree, and those below it, without what stands in front of them all."""
    lines = text.splitlines()
    first = next(i for i, line in enumerate(lines) if f"─ {name}  " in line)
    indent = lines[first].index("─ ")
    rest = lines[first + 1 :]
    last = next((i for i, line in enumerate(rest) if len(line) <= indent + 2 or line[indent - 2] in "├└"), len(rest))
    return [line[indent + 2 :] for line in (lines[first], *rest[:last])]


class TestTree:
    def test_a_field_stands_above_what_it_says(self) -> None:
        assert below(shown(synced(), "tree"), "assignment") == [
            "assignment  ConsumerProtocolAssignment, 26 bytes",
            "├── version  0",
            "├── assigned_partitions  1 element",
            "│   └── [0]",
            '│       ├── topic  "orders"',
            "│       └── partitions  [3]",
            "└── user_data  0 bytes",
        ]

    def test_so_do_the_key_and_the_value_of_a_record(self) -> None:
        text = shown(fetched("__consumer_offsets", {"key": OFFSET_KEY, "value": None}), "tree")
        assert below(text, "key") == [
            "key  OffsetCommitKey, 23 bytes",
            "├── version  1",
            '├── group  "billing"',
            '├── topic  "orders"',
            "└── partition  3",
        ]
        assert below(text, "value") == ["value  null"]

    def test_headers_of_a_record_stand_below_it(self) -> None:
        record = {"key": OFFSET_KEY, "value": b"?", "headers": [{"key": "trace", "value": b"7"}]}
        text = shown(fetched("__consumer_offsets", record), "tree")
        assert '├── value  "?"' in text
        assert '└── headers  "trace" = "7"' in text
        assert "✗ malformed-payload: responses[0].partitions[0].records[0].records[0].value" in text


class TestHexdump:
    def test_the_length_of_the_field_then_every_byte_of_the_payload(self) -> None:
        lines = shown(synced(), "hex", Look(width=150)).partition("\nresponse")[2].splitlines()
        inside = [" ".join(line.split()) for line in lines if "  assignment" in line]
        assert inside == [
            "0019 1b . assignment ConsumerProtocolAssignment, 26 bytes COMPACT_BYTES",
            "001a 00 00 .. assignment.version 0 INT16",
            "001c 00 00 00 01 .... assignment.assigned_partitions 1 element ARRAY",
            '0020 00 06 6f 72 64 65 72 73 ..orders assignment.assigned_partitions[0].topic "orders" STRING',
            "0028 00 00 00 01 .... assignment.assigned_partitions[0].partitions 1 element ARRAY",
            "002c 00 00 00 03 .... assignment.assigned_partitions[0].partitions[0] 3 INT32",
            "0030 00 00 00 00 .... assignment.user_data 0 bytes NULLABLE_BYTES",
        ]

    def test_so_in_decompressed_bytes(self) -> None:
        exchange = fetched("__consumer_offsets", {"key": OFFSET_KEY, "value": None}, attributes=1)
        text = shown(exchange, "hex", Look(width=150))
        below = text[text.index("decompressed") :]
        assert "responses[0].partitions[0].records[0].records[0].key.group" in below

    def test_a_caret_points_at_what_is_wrong(self) -> None:
        text = shown(fetched("__consumer_offsets", {"key": OFFSET_KEY[:-2], "value": None}), "hex", Look(width=150))
        assert "invalid OffsetCommitKey: INT32 needs 4 bytes, only 2 left" in text


class TestJson:
    def test_bytes_with_what_they_say(self) -> None:
        body = json.loads(shown(synced(), "json"))["response"]["body"]
        assert body["assignment"] == {
            "base64": base64.b64encode(ASSIGNMENT).decode(),
            "payload": "ConsumerProtocolAssignment",
            "value": {
                "version": 0, "assigned_partitions": [{"topic": "orders", "partitions": [3]}],
                "user_data": {"base64": ""},
            },
        }  # fmt: skip

    def test_a_record_has_them_where_others_have_text(self) -> None:
        line = json.loads(shown(fetched("__consumer_offsets", {"key": OFFSET_KEY, "value": b"text"}), "json"))
        (record,) = line["response"]["body"]["responses"][0]["partitions"][0]["records"][0]["records"]
        assert record["key"]["value"]["group"] == "billing"
        assert record["value"] == "text"

    def test_what_json_lacks_is_written_as_everywhere(self) -> None:
        key = build(payload("OffsetCommitKey").framed(1), {"version": 1, "group": "g\udcff", "topic": "\x1b[2J"})
        text = shown(fetched("__consumer_offsets", {"key": key, "value": None}), "json")
        assert "\x1b" not in text
        (record,) = json.loads(text)["response"]["body"]["responses"][0]["partitions"][0]["records"][0]["records"]
        assert record["key"]["value"]["group"] == {"base64": base64.b64encode(b"g\xff").decode()}

    def test_ids_have_their_names_beside_them(self) -> None:
        book = Playbook() >> request(5, "Fetch", 13, topics=[{"topic_id": ORDERS, "partitions": [{"partition": 0}]}])
        book << response(5, "Fetch", 13)
        book.close()
        assert json.loads(shown(book.exchanges[0], "json"))["topic_names"] == {str(ORDERS): "orders"}
        assert "topic_names" not in json.loads(shown(synced(), "json"))

    def test_ids_inside_payloads_too(self) -> None:
        value = {"frame_version": 1, "api_key": 3, "version": 0, "topic_id": ORDERS}
        record = {"value": build(payload("PartitionRecord").framed(0), value)}
        line = json.loads(shown(fetched("__cluster_metadata", record), "json"))
        assert line["topic_names"] == {str(ORDERS): "orders"}


class TestSecrets:
    @for_each("format", VIEWS)
    @for_each("cut", [0, 3])
    @for_each("codec", [0, 1])
    def test_no_view_shows_those_inside(self, format: str, cut: int, codec: int) -> None:
        value = scram()
        exchange = fetched("__cluster_metadata", {"value": value[: len(value) - cut]}, attributes=codec)
        text = shown(exchange, format)
        for start in range(8):
            piece = SECRET[start : start + 8]
            for form in (piece.decode(), piece.hex(), piece.hex(" "), base64.b64encode(piece)[:10].decode()):
                assert form not in text
        if format == "hex" and not codec:
            assert piece.hex(" ") in shown(exchange, format, OPEN)

    @for_each("format", VIEWS)
    @for_each("piece", ["partial", "raw", "raw_records"])
    def test_nor_those_in_pieces_of_a_log_that_has_some(self, format: str, piece: str) -> None:
        whole = build_set([{"magic": 2, "records": [{"value": scram()}, {"value": SECRET}]}], record_format, "")
        broken = whole[:60] + b"\x7f" + whole[61:]
        entry = {
            "partial": {"partial": whole[:-3]},
            "raw": {"raw": b"\xff" * 30 + SECRET},
            "raw_records": {"raw": broken},
        }
        exchange = fetched_entries("__cluster_metadata", entry[piece])
        assert SECRET[:8].hex() in shown(exchange, "hex", OPEN).replace(" ", "")
        text = shown(exchange, format)
        assert "hunter2" not in text
        assert b"hunt".hex() not in text.replace(" ", "")
        assert base64.b64encode(b"hunter2:" * 3)[4:14].decode() not in text

    def test_nor_the_compressed_form_of_those(self) -> None:
        exchange = fetched("__cluster_metadata", {"value": scram()}, attributes=1)
        assert "records[0].compressed_records" in shown(exchange, "hex")
        batch = json.loads(shown(exchange, "json"))["response"]["body"]["responses"][0]["partitions"][0]["records"][0]
        assert batch["compressed_records"].keys() == {"redacted", "hidden"}
        data = exchange.response.message().body["responses"][0]["partitions"][0]["records"][0]["compressed_records"]  # type: ignore
        assert data[:8].hex(" ") not in shown(exchange, "hex")
        assert data[:8].hex(" ") in shown(exchange, "hex", OPEN)

    def test_what_holds_none_keeps_its_compressed_form(self) -> None:
        exchange = fetched("__consumer_offsets", {"key": OFFSET_KEY, "value": None}, attributes=1)
        batch = json.loads(shown(exchange, "json"))["response"]["body"]["responses"][0]["partitions"][0]["records"][0]
        assert batch["compressed_records"].keys() == {"base64"}

    def test_the_rest_of_it_is_shown(self) -> None:
        exchange = fetched("__cluster_metadata", {"value": scram()})
        assert '├── name  "alice"' in shown(exchange, "tree")
        assert "├── salt  <32 bytes redacted>" in shown(exchange, "tree")
        (record,) = _records(shown(exchange, "json"))
        assert record["value"]["hidden"] == len(scram())
        assert record["value"]["value"]["salt"] == {"redacted": 32, "hidden": 32}
        assert "base64" not in record["value"]

    def test_all_of_it_where_it_is_wanted(self) -> None:
        exchange = fetched("__cluster_metadata", {"value": scram()})
        (record,) = _records(shown(exchange, "json", OPEN))
        assert record["value"]["base64"] == base64.b64encode(scram()).decode()
        assert record["value"]["value"]["salt"] == {"base64": base64.b64encode(SECRET).decode()}

    def test_what_cannot_be_read_is_hidden_whole(self) -> None:
        exchange = fetched("__cluster_metadata", {"value": scram()[:-3]})
        (record,) = _records(shown(exchange, "json"))
        assert record["value"] == {"redacted": len(scram()) - 3, "hidden": len(scram()) - 3}
        assert f"└── value  <{len(scram()) - 3} bytes redacted>" in shown(exchange, "tree")
        (record,) = _records(shown(exchange, "json", OPEN))
        assert record["value"] == {"base64": base64.b64encode(scram()[:-3]).decode()} or isinstance(
            record["value"], str
        )

    def test_a_record_without_any_is_as_it_is(self) -> None:
        value = {"frame_version": 1, "api_key": 2, "version": 0, "name": "new", "topic_id": ORDERS}
        data = build(payload("TopicRecord").framed(0), value)
        (record,) = _records(shown(fetched("__cluster_metadata", {"value": data}), "json"))
        assert record["value"]["base64"] == base64.b64encode(data).decode()

    def test_a_request_that_is_forwarded_hides_its_own(self) -> None:
        upsertion = {"name": "alice", "mechanism": 1, "salt": SECRET, "salted_password": SECRET}
        inner = request(9, "AlterUserScramCredentials", 0, upsertions=[upsertion])[4:]
        book = Playbook() >> request(5, 58, 0, request_data=inner)
        book.close()
        for format in VIEWS:
            text = shown(book.exchanges[0], format)
            assert SECRET.hex() not in text.replace(" ", "")
            assert SECRET[:8].decode() not in text
        assert '"alice"' in shown(book.exchanges[0], "tree")


def _records(line: str) -> Any:
    return json.loads(line)["response"]["body"]["responses"][0]["partitions"][0]["records"][0]["records"]


def test_long_payloads_are_shortened_on_a_terminal() -> None:
    topics = [{"topic": f"topic-{number}", "partitions": [0]} for number in range(500)]
    data = build(payload("ConsumerProtocolAssignment").framed(0), {"version": 0, "assigned_partitions": topics})
    book = Playbook() >> request(5, "SyncGroup", 5) << response(5, "SyncGroup", 5, assignment=data)
    book.close()
    text = shown(book.exchanges[0], "tree", Look(width=80, full=False))
    assert " more" in text
    assert len(text.splitlines()) < 200
    assert "topic-499" in shown(book.exchanges[0], "tree")


def test_python_gets_bytes_as_ever() -> None:
    message = synced().messages()[1]
    assert message.body["assignment"] == ASSIGNMENT
    again = kdbg.encode(message.body, api="SyncGroup", version=5, direction="response")
    assert again == synced().response.data[5:]  # type: ignore[union-attr]
