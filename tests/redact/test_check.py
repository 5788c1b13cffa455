"""What redact wrote is searched for what it replaced: each replacement is switched off, and no file is written."""

from __future__ import annotations

import base64
import re
import struct
from collections.abc import Callable, Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import kdbg.ui.cli.redaction
import kdbg.views.redact.fields
import kdbg.views.redact.message
import kdbg.views.redact.packets
from kdbg.errors import CaptureError
from kdbg.protocol.wire.records.compression import compress
from kdbg.ui.cli import commands
from kdbg.views.redact.fields import substitute
from kdbg.views.redact.message import Edit, edits
from kdbg.views.redact.packets import Layers, rewritten
from kdbg.views.redact.search import LeakSearch
from kdbg.views.redact.streams import Places
from kdbg.views.redact.substitutes import LIMIT, Replaced, ReplacedValues, Sample, Substitutes

from ..cases import for_each
from ..traffic import Talk, ip, packed
from .leaks import MAC, PACKED, SECRET, WHERE, WHO, batch, ethernet, of, one_record, talk, udp, with_options

NAMES = ["--names", "--addresses"]
BINARY = bytes(range(130, 170))
"""A secret without a word in it."""


def everything(codec: int = 0) -> bytes:
    """A capture in which each kind of thing that is replaced stands."""
    records = batch(codec, one_record(b"the warehouse of the customer"))
    produce = (
        struct.pack(">hhii", -1, 1, 1000, 1) + packed(b"topic") + struct.pack(">iiI", 1, 0, len(records)) + records
    )
    kafka = talk(client_id="shopping-cart").ask_bytes("Produce", 3, produce).answer()
    kafka.ask("Metadata", 1, topics=[]).answer(brokers=[{"node_id": 1, "host": f"/{WHO}", "port": 9092}])
    kafka.ask_bytes(999, 0, b"unknowable request").answer_bytes(b"unknowable response")
    kafka.ask("Heartbeat", 0, group_id="group", member_id="user").answer()
    login = Talk((WHO, 51515), (WHERE, 9092)).ask("SaslHandshake", 1, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    login.ask("SaslAuthenticate", 0, auth_bytes=b"\0alicia\0tr0ub4dor").answer()
    login.ask("RenewDelegationToken", 1, hmac=BINARY).answer()
    login.ask_bytes("ExpireDelegationToken", 1, bytes(12) + b"\0 antechamber ").answer()
    oauth = Talk((WHO, 51516), (WHERE, 9092)).ask("SaslHandshake", 1, mechanism="OAUTHBEARER")
    oauth.answer(mechanisms=["OAUTHBEARER"])
    error = b'{"status":"invalid_token","scope":"everything"}'
    oauth.ask("SaslAuthenticate", 0, auth_bytes=b"n,,\x01auth=Bearer abcdefgh\x01\x01").answer(auth_bytes=error)
    web = Talk((WHO, 51517), (WHERE, 8080)).send(b"GET /hypertext")
    segments = [segment.data for one in (kafka, login, oauth, web) for segment in one.segments]
    segments[0] = with_options(segments[0], tcp_options=b"\xfd\x0fshopping-cart" + b"\0")
    return of(*(ethernet(data) for data in segments), ethernet(udp(53, b"\0\0datagrams\0")))


def redacted(tmp_path: Path, capture: bytes, *options: str) -> str:
    """Redact a capture; return what is refused, "" where nothing is."""
    path, made = tmp_path / "capture.pcap", tmp_path / "shared.pcap"
    path.write_bytes(capture)
    made.unlink(missing_ok=True)
    done = CliRunner().invoke(commands, ["redact", str(path), str(made), "--seed", "a seed", *options])
    assert isinstance(done.exception, CaptureError) is not made.exists(), done.output
    assert [one.name for one in tmp_path.iterdir() if one.name.endswith(".part")] == []
    return "" if made.exists() else str(done.exception)


def without(*kinds: Replaced, compressed: bool = False) -> Callable[..., Iterator[Edit]]:
    """Edits of which those of such kinds leave what was there."""

    def left(inspection: Any, *rest: Any) -> Iterator[Edit]:
        for one in edits(inspection, *rest):
            old = bytes(inspection.buffers[one.buffer].data[one.start : one.end])
            yield one._replace(data=old) if one.kind in kinds and bool(one.buffer) is compressed else one

    return left


def leaving(kind: Replaced) -> Callable[..., tuple[bytes, Replaced | None]]:
    """Leaves what was there of such a kind, in whichever way a message is read."""

    def left(content: Any, data: bytes, made: Substitutes) -> tuple[bytes, Replaced | None]:
        new, found = substitute(content, data, made)
        return (data if found is kind else new), found

    return left


def address_left(self: Substitutes, packed: bytes) -> bytes:
    ADDRESS(self, packed)
    return packed


def hardware_left(self: Substitutes, address: bytes) -> bytes:
    HARDWARE(self, address)
    return address


ADDRESS, HARDWARE = Substitutes._noted_address, Substitutes._noted_hardware


def all_kept(self: Layers, *args: Any) -> None:
    READ(self, *args)
    self.kept[:] = self.data


READ = Layers.__init__


def seen_through(self: Places, start: int, data: bytes) -> bytes:
    return bytes(new if new != 0xFF else old for new, old in zip(REPLACED(self, start, data), data, strict=True))


REPLACED = Places.replaced


def with_payload(link: int, data: bytes, packet: Any, payload: bytes, made: Substitutes) -> bytes:
    """What is no Kafka stays in packets."""
    return rewritten(link, data, packet, packet[6] if packet and not payload.strip(b"\xff") else payload, made)


def with_addresses(link: int, data: bytes, packet: Any, payload: bytes, made: Substitutes) -> bytes:
    """The addresses of packets stay."""
    made.addresses = False
    try:
        return rewritten(link, data, packet, payload, made)
    finally:
        made.addresses = True


SWITCHES: dict[str, tuple[object, str, object, Replaced]] = {
    "names": (Substitutes, "name", lambda self, text: text.encode(), Replaced.NAME),
    "fields that are names": (kdbg.views.redact.message, "substitute", leaving(Replaced.NAME), Replaced.NAME),
    "fields that are values": (kdbg.views.redact.message, "substitute", leaving(Replaced.VALUE), Replaced.VALUE),
    "fields that are secrets": (kdbg.views.redact.message, "substitute", leaving(Replaced.SECRET), Replaced.SECRET),
    "JSON": (kdbg.views.redact.fields, "_json_blanked", lambda data: data, Replaced.VALUE),
    "IP addresses": (Substitutes, "_noted_address", address_left, Replaced.ADDRESS),
    "hardware addresses": (Substitutes, "_noted_hardware", hardware_left, Replaced.HARDWARE),
    "addresses of packets": (kdbg.ui.cli.redaction, "rewritten", with_addresses, Replaced.ADDRESS),
    "options": (kdbg.views.redact.packets, "_keep_number", len, Replaced.NAME),
    "what is no TCP": (Layers, "__init__", all_kept, Replaced.OTHER),
    "bytes between messages": (Places, "replaced", seen_through, Replaced.OTHER),
    "other connections": (kdbg.ui.cli.redaction, "rewritten", with_payload, Replaced.OTHER),
    "misread messages": (kdbg.views.redact.message, "edits", without(Replaced.OTHER), Replaced.OTHER),
}


TOLD_BEFORE = {"what is no TCP", "IP addresses", "hardware addresses"}
"""Others are found first there: a name with an address in it, the addresses of the packet."""


@pytest.mark.parametrize("name", SWITCHES)
def test_a_replacement_that_is_switched_off_is_noticed_and_nothing_is_written(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, attribute, switch, kind = SWITCHES[name]
    assert redacted(tmp_path, everything(), *NAMES) == ""
    monkeypatch.setattr(place, attribute, switch)
    said = redacted(tmp_path, everything(), *NAMES)
    assert "not written, as " in said, said
    assert re.search(r"packet \d+ would still contain ", said)
    assert kind.value in said or name in TOLD_BEFORE, said
    for secret in (b"shopping", b"tr0ub4dor", b"customer", WHO.encode(), MAC.hex().encode()):
        assert secret.decode() not in said


@pytest.mark.parametrize("codec", [1, 2, 3, 4])
def test_values_that_are_left_in_compressed_records_are_noticed(
    codec: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert redacted(tmp_path, everything(codec), *NAMES) == ""
    monkeypatch.setattr(kdbg.views.redact.message, "edits", without(Replaced.VALUE, compressed=True))
    assert Replaced.VALUE.value in redacted(tmp_path, everything(codec), *NAMES)


def test_a_name_that_two_packets_share_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one = talk(most=7).ask("Heartbeat", 0, group_id="warehouse-of-the-customer", member_id="m").answer().end()
    capture = of(*(ethernet(segment.data) for segment in one.segments))
    cut = [segment.data[40:] for segment in one.segments]
    assert not any(word in data for data in cut for word in (b"warehouse", b"customer"))
    monkeypatch.setattr(kdbg.views.redact.message, "substitute", leaving(Replaced.NAME))
    assert "the message that ends in packet" in redacted(tmp_path, capture)


def searched(*values: tuple[bytes, Replaced], kept: tuple[bytes, ...] = ()) -> LeakSearch:
    found = ReplacedValues()
    for data, kind in values:
        found.add(data, kind)
    for text in kept:
        found.keep(text)
    found.settle()
    return LeakSearch(found, addresses=True)


def spellings(text: bytes) -> Iterator[bytes]:
    yield from (text, text.upper(), text.hex().encode(), text.hex().upper().encode(), text[::-1])
    for shift in range(3):
        yield base64.b64encode(b"?" * shift + text + b"?" * 3)
        yield base64.urlsafe_b64encode(b"?" * shift + text)
    yield b"l" + text  # a length that is a letter


@for_each("kind", [Replaced.NAME, Replaced.SECRET, Replaced.VALUE, Replaced.OTHER])
@for_each("around", [b"\0", b"xxxx", b" ", b'"'])
def test_texts_are_found_in_all_spellings(kind: Replaced, around: bytes) -> None:
    search = searched((b"warehouses", kind))
    for text in spellings(b"warehouses"):
        assert search.find(b"\0\1" + around + text + around + b"\2") is kind, text
    assert search.find(b"the warehouse, other warehouseses") is None


def test_addresses_are_found_in_all_spellings() -> None:
    search = searched((f"/{WHO}:9092".encode(), Replaced.NAME))
    whole = int.from_bytes(PACKED), int.from_bytes(PACKED[::-1])
    texts = [WHO, WHO.replace(".", "-"), WHO.replace(".", "_"), *map(str, whole), PACKED.hex(), PACKED[::-1].hex()]
    texts += [f"ip-{WHO.replace('.', '-')}.ec2.internal", f"9-{WHO.replace('.', '-')}-1", f"/{WHO}:1"]
    for text in texts:
        assert search.find(b"\0" + text.encode() + b"\0") is Replaced.ADDRESS, text
        assert search.find(b"\0" + base64.b64encode(b"?" + text.encode() + b"??") + b"\0"), text
    for text in ("110.99.98.97", "10.99.98.9", "10.99-98.97", "10.99.98.970"):
        assert search.find(text.encode()) is None, text


def test_hardware_and_ipv6_addresses_are_found_in_all_spellings() -> None:
    found, other = ReplacedValues(), ip_address("2001:db8::17:ff").packed
    found.address(MAC, bytes(6))
    found.address(other, bytes(16))
    found.settle()
    search, text = LeakSearch(found, addresses=True), MAC.hex()
    for spelled in (MAC.hex(":"), MAC.hex("-"), text, text.upper(), f"{text[:4]}.{text[4:8]}.{text[8:]}"):
        assert search.find(spelled.encode()) is Replaced.HARDWARE, spelled
    for spelled in ("2001:db8::17:ff", "2001:DB8:0:0:0:0:17:FF", other.hex()):
        assert search.find(spelled.encode()) is Replaced.ADDRESS, spelled


@for_each("turned", [1, -1])
@for_each("packed_address", [PACKED, MAC, ip_address("2001:db8::17:ff").packed], ids=len)
def test_packed_addresses_are_found_where_no_numbers_stand(packed_address: bytes, turned: int) -> None:
    found = ReplacedValues()
    found.address(packed_address, bytes(len(packed_address)))
    found.settle()
    search, spelled = LeakSearch(found, addresses=True), packed_address[::turned]
    link = bytes(12) + b"\x08\0"
    plain = link + ip("192.0.2.7", "192.0.2.8", bytes(12) + b"\x50" + bytes(7) + spelled)
    packet: Any = (1, 0, plain[26:34] + bytes(4), 0, 0, 0, spelled, len(spelled))
    assert search.find_in_headers(1, plain, packet) is None, "what TCP carries are messages"
    assert search.find_in_headers(1, bytes(14) + spelled, None) is not None
    for option, there in ((b"\xfd", True), (b"\x08", False)):
        body = option + bytes([len(spelled) + 2]) + spelled
        body += bytes(-len(body) % 4)
        tcp = bytes(12) + bytes([(5 + len(body) // 4) << 4]) + bytes(7) + body + spelled
        whole = link + ip("192.0.2.7", "192.0.2.8", tcp)
        assert (search.find_in_headers(1, whole, packet) is not None) is there
    where = plain[:6] + spelled[:6].ljust(6, b"\0") + plain[12:] if len(spelled) == 6 else plain
    where = where[:26] + spelled + where[30:] if len(spelled) == 4 else where
    assert (search.find_in_headers(1, where, packet) is not None) is (len(spelled) != 16)
    assert LeakSearch(found, addresses=False).find_in_headers(1, where, packet) is None


def test_secrets_without_words_are_found_wherever_they_stand() -> None:
    search = searched((BINARY, Replaced.SECRET), (bytes(40), Replaced.SECRET), (b"\0\1" * 20, Replaced.SECRET))
    for shift in range(9):
        assert search.find(bytes(shift) + BINARY + bytes(3)) is Replaced.SECRET
    assert search.find(bytes(90)) is None
    assert search.find(b"\0\1" * 40) is None
    assert searched((BINARY, Replaced.VALUE)).find(BINARY) is None, "numbers of values are numbers elsewhere too"


def test_short_names_are_found_behind_their_lengths() -> None:
    search = searched((b"user", Replaced.NAME), (b"alice", Replaced.SECRET), (b"bob", Replaced.NAME))
    for length in (4, 5, 8):
        assert search.find(bytes([0, length]) + b"user\0") is Replaced.NAME
    for length in (5, 6, 10):
        assert search.find(bytes([0, length]) + b"alice") is Replaced.SECRET
    for data in (b"\0\6user", b"a user", b"\0\4users"[:1], b"\0\3bob", b"\0\7alice"):
        assert search.find(data) is None, data


def test_what_is_kept_and_what_tells_nothing_is_not_searched_for() -> None:
    values = [(text, Replaced.NAME) for text in (b"consumer", b"metadata-tool", b"a", b"aaaaaaaa", b"snappy", b"user")]
    search = searched(*values, (b"short12", Replaced.VALUE), kept=(b"Consumer", b"metadata.version", b"user"))
    for data in (b"consumer", b"metadata", b"a", b"aaaaaaaa", b"\x82SNAPPY\0", b"short12", b"\4user"):
        assert search.find(b"\0" + data + b"\0") is None, data
    assert search.find(b"metadata-tool") is Replaced.NAME
    found = ReplacedValues()
    for packed_address, other in (
        ("::1", "::2"),
        ("1.0.0.0", "2.0.0.0"),
        ("10.0.0.1", "20.0.0.1"),
        ("20.0.0.1", "30.0.0.1"),
    ):
        found.address(ip_address(packed_address).packed, ip_address(other).packed)
    found.settle()
    assert [*found.packed] == [ip_address("10.0.0.1").packed], "not what is given to another"


def test_only_the_ends_of_long_values_are_taken_and_a_sample_of_many() -> None:
    search = searched((b"beginning " + b"- " * 200 + b"somewhere " + b"- " * 200 + b"the ending", Replaced.VALUE))
    assert search.find(b"beginning")
    assert not search.find(b"somewhere")
    sample = Sample()
    for number in range(LIMIT + 9):
        sample.add(b"%d" % number, Replaced.VALUE)
    assert LIMIT // 3 < len(sample.kinds) < LIMIT
    assert all(sample.takes(one) for one in sample.kinds)
    assert not all(sample.takes(b"%d" % number) for number in range(9))


@for_each("codec", [1, 2, 3, 4])
@for_each("magic", [0, 1, 2])
def test_records_are_searched_once_they_are_decompressed(codec: int, magic: int) -> None:
    search, records = searched((SECRET, Replaced.VALUE)), b"\0\0" + SECRET * 9
    for depth in (0, 1, 2):
        records = batch(codec, records) if magic == 2 else message(min(codec, 3), records, magic)
        found = search.find_in_records(b"\0\0\0\7\0\0" + records + bytes(9))
        assert found is Replaced.VALUE or depth == 2
        assert found is None or depth < 2 or codec != 1, "no deeper than Kafka does"
    assert search.find_in_records(records[:-9]) is None


def message(codec: int, records: bytes, magic: int) -> bytes:
    body = (
        bytes([magic, codec])
        + bytes(8 * magic)
        + struct.pack(">i3sI", 3, b"key", len(packs := compress(codec, records, magic=magic)))
    )
    return struct.pack(">qiI", 0, len(body) + 4 + len(packs), 0) + body + packs


@for_each("options", [b"", b"\1\1\x08\x0a"])
@for_each(("link", "front"), [(1, bytes(12) + b"\x08\0"), (101, b""), (113, bytes(14) + b"\x08\0")])
def test_headers_of_a_connection_are_searched_once(link: int, front: bytes, options: bytes) -> None:
    search = searched((SECRET, Replaced.NAME))
    for number in range(1, 9):
        more = options + bytes([number]) * (8 if options else 0)
        tcp = bytes([1, 2, 3, 4]) + bytes([number]) * 8 + bytes([0x50 + len(more) * 4]) + bytes([number]) * 7 + more
        whole = front + ip("192.0.2.7", "192.0.2.8", tcp + b"what was said")
        packet: Any = (1, 0, bytes(12), 0, 0, 0, b"what was said", 13)
        assert search.find_in_headers(link, whole, packet) is None
    assert search._heads.cache_info().currsize == 1


def test_a_name_in_base64_is_found_whatever_the_length_of_the_base64() -> None:
    search = searched((b"warehouses", Replaced.NAME))
    for behind in range(9):
        for front in range(9):
            text = base64.b64encode(b"?" * front + b"warehouses" + b"?" * behind).rstrip(b"=")
            assert search.find(text) is Replaced.NAME, text
            for cut in (1, 2, 3) if behind > 3 else ():
                assert search.find(text[:-cut]) is Replaced.NAME, text


def test_what_is_no_tcp_is_taken_behind_its_headers_alone() -> None:
    made = Substitutes("a seed")
    rewritten(1, ethernet(udp(53, b"datagrams of somebody")), None, b"", made)
    rewritten(1, ethernet(b"otherwise", 0x1234), None, b"", made)
    made.replaced.settle()
    search = LeakSearch(made.replaced, addresses=False)
    assert search.find(b"datagrams") is search.find(b"otherwise") is Replaced.OTHER


def test_the_bounds_of_what_is_searched_for_are_those_of_the_guide() -> None:
    for kind, least in ((Replaced.NAME, 6), (Replaced.SECRET, 6), (Replaced.VALUE, 8), (Replaced.OTHER, 8)):
        for size in (least - 1, least):
            word = b"abcdefghij"[:size]
            found = searched((b"- " + word + b" -", kind)).find(b" " + word + b" ")
            assert found is (kind if size == least else None)
    value = b"-" * 120 + b" beginner" + b"-" * 90 + b" outcomes" + b"-" * 121
    search = searched((value, Replaced.VALUE))
    assert search.find(b"beginner") is None, "its last letter is byte 129"
    assert search.find(b"outcomes") is None
    ends = b"-" * 119 + b"beginning" + b"-" * 90 + b"the ending" + b"-" * 122
    assert searched((ends, Replaced.VALUE)).find(b"beginning") is Replaced.VALUE
    assert searched((b"abababab", Replaced.NAME), (b"abcabcabc", Replaced.NAME)).find(b"abababab") is None
    assert searched((b"abcabcabc", Replaced.NAME)).find(b"abcabcabc") is Replaced.NAME
    assert searched((BINARY[:15], Replaced.SECRET)).find(BINARY[:15] + bytes(9)) is None
    assert searched((BINARY[:16], Replaced.SECRET)).find(BINARY[:16] + bytes(9)) is Replaced.SECRET
