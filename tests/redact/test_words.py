"""What is searched for, and found: the words of what was replaced, addresses in texts, records inside of records."""

from __future__ import annotations

import struct

from kdbg.redact.replaced import LIMIT, Replaced, ReplacedValues, Sample, addresses, pieces, words
from kdbg.redact.search import LeakSearch
from kdbg.wire.records.compression import compress

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
