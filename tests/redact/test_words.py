"""What is searched for, and found: the words of what was replaced, addresses in texts, records inside of records."""

from __future__ import annotations

import struct

from kdbg.protocol.wire.records.compression import compress
from kdbg.views.redact.search import LeakSearch
from kdbg.views.redact.substitutes import LEAST, LIMIT, Replaced, ReplacedValues, Sample, addresses, pieces, words

from .leaks import MAC, batch


def searched(*values: tuple[bytes, Replaced], kept: tuple[bytes, ...] = ()) -> LeakSearch:
    found = ReplacedValues()
    for data, kind in values:
        found.add(data, kind)
    for text in kept:
        found.keep(text)
    found.settle()
    return LeakSearch(found, addresses=True)


def test_words_end_at_spaces_quotes_and_what_is_no_ascii() -> None:
    assert words(b'one two"three\0four\xff.five-6_7:8/9+a=b@c,d') == [
        b"one", b"two", b"three", b"four", b".five-6_7:8/9+a=b@c", b"d",
    ]  # fmt: skip
    assert pieces(b".five-6_7:8/9+a=b@c") == [b"five", b"6", b"7", b"8", b"9", b"a", b"b", b"c"]


def test_addresses_that_words_spell() -> None:
    for text, found in (
        (b"10.99.98.97", ["0a636261"]), (b"ip-10-99-98-97", ["0a636261"]), (b"255.255.255.255", ["ffffffff"]),
        (b"256.99.98.97", []), (b"10.99.98.256", []), (b"10.99-98.97", []), (b"110.99.98.9", ["6e636209"]),
        (b"1.2.3.4.5", ["01020304", "02030405"]), (b"10.99.98.9777", []), (b"1000.99.98.97", []),
        (b"02:ca:fe:47:11:aa", ["02cafe4711aa"]), (b"02-ca-fe-47-11-aa", ["02cafe4711aa"]),
        (b"02ca.fe47.11aa", ["02cafe4711aa"]), (b"02-ca-fe-47-11", []),
        (b"2001:db8::17:ff", ["20010db8" + "0" * 16 + "001700ff"]),
        (b"/::1", ["0" * 31 + "1"]), (b"a:b", []), (b"::x", []),
    ):  # fmt: skip
        assert [packed.hex() for packed in addresses(text)] == found, text


def test_of_more_texts_than_can_be_held_a_sample_stays() -> None:
    sample = Sample()
    for number in range(LIMIT):
        sample.add(b"%d" % number, Replaced.VALUE)
    assert len(sample.kinds) == LIMIT == 131_072
    sample.add(b"one more", Replaced.VALUE)
    assert LIMIT * 0.4 < len(sample.kinds) < LIMIT * 0.6
    sample.add(b"1", Replaced.NAME)
    assert sample.kinds.get(b"1") is not Replaced.NAME


def test_texts_of_two_letters_say_nothing() -> None:
    for text, is_found in ((b"abababab", False), (b"abcabcabc", True), (b"aaaabbbb", False), (b"aaaabbbc", True)):
        for kind in (Replaced.NAME, Replaced.VALUE):
            assert (searched((text, kind)).find(b"\0" + text + b"\0") is kind) is is_found
    assert searched((b"ab-ab-ab", Replaced.NAME)).find(b"ab-ab-ab") is Replaced.NAME


def test_whole_words_and_their_pieces_are_looked_for() -> None:
    search = searched((b"warehouse-eu", Replaced.NAME), (b"the customer's orders", Replaced.OTHER))
    for text in (b"warehouse-eu", b"WAREHOUSE", b"warehouse/1", b"ue-esuoheraw", b"eu.warehouse", b"customer"):
        assert search.find(b"\0" + text + b"\0") is not None, text
    for text in (b"warehous", b"orders", b"eu", b"house-eu"):
        assert search.find(b"\0" + text + b"\0") is None, text


def test_lengths_beside_a_word_may_be_letters_but_a_word_that_is_kept_is_another() -> None:
    for kept, is_found in ((b"", True), (b"our.Warehouses", False)):
        search = searched((b"warehouse", Replaced.NAME), kept=(kept,))
        assert search.find(b"\0warehouse\0") is Replaced.NAME
        for text in (b"zwarehouse", b"zwarehousez", b"our-warehousez", b"zwarehouse.eu"):
            assert search.find(b"\0" + text + b"\0") is Replaced.NAME, text
        assert (search.find(b"\0warehouses\0") is Replaced.NAME) is is_found
        assert search.find(b"\0warehousezz\0") is search.find(b"\0zzwarehouse\0") is None
    for size in range(4, 13):
        assert search.find(b"a" + b"x" * size + b"warehouse" + b"x" * size + b"a") is Replaced.NAME, size
    for size in range(2, 4):
        assert search.find(b"a" + b"x" * size + b"warehouse" + b"x" * size + b"a") is None, size


def test_what_names_the_kind_of_a_leak() -> None:
    assert {kind.name: kind.value for kind in Replaced if kind is not Replaced.OTHER} == {
        "NAME": "a name", "SECRET": "a password, token or other secret", "ADDRESS": "an IP address",
        "VALUE": "a part of a record, a setting or another value", "HARDWARE": "a hardware address",
    }  # fmt: skip


def test_what_is_searched_for_of_an_address() -> None:
    found = ReplacedValues()
    found.address(bytes([10, 99, 98, 97]), bytes([20, 9, 9, 9]))
    found.address(MAC, MAC[::-1])
    found.settle()
    texts = [b"0a636261", b"6162630a", b"174285409", b"1633837834", MAC.hex().encode(), b"%d" % int.from_bytes(MAC)]
    assert list(found.texts) == [*texts[:1], texts[2], texts[1], texts[3], *texts[4:], MAC[::-1].hex().encode(),
                                 b"%d" % int.from_bytes(MAC[::-1])]  # fmt: skip
    assert set(found.texts.values()) == {Replaced.ADDRESS, Replaced.HARDWARE}
    assert found.packed == {
        bytes([97, 98, 99, 10]): Replaced.ADDRESS, bytes([10, 99, 98, 97]): Replaced.ADDRESS, MAC: Replaced.HARDWARE,
    }, "not the one that stands for another"  # fmt: skip


def test_keys_that_stay_and_what_snappy_begins_with_are_not_searched_for() -> None:
    texts = b"snappy", b"status", b"scope", b"openid", b"configuration", b"openid-configuration"
    search = searched(*((text, Replaced.NAME) for text in texts))
    for text in (*texts, b'{"status":"x","scope":"x","openid-configuration":"x"}', b"\x82SNAPPY\0"):
        assert search.find(text) is None, text


def test_addresses_of_too_few_bytes_are_not_searched_for_in_either_order() -> None:
    for text, in_order, turned in (
        ("0a000001", True, False), ("0a000000", False, False), ("0a630001", True, True), ("020000000000", False, False),
        ("02000000aa00", False, False), ("02000000aabb", True, True), ("20010db8" + "00" * 12, True, True),
        ("20010000" + "00" * 12, False, False), ("20010000" + "00" * 11 + "07", True, True),
    ):  # fmt: skip
        packed, found = bytes.fromhex(text), ReplacedValues()
        found.address(packed, bytes(len(packed)))
        found.settle()
        assert (packed in found.packed, packed[::-1] in found.packed) == (in_order, turned), text
        assert packed.hex().encode() in found.texts
    found = ReplacedValues()
    found.address(MAC, MAC)
    found.settle()
    assert MAC in found.packed, "one that stands for itself is searched for as well"


def test_what_is_taken_of_texts_of_any_length() -> None:
    middle = b"-" * 124 + b"somewhere"
    for size, is_found in ((256, True), (257, False)):
        assert (searched((middle.ljust(size, b"-"), Replaced.VALUE)).find(b"somewhere") is not None) is is_found
        assert searched((middle.ljust(size, b"-"), Replaced.NAME)).find(b"somewhere") is Replaced.NAME
    for text, is_short in (
        (b"abc", False),
        (b"abcd", True),
        (b"abcde", True),
        (b"abcdef", False),
        (b"ab\xffcd", False),
    ):
        for kind in LEAST:
            found = ReplacedValues()
            found.add(text, kind)
            found.settle()
            is_due = is_short and kind in (Replaced.NAME, Replaced.SECRET)
            assert found.short == ({text: kind} if is_due else {}), (text, kind)
    secret = bytes(range(130, 146))
    for data, windows in ((secret, 8), (secret[:15], 0), (secret + b" passwords", 0), (bytes(16), 0),
                          (secret[:6] + secret[:10], 8), (secret[:5] + secret[:3] + secret[5:13], 0)):  # fmt: skip
        found = ReplacedValues()
        found.add(data, Replaced.SECRET)
        assert len(found.windows) == windows, data
    found = ReplacedValues()
    found.add(secret, Replaced.SECRET)
    assert found.windows == {int.from_bytes(secret[i : i + 8], "little"): Replaced.SECRET for i in range(8)}


def test_names_are_taken_with_what_they_spell_and_others_piece_by_piece() -> None:
    for kind, texts in (
        (Replaced.NAME, {b"orders-eu", b"orders"}), (Replaced.VALUE, {b"orders-eu"}), (Replaced.OTHER, set())
    ):  # fmt: skip
        found = ReplacedValues()
        found.add(b"Orders-EU", kind)
        found.settle()
        assert found.texts == {turned: kind for text in texts for turned in (text, text[::-1])}
    found = ReplacedValues()
    for text in (b"one two-three", b"10.99.98.97", b"a-b-c-d-e-f"):
        found.add(text, Replaced.NAME)
    found.keep(b"A-B-C-D-E-F")
    found.settle()
    assert set(found.packed) == {bytes([10, 99, 98, 97]), bytes([97, 98, 99, 10])}
    assert {text for text in found.texts if not text.isalnum()} == {b"10.99.98.97", b"79.89.99.01", b"f-e-d-c-b-a"}
    found = ReplacedValues()
    found.add(b"10.99.98.97 10.99.98.96", Replaced.OTHER)
    assert not found.packed


def message(codec: int, records: bytes, magic: int, key: bytes | None) -> bytes:
    """A message of a message set whose value is compressed."""
    value = compress(codec, records, magic=magic)
    body = bytes([magic, codec | 8 * magic]) + bytes(8 * magic)
    body += struct.pack(">i", -1 if key is None else len(key)) + (key or b"") + struct.pack(">i", len(value)) + value
    return struct.pack(">qiI", 7, len(body) + 4, 0) + body


def test_what_is_compressed_is_opened_wherever_it_stands() -> None:
    search, secret = searched((b"warehouse", Replaced.VALUE)), b"the warehouse of somebody"
    assert search.find_in_records(b"\0\0" + secret) is None, "only what is compressed"
    for front in (b"", b"\0", b"\1\2\3", b"\0\0\0\0"):
        for behind in (b"", b"\0" * 9):
            for codec in (1, 2, 3, 4):
                assert search.find_in_records(front + batch(codec, secret) + behind) is Replaced.VALUE
                assert search.find_in_records(front + batch(0, secret) + behind) is None
            for magic in (0, 1):
                for key in (None, b"", b"key"):
                    for codec in (1, 2, 3):
                        data = front + message(codec, secret, magic, key) + behind
                        assert search.find_in_records(data) is Replaced.VALUE, (front, magic, key, codec)
    assert search.find_in_records(batch(1, b"nothing") + batch(1, secret)) is Replaced.VALUE
    assert search.find_in_records(batch(1, secret)[:70]) is None


def test_hardware_addresses_in_texts_are_told_as_such() -> None:
    found = ReplacedValues()
    found.add(b"node-02:ca:fe:47:11:aa", Replaced.NAME)
    found.settle()
    assert LeakSearch(found, addresses=False).find(MAC.hex("-").encode()) is Replaced.HARDWARE
