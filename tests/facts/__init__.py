"""Facts about Kafka's protocol that travel with the project: what kdbg is held to wherever its tests run.

Each table is a file beside this one, `NAME.jsonl.gz`, one JSON value a line. They say how things are (names, types,
numbers, versions) and hold nobody's sentences: of texts there are only fingerprints, by which a copied one is known.
`python -m tests.facts` makes them again from the files that they were taken from, where these are.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
RUN = 6
"""Words in a row that make a text a copy."""
FINGERPRINT = 4
"""Bytes of a fingerprint."""
RELEASES = ("messages", "messages-3.x")
"""Kafka 4.2 and 3.9, as their definitions are called."""


def rows(name: str) -> list[Any]:
    """Return the values of a table."""
    text = gzip.decompress((FOLDER / f"{name}.jsonl.gz").read_bytes()).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


def layouts() -> list[dict[str, Any]]:
    """Return each message of each version with (path, type) of its fields, of Kafka 3.9.2 to 4.2."""
    return rows("layouts")


def payload_layouts() -> list[dict[str, Any]]:
    """Return each payload and header of each version like `layouts`, with the number it has in internal topics."""
    return rows("payload-layouts")


def conflicts() -> list[dict[str, Any]]:
    """Return where two releases gave one version two layouts, with the rows that went and came."""
    return rows("conflicts")


def apis() -> list[dict[str, Any]]:
    """Return Kafka's APIs with their names, versions, headers and releases."""
    return rows("apis")


def errors() -> list[dict[str, Any]]:
    """Return Kafka's error codes with their names and whether a client may try again."""
    return rows("errors")


def error_names(guide: str) -> dict[str, int]:
    """Return the error names and codes of a guide, "0.8" or "0.10.1"."""
    return {name: code for of, name, code in rows("error-names") if of == guide}


def guide(release: str) -> str:
    """Return the BNF of a guide, "0.8" or "0.10.1", a production a line."""
    return "\n".join(f"{' ' * indent}{name} => {words}" for of, indent, name, words in rows("bnf") if of == release)


def definitions(release: str) -> Iterator[tuple[str, str]]:
    """Yield (file name, text) of Kafka's message definitions, without what they say in words."""
    for of, name, definition in rows("definitions"):
        if of == release:
            yield name, json.dumps(definition, indent=2)


def vectors() -> list[dict[str, Any]]:
    """Return messages that real clients and brokers wrote, with their values (see `recorded`)."""
    return rows("vectors")


def runs(text: str) -> Iterator[bytes]:
    """Yield the fingerprint of every few words in a row."""
    words = text.casefold().split()
    for start in range(len(words) - RUN + 1):
        yield blake2b(" ".join(words[start : start + RUN]).encode(), digest_size=FINGERPRINT).digest()


def copied(texts: Iterable[str]) -> list[str]:
    """Return those texts that have some words in a row in common with Kafka's guides or definitions."""
    known = _fingerprints("texts")
    return [text for text in texts if not known.isdisjoint(runs(text))]


def phrase(text: str) -> bytes:
    """Return the fingerprint of a whole text, whatever its case, marks and articles."""
    words = [word for word in re.findall(r"[a-z0-9]+", text.casefold()) if word not in ("a", "an", "the")]
    return blake2b(" ".join(words).encode(), digest_size=FINGERPRINT).digest()


def quoted(texts: Iterable[str]) -> list[str]:
    """Return those texts that are, as a whole, what Kafka's definitions say of a field."""
    known = _fingerprints("phrases")
    return [text for text in texts if phrase(text) in known]


@cache
def _fingerprints(name: str) -> frozenset[bytes]:
    data = (FOLDER / f"{name}.bin").read_bytes()
    return frozenset(data[at : at + FINGERPRINT] for at in range(0, len(data), FINGERPRINT))
