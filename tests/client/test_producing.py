"""Record sets to produce: the format that a version carries, and what cannot be carried."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.errors import InputError
from kdbg.live.client.forms import CODECS, FORMS, carried_by
from kdbg.protocol import grammars

from ..cases import for_each

PRODUCE = grammars.api("produce")


def produced(version: int, **options: Any) -> list[dict[str, Any]]:
    """The record set, built into a Produce request and read back."""
    body = FORMS["Produce"](version, topic="t", **options)
    body["topic_data"][0].pop("name") if version >= 13 else None
    data = kdbg.encode(body, api="produce", version=version, direction="request")
    read = kdbg.decode(data, api="produce", version=version, direction="request", header=False)
    assert not read.findings
    records: list[dict[str, Any]] = read.body["topic_data"][0]["partition_data"][0]["records"]
    return records


@for_each("version", PRODUCE.versions)
@for_each("codec", CODECS)
def test_every_codec_in_every_version(version: int, codec: str) -> None:
    entries = produced(version, value=(b"a", b"b" * 1000, None), key=b"k", timestamp=7, compression=codec)
    magic = 0 if version < 2 else 1 if version == 2 else 2
    assert {entry["magic"] for entry in entries} == {magic}
    assert {entry["attributes"] & 7 for entry in entries} == {CODECS.index(codec)}
    inner = [record for entry in entries for record in entry.get("records", [entry])]
    assert [record["value"] for record in inner] == [b"a", b"b" * 1000, None]
    assert {record["key"] for record in inner} == {b"k"}
    assert [record["offset"] for record in inner] == [0, 1, 2]
    assert {record.get("timestamp") for record in inner} == {7 if magic else None}


def test_headers_go_with_batches_alone() -> None:
    (batch,) = produced(3, value=(b"v",), header=(("a", "1"), ("b", None)))
    assert batch["records"][0]["headers"] == [{"key": "a", "value": b"1"}, {"key": "b", "value": None}]
    with pytest.raises(InputError, match="record headers require record format v2"):
        FORMS["Produce"](2, topic="t", value=(b"v",), header=(("a", "1"),))


@pytest.mark.parametrize(("name", "magic"), [("v0", 0), ("v1", 1), ("v2", 2)])
def test_a_format_that_is_asked_for_goes_into_any_version(name: str, magic: int) -> None:
    """To see what a broker thinks of it."""
    for version in (0, 2, 9):
        assert produced(version, value=(b"v",), record_format=name)[0]["magic"] == magic


@for_each(
    ("options", "versions"),
    [
        ({}, range(14)),
        ({"record_format": "v0"}, range(2)),
        ({"record_format": "v1"}, range(2, 3)),
        ({"record_format": "v2"}, range(3, 14)),
        ({"header": (("a", "b"),)}, range(3, 14)),
        ({"compression": "lz4"}, range(14)),
        ({"compression": "zstd"}, range(7, 14)),
    ],
)
def test_versions_that_carry_the_records(options: dict[str, Any], versions: range) -> None:
    assert carried_by(range(14), **options) == versions


@pytest.mark.parametrize("options", [{"compression": "zstd"}, {"header": (("a", "b"),)}])
def test_what_an_old_format_cannot_carry_is_refused(options: dict[str, Any]) -> None:
    for old in ("v0", "v1"):
        with pytest.raises(InputError, match=f"format {old} does not support"):
            carried_by(range(14), record_format=old, **options)
