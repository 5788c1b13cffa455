"""Record sets in trees: batches, messages, wrappers, and what is neither."""

from __future__ import annotations

import zlib
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.message import read
from kdbg.protocol import grammars
from kdbg.views.render.style import Look
from kdbg.views.render.tree.tree import Tree

PIPE, TERMINAL = Look(), Look(width=80, full=False)


def draw(*entries: dict[str, Any] | bytes, version: int = 3, look: Look = PIPE) -> list[str]:
    """The lines of a record set, from its name on."""
    records = [{"raw": entry} if isinstance(entry, bytes) else entry for entry in entries]
    topics = [{"name": "t", "partition_data": [{"index": 0, "records": records}]}]
    data = kdbg.encode({"topic_data": topics}, api="Produce", version=version, direction="request")
    message = read(grammars.api("Produce"), version, "request", data, header=False)
    tree = Tree(look, {})
    tree.struct(message.grammar)(message.body, "", "")
    lines = tree.take().splitlines()
    start = next(number for number, line in enumerate(lines) if "records" in line)
    return [line[lines[start].index("└") + 4 :] if line[:1].isspace() else line for line in lines[start:]]


def batch(*records: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"magic": 2, "records": list(records)} | fields


class TestBatches:
    def test_a_record_line_by_line(self) -> None:
        record = {
            "timestamp": 1_700_000_000_000, "key": b"k1", "value": b'{"a": 1}',
            "headers": [{"key": "trace", "value": b"\xff\x00"}, {"key": "n", "value": None}],
        }  # fmt: skip
        lines = draw(batch(record, base_offset=40))
        assert lines[0] == "records  1 batch, 1 record"
        assert lines[1] == "└── [0]  batch"
        assert "├── base_offset  40" in lines[2]
        assert [line.strip() for line in lines[-5:]] == [
            "└── records  1",
            "└── [0]  offset 40  timestamp 1700000000000  2023-11-14 22:13:20.000 UTC",
            '├── key    "k1"',
            '├── value  "{"a": 1}"',
            '└── headers  "trace" = 2 bytes  ff 00, "n" = null',
        ]

    def test_keys_and_values_that_are_null_empty_or_no_text(self) -> None:
        lines = draw(batch({"key": None, "value": b""}, {"key": b"\xff", "value": None}))
        contents = [line.split("── ")[1] for line in lines if "key  " in line or "value  " in line]
        assert contents == ["key    null", 'value  ""', "key    1 byte  ff", "value  null"]

    @pytest.mark.parametrize(("codec", "name"), list(enumerate(["uncompressed", "gzip", "snappy", "lz4", "zstd"])))
    def test_compressed_batches_show_their_records_and_how_small_they_were(self, codec: int, name: str) -> None:
        lines = draw(batch(*[{"value": b"abc" * 50}] * 3, attributes=codec))
        assert any(line.endswith(f"attributes  {codec}  {name}, create time") for line in lines)
        assert sum("value  " in line for line in lines) == 3
        assert any("compressed_records  " in line for line in lines) is (codec > 0)

    def test_a_control_record(self) -> None:
        lines = draw(batch({"key": b"\0\0\0\1", "value": b"\0\0\0\0\0\0"}, attributes=0x30))
        assert any(line.strip().endswith("timestamp -1  control: COMMIT") for line in lines)

    def test_several_entries_are_counted_by_kind(self) -> None:
        assert (
            draw(batch({"value": b"x"}, {"value": b"y"}), batch({"value": b"z"}))[0] == "records  2 batches, 3 records"
        )
        assert draw(batch({"value": b"x"}), b"\xff" * 40)[0] == "records  1 batch, 1 piece, 1 record"
        assert draw()[0] in ("records  empty", "records  null")

    def test_many_records_are_shortened(self) -> None:
        lines = draw(batch(*[{"value": b"x"}] * 1500), look=TERMINAL)
        assert any(line.endswith("└── records  1,500") for line in lines)
        assert lines[-1].strip() == "└── … 1,488 more"

    def test_attributes_of_a_record_are_shown_where_there_are_any(self) -> None:
        assert any("timestamp -1  attributes 5" in line for line in draw(batch({"attributes": 5, "value": b"x"})))


class TestMessages:
    def test_a_message_of_magic_0_and_of_magic_1(self) -> None:
        assert draw({"magic": 0, "offset": 7, "key": b"k", "value": b"v"}, version=1) == [
            "records  1 message, 1 record",
            "└── [0]  message",
            "    ├── offset  7",
            "    ├── message_size  16",
            f"    ├── crc  0x{zlib.crc32(bytes.fromhex('0000 00000001 6b 00000001 76')):08x}",
            "    ├── magic  0",
            "    ├── attributes  0  uncompressed",
            '    ├── key    "k"',
            '    └── value  "v"',
        ]
        assert "    ├── timestamp  5  1970-01-01 00:00:00.005 UTC" in draw({"magic": 1, "timestamp": 5}, version=2)

    def test_a_wrapper_shows_the_messages_inside(self) -> None:
        inner = [{"magic": 1, "offset": number, "value": b"v" * 9} for number in (5, 6)]
        lines = draw({"magic": 1, "offset": 6, "attributes": 1, "records": inner}, version=2)
        at = next(number for number, line in enumerate(lines) if line.endswith("bytes compressed"))
        assert lines[at - 1] == "    ├── key    null"
        assert lines[at + 1] == "    └── records  2"
        assert [line.split()[-1] for line in lines if line.strip().startswith(("├── offset", "│   ├── offset"))] == [
            "6",
            "5",
            "6",
        ]
        assert lines[-1] == '            └── value  "vvvvvvvvv"'


class TestPieces:
    def test_bytes_that_are_no_entry(self) -> None:
        lines = draw(b"\xff" * 30)
        assert lines == [
            "records  1 piece, 0 records",
            "└── [0]  raw: bytes that are not an entry  30 bytes  " + "ff " * 29 + "ff",
        ]

    def test_an_entry_that_is_cut_off(self) -> None:
        partition = {"records": [batch({"value": b"x"}), {"partial": b"\0" * 9}]}
        body = {"responses": [{"topic": "t", "partitions": [partition]}]}
        data = kdbg.encode(body, api="Fetch", version=4, direction="response")
        message = read(grammars.api("Fetch"), 4, "response", data, header=False)
        assert message.findings == ()
        tree = Tree(PIPE, {})
        tree.struct(message.grammar)(message.body, "", "")
        text = tree.take()
        assert "records  1 batch, 1 piece, 1 record" in text
        assert "[1]  partial: the start of a truncated entry  9 bytes  00 00 00" in text

    def test_compressed_bytes_that_do_not_decompress_stay_as_they_are(self) -> None:
        lines = draw({"magic": 2, "attributes": 1, "records_count": 3, "compressed_records": b"no gzip"})
        assert lines[0] == "records  1 batch, 3 records"
        assert lines[-1] == "    └── compressed_records  7 bytes"
