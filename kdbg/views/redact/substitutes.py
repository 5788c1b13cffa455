"""What stands in place of what is taken out: always of the same length in bytes, and the same for the same seed.

A blank is a row of `x`. A pseudonym is made piece by piece, so that `orders-eu` and `orders-us` still begin alike:
letters become a word that can be spoken, numbers other numbers; what separates the pieces stays, and so does the only
number of a name, if it has up to three digits. An address keeps the number of digits of each of its parts, so that it
is as long as text, too.
"""

from __future__ import annotations

import hashlib
import random
import re
from functools import cache
from ipaddress import IPv6Address, ip_address

from .replacements import ReplacedValues

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


class Substitutes:
    """Gives substitutes; `names`: names get pseudonyms, else blanks; `addresses`: those of packets are replaced."""

    names: bool
    addresses: bool
    replaced: ReplacedValues
    """What was replaced, to search the result for."""

    def __init__(self, seed: str, *, names: bool = False, addresses: bool = False) -> None:
        self.names, self.addresses = names, addresses
        self._seed = seed
        self._pieces: dict[str, str] = {}
        self._taken: set[str] = set()
        self._orders: dict[tuple[int, int, int], list[int]] = {}
        self.replaced = ReplacedValues()
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
        made = self._hardware(address)
        self.replaced.address(address[:6], made[:6])
        return made

    def _hardware(self, address: bytes) -> bytes:
        made = hashlib.shake_256(self._seed.encode() + b"\0hardware\0" + address).digest(len(address))
        return bytes([made[0] & 0xFC | 2]) + made[1:]

    def _piece(self, piece: str) -> str:
        found = self._pieces.get(piece)
        if found is None:
            found = self._pieces[piece] = self._made(piece)
            self._taken.add(found)
        return found

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
            return self._text_of(piece.replace(mark, ".")).replace(".", mark) or re.sub("[0-9]", "0", piece)
        is_number = _is_number(piece)
        length, made = len(piece.encode("utf-8", "surrogateescape")), piece
        for turn in range(2 * TRIES):
            asked = f"{self._seed}\0{turn}\0{piece}".encode("utf-8", "surrogateescape")
            alphabets = (DIGITS,) if is_number else (CONSONANTS, VOWELS) if turn < TRIES else (LETTERS,)
            said = hashlib.shake_256(asked).digest(length)
            made = "".join(letters[byte % len(letters)] for byte, letters in _pairs(said, alphabets))
            if made != piece and made not in self._taken:
                break
        return made

    def _noted_address(self, packed: bytes) -> bytes:
        """Return what stands for an IP address, given and returned as 4 or 16 bytes; nobody's and everybody's stay."""
        address = ip_address(packed)
        if address.is_unspecified or address.is_multicast or (len(packed) == 4 and packed[0] in (0, 255)):
            return packed
        made = self._address(packed)
        self.replaced.address(packed, made)
        return made

    def _address(self, packed: bytes) -> bytes:
        if len(packed) == 4:
            return bytes(self._part(place, part, _CLASSES4 if place else _FIRST4) for place, part in enumerate(packed))
        mapped = IPv6Address(packed).ipv4_mapped
        if mapped is not None:
            return packed[:12] + self._noted_address(mapped.packed)
        parts = [int.from_bytes(packed[i : i + 2], "big") for i in range(0, 16, 2)]
        made = [self._part(8 + i, part, _CLASSES6 if i else _FIRST6) for i, part in enumerate(parts)]
        return b"".join(part.to_bytes(2, "big") for part in made)

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


def _pairs(said: bytes, alphabets: tuple[str, ...]) -> list[tuple[int, str]]:
    return [(byte, alphabets[i % len(alphabets)]) for i, byte in enumerate(said)]
