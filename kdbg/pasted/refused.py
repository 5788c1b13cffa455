"""What a broker logs about a request that it could not read: which API and version, and inside which structure."""

from __future__ import annotations

import re
from typing import NamedTuple


class Refusal(NamedTuple):
    """A message that its reader could not read: `api` as in the log; `structures` were being read, inmost first.

    `ended`: the bytes ended too early.
    """

    api: str
    version: int
    structures: tuple[str, ...]
    ended: bool


REQUEST = re.compile(r"apiKey\s*[:=]\s*([A-Za-z_]+)\W+apiVersion\s*[:=]\s*(\d+)")
STRUCTURE = re.compile(r"(\w+)(?:Request|Response)Data(?:\$(\w+))?\.read\b")
ENDED = re.compile(r"BufferUnderflow|only \d+ bytes|remaining|Tried to allocate|out of bounds", re.IGNORECASE)
WRONG = re.compile(r"Error (?:getting|parsing|reading)|InvalidRequest|SchemaException|could not be (?:read|parsed)")


def refusal(text: str) -> Refusal | None:
    """Return what the text says of a request that could not be read; None where it says nothing of one."""
    found = REQUEST.search(text)
    if found is None or not WRONG.search(text):
        return None
    structures = tuple(inner for _, inner in STRUCTURE.findall(text) if inner)
    return Refusal(found[1], int(found[2]), structures, ENDED.search(text) is not None)
