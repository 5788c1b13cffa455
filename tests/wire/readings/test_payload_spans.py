"""The spans of payloads: their fields in place of the bytes that hold them, in message and decompressed bytes alike."""

from __future__ import annotations

from kdbg.protocol.grammars.records import Records
from kdbg.protocol.wire import Bytes, Int8, Int16, String
from kdbg.protocol.wire.language.payload import OpenedPayload
from kdbg.protocol.wire.language.types import Array, At, Secret, Struct
from kdbg.protocol.wire.nodes import WireStruct, build
from kdbg.protocol.wire.readings.annotate import Inspection, Span, inspect
from kdbg.protocol.wire.readings.payload_spans import lay_open

Row = tuple[str, str, str, int]


def grammar(*fields: object) -> WireStruct:
    return Struct(*fields).structure(At(0, False))  # type: ignore[arg-type]


LAMP = grammar("watts" / Int8, "maker" / String)
HOUSE = grammar("before" / Int16, "lamp" / Bytes, "lamps" / Bytes, "rest" / String)
STORED = grammar("sets" / Records)


def opened(node: WireStruct, data: bytes) -> OpenedPayload:
    return OpenedPayload.of(data, "Lamp", node, inspect(node, data).value, secret=False)


def house(lamp: bytes, lamps: bytes = b"") -> Inspection:
    return inspect(HOUSE, build(HOUSE, {"before": 1, "lamp": lamp, "lamps": lamps, "rest": "r"}))


def rows(inspection: Inspection) -> list[Row]:
    """(path, bytes, role, buffer) of every span, which tile their buffers."""
    ends = [0] * len(inspection.buffers)
    for span in inspection.spans:
        assert span.start == ends[span.buffer], span
        ends[span.buffer] = span.end
    assert ends == [len(buffer.data) for buffer in inspection.buffers]
    return [(span.path, held(inspection, span), span.role, span.buffer) for span in inspection.spans]


def held(inspection: Inspection, span: Span) -> str:
    return inspection.buffers[span.buffer].data[span.start : span.end].hex()


def test_in_place_of_an_opened_field_stand_its_length_and_its_own_fields() -> None:
    inspection = house(b"\x07\0\1m")
    assert lay_open(inspection, {"lamp": opened(LAMP, b"\x07\0\1m")}, set()) == {"lamp": 6}
    assert rows(inspection) == [
        ("before", "0001", "value", 0), ("lamp", "00000004", "size", 0), ("lamp.watts", "07", "value", 0),
        ("lamp.maker", "00016d", "value", 0), ("lamps", "00000000", "value", 0), ("rest", "000172", "value", 0),
    ]  # fmt: skip


def test_bytes_that_did_not_open_keep_their_span_and_tell_their_place() -> None:
    inspection = house(b"xy")
    before = inspection.spans
    assert lay_open(inspection, {"lamp": b"xy"}, set()) == {"lamp": 6}
    assert inspection.spans == before


def test_a_payload_inside_a_payload_is_laid_open_too() -> None:
    outer = build(HOUSE, {"before": 2, "lamp": b"\x07\0\1m", "lamps": b"", "rest": ""})
    inspection = house(b"", outer)
    payloads = {"lamps": opened(HOUSE, outer), "lamps.lamp": opened(LAMP, b"\x07\0\1m")}
    assert lay_open(inspection, payloads, set()) == {"lamps": 10, "lamps.lamp": 16}
    assert ("lamps.lamp.watts", "07", "value", 0) in rows(inspection)


def test_what_a_payload_decompresses_are_buffers_of_the_message() -> None:
    def stored(value: bytes) -> bytes:
        return build(STORED, {"sets": [{"attributes": 1, "records": [{"value": value}]}]})

    first, second = stored(b"one"), stored(b"two")
    inspection = house(first, second)
    lay_open(inspection, {"lamp": opened(STORED, first), "lamps": opened(STORED, second)}, set())
    assert [buffer.name for buffer in inspection.buffers] == ["", "lamp.sets[0].records", "lamps.sets[0].records"]
    values = [row for row in rows(inspection) if row[0].endswith("records[0].value")]
    assert values == [
        ("lamp.sets[0].records[0].value", "06" + b"one".hex(), "value", 1),
        ("lamps.sets[0].records[0].value", "06" + b"two".hex(), "value", 2),
    ]


def test_a_payload_in_decompressed_bytes_has_no_place_in_the_message() -> None:
    data = build(STORED, {"sets": [{"attributes": 1, "records": [{"value": b"\x07\0\1m"}]}]})
    inspection = inspect(STORED, data)
    path = "sets[0].records[0].value"
    assert lay_open(inspection, {path: opened(LAMP, b"\x07\0\1m")}, set()) == {path: None}
    assert [row for row in rows(inspection) if row[0].startswith(path)] == [
        (path, "08", "size", 1), (f"{path}.watts", "07", "value", 1), (f"{path}.maker", "00016d", "value", 1),
    ]  # fmt: skip


def test_bytes_and_texts_below_a_sealed_path_become_secret_and_no_others() -> None:
    node = grammar("lamps" / Array("watts" / Int8, "maker" / String), "lampshade" / String, "raw" / Bytes)
    body = {"lamps": [{"watts": 7, "maker": "m"}], "lampshade": "s", "raw": b"xy"}
    inspection = inspect(node, build(node, body))
    lay_open(inspection, {}, {"lamps"})
    assert [span.path for span in inspection.spans if span.secret] == ["lamps[0].maker"]
    lay_open(inspection, {}, {"raw"})
    assert [span.path for span in inspection.spans if span.secret] == ["lamps[0].maker", "raw"]


def test_bytes_that_no_field_claims_become_secret_below_a_sealed_path() -> None:
    inspection = inspect(STORED, build(STORED, {"sets": [{"raw": b"s3cret"}]}))
    lay_open(inspection, {}, {"sets"})
    assert [(span.path, span.role) for span in inspection.spans if span.secret] == [("sets[0]", "raw")]


def test_what_a_payload_that_may_hold_secrets_cannot_read_is_secret() -> None:
    def secret(*fields: object) -> list[bool]:
        node = grammar(*fields)
        data = build(node, {"name": "n", "password": "p"})[:-1]
        inspection = house(data)
        lay_open(inspection, {"lamp": opened(node, data)}, set())
        return [span.secret for span in inspection.spans if span.path.startswith("lamp.")]

    assert secret("name" / String, "password" / Secret(String)) == [True, True]
    assert secret("name" / String, "password" / String) == [False, False]
