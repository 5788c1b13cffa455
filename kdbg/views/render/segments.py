"""Files of a broker's disk in the four views: each turns a piece of a file into text, lines included.

A batch looks as it does in the record set of a message; its places are counted in the file. An entry of an index or a
line of a checkpoint has but few fields: it takes one line.
"""

from __future__ import annotations

from typing import Any

from ...exchanges.messages.message import Message
from ...exchanges.messages.secrets import entry_without
from ...payloads.segments import File, SegmentPiece
from ...payloads.segments.log import IN_FRONT
from ...protocol.grammars.records import record_format
from ...protocol.wire.readings.secrets import Hidden
from . import values
from .findings import finding_line, finding_object, note
from .grid import spread
from .hexdump import Dump, plain_hexdump
from .jsonlines import dump, json_body
from .meanings import meanings
from .record_tree import entry_drawer
from .style import Look
from .tree import Draw, Tree, is_plain
from .without_values import conceal_entry


def title(number: int, piece: SegmentPiece, file: File, look: Look) -> str:
    """Return the heading of a piece: its number, topic and partition, place in the file and size in bytes."""
    place = file.place
    whose = f"{values.escape(place.topic)}-{place.partition} · " if place.topic else ""
    where = f"{whose}byte {piece.position:,} · {piece.size:,} byte{'s' * (piece.size != 1)}"
    return f"{look.paint('heading', f'#{number}')} {look.paint('dim', where)}"


class Trees:
    """A piece as a tree, or as one line if its fields fit there."""

    look: Look
    file: File
    entry: Draw

    def __init__(self, look: Look, file: File) -> None:
        self.look, self.file = look, file
        self.tree: Tree = Tree(look, {})
        self.entry = entry_drawer(self.tree, record_format)

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> str:
        tree, lines = self.tree, self.tree.lines
        head = title(number, piece, self.file, self.look)
        if message is None or not piece.whole:
            lines.append(head)
        elif self.file.is_log:
            if self.look.read is not None:
                from ...payloads.records.reading import read_in_place

                read_in_place(message.grammar, message.body, {}, self.look.read)
            entry = message.body["records"][0]
            self.entry(entry_without(entry) if self.look.hide_values else entry, head, "")
        elif all(is_plain(field.node) for field in message.grammar.fields) and not self.look.meanings:
            lines.append(self.line(piece, message))
        else:
            tree.struct(message.grammar)(message.body, head, "")
        lines += [f"  {finding_line(finding, self.look)}" for finding in piece.odd(message)]
        if self.file.is_log:
            lines.append("")
        return tree.take()

    def line(self, piece: SegmentPiece, message: Message) -> str:
        """Return the fields on one line, behind the facts that follow from the file's name."""
        facts = self.file.kind.facts(message, self.file.place.base_offset)
        words = [f"{self.look.paint('name', name)} {value}" for name, value in facts.items()]
        words += [
            f"{self.look.paint('name', field.name)} {self.tree.show(field.node)(message.body[field.name])}"
            for field in message.grammar.fields
            if field.name in message.body
        ]
        return "  ".join([self.look.paint("dim", f"{piece.position:>9}"), *words])


class Hexdumps:
    """Every byte of a piece, with places counted in the file."""

    look: Look
    file: File

    def __init__(self, look: Look, file: File) -> None:
        self.look, self.file = look, file

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> str:
        lines = []
        if self.file.is_log:
            lines = [title(number, piece, self.file, self.look), ""]
        if message is None or not piece.whole:
            hidden = self.file.hides(piece) and not self.look.show_secrets
            if hidden or (self.look.hide_values and self.file.is_log):
                lines.append(values.octets(Hidden(piece.size)))
            else:
                lines += plain_hexdump(piece.data, self.look, piece.position)
            lines += [finding_line(finding, self.look) for finding in piece.findings]
        else:
            shown = Dump(self.look, {}, piece.position, text=True)
            inspection = self.file.kind.inspection(piece)
            inspection.findings = [*piece.findings, *inspection.findings]
            if self.look.hide_values and self.file.is_log:
                conceal_entry(inspection)
            shown.read(message.grammar, inspection, IN_FRONT)
            shown.inspection(inspection)
            lines += spread(shown.lines)
            if self.look.meanings:
                lines += meanings([message.grammar], inspection.spans, self.look)
        return "\n".join([*lines, "", ""] if self.file.is_log else [*lines, ""])


class JsonLines:
    """A piece as one line of JSON, lossless: `batch` (or `entry`) builds the same bytes again."""

    look: Look
    file: File
    name: str

    def __init__(self, look: Look, file: File, name: str) -> None:
        self.look, self.file, self.name = look, file, name

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> bytes:
        kind, place, findings = self.file.kind, self.file.place, piece.odd(message)
        shown: dict[str, Any] = {
            "file": self.name, "kind": kind.name, "topic": place.topic, "partition": place.partition,
            "position": piece.position, "size": piece.size,
            "notes": [*map(note, findings)], "findings": [*map(finding_object, findings)],
        }  # fmt: skip
        if message is None:
            shown["zeros"] = piece.zeros
        elif self.file.is_log:
            shown["batch"] = json_body(message, self.look)["records"][0]
        else:
            shown |= kind.facts(message, place.base_offset)
            shown["entry"] = json_body(message) if piece.whole else piece.data
        return dump(shown, show_secrets=self.look.show_secrets)
