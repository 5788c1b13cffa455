"""What the fields of a message mean, in words: one line for each field, however often it occurs.

A grammar and the places of fields go in, (name, meaning) comes out. Names are the shortest ends of paths that say
which field is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ...protocol.wire.language.payload import OpenedPayload
from ...protocol.wire.nodes import Field, WireStruct
from ...protocol.wire.readings.annotate import Span
from ...protocol.wire.readings.layout import structure, tails, walk
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import RecordFormat
from .columns import aligned
from .style import Look
from .values import escape

INDEX = re.compile(r"\[\d+\]")


def named(entries: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return (name, text) for each path, where the name is the shortest end of the path that has only this text.

    Rows without a text are left out, and repeated rows.
    """
    entries = list(entries)
    texts: dict[str, set[str]] = {}
    for path, text in entries:
        for tail in tails(path):
            texts.setdefault(tail, set()).add(text)
    rows = [(next((tail for tail in tails(path) if len(texts[tail]) == 1), path), text) for path, text in entries]
    return [row for row in dict.fromkeys(rows) if row[1]]


def sentence(field: Field) -> str:
    """Return what a field means, escaped for a terminal and without a full stop."""
    return escape(field.about).rstrip(".")


def meanings(grammars: Iterable[WireStruct], spans: Iterable[Span], look: Look) -> list[str]:
    """Return the lines below a hexdump that say what each field in it means, in record sets and payloads too."""
    rows = named(by_path(grammars, spans).items())
    return ["", *aligned(rows, look, ("name", "dim"))] if rows else []


def by_path(grammars: Iterable[WireStruct], spans: Iterable[Span]) -> dict[str, str]:
    """Return what each field means by its path, in which `[]` stands for every index; "" where nothing is said."""
    known = {path: field for grammar in grammars for path, field, _ in walk(grammar)}
    entries: dict[str, str] = {}
    format: RecordFormat | None = None
    for span in spans:
        path = general(span.path)
        format = span.node.format if isinstance(span.node, RecordsNode) else format
        if format is not None:
            place, _, name = path.rpartition(".")
            record, parts = structure(format.records), list[tuple[WireStruct, str]]()
            if name == format.front[0].name:  # of the batch or message that begins here
                parts = [(WireStruct(format.front, None), place), *((struct, place) for struct in format.messages)]
            elif name == format.batch.fields[0].name and record is not None:
                parts = [(format.batch, place), (record, f"{place}.records[]")]
            known |= {here: field for struct, at in parts for here, field, _ in walk(struct, at)}
        if isinstance(span.value, OpenedPayload):
            known |= {here: field for here, field, _ in walk(span.value.grammar, path)}
        field = known.get(path.removesuffix("[]"))
        entries.setdefault(path.removesuffix("[]"), sentence(field) if field else "")
    return entries


def general(path: str) -> str:
    """Return the path of a field for all indices: `topics[].name`."""
    return INDEX.sub("[]", path)
