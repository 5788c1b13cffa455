"""What stands in place of what is taken out: always of the same length in bytes, and the same for the same seed.

A blank is a row of `x`. A pseudonym is made piece by piece, so that `orders-eu` and `orders-us` still begin alike:
letters become a word that can be spoken, numbers other numbers; what separates the pieces stays, and so does the only
number of a name, if it has up to three digits. An address keeps the number of digits of each of its parts, so that it
is as long as text, too.

`ReplacedValues` are what was taken out, as far as it can be searched for. Memory is bounded: of more texts than `LIMIT`
a sample stays. Texts that are kept somewhere, and pseudonyms, are no sign of a leak, wherever they stand.
"""

from __future__ import annotations

import hashlib
import random
import re
import struct
from collections.abc import Iterable
from enum import Enum
from functools import cache, lru_cache, partial
from ipaddress import IPv6Address, ip_address
from itertools import cycle
from zlib import crc32

LIMIT = 1 << 17
"""Texts that are searched for, of names and secrets, and again of values."""
PART = 128
"""Bytes of the beginning and of the end of a value whose words are searched for."""
FEWEST, SHORT = 6, 4
"""Bytes of a text that is found wherever it stands alone, and of one that is found after its length."""
TELLING = 3
"""Bytes of a packed address that are not zero, so that it is found byte by byte; two do in an IPv4 address."""
STRUCTURE = frozenset({b"snappy", b"status", b"scope", b"openid", b"configuration", b"openid-configuration"})
"""Words that compressed bytes begin with, and keys of JSON that stays."""
WINDOW = 8
"""Bytes of a secret that are compared at once."""
_UNMARKED = bytes({*range(256)} - {*b".:-_"})
"""What is not between the numbers of an address."""
_BESIDE = bytes(letter if bytes([letter]).isalnum() else 32 for letter in range(256))
_INSIDE = bytes(letter if bytes([letter]).isalnum() or letter in b".-_:/+=@" else 32 for letter in range(256))
IPV4 = re.compile(rb"(?<![0-9])(?=([0-9]{1,3})([-._])([0-9]{1,3})\2([0-9]{1,3})\2([0-9]{1,3})(?![0-9]))")
HARDWARE = re.compile(rb"(?=([0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}|[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}))")
BLANK = b"x"
CONSONANTS, VOWELS, LETTERS, DIGITS = "bdfghjklmnprstvz", "aeio", "abcdefghijklmnopqrstuvwxyz0123456789", "0123456789"
TRIES = 64
"""Pseudonyms tried until one is free: those of few letters run out."""
_PIECE = re.compile(
    r"(?<![0-9.])[0-9]{1,3}([-._])[0-9]{1,3}\1[0-9]{1,3}\1[0-9]{1,3}(?![0-9.])|[0-9]+|[0-9A-Za-z\x80-\U0010ffff]+"
)
"""An IPv4 address, also as `10-1-2-3`, a number, or what is no ASCII punctuation; bytes that are no UTF-8 are part."""
_SHORT_NUMBER = re.compile(r"[^0-9]*[0-9]{1,3}[^0-9]*")
"""A name whose only number tells it from others: `broker-1`. Several numbers can be an address or an identifier."""
_CLASSES4 = ((1, 10), (10, 100), (100, 256))
_FIRST4 = ((1, 10), (10, 100), (100, 224))
"""Numbers with as many digits; no unicast address begins with 224 or more."""
_CLASSES6 = ((0x1, 0x10), (0x10, 0x100), (0x100, 0x1000), (0x1000, 0x10000))
_FIRST6 = ((0x1, 0x10), (0x10, 0x100), (0x100, 0x1000), (0x1000, 0xFE00))


class Replaced(Enum):
    """What kind of thing was replaced, in words."""

    NAME = "a name"
    SECRET = "a password, token or other secret"
    VALUE = "a part of a record, a setting or another value"
    ADDRESS = "an IP address"
    HARDWARE = "a hardware address"
    OTHER = "text that kdbg could not decode"


LEAST = {Replaced.NAME: FEWEST, Replaced.SECRET: FEWEST, Replaced.VALUE: 8, Replaced.OTHER: 8}
"""Bytes of a word that counts: shorter words of so many values are met by chance."""


def words(data: bytes) -> list[bytes]:
    """Return what stands between spaces, control characters, quotes and bytes that are no ASCII."""
    return data.translate(_INSIDE).split()


def pieces(word: bytes) -> list[bytes]:
    """Return the letters and digits in a word, without what separates them."""
    return word.translate(_BESIDE).split()


def addresses(word: bytes) -> Iterable[bytes]:
    """Yield the IP and hardware addresses that a word in small letters spells, packed."""
    if len(word.translate(None, _UNMARKED)) < 2:
        return
    for found in IPV4.finditer(word) if max(map(word.count, (b".", b"-", b"_"))) > 2 else ():
        parts = [int(found[i]) for i in (1, 3, 4, 5)]
        if max(parts) < 256:
            yield bytes(parts)
    if word.count(b":") > 1 or word.count(b"-") > 4 or word.count(b".") > 1:
        for found in HARDWARE.finditer(word):
            yield bytes.fromhex(re.sub(rb"[^0-9a-f]", b"", found[1]).decode())
    if word.count(b":") > 1:
        try:
            yield ip_address(word.strip(b"/").decode()).packed
        except ValueError:
            return


class Sample:
    """Texts with their kinds, of which some are dropped, by chance, once there are too many."""

    def __init__(self) -> None:
        self.kinds: dict[bytes, Replaced] = {}
        self._mask = 0

    def takes(self, data: bytes) -> bool:
        """Return whether one with these bytes belongs to the sample."""
        return not crc32(data) & self._mask

    def add(self, text: bytes, kind: Replaced) -> None:
        """Take a text, if it belongs to the sample."""
        if not self.takes(text):
            return
        self.kinds.setdefault(text, kind)
        if len(self.kinds) > LIMIT:
            self._mask = self._mask * 2 + 1
            self.kinds = {text: kind for text, kind in self.kinds.items() if self.takes(text)}


class ReplacedValues:
    """Takes what is replaced, and what is kept; `settle` then leaves what to search for.

    `texts` are words and pieces of them in small letters; `short` texts that are searched for after their length;
    `packed` addresses; `windows` eight bytes of secrets as numbers. `kept` are words that stay somewhere.
    """

    def __init__(self) -> None:
        self._few, self._many = Sample(), Sample()
        self.kept = set(STRUCTURE)
        self.texts: dict[bytes, Replaced] = {}
        self.short: dict[bytes, Replaced] = {}
        self.packed: dict[bytes, Replaced] = {}
        self.windows: dict[int, Replaced] = {}
        self.name = lru_cache(1 << 14)(partial(self._add, kind=Replaced.NAME))
        self.keep = lru_cache(1 << 14)(self._keep)
        self._add_once = lru_cache(1 << 14)(self._add)  # what is produced is fetched soon

    def add(self, data: bytes, kind: Replaced) -> None:
        """Take bytes that are replaced."""
        if kind is Replaced.NAME:
            self.name(data)
        elif len(data) >= SHORT and self._many.takes(data[:PART]):
            self._add_once(data if len(data) <= 2 * PART else data[:PART] + b" " + data[-PART:], kind)

    def _add(self, data: bytes, kind: Replaced) -> None:
        least, lower = LEAST[kind], data.lower()
        sample = self._few if least == FEWEST else self._many
        found = [piece for piece in pieces(lower) if len(piece) >= least and len(set(piece)) > 2]
        whole = words(lower) if kind is not Replaced.OTHER else []
        if len(lower) >= least and whole == [lower] and len(set(lower)) > 2:
            found.append(lower)
        for text in found:
            sample.add(text, kind)
            sample.add(text[::-1], kind)
        for word in whole:
            for packed in addresses(word):
                self.packed.setdefault(packed, Replaced.ADDRESS if len(packed) != 6 else Replaced.HARDWARE)
        if kind is Replaced.SECRET and len(data) >= 2 * WINDOW and not found:
            # bytes without a word: of eight at each of eight places in a row, one stands at a whole eight
            windows = [data[start : start + WINDOW] for start in range(WINDOW)]
            if len(self.windows) < LIMIT and all(len(set(one)) >= WINDOW - 2 for one in windows):
                self.windows.update((int.from_bytes(one, "little"), Replaced.SECRET) for one in windows)
        elif least == FEWEST and SHORT <= len(data) < FEWEST and data.isascii() and len(self.short) < LIMIT:
            self.short.setdefault(data, kind)

    def address(self, packed: bytes, made: bytes) -> None:
        """Take an address that is replaced, and what stands in its place."""
        self.packed.setdefault(packed, Replaced.HARDWARE if len(packed) == 6 else Replaced.ADDRESS)
        if made != packed:
            self.kept.add(made)

    def _keep(self, text: bytes) -> None:
        """Take a text that stays, or a pseudonym: what it consists of is not searched for."""
        lower = text.lower()
        self.kept.update((text, *words(lower), *pieces(lower)))

    def settle(self) -> None:
        """Leave what to search for, once all was taken."""
        self.texts = {**self._many.kinds, **self._few.kinds}
        for packed, kind in self.packed.items():
            for spelled in (packed, packed[::-1]):
                self.texts.update({spelled.hex().encode(): kind, str(int.from_bytes(spelled)).encode(): kind})
        for text in self.kept:
            for found in (self.texts, self.short, self.packed):
                found.pop(text, None)
        turned = {packed[::-1]: kind for packed, kind in self.packed.items() if packed[::-1] not in self.kept}
        self.packed = {
            **{packed: kind for packed, kind in turned.items() if len(packed) - packed.count(0) >= TELLING},
            **{  # with enough bytes that are not zero to be no number: 10.0.0.1, but not ::1
                packed: kind
                for packed, kind in self.packed.items()
                if len(packed) - packed.count(0) >= (TELLING if len(packed) > 4 else 2)
            },
        }
        self.texts = {text: kind for text, kind in self.texts.items() if len(text) >= FEWEST}


class Substitutes:
    """Gives substitutes; `names`: names get pseudonyms, else blanks; `addresses`: those of packets are replaced."""

    def __init__(self, seed: str, *, names: bool = False, addresses: bool = False) -> None:
        self.names, self.addresses = names, addresses
        self._seed = seed
        self._piece = cache(self._made)
        self._taken: set[str] = set()
        self._orders: dict[tuple[int, int, int], list[int]] = {}
        self.replaced: ReplacedValues = ReplacedValues()
        """What was replaced, to search the result for."""
        self.address, self.hardware = cache(self._noted_address), cache(self._noted_hardware)

    def name(self, text: str) -> bytes:
        """Return what stands for a name: a pseudonym, or a blank."""
        if not self.names:
            return blank(len(text.encode("utf-8", "surrogateescape")))
        keeps_number = _SHORT_NUMBER.fullmatch(text) is not None
        made = self._text_of(text) or _PIECE.sub(
            lambda found: found[0] if keeps_number and _is_number(found[0]) else self._piece(found[0]), text
        )
        if made != text:
            self.replaced.keep(made.encode("utf-8", "surrogateescape"))
        return made.encode("utf-8", "surrogateescape")

    def _noted_hardware(self, address: bytes) -> bytes:
        """Return what stands for a hardware address; nobody's and everybody's stay."""
        if not any(address) or address[0] & 1:
            return address
        made = hashlib.shake_256(self._seed.encode() + b"\0hardware\0" + address).digest(len(address))
        made = bytes([made[0] & 0xFC | 2]) + made[1:]
        self.replaced.address(address[:6], made[:6])
        return made

    def _text_of(self, text: str) -> str:
        """Return what stands for an address that is written as text; "" for any other text."""
        try:
            made = str(ip_address(self.address(ip_address(text).packed)))
        except ValueError:
            return ""
        return made if len(made) == len(text) else ""

    def _made(self, piece: str) -> str:
        """Return a pseudonym that is free, if there is one."""
        mark = next((letter for letter in "-._" if letter in piece), "")
        if mark:
            address = self._text_of(piece.replace(mark, ".")).replace(".", mark) or re.sub("[0-9]", "0", piece)
            self._taken.add(address)
            return address
        is_number = _is_number(piece)
        length, made = len(piece.encode("utf-8", "surrogateescape")), piece
        for turn in range(2 * TRIES):
            asked = f"{self._seed}\0{turn}\0{piece}".encode("utf-8", "surrogateescape")
            alphabets = (DIGITS,) if is_number else (CONSONANTS, VOWELS) if turn < TRIES else (LETTERS,)
            said = hashlib.shake_256(asked).digest(length)
            made = "".join(letters[byte % len(letters)] for byte, letters in zip(said, cycle(alphabets)))
            if made != piece and made not in self._taken:
                break
        self._taken.add(made)
        return made

    def _noted_address(self, packed: bytes) -> bytes:
        """Return what stands for an IP address, given and returned as 4 or 16 bytes; nobody's and everybody's stay."""
        address = ip_address(packed)
        if address.is_unspecified or address.is_multicast or (len(packed) == 4 and packed[0] in (0, 255)):
            return packed
        if len(packed) == 4:
            made = bytes(self._part(place, part, _CLASSES4 if place else _FIRST4) for place, part in enumerate(packed))
        elif isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
            made = packed[:12] + self._noted_address(address.ipv4_mapped.packed)
        else:
            parts = enumerate(struct.unpack(">8H", packed))
            made = struct.pack(">8H", *(self._part(8 + i, part, _CLASSES6 if i else _FIRST6) for i, part in parts))
        self.replaced.address(packed, made)
        return made

    def _part(self, place: int, part: int, classes: tuple[tuple[int, int], ...]) -> int:
        """Return what stands for a part of an address: another number of as many digits; 0 stays."""
        for start, end in classes:
            if start <= part < end:
                order = self._orders.get((place, start, end))
                if order is None:
                    order = self._orders[place, start, end] = list(range(start, end))
                    random.Random(f"{self._seed}\0{place}\0{start}").shuffle(order)
                return order[part - start]
        return part


def blank(length: int) -> bytes:
    """Return so many bytes that say nothing."""
    return BLANK * length


def _is_number(piece: str) -> bool:
    return piece.isascii() and piece.isdigit()
