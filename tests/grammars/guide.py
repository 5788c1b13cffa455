"""The BNF of Kafka's guides as data: what is parsed here is a guide's text, or what kdbg prints in the same form.

A layout is what decides where the bytes stand: a list of primitive words and of arrays (lists in it); a structure
that is no array only groups fields and leaves no trace on the wire. A name is looked up in the definitions indented
below its production, then further out: today's guides indent, the guide of 0.8 keeps all definitions on one level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

Layout = list[Any]
WORD = re.compile(r"\[|\]|\||\w+(?:<tag: \d+>)?")


@dataclass
class Production:
    """`name => words`, and the productions indented below it."""

    name: str
    words: list[str]
    indent: int
    inner: dict[str, Production] = field(default_factory=dict)


def blocks(text: str) -> list[Production]:
    """Every block of a guide: its first line, with all definitions below it. Lines with a # are comments."""
    found, open_ones = [], list[Production]()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, words = line.partition("=>")
        production = Production(name.strip(), WORD.findall(words), len(line) - len(line.lstrip()))
        while open_ones and open_ones[-1].indent >= production.indent:
            open_ones.pop()
        if open_ones:
            open_ones[-1].inner[production.name] = production
        else:
            found.append(production)
        open_ones.append(production)
    return found


def layout(production: Production, around: Mapping[str, Production] | None = None) -> Layout:
    """The layout of a production; `around` are the definitions that its own ones come on top of."""
    scope = {**(around or {}), **production.inner}
    items = _sequence(iter(production.words), scope, "")
    assert items is not None
    return items


def _sequence(words: Iterator[str], scope: Mapping[str, Production], closing: str) -> Layout:
    """Words up to `closing`; `|a b|` of the 0.8 guide marks fields that mean nothing beside an error, yet are there."""
    items: Layout = []
    for word in words:
        if word == closing:
            return items
        if word == "[":
            items.append(_sequence(words, scope, "]"))
        elif word == "|":
            items.extend(_sequence(words, scope, "|"))
        elif word in scope:
            items.extend(layout(scope[word], {name: p for name, p in scope.items() if name != word}))
        else:
            items.append(word.upper())
    assert not closing, f"{closing} is missing"
    return items
