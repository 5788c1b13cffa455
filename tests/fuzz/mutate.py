"""New inputs out of others: the changes that break readers of lengths, counts, tags and text; by a seeded dice."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from random import Random

Change = Callable[[bytearray, Random, Sequence[bytes]], bytearray]
NUMBERS = [0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 63, 64, 100, 127, 128, 255, 256, 1023, 1024, 32767, 32768, 65535, 65536,
           1 << 20, (1 << 24) - 1, 0x7FFFFFFE, 0x7FFFFFFF]  # fmt: skip
WORDS = [b"\x80\x80\x80\x80\x08", b"\xff\xff\xff\xff\x0f", b"\xff" * 8, b"\x80" + bytes(7), b"\xff\xff\xff\xff",
         b"\xff\xff", b"\0\0\0\0", b"\x01", b"\x7f", b"\x80", b"\xff"]  # fmt: skip
TEXTS = ["\ufffd", "\x1b[31m", "\u202e", "'", '"', "\\", "\n", "\0", "(", ")", "[", "]", "{", "}", ",", ":", "0x",
         "...", "9" * 20, "-1", "1e999", "\U0001f389", "null", "%s"]  # fmt: skip


def mutated(data: bytes, dice: Random, seeds: Sequence[bytes], longest: int) -> bytes:
    """Return one to eight changes of an input, no longer than `longest`."""
    found = bytearray(data)
    for _ in range(1 + min(int(dice.expovariate(0.6)), 7)):
        found = dice.choice(CHANGES)(found, dice, seeds)
    return bytes(found[:longest])


def _place(data: bytearray, dice: Random) -> int:
    return dice.randrange(len(data) + 1) if dice.random() < 0.7 else min(len(data), dice.randrange(64))


def _bit(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    if data:
        data[min(_place(data, dice), len(data) - 1)] ^= 1 << dice.randrange(8)
    return data


def _number(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    """Write an interesting number of one, two, four or eight bytes over what is there."""
    size, form = dice.choice([(1, "B"), (2, "H"), (4, "I"), (8, "Q")])
    value = dice.choice(NUMBERS)
    value = -value if dice.random() < 0.3 else value
    at = _place(data, dice)
    raw = struct.pack(dice.choice("<>") + form, value & ((1 << 8 * size) - 1))
    data[at : at + size] = raw[: max(0, len(data) - at)] or raw
    return data


def _step(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    """Make a byte a little larger or smaller."""
    if data:
        at = min(_place(data, dice), len(data) - 1)
        data[at] = (data[at] + dice.choice([-2, -1, 1, 2])) & 255
    return data


def _word(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    at = _place(data, dice)
    data[at:at] = dice.choice(WORDS)
    return data


def _text(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    at = _place(data, dice)
    data[at:at] = dice.choice(TEXTS).encode("utf-8", "surrogatepass")
    return data


def _cut(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    return data[: _place(data, dice)]


def _remove(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    at = _place(data, dice)
    del data[at : at + dice.choice([1, 1, 2, 4, 8, 32])]
    return data


def _repeat(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    """Repeat a piece, seldom very often."""
    at, size = _place(data, dice), dice.choice([1, 2, 4, 8, 32, 200])
    data[at:at] = data[at : at + size] * dice.choice([1, 1, 2, 10, 300])
    return data


def _random(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    at = _place(data, dice)
    data[at : at + dice.randrange(9)] = dice.randbytes(dice.randrange(9))
    return data


def _splice(data: bytearray, dice: Random, seeds: Sequence[bytes]) -> bytearray:
    """Go on with a piece of another input."""
    if not seeds:
        return data
    other = dice.choice(seeds)
    start = dice.randrange(len(other) + 1)
    at = _place(data, dice)
    data[at : at + dice.choice([0, 64, len(data)])] = other[start : start + dice.choice([8, 64, len(other)])]
    return data


CHANGES: list[Change] = [
    _bit, _bit, _number, _number, _step, _word, _text, _cut, _remove, _repeat, _random, _splice,
]  # fmt: skip
