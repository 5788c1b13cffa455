"""Record sets that people wrote or changed: what is left out is filled in, what cannot be written is named."""

from __future__ import annotations

import zlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kdbg
from kdbg.errors import BuildError, WireError
from kdbg.protocol.wire.records.compression import compress

from ...cases import for_each
from .recordsets import (
    GZIP,
    KEY_AND_VALUE,
    LZ4,
    SNAPPY,
    TWO_RECORDS,
    ZSTD,
    explained,
    new_batch,
    old_message,
    packed,
    parsed,
)


class TestUserMade:
    """Bodies written by people: almost everything may be left out."""

    def encoded(self, records: Any, version: int = 3) -> bytes:
        body = {"acks": 1, "timeout_ms": 1, "topic_data": [{"name": "t", "partition_data": [{"records": records}]}]}
        return kdbg.encode(body, api="Produce", version=version, direction="request")

    def decoded(self, records: Any, version: int = 3) -> Any:
        data = self.encoded(records, version)
        message = kdbg.decode(data, api="Produce", version=version, direction="request", header=False)
        assert message.findings == ()
        assert kdbg.encode(message.body, api="Produce", version=version, direction="request") == data
        return message.body["topic_data"][0]["partition_data"][0]["records"]

    def test_a_value_is_enough(self) -> None:
        (batch,) = self.decoded([{"records": [{"value": "v"}]}])
        assert batch["records"] == [
            {"offset": 0, "timestamp": -1, "attributes": 0, "key": None, "value": b"v", "headers": []}
        ]
        assert (batch["producer_id"], batch["base_sequence"], batch["records_count"]) == (-1, -1, 1)
        assert batch["last_offset_delta"] == 0

    def test_nothing_is_enough(self) -> None:
        (batch,) = self.decoded([{"records": []}])
        assert (batch["records"], batch["records_count"]) == ([], 0)
        assert self.decoded([]) == []
        assert self.decoded(None) is None

    def test_offsets_and_times_are_filled_in(self) -> None:
        (batch,) = self.decoded([{"records": [{"timestamp": 1000}, {"timestamp": 900}, {"timestamp": 1200}]}])
        assert (batch["base_timestamp"], batch["max_timestamp"], batch["last_offset_delta"]) == (1000, 1200, 2)
        assert [record["offset"] for record in batch["records"]] == [0, 1, 2]
        assert [record["timestamp"] for record in batch["records"]] == [1000, 900, 1200]

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_a_codec_in_the_attributes_compresses(self, codec: int) -> None:
        (batch,) = self.decoded([{"attributes": codec, "records": [{"value": "v" * 999}]}])
        assert batch["records"][0]["value"] == b"v" * 999
        assert len(batch["compressed_records"]) < 200

    def test_base64_is_taken(self) -> None:
        headers = [{"key": "h", "value": {"base64": "AP8="}}]
        (batch,) = self.decoded([{"records": [{"key": {"base64": "AP8="}, "headers": headers}]}])
        assert batch["records"][0]["key"] == batch["records"][0]["headers"][0]["value"] == b"\x00\xff"

    @pytest.mark.parametrize("magic", [0, 1])
    def test_messages_of_old(self, magic: int) -> None:
        (message,) = self.decoded([{"magic": magic, "value": "v"}], version=0)
        assert (message["offset"], message["key"], message["value"]) == (0, None, b"v")
        assert message.get("timestamp", -1) == -1

    @pytest.mark.parametrize("magic", [0, 1])
    def test_messages_inside_a_message_need_no_magic_and_no_offset(self, magic: int) -> None:
        inner = [{"value": "a"}, {"value": "b"}]
        (wrapper,) = self.decoded([{"magic": magic, "attributes": GZIP, "records": inner}], version=0)
        assert [message["value"] for message in wrapper["records"]] == [b"a", b"b"]
        assert [message["offset"] for message in wrapper["records"]] == [0, 1]
        assert {message["magic"] for message in wrapper["records"]} == {magic}

    def test_offsets_inside_a_message_may_be_absolute(self) -> None:
        inner = [{"value": "a", "offset": 7}, {"value": "b", "offset": 9}]
        (wrapper,) = self.decoded([{"magic": 1, "offset": 9, "attributes": GZIP, "records": inner}], version=0)
        assert [message["offset"] for message in wrapper["records"]] == [7, 9]

    def test_bytes_may_be_given_as_they_are(self) -> None:
        data = new_batch(TWO_RECORDS, 2)
        assert self.decoded(data) == parsed(data)
        with pytest.raises(WireError):
            kdbg.decode(self.encoded(b"junk"), api="Produce", version=3, direction="request", header=False)

    def test_a_wrong_checksum_is_written_as_given(self) -> None:
        data = self.encoded([{"crc": 5, "records": [{"value": "v"}]}])
        with pytest.raises(WireError) as caught:
            kdbg.decode(data, api="Produce", version=3, direction="request", header=False)
        assert caught.value.kind == "crc-mismatch"

    @for_each(
        ("records", "path"),
        [
            ([5], "[0]"), (["text"], "[0]"), ([{"records": 5}], "[0].records"), ([{"records": "ab"}], "[0].records"),
            ([{"records": [5]}], "[0].records[0]"), ([{"records": [{"vale": 1}]}], "[0].records[0].vale"),
            ([{"records": [{"value": 5}]}], "[0].records[0].value"), ([{"offset": 5}], "[0].offset"),
            ([{"records": [{"offset": "x"}]}], "[0].records[0].offset"),
            ([{"records": [{"offset": 2**40}]}], "[0].records[0].offset_delta"),
            ([{"records": [{"timestamp": "now"}]}], "[0].records[0].timestamp"),
            ([{"records": [{"headers": 5}]}], "[0].records[0].headers"),
            ([{"records": [{"headers": [{"key": 5}]}]}], "[0].records[0].headers[0].key"),
            ([{"attributes": "gzip", "records": []}], "[0].attributes"),
            ([{"attributes": 5, "records": []}], "[0].attributes"),
            ([{"attributes": 2**20, "records": []}], "[0].attributes"),
            ([{"base_offset": "x", "records": [{"value": "v"}]}], "[0].base_offset"),
            ([{"base_timestamp": None, "records": [{"timestamp": 1}]}], "[0].base_timestamp"),
            ([{"crc": "x", "records": []}], "[0].crc"), ([{"magic": 2, "nonsense": 1}], "[0].nonsense"),
            ([{"magic": 3, "records": []}], "[0].magic"), ([{"partial": 5}], "[0].partial"), ([{"raw": []}], "[0].raw"),
            ([{"magic": 1, "offset": "x"}], "[0].offset"), ([{"magic": 1, "offset": 2**70}], "[0].offset"),
            ([{"magic": 1, "crc": "x"}], "[0].crc"), ([{"magic": 0, "timestamp": 5}], "[0].timestamp"),
            ([{"magic": 1, "value": 5}], "[0].value"), ([{"magic": 1, "attributes": "x"}], "[0].attributes"),
            ([{"magic": 1, "attributes": 1, "records": 5}], "[0].records"),
            ([{"magic": 1, "attributes": 1, "records": [5]}], "[0].records[0]"),
            ([{"magic": 1, "attributes": 1, "records": [{"value": 5}]}], "[0].records[0].value"),
            ([{"magic": 1, "attributes": 1, "records": [{"offset": "x"}]}], "[0].records[0].offset"),
            ([{"magic": 1, "attributes": 0, "records": []}], "[0].attributes"),
            ([{"magic": 1, "attributes": 6, "records": []}], "[0].attributes"),
        ],
    )  # fmt: skip
    def test_what_cannot_be_written_is_named(self, records: Any, path: str) -> None:
        with pytest.raises(BuildError) as caught:
            self.encoded(records)
        assert caught.value.path == f"topic_data[0].partition_data[0].records{path}"


class TestEdited:
    """A decoded body that somebody changed: the compressed bytes are kept only while they still say the same."""

    @pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
    def test_changed_records_are_compressed_again(self, codec: int) -> None:
        (batch,) = parsed(new_batch(compress(codec, bytes.fromhex(TWO_RECORDS)).hex(), 2, attributes=codec))
        batch["records"][0]["value"] = b"changed"
        del batch["crc"]
        (again,) = parsed(packed([batch]))
        assert [record["value"] for record in again["records"]] == [b"changed", None]

    @pytest.mark.parametrize("magic", [0, 1])
    def test_changed_messages_are_compressed_again(self, magic: int) -> None:
        inner = [{"value": b"a", "offset": 7}, {"value": b"b", "offset": 9}]
        (wrapper,) = parsed(packed([{"magic": magic, "attributes": GZIP, "offset": 9, "records": inner}]))
        wrapper["records"][0]["value"] = b"changed"
        for message in (wrapper, wrapper["records"][0]):
            del message["crc"]
        (again,) = parsed(packed([wrapper]))
        assert [(m["offset"], m["value"]) for m in again["records"]] == [(7, b"changed"), (9, b"b")]

    def test_records_win_over_compressed_bytes_that_are_none(self) -> None:
        batch = {"attributes": GZIP, "compressed_records": b"junk", "records": [{"value": "v"}]}
        (again,) = parsed(packed([batch]))
        assert again["records"][0]["value"] == b"v"
        wrapper = {"magic": 1, "attributes": GZIP, "value": b"junk", "records": [{"value": "v"}]}
        (again,) = parsed(packed([wrapper]))
        assert again["records"][0]["value"] == b"v"

    def foreign(self, plain: bytes) -> bytes:
        """gzip's level 9 is not what kdbg writes, but it says the same."""
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        data = packer.compress(plain) + packer.flush()
        assert data != compress(GZIP, plain)
        return data

    def test_compressed_records_of_another_writer_are_kept(self) -> None:
        data = new_batch(self.foreign(bytes.fromhex(TWO_RECORDS)).hex(), 2, attributes=GZIP)
        assert packed(parsed(data)) == data

    @for_each("magic", [0, 1])
    @for_each(
        "inside",
        [
            old_message(0, 3, KEY_AND_VALUE) + old_message(1, 4, KEY_AND_VALUE),
            old_message(1, 3, KEY_AND_VALUE) + new_batch(TWO_RECORDS, 2),
            old_message(1, 3, KEY_AND_VALUE)[:-1] + b"?",  # its checksum is wrong
            old_message(0, 3, KEY_AND_VALUE)[:-1],
            b"no message",
        ],
        ids=["clean", "a batch", "checksum", "cut", "junk"],
    )
    def test_compressed_messages_of_another_writer_are_kept(self, inside: bytes, magic: int) -> None:
        value = self.foreign(inside)
        data = old_message(magic, 9, f"ffffffff {len(value):08x} {value.hex()}", attributes=GZIP)
        assert packed(explained(data).value) == data


RECORDS = st.lists(
    st.fixed_dictionaries(
        {
            "timestamp": st.integers(0, 2**41),
            "key": st.none() | st.binary(max_size=9),
            "value": st.none() | st.binary(max_size=200),
            "headers": st.lists(
                st.fixed_dictionaries({"key": st.text(max_size=5), "value": st.none() | st.binary(max_size=5)}),
                max_size=2,
            ),
        }
    ),
    max_size=5,
)


@given(RECORDS, st.sampled_from([0, GZIP, SNAPPY, LZ4, ZSTD]), st.integers(0, 2**60))
def test_any_records_come_back(records: list[Any], codec: int, offset: int) -> None:
    data = packed([{"attributes": codec, "base_offset": offset, "records": records}])
    (batch,) = parsed(data)
    expected = [{"attributes": 0, "offset": offset + i} | record for i, record in enumerate(records)]
    assert batch["records"] == expected
    assert packed([batch]) == data
