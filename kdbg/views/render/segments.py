"""Files of a broker's disk, piece by piece: as trees, hexdumps, JSON Lines, and a log's batches one on a line.

A batch's line has 80 columns: where, offsets, newest time, format, codec, records, size; after these, as far as there
is room, what is wrong or special about it, `p` and its producer (id/epoch/first sequence number), `e` and the epoch of
the leader that took it.
"""

from __future__ import annotations

from typing import Any

from ...exchanges.messages.message import Message
from ...exchanges.messages.secrets import entry_without
from ...payloads.segments import File, SegmentPiece
from ...payloads.segments.log import IN_FRONT
from ...protocol.grammars.records import record_format
from ...protocol.wire.readings.secrets import Hidden
from ...protocol.wire.records.sets import APPEND_TIME, CODEC_MASK, CONTROL, TRANSACTIONAL
from . import values
from .findings import finding_line, finding_object, note
from .hex.grid import spread
from .hex.hexdump import Dump, plain_hexdump
from .jsonlines import dump, json_body
from .meanings import meanings
from .style import Look
from .summary import size
from .tree.records import RecordTree
from .tree.tree import Draw, Tree, is_plain
from .values import CODEC_NAMES, DELETE_HORIZON, cut
from .values import timestamp as dated
from .without_values import conceal_values


def title(number: int, piece: SegmentPiece, file: File, look: Look) -> str:
    """Return the heading of a piece: its number, topic and partition, place in the file and size in bytes."""
    place = file.place
    whose = f"{values.escape(place.topic)}-{place.partition} · " if place.topic else ""
    where = f"{whose}byte {piece.position:,} · {piece.size:,} byte{'s' * (piece.size != 1)}"
    return f"{look.paint('heading', f'#{number}')} {look.paint('dim', where)}"


class FileView:
    """Renders the pieces of a file, of this name."""

    def __init__(self, look: Look, file: File, name: str) -> None:
        self.look, self.file, self.name = look, file, name


class Trees(FileView):
    """A piece as a tree, or as one line if its fields fit there."""

    def __init__(self, look: Look, file: File, name: str) -> None:
        super().__init__(look, file, name)
        self.tree: Tree = Tree(look, {})
        self.entry: Draw = RecordTree(self.tree, record_format).entry

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> str:
        tree, lines = self.tree, self.tree.lines
        head = title(number, piece, self.file, self.look)
        if message is None or not piece.whole:
            lines.append(head)
        elif self.file.is_log:
            if self.look.read is not None:
                from ...payloads.records.sources import read_in_place

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
        """Return the fields on one line, after the facts that follow from the file's name."""
        facts = self.file.kind.facts(message, self.file.place.base_offset)
        words = [f"{self.look.paint('name', name)} {value}" for name, value in facts.items()]
        words += [
            f"{self.look.paint('name', field.name)} {self.tree.show(field.node)(message.body[field.name])}"
            for field in message.grammar.fields
            if field.name in message.body
        ]
        return "  ".join([self.look.paint("dim", f"{piece.position:>9}"), *words])


class Hexdumps(FileView):
    """Every byte of a piece, with places counted in the file."""

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
                conceal_values(inspection, entry=True)
            shown.read(message.grammar, inspection, IN_FRONT)
            shown.inspection(inspection)
            lines += spread(shown.lines)
            if self.look.meanings:
                lines += meanings([message.grammar], inspection.spans, self.look)
        return "\n".join([*lines, "", ""] if self.file.is_log else [*lines, ""])


class JsonLines(FileView):
    """A piece as one line of JSON, lossless: `batch` (or `entry`) builds the same bytes again."""

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


def summary(look: Look, file: File, name: str) -> FileView:
    """Return what renders the pieces of a file as lines: of a log by batches, of others by fields."""
    return (LogSummary if file.is_log else Trees)(look, file, name)


def header(look: Look, file: File) -> str:
    """Return the line with the names of the columns; none above a file that is no log."""
    if not file.is_log:
        return ""
    names = f"{'at':>9} {'offsets':<13} {'time':<19} v {'codec':<6} {'recs':>4} {'size':>5} details"
    return look.paint("dim", names) + "\n"


class LogSummary(FileView):
    """Renders each piece of a log segment as one line."""

    def __call__(self, number: int, piece: SegmentPiece, message: Message | None) -> str:
        entry = message.body["records"][0] if message is not None and piece.whole else {}
        odd = piece.odd(message)
        bad = f"✗ {odd[0].kind}" if odd else ""
        fields = f"{'–':<13} {'–':<19} – {'–':<6} {'–':>4}"
        if "magic" in entry:
            codec = CODEC_NAMES[entry["attributes"] & CODEC_MASK] or "none"
            first, last, newest, count = facts(entry)
            offsets = f"{first}" if first == last else f"{first}–{last}"
            time = dated(newest)[-27:-8] if newest >= 0 else "–"
            fields = f"{offsets:<13} {time:<19} {entry['magic']} {codec:<6} {count:>4}"
        line = f"{piece.position:>9} {fields} {size(piece.size):>5} "
        attributes = entry.get("attributes", 0)
        words = [bad, *(record["control"] for record in entry.get("records", ()) if "control" in record)]
        words += ["txn"] if attributes & TRANSACTIONAL and not attributes & CONTROL else []
        words += ["append time"] if entry.get("magic") != 0 and attributes & APPEND_TIME else []
        words += ["delete horizon"] if entry.get("magic") == 2 and attributes & DELETE_HORIZON else []
        if entry.get("producer_id", -1) >= 0:
            words.append(f"p{entry['producer_id']}/{entry['producer_epoch']}/{entry['base_sequence']}")
        if entry.get("partition_leader_epoch", -1) >= 0:
            words.append(f"e{entry['partition_leader_epoch']}")
        about = " ".join(filter(None, words))
        about = about if self.look.full else cut(about, self.look.width - len(line))
        return f"{line}{self.look.paint('bad', about) if bad else about}".rstrip() + "\n"


def facts(entry: dict[str, Any]) -> tuple[int, int, int, int]:
    """Return (first offset, last offset, newest time, number of records) of a batch or message.

    The time is in milliseconds since 1970, -1 for none. A compressed message is counted by the messages inside.
    """
    if entry["magic"] == 2:
        first = entry["base_offset"]
        return first, first + entry["last_offset_delta"], entry["max_timestamp"], entry["records_count"]
    inside = entry.get("records") or [entry]
    return inside[0].get("offset", -1), entry["offset"], entry.get("timestamp", -1), len(inside)
