"""The explained hexdump: every byte named, breaks under a caret, secrets hidden, nothing wider than it must be."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import kdbg
from kdbg.protocol import grammars
from kdbg.views.render.hex.hexdump import hexdump, plain_hexdump, shortened, size_finding
from kdbg.views.render.hex.view import HexView
from kdbg.views.render.style import Look

from ..cases import for_each

METADATA = bytes.fromhex("0003 0001 00000002 0004 6b646267 00000001 0003 666f6f")
WHOLE = """\
0000  00 00 00 17              size            23            INT32
0004  00 03                    api_key         3 = Metadata  INT16
0006  00 01                    api_version     1             INT16
0008  00 00 00 02              correlation_id  2             INT32
000c  00 04 6b 64 62 67        client_id       "kdbg"        NULLABLE_STRING
0012  00 00 00 01              topics          1 element     NULLABLE_ARRAY
0016  00 03 66 6f 6f           topics[0].name  "foo"         STRING"""
CUT = """\
0000  00 00 00 17              size            23               INT32
      ^ the size field declares 23 bytes, but 22 follow: 1 byte is missing
0004  00 03                    api_key         3 = Metadata     INT16
0006  00 01                    api_version     1                INT16
0008  00 00 00 02              correlation_id  2                INT32
000c  00 04 6b 64 62 67        client_id       "kdbg"           NULLABLE_STRING
0012  00 00 00 01              topics          1 element        NULLABLE_ARRAY
0016  00 03 66 6f              topics[0].name  4 bytes, unread  STRING
                  ^ topics[0].name: STRING needs 3 bytes, only 2 left
      the 6 fields above decoded correctly"""
PIPE, TERMINAL = Look("", 80, True), Look("", 80, False)


def dump(data: bytes, api: str = "metadata", version: int = 1, direction: str = "request", look: Look = PIPE,
         size: int | None = None, header: bool = True) -> list[str]:  # fmt: skip
    found = grammars.api(api)
    return hexdump(data, found, version, direction, look, {}, size=size, header=header)  # type: ignore[arg-type]


def sasl(password: bytes = b"\0alice\0s3cret") -> bytes:
    return kdbg.encode({"auth_bytes": password}, api="sasl-authenticate", version=0, direction="request",
                       header={"correlation_id": 1, "client_id": "c"})  # fmt: skip


def produce(codec: int, value: bytes = b"v" * 20) -> bytes:
    batch = {"magic": 2, "attributes": codec, "records": [{"key": None, "value": value}]}
    topic = {"name": "orders", "partition_data": [{"index": 0, "records": [batch]}]}
    body = {"acks": 1, "timeout_ms": 1000, "topic_data": [topic]}
    return kdbg.encode(body, api="produce", version=3, direction="request")


def test_every_byte_stands_on_a_line_with_its_field() -> None:
    assert "\n".join(dump(METADATA, size=23)) == WHOLE


def test_a_broken_message_shows_the_fields_before_the_break_and_a_caret() -> None:
    assert "\n".join(dump(METADATA[:-1], size=23)) == CUT


def test_the_caret_stands_under_the_byte_that_cannot_be() -> None:
    data = METADATA[:14] + b"\xff\xff\xff\xf0" + METADATA[18:]
    lines = dump(data)
    index = next(i for i, line in enumerate(lines) if "^" in line)
    assert lines[index - 1].startswith("000e  ff ff ff f0 00 03 66 6f")
    assert lines[index].index("^") == lines[index - 1].index("ff ff ff f0")
    assert "topics" in lines[index]


def test_the_caret_stands_under_the_very_first_byte() -> None:
    lines = dump(b"\xff\xfe\0\0", "heartbeat", 0, header=False)
    caret = next(n for n, line in enumerate(lines) if "^" in line)
    assert lines[caret].startswith("      ^ ")
    assert lines[caret - 1].startswith("0000  ff fe")
    assert not any("sound" in line for line in lines), "no field stands above it"


def test_the_caret_of_an_empty_rest_stands_behind_the_last_byte() -> None:
    assert dump(METADATA[:4])[-2:] == [
        "            ^ correlation_id: INT32 needs 4 bytes, only 0 left",
        "      the 2 fields above decoded correctly",
    ]
    assert dump(METADATA[:2])[-1] == "      the 1 field above decoded correctly"


@for_each("cut", range(len(METADATA)))
def test_every_byte_of_a_message_is_shown_wherever_it_is_cut(cut: int) -> None:
    lines = dump(METADATA[:cut])
    shown = b"".join(bytes.fromhex(line[6:29]) for line in lines if re.match("[0-9a-f]{4}  ", line))
    assert shown == METADATA[:cut]


@pytest.mark.parametrize("look", [PIPE, TERMINAL, Look("", 140, False)])
def test_a_secret_is_hidden_with_its_length_and_its_text(look: Look) -> None:
    text = "\n".join(dump(sasl(), "sasl-authenticate", 0, look=look))
    assert "<7 bytes redacted>" in text
    assert "** ** **" in text
    for part in ("s3cret", b"s3cret".hex(" "), b"s3".hex(" ")):
        assert part not in text


@pytest.mark.parametrize("damage", [lambda data: data[:-3], lambda data: data + b"s3cret!", lambda data: data[:-1]])
def test_a_secret_stays_hidden_where_the_message_breaks(damage: object) -> None:
    text = "\n".join(dump(damage(sasl()), "sasl-authenticate", 0))  # type: ignore[operator]
    assert "s3" not in text
    assert b"s3".hex(" ") not in text
    assert "^" in text


def test_a_secret_is_shown_when_that_is_wanted() -> None:
    text = "\n".join(dump(sasl(), "sasl-authenticate", 0, look=Look("", 80, True, True)))
    assert b"alice".hex(" ")[:8] in text


def test_long_fields_are_cut_on_a_terminal_and_whole_in_a_pipe() -> None:
    data = produce(0, b"v" * 1000)
    lines = dump(data, "produce", 3, look=TERMINAL, header=False)
    assert "      … 946 more bytes" in lines
    assert len(lines) < 40
    assert "more byte" not in "\n".join(dump(data, "produce", 3, header=False))


@for_each("width", [64, 80, 100, 110, 129, 130, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    for codec in (0, 1):
        lines = dump(produce(codec, b"x" * 300), "produce", 3, look=Look("", width, False), header=False)
        assert max(map(len, lines)) <= width, max(lines, key=len)


def test_a_wide_terminal_has_sixteen_bytes_a_line_and_their_text() -> None:
    assert dump(METADATA, look=Look("", 140, False))[3] == (
        '0008  00 04 6b 64 62 67                                ..kdbg            client_id       "kdbg"        '
        "NULLABLE_STRING"
    )
    assert "STRING: length 3, then the bytes" in dump(METADATA, look=Look("", 140, False))[5]


@pytest.mark.parametrize(
    ("width", "per_line", "text"), [(109, 8, False), (110, 16, False), (129, 16, False), (130, 16, True)]
)
def test_how_many_bytes_a_line_has_and_whether_as_text_too(width: int, per_line: int, text: bool) -> None:
    look = Look("", width, False)
    lines = "\n".join(dump(produce(0, b"x" * 64), "produce", 3, look=look, header=False))
    assert " ".join(["78"] * per_line) in lines
    assert " ".join(["78"] * (per_line + 1)) not in lines
    assert ("..kdbg" in "\n".join(dump(METADATA, look=look))) is text


def test_decompressed_bytes_stand_under_a_heading_of_their_own() -> None:
    lines = dump(produce(1), "produce", 3, header=False)
    index = next(i for i, line in enumerate(lines) if line.endswith("decompressed: 27 bytes"))
    assert lines[index - 1] == ""
    assert lines[index + 1].startswith("0000  ")
    assert any('"vvvvvvvvvvvvvvvvvvvv"' in line for line in lines[index:])


def test_what_is_odd_but_readable_stands_below_its_bytes() -> None:
    data = produce(0)
    at = data.index(b"v" * 20)
    lines = dump(data[:at] + b"w" + data[at + 1 :], "produce", 3, header=False)
    index = next(i for i, line in enumerate(lines) if "^" in line)
    assert ".crc " in lines[index - 1]
    assert "CRC-32C" in lines[index] + lines[index + 1]


def test_places_in_what_is_said_are_those_of_the_dump() -> None:
    data = produce(0)
    at = data.index(b"v" * 20) - 1
    lines = dump(data[:at] + b"\x7f" + data[at + 1 :], "produce", 3, header=False)
    index = next(i for i, line in enumerate(lines) if line.startswith(f"{at:04x}  7f 76"))
    assert lines[index + 1] == "      ^"
    assert "NULLABLE_VARINT_BYTES has the invalid length -64" in " ".join(lines[index + 2 : index + 4])
    assert "at byte" not in "\n".join(lines)


def test_empty_arrays_and_single_bytes_are_said_in_good_english() -> None:
    lines = dump(bytes.fromhex("00000000 01 00 00 00 01 00"), "metadata", 9, header=False)
    text = "\n".join(lines)
    assert "1 bytes" not in text
    data = kdbg.encode({"topics": []}, api="metadata", version=1, direction="request")
    assert "empty" in dump(data, header=False)[0]


def test_names_and_values_are_escaped() -> None:
    body = {"topics": [{"name": "\x1b[2Jevil\u202e\\"}]}
    data = kdbg.encode(body, api="metadata", version=1, direction="request")
    text = "\n".join(dump(data, header=False))
    assert "\x1b" not in text
    assert '"\\x1b[2Jevil\\u202e\\\\"' in text


def test_without_an_api_only_the_correlation_id_is_shown() -> None:
    lines = hexdump(b"\0\0\0\x07s3cret", None, 0, "response", PIPE, {}, size=10)
    assert lines[1].startswith("0004  00 00 00 07              correlation_id  7")
    assert "<6 bytes redacted>" in lines[2]


def test_colour_adds_nothing_but_escape_sequences() -> None:
    plain, coloured = dump(METADATA[:-1], size=23), dump(METADATA[:-1], size=23, look=Look("TRUECOLOR", 80, True))
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line).rstrip() for line in coloured] == plain
    assert all("\x1b" in line for line in coloured)


@pytest.mark.parametrize(
    ("size", "length", "text"),
    [
        (23, 22, "the size field declares 23 bytes, but 22 follow: 1 byte is missing"),
        (23, 1, "the size field declares 23 bytes, but 1 follows: 22 bytes are missing"),
        (1, 3, "the size field declares 1 byte, but 3 follow: 2 too many"),
    ],
)
def test_a_size_that_disagrees_is_said(size: int, length: int, text: str) -> None:
    found = size_finding(size, length)
    assert found is not None
    assert found.text == text
    assert size_finding(size, size) is None


def test_bytes_of_nothing_known_are_a_classic_dump() -> None:
    assert plain_hexdump(bytes(range(60, 78)), PIPE, 0x20) == [
        "0020  3c 3d 3e 3f 40 41 42 43 44 45 46 47 48 49 4a 4b  <=>?@ABCDEFGHIJK",
        "0030  4c 4d                                            LM",
    ]
    assert plain_hexdump(bytes(1000), TERMINAL)[-1] == "      … 488 more bytes"
    assert plain_hexdump(bytes(513), TERMINAL)[-1] == "      … 1 more byte"
    assert plain_hexdump(bytes(512), TERMINAL)[-1].startswith("01f0  00")


def test_the_hex_view_of_captures_explains_every_exchange() -> None:
    capture, view = Path(__file__).parents[2] / "captures/first-contact.pcap", HexView(PIPE, {})
    texts = [view(exchange).decode() for exchange in kdbg.read(capture)]
    assert texts
    assert all("api_version" in text for text in texts if "request  not in the capture" not in text)


@pytest.mark.parametrize(
    ("room", "shown"),
    [
        (99, "responses[0].partitions[12].error_code"), (18, "[0][12].error_code"), (17, "[0][12]…rror_code"),
        (11, "[0][12]…ode"), (10, "…rror_code"),
    ],
)  # fmt: skip
def test_a_path_keeps_its_indices_where_there_is_little_room(room: int, shown: str) -> None:
    assert shortened("responses[0].partitions[12].error_code", room) == shown
    assert len(shown) <= room
    assert shortened("some_long_name", 10) == "…long_name"
    assert shortened("topics[3].isr_nodes[2]", 16) == "[3].isr_nodes[2]"


def test_on_80_columns_every_name_says_which_item_it_is_of() -> None:
    topics = [{"name": "t", "partitions": [{"partition_index": i, "leader_id": 1} for i in range(3)]} for _ in range(2)]
    data = kdbg.encode({"topics": topics}, api="Metadata", version=1, direction="response")
    look = Look("", 80, full=False)
    lines = hexdump(data, grammars.api("Metadata"), 1, "response", look, {}, header=False, text=True)
    for i in range(2):
        for j in range(3):
            assert len([line for line in lines if f"[{i}][{j}]" in line]) == 5
