"""Messages as they are shared, byte for byte: what of each becomes blank, and that all the rest stays."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.protocol.wire.records.compression import compress, decompress
from kdbg.protocol.wire.records.sets import crc32, crc32c
from kdbg.views.redact.fields import _json_blanked
from kdbg.views.redact.fill import Effort
from kdbg.views.redact.message import Redacted, redact, redacted_at_once, redacted_by_fields
from kdbg.views.redact.substitutes import Replaced, Substitutes

from ..cases import for_each
from ..cli.calls import SHIPPED
from ..traffic import Talk, framed, header_bytes, packed, pcap
from .leaks import batch, fetched, oauth, one_record, produced, sasl, scram, talk
from .shared import halves, messages, shared

CLIENT = (b"\x04kdbg", b"\x04xxxx")
HEADER = header_bytes("Heartbeat", 0, "request", {"correlation_id": 1, "client_id": "kdbg"})
GROUP = packed(b"group") + bytes(4)
FRONT = struct.pack(">qiib", 5, 100, 0, 2)
"""The beginning of a batch: offset, length, epoch, magic."""


class Case(NamedTuple):
    """A capture, and what in its messages is replaced by what, each where it stands first; all else stays."""

    capture: bytes
    pairs: tuple[tuple[bytes, bytes], ...]


def blank(text: bytes) -> tuple[bytes, bytes]:
    return text, b"x" * len(text)


def expected(case: Case) -> list[bytes]:
    """The messages of a capture with what is replaced in them."""
    found = []
    for data in messages(case.capture):
        for old, new in (CLIENT, *case.pairs):
            data = data.replace(old, new, 1)
        found.append(data)
    return found


def heartbeat(body: bytes, version: int = 0) -> bytes:
    return pcap(talk().ask_bytes("Heartbeat", version, body).answer().end())


def responded(body: bytes) -> bytes:
    return pcap(talk().ask("Heartbeat", 0).answer_bytes(body).end())


def cut(message: bytes, size: int) -> bytes:
    """A capture that ends so many bytes before the end of its only message."""
    return pcap(talk().send(framed(message)[:-size]).end())


def fields() -> Iterator[tuple[str, Case]]:
    yield "names", Case(heartbeat(GROUP + packed(b"member")), (blank(b"group"), blank(b"member")))
    tags = kdbg.encode({"group_id": "group"}, api="Heartbeat", version=4, direction="request")[:-1]
    yield "an unknown tag", Case(heartbeat(tags + b"\1\x63\4abcd", 4), (blank(b"group"), blank(b"abcd")))
    yield (
        "Kafka's words",
        Case(
            pcap(
                talk().ask(
                    "JoinGroup", 1, group_id="", member_id="", protocol_type="consumer",
                    protocols=[{"name": "range", "metadata": b""}, {"name": "ours", "metadata": b"userdata"}],
                ).answer(protocol_name="range", leader="ranger", member_id="sticky", members=[]).end()
            ),
            (blank(b"ours"), blank(b"userdata"), blank(b"ranger"), blank(b"sticky")),
        ),
    )  # fmt: skip
    configs = [{"name": "retention.ms", "value": "86400000"}, {"name": "Our Setting", "value": None}]
    altered = talk().ask(
        "AlterConfigs", 0, resources=[{"resource_type": 2, "resource_name": "orders", "configs": configs}]
    )
    secrets = blank(b"orders"), blank(b"86400000"), blank(b"Our Setting")
    yield "settings", Case(pcap(altered.answer(responses=[]).end()), secrets)
    software = talk().ask("ApiVersions", 3, client_software_name="librdkafka", client_software_version="2.1 of me")
    yield "software", Case(pcap(software.answer(api_keys=[]).end()), (blank(b"2.1 of me"),))
    yield "PLAIN", Case(sasl("PLAIN", (b"\0alice\0secret", b"")), (blank(b"alice"), blank(b"secret")))
    yield (
        "SCRAM",
        Case(
            scram(b"4096"),
            (blank(b"bob"), blank(b"abcdefghijklmnop"), blank(b"abcdefgh"), blank(b"c2FsdHNhbHQ=")),
        ),
    )
    token = blank(b"Bearer abcdef")
    error = {"status": "inv", "scope": "abc", "n": [1.5, -2, 3e-05, True, None], 'é"': "y", "openid-configuration": {}}
    yield (
        "JSON",
        Case(
            oauth(error),
            (
                token, (b'"inv"', b'"xxx"'), (b'"abc"', b'"xxx"'), (b'"n": [1.5, -2, 3e-05,', b'"x": [111, 11, 11111,'),
                blank(b'\\u00e9\\"'), (b'"y"', b'"x"'),
            ),
        ),
    )  # fmt: skip
    broken = sasl("OAUTHBEARER", (b"n,,\x01auth=Bearer abcdef\x01\x01", b'{"status":"ok"} what follows'))
    behind = (b'"ok"} what follows', b'"xx"} xxxxxxxxxxxx')
    yield "JSON and more", Case(broken, (token, behind))


def broken() -> Iterator[tuple[str, Case]]:
    left = b"secretsecret"
    yield "an unknown API", Case(pcap(talk().ask_bytes(999, 0, left).answer_bytes(left)), (blank(left),))
    for size in (1, 8):
        body = packed(b"member") + left[:size]
        yield f"{size} bytes left", Case(heartbeat(GROUP + body), (blank(b"group"), blank(b"member" + left[:size])))
        yield f"{size} bytes left of a response", Case(responded(b"\0\0" + left[:size]), (blank(left[:size]),))
    body = GROUP + packed(b"member") + left[:9]
    yield "nine bytes left", Case(heartbeat(body), (blank(body),))
    yield "nine bytes left of a response", Case(responded(b"\0\0" + left[:9]), (blank(b"\0\0" + left[:9]),))
    body = packed(b"group")[1:] + bytes(9) + b"member"
    yield "a wrong length", Case(heartbeat(body), (blank(body),))
    body = b"\xff\xff" + bytes(4) + packed(b"member")
    yield "a null", Case(heartbeat(body), (blank(b"member"),))
    secret = struct.pack(">i", 13) + b"\0alice\0secret" + b"ab"
    login = talk().ask("SaslHandshake", 1, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    login.ask_bytes("SaslAuthenticate", 0, secret).answer()
    yield "bytes left behind a secret", Case(pcap(login.end()), (blank(secret),))
    whole = HEADER + GROUP + packed(b"member")
    yield "a text cut off", Case(cut(whole, 2), (blank(b"group"), blank(b"memb")))
    yield (
        "the length of a text cut off",
        Case(cut(whole, 7), (blank(b"group"), (b"xxxxx" + bytes(5), b"xxxxx\0\0\0\0x"))),
    )
    yield "no member id", Case(cut(whole, 8), (blank(b"group"),))
    yield "a text behind a length cut off", Case(cut(whole, 14), (blank(b"gro"),))
    yield "a client id cut off", Case(cut(HEADER, 2), ((b"kd", b"xx"),))


def records() -> Iterator[tuple[str, Case]]:
    text = b"warehouse-secret"
    topic = (b"\1\0\1t\0", b"\1\0\1x\0")
    front = (b"\0\5\0\0\0\x64\0\0\0\0\2" + text, b"\0\5\0\0\0\x64\0\0\0\0\2" + b"x" * 16)
    yield "a batch cut off behind its magic", Case(fetched(FRONT + text), (topic, topic, front))
    yield "the front of a batch", Case(fetched(FRONT), (topic, topic))
    for name, data in {
        "a shorter front": FRONT[:16],
        "another magic": FRONT[:16] + b"\3" + text,
        "an offset that is too large": b"\1" + FRONT[1:] + text,
        "a length that is too large": FRONT[:8] + b"\1" + FRONT[9:] + text,
        "a text in an offset": FRONT[:3] + b"word" + FRONT[7:] + text,
    }.items():
        yield name, Case(fetched(data), (topic, topic, blank(data)))
    whole = sound(one_record(b"customer"))
    blank_one = sound(one_record(b"xxxxxxxx"))
    for name, data in {"a front behind a batch": whole + FRONT, "a text behind it": whole + text}.items():
        made = blank_one + (FRONT if data.endswith(FRONT) else b"x" * len(text))
        yield name, Case(fetched(data), (topic, topic, (data, made)))
    produce = packed(b"topic"), packed(b"xxxxx")
    yield (
        "a front in a request, which a client never sends",
        Case(produced(whole + FRONT + text), (produce, (whole, blank_one), blank(FRONT + text))),
    )
    offset = FRONT[:3] + b"\0wor" + FRONT[7:]
    yield "no text in an offset", Case(fetched(offset + text), (topic, topic, blank(text)))


def test_what_is_replaced_in_messages_and_what_stays() -> None:
    for name, case in (*fields(), *broken(), *records()):
        assert shared(case.capture) == expected(case), name


@pytest.mark.parametrize("names", [True, False])
def test_a_clean_message_is_read_at_once_as_it_is_by_its_fields(names: bool) -> None:
    """The bytes are the same, and so is what is searched for afterwards."""
    one, other = (Substitutes("a seed", names=names, addresses=True) for _ in range(2))
    counted = Counter[bool]()
    for path in SHIPPED:
        for half in halves(path.read_bytes()):
            at_once = redacted_at_once(half, one)
            counted[at_once is not None] += 1
            if half.api is not None:
                by_fields = redacted_by_fields(half, half.api, other, Effort())
                assert (at_once or redact(half, one, Effort())) == by_fields, (path, half.api.name, half.version)
    assert counted[True] > 4 * counted[False]
    for made in (one, other):
        made.replaced.keep(b"")
        made.replaced.settle()
    for searched in ("kept", "texts", "short", "packed", "windows"):
        assert getattr(one.replaced, searched) == getattr(other.replaced, searched)


def test_of_a_broken_header_no_text_stays() -> None:
    known = HEADER[:8]
    for left, shown in (
        (b"", b""), (b"\0", b"x"), (b"\0\x50kdbgsecret", b"\0\x50xxxxxxxxxx"), (b"kdbgsecret", b"kdxxxxxxxx"),
        (b"\0\6kdbg" + GROUP, b"\0\6xxxx" + b"x" * 11), (b"\xff\xff" + GROUP[1:] + b"member", b"\xff\xff" + b"x" * 16),
        (b"\xff\xfe" + GROUP[1:] + b"member", b"x" * 18),
    ):  # fmt: skip
        request, _ = halves(heartbeat(GROUP + packed(b"member")))
        request.data = known + left
        assert redact(request, Substitutes("a seed"), Effort()).data == known + shown, left
    request.data = HEADER[:6]
    assert redact(request, Substitutes("a seed"), Effort()).data == HEADER[:4] + b"xx"


def test_an_address_in_an_envelope_becomes_the_one_that_packets_have() -> None:
    inner = HEADER + GROUP + packed(b"member")
    for text in (b"\x0a\x63\x62\x61", bytes(range(2, 18)), b"\x0a\x63\x62", bytes(range(2, 19))):
        made = Substitutes("a seed")
        body = {"request_data": inner, "request_principal": None, "client_host_address": text}
        envelope = kdbg.encode(body, api="Envelope", version=0, direction="request")
        capture = pcap(talk().ask_bytes("Envelope", 0, envelope).answer().end())
        other = made.address(text) if len(text) in (4, 16) else b"x" * len(text)
        assert other != text
        hidden = inner.replace(b"kdbg", b"xxxx").replace(b"group", b"xxxxx").replace(b"member", b"xxxxxx")
        (shown, _), (before, _) = shared(capture, made), messages(capture)
        assert shown == before.replace(*CLIENT, 1).replace(inner, hidden).replace(text, other)


@for_each(
    ("data", "shown"),
    [
        (b'{"status":"inv","scope":"abc"}', b'{"status":"xxx","scope":"xxx"}'),
        (b'{"openid-configuration" : "abc"}', b'{"openid-configuration" : "xxx"}'),
        (b'{"statuses":1}', b'{"xxxxxxxx":1}'),
        (b'["status", "scope"]', b'["xxxxxx", "xxxxx"]'),
        (b"[true,false,null]", b"[true,false,null]"),
        (b"[True,tru]", b"[xxxxxxxxx"),
        (b"[-1.5e+3,0,12]", b"[1111111,1,11]"),
        (b"[1.]", b"[1xx"),
        (b'["a\\"b\\\\", "c\nd"]', b'["xxxxxx", "xxx"]'),
        (b'{"a":"open', b'{"x":xxxxx'),
        (b" 7", b" 1"),
        (b"7 8", b"xxx"),
        (b" 7,a", b" 1,x"),
        (b"a7", b"xx"),
        (b"", b""),
    ],
)
def test_of_json_only_known_keys_and_the_structure_stay(data: bytes, shown: bytes) -> None:
    assert _json_blanked(data) == shown


@pytest.mark.parametrize("magic", [0, 1])
def test_of_a_message_that_cannot_be_decompressed_the_header_stays(magic: int) -> None:
    head = bytes([magic, 1]) + b"\0\0\0\0\0\0\0\7" * magic
    rest = packed_long(b"key") + packed_long(b"what is no gzip")
    behind = set_of(b"customer", b"k", magic)
    old = struct.pack(">qiI", 7, len(head + rest) + 4, crc32(head + rest) ^ 0x81) + head + rest
    body = struct.pack(">hii", 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(old + behind))
    found = records_of(pcap(talk().ask_bytes("Produce", 2, body + old + behind).answer().end()), len(old + behind))
    shown = head + b"x" * len(rest)
    assert found[: len(old)] == struct.pack(">qiI", 7, len(shown) + 4, crc32(shown) ^ 0x81) + shown
    assert found[len(old) :] == set_of(b"xxxxxxxx", b"x", magic)


def packed_long(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def test_pseudonyms_stand_where_the_names_stood() -> None:
    made = Substitutes("a seed", names=True)
    name, member = made.name("warehouse"), made.name("member-1")
    capture = heartbeat(packed(b"warehouse") + bytes(4) + packed(b"member-1"))
    client = (b"\x04kdbg", b"\x04" + made.name("kdbg"))
    (request, response), (before, _) = shared(capture, made), messages(capture)
    assert request == before.replace(*client).replace(b"warehouse", name).replace(b"member-1", member)
    assert response == b"\0\0\0\1\0\0"


def sound(records: bytes, codec: int = 0, count: int = 1) -> bytes:
    """A batch whose checksum is right."""
    made = batch(codec, records, count)
    return made[:17] + struct.pack(">I", crc32c(made[21:])) + made[21:]


def set_of(value: bytes, key: bytes = b"", magic: int = 0, crc: int = 0) -> bytes:
    """A message of a message set; `crc` is what its checksum is wrong by."""
    body = bytes([magic, 0]) + bytes(8 * magic) + struct.pack(">i", len(key)) + key
    body += struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 7, len(body) + 4, crc32(body) ^ crc) + body


def records_of(capture: bytes, size: int) -> bytes:
    """The last bytes of what is shared of a capture's first message, where the message's record set stands."""
    return shared(capture)[0][-size:]


def test_checksums_are_right_again_and_wrong_ones_as_wrong() -> None:
    old, new = (sound(one_record(value) * 2, 0, 2) for value in (b"customer", b"xxxxxxxx"))
    assert records_of(produced(old), len(old)) == new
    both = old + old[:17] + bytes([old[17] ^ 0x81]) + old[18:]
    assert records_of(produced(both), len(both)) == new + new[:17] + bytes([new[17] ^ 0x81]) + new[18:]
    for magic in (0, 1):
        old = set_of(b"customer", b"key", magic) + set_of(b"order", b"", magic, 0x81000001)
        body = struct.pack(">hii", 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(old)) + old
        capture = pcap(talk().ask_bytes("Produce", 2, body).answer().end())
        new = set_of(b"xxxxxxxx", b"xxx", magic) + set_of(b"xxxxx", b"", magic, 0x81000001)
        assert records_of(capture, len(new)) == new


def test_what_a_header_says_of_a_batch_that_cannot_be_read_stays() -> None:
    for codec in (1, 3, 4):
        old = batch(codec, one_record(b"customer"))
        spoilt = old[:61] + bytes(4) + b"what is it" + old[75:]
        found = records_of(produced(spoilt), len(spoilt))
        assert found[:17] + found[21:61] == spoilt[:17] + spoilt[21:61]
        assert found[61:] == b"x" * len(old[61:])
        assert crc32c(found[21:]) ^ int.from_bytes(found[17:21]) == crc32c(spoilt[21:])


def test_compressed_records_are_blank_inside_and_as_long() -> None:
    for codec in (1, 2, 3, 4):
        old = sound(one_record(b"a customer and an order") * 3, codec, 3)
        found = records_of(produced(old), len(old))
        assert found[:17] + found[21:61] == old[:17] + old[21:61]
        assert int.from_bytes(found[17:21]) == crc32c(found[21:])
        inside = decompress(codec, found[61:])
        assert [inside[place : place + 6] for place in (0, 30, 60)] == [one_record(b"a" * 23)[:6]] * 3
        assert b"customer" not in inside
        kept = sound(b"\x0c\0\0\0\1\1\0", codec)
        assert records_of(produced(kept), len(kept)) == kept, "nothing in it is replaced"


def test_numbers_in_records_become_other_bytes_where_blanks_take_more() -> None:
    made, effort = Substitutes("a seed"), Effort()
    for codec in (1, 2, 3, 4):
        for count in (1, 5, 12):
            records = b"".join(one_record(struct.pack(">q", number)) for number in range(count))
            old = sound(records, codec, count)
            request, _ = halves(produced(old))
            found = redact(request, made, effort)
            assert (len(found.data), found.lost) == (len(request.data), 0)
            assert len(decompress(codec, found.data[-len(old) + 61 :])) == len(records)


def test_a_batch_that_takes_too_long_is_blank_and_counted() -> None:
    records = one_record(bytes(range(50))) + one_record(b"a customer")
    made, effort = Substitutes("a seed"), Effort(spare=-(1 << 40))
    for codec in (1, 2, 3, 4):
        old = sound(records, codec, 2)
        request, _ = halves(produced(old))
        effort.begin(0)
        found = redact(request, made, effort)
        assert (found.lost, found.data[-len(old) + 61 :]) == (1, b"x" * (len(old) - 61))
    assert effort.given_up == 4


def test_of_a_message_of_nobody_the_correlation_id_stays() -> None:
    made = Substitutes("a seed")
    for data, shown in ((b"\0\0\0\7unknowable", b"\0\0\0\7xxxxxxxxxx"), (b"\0\0", b"\0\0"), (b"", b"")):
        assert redact(CapturedMessage(data, (0, 0), (1, 1), "response"), made, Effort()) == Redacted(shown, 0)
    made.replaced.settle()
    assert made.replaced.texts.get(b"unknowable") is Replaced.OTHER, "the search for leaks knows its words"


def test_a_batch_that_was_cut_off_keeps_what_is_whole_of_its_records() -> None:
    whole = sound(one_record(b"customer") + one_record(b"an order of theirs"), 0, 2)
    body = struct.pack(">hhii", -1, 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(whole)) + whole
    head = header_bytes("Produce", 3, "request", {"correlation_id": 1, "client_id": "kdbg"})
    (found,) = shared(cut(head + body, 8))
    left = found[-len(whole) + 8 :]
    assert left[:17] + left[21:61] == whole[:17] + whole[21:61]
    assert left[61:] == one_record(b"xxxxxxxx") + b"x" * (len(one_record(b"an order of theirs")) - 8)


def test_records_in_records_are_replaced_where_they_stand() -> None:
    inner = set_of(b"customer")
    packed_set = compress(1, inner)
    body = b"\0\1" + struct.pack(">ii", -1, len(packed_set)) + packed_set
    old = struct.pack(">qiI", 7, len(body) + 4, crc32(body)) + body
    request = struct.pack(">hii", 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(old)) + old
    found = records_of(pcap(Talk().ask_bytes("Produce", 2, request).answer().end()), len(old))
    assert found[:12] + found[16:26] == old[:12] + old[16:26]
    assert int.from_bytes(found[12:16]) == crc32(found[16:])
    inside = decompress(1, found[26:])
    assert (inside[:12], inside[16:-8]) == (inner[:12], inner[16:-8])
    assert b"customer" not in inside
    assert int.from_bytes(inside[12:16]) == crc32(inside[16:])
