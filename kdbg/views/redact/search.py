"""Search bytes for what was replaced in a capture, in whatever way it is spelled.

Words are looked up as they stand, in any case, and piece by piece; those that may be hex or base64 are decoded first.
The cost is that of splitting the bytes into words, however many texts are searched for.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from functools import lru_cache

from ...budget import MEMORY
from ...capture.packet import Packet
from ...errors import WireError
from ...protocol.wire.records.compression import decompress
from .packets import NUMBERS, Layers, options_in, plain_segment
from .substitutes import FEWEST, SHORT, WINDOW, Replaced, ReplacedValues, addresses, pieces, words

BLANK, SPACE = b"xxxx", b"\0\0\0\0"
"""A blank of a value, of which the rest is fewer bytes; what it becomes to be searched."""
LENGTH = re.compile(rb"[\x04-\x0a](?=([!-~]{4,5}))")
"""A length, of any kind, and what may be a short text after it."""
HEX = re.compile(rb"[0-9a-fA-F]+")
BASE64 = re.compile(rb"[A-Za-z0-9+/_-]{8,}")
CODEC, BATCH_HEADER = 7, 61
CODECS = re.escape(bytes(byte for byte in range(256) if byte & CODEC))
COMPRESSED = re.compile(
    rb"(?s)\0(?=\0......([\0\x01]...)....(?:\x02....\0(?P<batch>[%b])|(?P<magic>[\0\x01])[\x01-\x03\x09-\x0b]))"
    % CODECS
)
"""The beginning of a batch or a message that may be compressed: offset, length, magic, attributes."""
DEEPEST = 2
_STANDARD = bytes.maketrans(b"-_", b"+/")


class LeakSearch:
    """Finds what was replaced, by its kind; None where there is nothing."""

    def __init__(self, replaced: ReplacedValues, *, addresses: bool) -> None:
        self._replaced, self._addresses = replaced, addresses
        self._word = lru_cache(1 << 16)(self._looked_up)
        self._heads = lru_cache(1 << 12)(self._packed)

    def find(self, data: bytes) -> Replaced | None:
        """Search bytes: texts in all spellings, secrets."""
        replaced = self._replaced
        shown = data.replace(BLANK, SPACE)  # blanks of four bytes and more are no part of the words beside them
        for rest in (3, 2, 1):
            shown = shown.replace(SPACE + BLANK[:rest], SPACE + SPACE[:rest])
        for word in words(shown):
            if len(word) >= FEWEST and (kind := self._word(word)) is not None:
                return kind
        for found in LENGTH.finditer(data) if replaced.short else ():
            for size in (SHORT, SHORT + 1):
                text = found[1][:size]
                kind = replaced.short.get(text) if len(text) == size else None
                if kind is not None and data[found.start()] in (size, size + 1, 2 * size):
                    return kind
        if replaced.windows:
            view = memoryview(data)[: len(data) // WINDOW * WINDOW].cast("Q")
            return next((replaced.windows[one] for one in view if one in replaced.windows), None)
        return None

    def find_in_records(self, data: bytes, depth: int = 0) -> Replaced | None:
        """Search what is compressed in the batches and messages of record sets."""
        for inside in _opened(data) if depth < DEEPEST else ():
            kind = self.find(inside) or self.find_in_records(inside, depth + 1)
            if kind is not None:
                return kind
        return None

    def find_in_headers(self, link: int, data: bytes, packet: Packet | None) -> Replaced | None:
        """Search a packet for addresses, byte by byte, with zeros for numbers in headers and for what TCP carries."""
        if not self._addresses:
            return None
        if packet is not None and (tcp := plain_segment(link, data)) is not None:
            return self._heads(data[: tcp - 20] + data[tcp - 8 : tcp])
        layers, left = Layers(link, data), bytearray(data)
        for network in layers.networks:
            left[network.start : network.addresses[0]] = bytes(network.addresses[0] - network.start)
        if layers.segment is not None:
            left[layers.segment : layers.segment + 20] = bytes(20)
            for place, size in options_in(data, layers.segment + 20, layers.body):
                if data[place] in NUMBERS:
                    left[place : place + size] = bytes(size)
        at = layers.body if layers.segment is not None else data.rfind(packet[6]) if packet is not None else -1
        if packet is not None and at >= 0:
            left[at : at + len(packet[6])] = bytes(len(packet[6]))
        return self._heads(bytes(left))

    def _packed(self, data: bytes) -> Replaced | None:
        for size in (4, 6, 16):
            for start in range(len(data) - size + 1):
                kind = self._replaced.packed.get(data[start : start + size])
                if kind is not None:
                    return kind
        return None

    def _looked_up(self, word: bytes) -> Replaced | None:
        """Look a word up, and what it may spell in hex or in base64, wherever that begins."""
        if (kind := self._spelled(word)) is not None:
            return kind
        spelled = []
        for found in HEX.finditer(word):
            for shift in (0, 1):
                text = found[0][shift:]
                spelled.append(bytes.fromhex(text[: len(text) // 2 * 2].decode()))
        for found in BASE64.finditer(word):
            for shift in range(4):
                text = found[0][shift:].translate(_STANDARD)
                text = text[:-1] if len(text) % 4 == 1 else text
                spelled.append(b64decode(text + b"=" * (-len(text) % 4)))
        for decoded in spelled:
            kind = kind or self._replaced.packed.get(decoded)
            for inner in words(decoded) if kind is None else ():
                kind = kind or self._spelled(inner)
        return kind

    def _spelled(self, word: bytes) -> Replaced | None:
        texts, lower = self._replaced.texts, word.lower()
        for text in (lower, *pieces(lower)):
            if text in self._replaced.kept:
                continue
            for one in (text, text[1:], text[:-1], text[1:-1]):  # the lengths before and after it may be letters
                if one in texts:
                    return texts[one]
        packed = self._replaced.packed
        return next((packed[one] for one in addresses(lower) if one in packed), None)


def _opened(data: bytes) -> Iterator[bytes]:
    """Yield what is compressed in batches and in messages of magic 0 and 1, as far as it can be decompressed."""
    for found in COMPRESSED.finditer(data):
        end, batch, magic = found.end(1) + int.from_bytes(found[1]), found["batch"], found["magic"]
        if batch:
            yield from _decompressed(batch[0] & CODEC, data[found.start() + BATCH_HEADER : end], 2)
            continue
        start = found.end("magic") + 1 + 8 * magic[0]
        start += 4 + max(int.from_bytes(data[start : start + 4], signed=True), 0)
        yield from _decompressed(data[found.end("magic")] & CODEC, data[start + 4 : end], magic[0])


def _decompressed(codec: int, data: bytes, magic: int) -> Iterator[bytes]:
    MEMORY.begin()
    try:
        yield decompress(codec, data, magic=magic)
    except WireError:
        return
