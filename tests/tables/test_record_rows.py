"""Rows of records: what stands in them of each kind of entry, and what of keys and values only if it is asked for."""

from __future__ import annotations

from typing import Any

from kdbg.protocol.wire.language.payload import OpenedPayload, Sealed
from kdbg.protocol.wire.nodes import WireStruct
from kdbg.views.tables.columns import TABLES, WHAT, WHO
from kdbg.views.tables.message_columns import record_rows

from ..cases import for_each

COLUMNS = list(TABLES["records"])[len(WHO | WHAT) :]
COLUMNS = COLUMNS[COLUMNS.index("offset") :]
NOTHING = WireStruct((), None)


def rows(*entries: dict[str, Any], values: bool = True, secrets: bool = False) -> Any:
    found = record_rows(list(entries), set(), "records", values=values, secrets=secrets)
    return [dict(zip(COLUMNS, row, strict=False)) for row in found]


def record(offset: int, key: bytes | None = b"k", value: bytes | None = b"v") -> dict[str, Any]:
    return {"offset": offset, "timestamp": 5, "key": key, "value": value, "headers": []}


def batch(*records: dict[str, Any], **fields: Any) -> dict[str, Any]:
    plain = {"magic": 2, "base_offset": 7, "attributes": 0, "producer_id": 4, "producer_epoch": 1, "base_sequence": 0}
    return plain | fields | {"records": list(records)}


def column(found: Any, *names: str) -> list[list[Any]]:
    return [[row[name] for name in names] for row in found]


@for_each(
    ("data", "secrets", "seen"),
    [
        (b"plain", False, b"plain"),
        (Sealed(b"sealed"), False, None),
        (Sealed(b"sealed"), True, b"sealed"),
        (OpenedPayload.of(b"open", "X", NOTHING, {}, secret=False), False, b"open"),
        (OpenedPayload.of(b"secret", "X", NOTHING, {}, secret=True), False, None),
        (OpenedPayload.of(b"secret", "X", NOTHING, {}, secret=True), True, b"secret"),
    ],
)
def test_what_may_hold_a_secret_is_there_only_if_it_is_asked_for(data: bytes, secrets: bool, seen: Any) -> None:
    found = rows(batch(record(7, data, data)), secrets=secrets)
    assert column(found, "key", "value", "key_size", "value_size") == [[seen, seen, len(data), len(data)]]
    (row,) = rows(batch(record(7, data, data)), values=False, secrets=secrets)
    assert (row["key"], row["value"], row["key_size"]) == (None, None, len(data))


def test_sequences_count_from_the_batchs_first_and_wrap() -> None:
    batches = batch(record(7), record(9), base_sequence=0), batch(record(7), record(8), base_sequence=2**31 - 1)
    assert column(rows(*batches), "sequence") == [[0], [2], [2**31 - 1], [0]]
    assert column(rows(batch(record(7), base_sequence=-1, producer_id=-1)), "sequence", "producer_id") == [[None, None]]


def test_messages_of_old_formats_are_records_and_so_are_those_inside_them() -> None:
    plain = {"magic": 1, "attributes": 0, **record(3)}
    inside = {"magic": 1, "attributes": 1, "offset": 5, "records": [
        {"magic": 1, "attributes": 0, **record(4)}, {"magic": 1, "attributes": 0, **record(5)}, {"partial": b"x"},
    ]}  # fmt: skip
    assert column(rows(plain, inside, {"partial": b"cut"}), "offset", "codec") == [
        [3, "none"], [4, "gzip"], [5, "gzip"],
    ]  # fmt: skip
    assert rows(batch(record(7), {"partial": b"x"}))[0]["offset"] == 7
    assert len(rows(batch(record(7), {"partial": b"x"}))) == 1


def test_a_batch_of_no_records_has_no_row() -> None:
    assert rows(batch()) == []
    assert rows({"magic": 2, "attributes": 0}) == []
