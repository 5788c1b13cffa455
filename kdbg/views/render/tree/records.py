"""Record sets in a tree: each batch or message with its header, and the records inside it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ....payloads.values.value import ReadValue
from ....protocol.findings import amounts
from ....protocol.wire.nodes import WireStruct
from ....protocol.wire.readings.layout import structure
from ....protocol.wire.readings.outline import count_records
from ....protocol.wire.records.sets import RecordFormat
from .. import values

if TYPE_CHECKING:
    from .tree import Draw, Tree


INSIDE = ("compressed_records", "raw_records", "records")
AS_TEXT = (bytes, type(None), ReadValue)
"""What a key or value is if it is no payload that was opened, or sealed."""
KINDS = {0: "message", 1: "message", 2: "batch"}
"""Kinds of entries by their magic."""
BATCH, OFFSET, TIMESTAMP, EQUALS = "  batch", "  offset ", "  timestamp ", " = "
PIECES = {"partial": "the start of a truncated entry", "raw": "bytes that are not an entry"}


class RecordTree:
    """Draws record sets into `tree`. The labels of what stands around values end in front of these."""

    explains = True
    """Whether what keys, values and headers mean follows them, where the look wants meanings."""

    def __init__(self, tree: Tree, format: RecordFormat) -> None:
        self.tree, self.format = tree, format
        names = ("key", "value", "headers", "records", "compressed_records", "raw_records")
        self.labels = labels = {name: tree.look.paint("name", name) for name in names}
        self.key = f"{tree.mid}{labels['key']}    "
        self.value, self.last_value = (f"{guide}{labels['value']}  " for guide in (tree.mid, tree.last))
        self.headers = f"{tree.last}{labels['headers']}  "
        self.header = tree.struct(format.batch, more=True)
        self.messages: list[Draw] = []
        for message in format.messages:  # up to the key, offset and size included
            fields = [field for field in message.fields if field.name not in ("key", "value")]
            self.messages.append(tree.struct(WireStruct((*format.front, *fields), None), more=True))
        structs = [struct for struct in (*format.messages, structure(format.records)) if struct is not None]
        self.tails: list[dict[str, str]] = [
            {field.name: tree.tail(field) if self.explains else "" for field in struct.fields} for struct in structs
        ]
        """What stands at the ends of lines, by magic and field."""

    def draw(self, found: list[dict[str, Any]] | None, head: str, below: str) -> None:
        """Draw a record set below its name; a single batch or message needs no list."""
        tree = self.tree
        if found is None:
            tree.lines.append(f"{head}  {tree.null}")
            return
        kinds = Counter(KINDS.get(entry.get("magic", -1), "piece") for entry in found)
        tree.lines.append(f"{head}  {self.count(kinds, count_records(found))}")
        tree.numbered(found, below, self.entry)

    def count(self, kinds: Mapping[str, int], records: int) -> str:
        """Return what is said of a record set in front of its entries: how many there are of each kind, and records."""
        parts = [amounts.count(count, kind) for kind, count in kinds.items()]
        return self.tree.look.paint("dim", ", ".join([*parts, amounts.count(records, "record")]) if parts else "empty")

    def entry(self, entry: dict[str, Any], head: str, below: str) -> None:
        """Draw one batch or message, or bytes that are neither."""
        if entry.get("magic") == 2:
            self.batch(entry, f"{head}{BATCH}", below)
        elif "magic" in entry:
            self.message(entry, f"{head}  message", below)
        else:
            name, much = "partial" if "partial" in entry else "raw", ""
            if "of" in entry:
                much = f", {entry['bytes']:,} of {amounts.count(entry['of'], 'byte')} of the record set"
            self.tree.lines.append(f"{head}  {self.piece(name, entry[name], much)}")

    def piece(self, name: str, data: bytes, much: str = "") -> str:
        """Return the text of bytes that are not an entry, and why; `much` says how much of the set is there."""
        size = f"  {values.octets(self.tree.veiled(data), self.tree.look.max_text)}" if data or not much else ""
        return f"{self.tree.look.paint('note', f'{name}: {PIECES[name]}{much}')}{size}"

    def batch(self, batch: dict[str, Any], head: str, below: str) -> None:
        """Draw a batch of magic 2: its header, then its records or the bytes in their place."""
        self.header(batch, head, below)
        inside = [name for name in INSIDE if name in batch]
        for name in inside:
            self.inside(name, batch, below, last=name == inside[-1])

    def message(self, message: dict[str, Any], head: str, below: str) -> None:
        """Draw a message of magic 0 or 1; of a compressed one, the messages inside instead of the value."""
        lines, show, value = self.tree.lines, self.tree.contents, message["value"]
        tails = self.tails[message["magic"]]
        header = {name: item for name, item in message.items() if name not in ("value", "records")}
        self.messages[message["magic"]](header, head, below)
        if "records" not in message:
            self.pair(message, below, last=True)
            return
        lines.append(f"{below}{self.key}{show(message['key'])}{tails['key']}")
        compressed = self.tree.look.paint("dim", f"{amounts.count(len(value), 'byte')} compressed")
        lines.append(f"{below}{self.value}{compressed}{tails['value']}")
        self.inside("records", message, below, last=True)

    def inside(self, name: str, entry: dict[str, Any], below: str, *, last: bool) -> None:
        """Draw the records, or the bytes in their place, under this name."""
        tree = self.tree
        guide, under = tree.guides[last]
        head = f"{below}{guide}{self.labels[name]}"
        if name != "records":
            data = tree.veiled(entry[name])
            raw = name == "raw_records"
            text = tree.look.paint("dim", values.octets(data, tree.look.max_text)) if raw else self.size(len(data))
            tree.lines.append(f"{head}  {text}")
            return
        records = entry["records"]
        tree.lines.append(f"{head}  {self.total(len(records))}")
        tree.numbered(records, below + under, self.record if entry.get("magic") == 2 else self.entry)

    def size(self, size: int) -> str:
        """Return what is said of compressed records in front of them: how many bytes they take."""
        return self.tree.look.paint("dim", amounts.count(size, "byte"))

    def total(self, records: int) -> str:
        """Return what is said of the records of a batch in front of them."""
        return self.tree.look.paint("dim", f"{records:,}")

    def record(self, record: Mapping[str, Any], head: str, below: str) -> None:
        """Draw one record of a batch: offset and timestamp on the first line, then key, value and headers."""
        tree, show = self.tree, self.tree.contents
        extra = f"  attributes {record['attributes']}" if record["attributes"] else ""
        if "control" in record:
            extra += f"  {tree.look.paint('note', 'control: ' + record['control'])}"
        headers = record["headers"]
        tree.lines.append(f"{head}{OFFSET}{record['offset']}{self.time(record)}{extra}")
        self.pair(record, below, last=not headers)
        if headers:
            pairs = []
            for key, value in ((item["key"], item["value"]) for item in headers):
                pairs.append(f"{values.quote(key) if isinstance(key, str) else show(key)}{EQUALS}{show(value)}")
            tree.lines.append(f"{below}{self.headers}{', '.join(pairs)}{self.tails[2]['headers']}")

    def time(self, record: Mapping[str, Any]) -> str:
        """Return what is said of a record's timestamp after its offset."""
        return f"{TIMESTAMP}{values.timestamp(record['timestamp'])}"

    def pair(self, record: Mapping[str, Any], below: str, *, last: bool) -> None:
        """Draw key and value: a line each, or a subtree for an opened payload."""
        tree, show = self.tree, self.tree.contents
        tails, under = self.tails[record.get("magic", 2)], tree.last_below if last else tree.mid_below
        for name, line, inside in (
            ("key", f"{below}{self.key}", below + tree.mid_below),
            ("value", f"{below}{self.last_value if last else self.value}", below + under),
        ):
            data, tail = record[name], tails[name]
            if type(data) in AS_TEXT:
                tree.lines.append(f"{line}{show(data)}{tail}")
            else:
                tree.with_tail(tree.payload, tail)(data, line.rstrip(), inside)
