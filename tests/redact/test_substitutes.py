"""What stands in place of names and addresses: as long, the same for the same seed, never the same for two."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.views.redact.substitutes import Replaced, Substitutes

from ..cases import by_day

SEED = "a seed"


NAMES = Substitutes(SEED, names=True, addresses=True)
"""To take many from: it remembers what it gave."""


def names(seed: str = SEED) -> Substitutes:
    return Substitutes(seed, names=True, addresses=True)


@given(text=st.text(max_size=40))
def test_a_name_keeps_its_length_and_its_pseudonym(text: str) -> None:
    made = names().name(text)
    assert len(made) == len(text.encode())
    assert names().name(text) == made
    assert Substitutes(SEED).name(text) == b"x" * len(text.encode())


@given(texts=st.sets(st.text("abcdefgh-.0123", min_size=4, max_size=12), min_size=2, max_size=40))
def test_two_names_have_two_pseudonyms(texts: set[str]) -> None:
    made = names()
    assert len({made.name(text) for text in texts}) == len(texts)


def test_names_are_made_piece_by_piece() -> None:
    made = names()
    one, two = made.name("orders-eu.1").decode(), made.name("orders-us.1").decode()
    assert one.split("-")[0] == two.split("-")[0] != "orders"
    assert one != two
    assert one.endswith("1")
    assert [letter for letter in one if not letter.isalnum()] == ["-", "."]


def test_another_seed_gives_other_pseudonyms() -> None:
    assert names("one").name("warehouse") != names("other").name("warehouse")


def test_long_numbers_and_bytes_that_are_no_text_are_replaced() -> None:
    assert names().name("47110815") != b"47110815"
    assert b"\xff\xfe" not in names().name("a\udcff\udcfe\udcfdb")


@pytest.mark.parametrize("text", ["10.1.2.3", "192.168.100.17", "127.0.0.1", "2001:db8::17:ff", "::1", "fe80::1"])
def test_an_address_as_text_is_the_one_in_packets(text: str) -> None:
    made = names()
    found = made.name(text).decode()
    assert ip_address(found).packed == made.address(ip_address(text).packed)
    assert len(found) == len(text)


def test_an_address_inside_of_a_text_is_replaced() -> None:
    made = names()
    assert made.name("/127.0.0.1:9092") == b"/" + made.name("127.0.0.1") + b":" + made.name("9092")
    assert made.name("127.0.0.1") != b"127.0.0.1"


@given(addresses=st.sets(st.integers(1 << 24, (224 << 24) - 1), min_size=2, max_size=30))
def test_two_addresses_stay_two_and_networks_stay_networks(addresses: set[int]) -> None:
    made = names()
    found = {address: made.address(IPv4Address(address).packed) for address in addresses}
    assert len(set(found.values())) == len(addresses)
    for one, other in zip(found, list(found)[1:], strict=False):
        assert (found[one][:3] == found[other][:3]) == (one >> 8 == other >> 8)


@given(address=st.ip_addresses(v=6))
def test_an_ipv6_address_is_as_long_as_text(address: IPv6Address) -> None:
    if address.ipv4_mapped is None:
        assert len(str(ip_address(NAMES.address(address.packed)))) == len(str(address))


def test_nobodys_and_everybodys_addresses_stay() -> None:
    made = names()
    for packed in (bytes(4), b"\xff" * 4, b"\xe0\0\0\1"):
        assert made.address(packed) == packed
    assert made.hardware(bytes(6)) == bytes(6)
    assert made.hardware(b"\x01\0\x5e\0\0\1") == b"\x01\0\x5e\0\0\1"
    other = made.hardware(b"\x02\x42\xac\x11\0\2")
    assert other != b"\x02\x42\xac\x11\0\2"
    assert other[0] & 3 == 2, "one host's, given locally"


def test_short_names_stay_apart_while_there_are_words_for_them() -> None:
    made, texts = names(), [f"{one}{other}" for one in "abcdefghijklmno" for other in "pqrstu"]
    assert len({made.name(text) for text in texts}) == len(texts) == 90


def test_every_part_of_an_address_becomes_another_of_as_many_digits() -> None:
    made = names()
    for start, end, first_end in ((1, 10, 10), (10, 100, 100), (100, 256, 224)):
        for place in range(4):
            parts = range(start, first_end if not place else end)
            parts = [part for part in parts if part != 224 or place]
            found = [made.address(bytes([*[9] * place, part, *[9] * (3 - place)]))[place] for part in parts]
            assert sorted(found) == list(parts), (place, start)
            assert found != list(parts)
    for start, end in ((1, 0x10), (0x10, 0x100), (0x100, 0x1000)):
        for place in by_day((0, 2, 12), 3):
            around = b"\7\7" * (place // 2), b"\7\7" * (7 - place // 2)
            packed = [around[0] + part.to_bytes(2) + around[1] for part in range(start, end)]
            found = [int.from_bytes(made.address(one)[place : place + 2]) for one in packed]
            assert sorted(found) == list(range(start, end)), (place, start)
    last = [made.address(part.to_bytes(2) + bytes(13) + b"\1")[:2] for part in range(0x1000, 0xFE00)]
    assert sorted(int.from_bytes(one) for one in last) == list(range(0x1000, 0xFE00))


def test_no_part_of_an_address_stays_for_every_seed() -> None:
    many = [names(f"seed {number}") for number in range(3)]
    for place, last in ((0, 223), (1, 255)):
        for part in (1, 9, 10, 99, 100, last):
            packed = bytes([*[9] * place, part, *[9] * (3 - place)])
            found = {made.address(packed)[place] for made in many}
            assert found != {part}, (place, part)
            assert {len(str(one)) for one in found} == {len(str(part))}
    for place, end in ((0, 0xFDFF), (1, 0xFFFF)):
        for part in (1, 0xF, 0x10, 0xFF, 0x100, 0xFFF, 0x1000, end):
            packed = b"\7\7" * place + part.to_bytes(2) + b"\7\7" * (7 - place)
            found = {int.from_bytes(made.address(packed)[2 * place : 2 * place + 2]) for made in many}
            assert found != {part}, (place, part)
            assert {len(f"{one:x}") for one in found} == {len(f"{part:x}")}


def test_an_ipv4_address_in_ipv6_is_the_one_of_ipv4() -> None:
    made, mapped = names(), bytes(10) + b"\xff\xff"
    assert made.address(mapped + b"\x0a\1\2\3") == mapped + made.address(b"\x0a\1\2\3")


def test_hardware_addresses_are_of_one_host_and_given_locally() -> None:
    made = names()
    found = [made.hardware(bytes([0, 0x42, 0xAC, 0x11, 0, number])) for number in range(200)]
    assert {one[0] & 3 for one in found} == {2}
    assert len({one[0] for one in found}) > 40
    assert len(set(found)) == 200
    longer = made.hardware(b"\x02\x42\xac\x11\0\2\7\7")
    assert (len(longer), b"\x02\x42\xac\x11\0\2" in made.replaced.packed) == (8, True)
    assert made.replaced.packed[b"\x02\x42\xac\x11\0\2"] is Replaced.HARDWARE


def test_which_numbers_of_a_name_stay() -> None:
    made = names()
    for kept in ("broker-1", "broker-999", "7", "999"):
        assert re.sub("[^0-9]", "", made.name(kept).decode()) == re.sub("[^0-9]", "", kept), kept
    for other in ("broker-1000", "rack-1-2", "1000", "1-2-3"):
        assert re.sub("[^0-9]", "", made.name(other).decode()) != re.sub("[^0-9]", "", other), other
        assert re.sub("[0-9]", "9", made.name(other).decode())[-4:] == re.sub("[0-9]", "9", other)[-4:] or "-" in other


def test_addresses_in_names_are_the_same_whatever_separates_their_parts() -> None:
    made = names()
    plain = made.name("10.1.2.3")
    for mark in "-_":
        written = mark.join(["10", "1", "2", "3"])
        assert made.name(written) == plain.replace(b".", mark.encode())
        assert (
            made.name(f"ip{mark}{written}{mark}x")
            .split(mark.encode(), 1)[1]
            .startswith(plain.replace(b".", mark.encode()))
        )
    assert made.name("999.1.2.3") == b"000.0.0.0", "it is none"
    assert made.name("10-1-2_3") != plain


def test_pseudonyms_are_words_and_run_out_into_letters_and_digits() -> None:
    made = names()
    spoken = re.compile(rb"[bdfghjklmnprstvz]([aeio][bdfghjklmnprstvz]){9}")
    assert all(spoken.fullmatch(made.name(chr(97 + number) * 19)) for number in range(26))
    assert re.fullmatch(rb"[0-9]{8}", made.name("20261121"))
    found = [made.name(chr(97 + number)) for number in range(26)]
    assert len(set(found)) == 26, "more than there are consonants"
    assert Substitutes("a seed").name("orders\udcff") == b"x" * 7
