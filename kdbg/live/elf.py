"""ELF files of programs and libraries: names of functions go in, where in the file their code begins comes out.

See elf(5). Files of 64 bits in the order of bytes of this machine are read.
"""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

MAGIC = b"\x7fELF\x02"
SYMBOL_TABLES = {2, 11}
"""Types of sections: all symbols, and those that other files may use."""
LOAD, FUNCTION = 1, 2
"""The type of a segment that is mapped, and of a symbol that is a function."""


class Section(NamedTuple):
    """What is read of a section's header: its type, place in the file, size, and the section of its names."""

    type: int
    offset: int
    size: int
    link: int


class ElfFile:
    """A program or library. Raise `OSError` or `ValueError` where it cannot be read."""

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:5] != MAGIC:
            raise ValueError("not an ELF file of 64 bits")
        segments, sections = struct.unpack_from("=QQ", self.data, 32)
        size, count, _, number = struct.unpack_from("=4H", self.data, 54)
        self._segments = [struct.unpack_from("=IIQQQQ", self.data, segments + size * at) for at in range(count)]
        headers = [struct.unpack_from("=IIQQQQII", self.data, sections + 64 * at) for at in range(number)]
        self._sections = [Section(each[1], each[4], each[5], each[6]) for each in headers]

    def functions(self, names: Collection[str]) -> dict[str, int]:
        """Return where in the file the code of functions begins, of those that have a symbol."""
        found: dict[str, int] = {}
        for table in self._sections:
            if table.type not in SYMBOL_TABLES or table.link >= len(self._sections):
                continue
            strings = self._sections[table.link]
            text = self.data[strings.offset : strings.offset + strings.size]
            places = {text.find(b"\0" + name.encode() + b"\0") + 1: name for name in names}
            places.pop(0, None)
            symbols = self.data[table.offset : table.offset + table.size // 24 * 24]
            for place, info, _, section, address, _ in struct.iter_unpack("=IBBHQQ", symbols) if places else ():
                if place in places and info & 15 == FUNCTION and section:
                    found[places[place]] = self._offset(address)
        return found

    def _offset(self, address: int) -> int:
        for kind, _, offset, start, _, size in self._segments:
            if kind == LOAD and start <= address < start + size:
                return int(address - start + offset)
        raise ValueError("a function is in no segment")
