"""A grammar as a person reads it: the guide's BNF, and under it what BNF has no words for.

The legend stands in comments behind a blank line, so that the whole can be parsed as BNF; none of them has a `=>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from ...protocol.wire.nodes import NO_DEFAULT, Field, Fixed, Node, NullableStruct, Sized, WireArray, WireStruct
from ...protocol.wire.readings.layout import head, productions, walk
from ...protocol.wire.records.node import RecordsNode
from .columns import aligned, wrap
from .grammar_pages import Sheet
from .meanings import named, sentence
from .style import Look
from .values import escape

Names = Mapping[str, list[tuple[str, str]]]
UNIT = re.compile(r"\b(ms|milliseconds)\b")


def bnf_lines(sheet: Sheet) -> list[str]:
    """Return the grammar as BNF in the form of Kafka's guide, one line a production."""
    words = f"[{head(sheet.struct)}]" if sheet.repeated else head(sheet.struct)
    return [f"{sheet.title} => {words}".rstrip(), *productions(sheet.struct, "  ")]


def sheet_text(sheet: Sheet, look: Look) -> str:
    """Return the BNF of one grammar with its legend and notes in comments below."""
    narrow = replace(look, width=look.width - 2)
    notes = [look.paint("dim", line) for text in sheet.notes for line in wrap(text, narrow.width)]
    entries = aligned(legend(sheet.struct, sheet.names), narrow, ("name", "dim"))
    comments = [*entries, *([""] if entries and notes else []), *notes]
    lines = [_painted(line, look) for line in bnf_lines(sheet)]
    lines += [""] * bool(comments) + [f"{look.paint('dim', '#')} {comment}".rstrip() for comment in comments]
    return "\n".join(lines) + "\n"


def _painted(line: str, look: Look) -> str:
    """Return a production with its title or name and its types in colour."""
    left, arrow, right = line.partition(" =>")
    name = left.lstrip()
    shown = look.paint("name" if len(name) < len(left) else "heading", name)
    words = re.sub(r"\b[A-Z][A-Z0-9_]+\b", lambda word: look.paint("meaning", word[0]), right)
    return f"{left[: len(left) - len(name)]}{shown}{arrow}{words}"


def legend(struct: WireStruct, names: Names) -> list[tuple[str, str]]:
    """Return (name, text) for each field: what it means and what BNF leaves unsaid.

    Where fields of one name mean different things, the name is the end of the path that tells them apart.
    """
    return named((path, "; ".join(filter(None, [field_text(field, around), called(names.get(path, ()))])))
                 for path, field, around in walk(struct))  # fmt: skip


def called(names: Iterable[tuple[str, str]]) -> str:
    """Return the names that Kafka's guides use for a field where they differ; "" for none."""
    listed = ", ".join(f"{name}\xa0({guide})" for guide, name in names)
    return f"in the guides: {listed}" if listed else ""


def field_text(field: Field, around: WireStruct) -> str:
    """Return what a field means, and what its production in BNF leaves unsaid."""
    noted = note(field, around)
    return "; ".join(filter(None, [sentence(field), noted])) if noted else escape(field.about)


def note(field: Field, around: WireStruct) -> str:
    """Return what BNF leaves unsaid of a field (tag, null, kind of value, default), without what `about` says."""
    node = field.node
    array = isinstance(node, WireArray)
    parts: list[str] = []
    if field.tag is not None:
        parts.append(f"{'optional' if around.front else 'tagged'} field {field.tag}{', an array' if array else ''}")
    if isinstance(node, NullableStruct) or (array and nullable(node)):
        parts.append("may be null")
    item = node.item if isinstance(node, WireArray) else node
    parts += filter(None, [_kind(item, around, field.about), _default(field)])
    return "; ".join(parts)


def nullable(node: Node) -> bool:
    """Return whether a field of this type may be null."""
    return isinstance(node, NullableStruct) or bool(getattr(node, "nullable", False))


def _default(field: Field) -> str:
    if field.initial is NO_DEFAULT:
        return ""
    value = field.initial
    return f"default {'null' if value is None else str(value).lower() if isinstance(value, bool) else value}"


def _kind(node: Node, around: WireStruct, about: str) -> str:
    """Return what the values of a type stand for; without their unit if `about` names it."""
    if isinstance(node, RecordsNode):
        return "a record set: kdbg grammar records"
    if node.kind == "secret":
        return _secret(str(getattr(node, "when", "")), around)
    if isinstance(node, Sized) and node.holds:
        return "may contain a payload: kdbg grammar payloads"
    kind = "" if node.kind in _UNITS and UNIT.search(about) else _KINDS.get(node.kind, "")
    return "; ".join(filter(None, [kind, values(node.kind, node.names or {})]))


def _secret(when: str, around: WireStruct) -> str:
    """Return the condition under which kdbg hides the field."""
    if not when:
        return "secret: shown only with --show-secrets"
    sibling = next((field.node for field in around.fields if field.name == when), None)
    boolean = isinstance(sibling, Fixed) and sibling.boolean
    return f"secret if {when} {'is true' if boolean else 'suggests a password'}: shown only with --show-secrets"


def values(kind: str, names: Mapping[int, str]) -> str:
    """Return the named values, or bits, of a field, with a no-break space between value and name."""
    bit = "bit\xa0" if kind == "bits" else ""
    return ", ".join(f"{bit}{value}\xa0{name}" for value, name in names.items())


_UNITS = ("timestamp", "duration")
_CODECS = "bits 0-2 codec (1 gzip, 2 snappy, 3 lz4, 4 zstd)"
_KINDS = {
    "error": "an error code: kdbg errors",
    "api": "an API key: kdbg apis",
    "timestamp": "milliseconds since 1970",
    "duration": "milliseconds",
    "batch_attributes": f"{_CODECS}, bit 3 append time, 4 transactional, 5 control batch, 6 delete horizon",
    "message_attributes": f"{_CODECS}, bit 3 append time",
    "message_attributes_0": _CODECS,
}


def sheet_object(sheet: Sheet) -> dict[str, Any]:
    """Return a grammar as a JSON object: its BNF, fields and notes."""
    return {
        "title": sheet.title, "version": sheet.version, "direction": sheet.direction or None,
        "header_version": sheet.header_version, "bnf": "\n".join(bnf_lines(sheet)),
        "fields": [_field_object(sheet, path, field, around) for path, field, around in walk(sheet.struct)],
        "notes": list(sheet.notes),
    }  # fmt: skip


def _field_object(sheet: Sheet, path: str, field: Field, around: WireStruct) -> dict[str, Any]:
    node = field.node
    item = node.item if isinstance(node, WireArray) else node
    shown: dict[str, Any] = {
        "path": path, "type": node.bnf, "item": item.bnf if item is not node else None, "tag": field.tag,
        "nullable": nullable(node),
    }  # fmt: skip
    if field.initial is not NO_DEFAULT:
        shown["default"] = field.initial
    if item.names:
        shown["values"] = {str(value): name for value, name in item.names.items()}
    if path in sheet.names:
        shown["guide_names"] = dict(sheet.names[path])
    return shown | {"about": field.about, "note": note(field, around).replace("\xa0", " ")}
