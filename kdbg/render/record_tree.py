"""Record sets in a tree: each batch or message with its header, and the records inside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..wire.nodes import WireStruct
from ..wire.readings.bnf import structure
from ..wire.readings.outline import count_records
from ..wire.records.sets import RecordFormat
from . import values

if TYPE_CHECKING:
    from .tree import Draw, Tree


INSIDE = ("compressed_records", "raw_records", "records")
AS_TEXT = (bytes, type(None))
"""What a key or value is if it is no payload that was opened, or sealed."""
PIECES = {"partial": "the beginning of an entry that is cut off here", "raw": "bytes that are no entry"}


def records_drawer(tree: Tree, format: RecordFormat) -> Draw:
    """Return the function that draws a record set into `tree`."""
    return _records(tree, format).draw


def entry_drawer(tree: Tree, format: RecordFormat) -> Draw:
    """Return the function that draws one batch, one message, or bytes that are neither, into `tree`."""
    return _records(tree, format).entry


def _records(tree: Tree, format: RecordFormat) -> _Records:
    return _ExplainedRecords(tree, format) if tree.look.meanings else _Records(tree, format)


class _Records:
    def __init__(self, tree: Tree, format: RecordFormat) -> None:
        self.tree, self.format = tree, format
        names = ("key", "value", "headers", "records", "compressed_records", "raw_records")
        self.labels = labels = {name: tree.look.paint("name", name) for name in names}
        self.key = f"{tree.mid}{labels['key']}    "
        self.value, self.last_value = (f"{guide}{labels['value']}  " for guide in (tree.mid, tree.last))
        self.headers = f"{tree.last}{labels['headers']}  "
        self.header = tree.struct(format.batch, more=True)
        self.messages = [tree.struct(_up_to_key(format, magic), more=True) for magic in (0, 1)]
        self.timestamp = values.Memo(values.timestamp)

    def draw(self, found: list[dict[str, Any]] | None, head: str, below: str) -> None:
        """Draw a record set below its name; a single batch or message needs no list."""
        tree = self.tree
        if found is None:
            tree.lines.append(f"{head}  {tree.null}")
            return
        line = f"{head}  {tree.look.paint('dim', _count(found))}"
        if len(found) == 1:
            self.entry(found[0], f"{line}\n{below}{tree.only}", below + tree.last_below)
        else:
            tree.lines.append(line)
            tree.numbered(found, below, self.entry)

    def entry(self, entry: dict[str, Any], head: str, below: str) -> None:
        """Draw one batch or message, or bytes that are neither."""
        if entry.get("magic") == 2:
            self.batch(entry, f"{head}  batch", below)
        elif "magic" in entry:
            self.message(entry, f"{head}  message", below)
        else:
            name = "partial" if "partial" in entry else "raw"
            size = values.octets(self.tree.veiled(entry[name]), self.tree.look.max_text)
            self.tree.lines.append(f"{head}  {self.tree.look.paint('note', f'{name}: {PIECES[name]}')}  {size}")

    def batch(self, batch: dict[str, Any], head: str, below: str) -> None:
        """Draw a batch of magic 2: its header, then its records or the bytes in their place."""
        self.header(batch, head, below)
        inside = [name for name in INSIDE if name in batch]
        for name in inside:
            self.inside(name, batch, below, last=name == inside[-1])

    def message(self, message: dict[str, Any], head: str, below: str) -> None:
        """Draw a message of magic 0 or 1; of a compressed one, the messages inside instead of the value."""
        lines, show, value = self.tree.lines, self.tree.contents, message["value"]
        header = {name: item for name, item in message.items() if name not in ("value", "records")}
        self.messages[message["magic"]](header, head, below)
        if "records" not in message:
            self.pair(message, "", below, last=True)
            return
        lines.append(f"{below}{self.key}{show(message['key'])}")
        compressed = self.tree.look.paint("dim", f"{len(value):,} bytes compressed")
        lines.append(f"{below}{self.value}{compressed}")
        self.inside("records", message, below, last=True)

    def inside(self, name: str, entry: dict[str, Any], below: str, *, last: bool) -> None:
        """Draw the records, or the bytes in their place, under this name."""
        tree = self.tree
        head = f"{below}{tree.last if last else tree.mid}{self.labels[name]}"
        if name != "records":
            data = tree.veiled(entry[name])
            text = f"{len(data):,} bytes" if name == "compressed_records" else values.octets(data, tree.look.max_text)
            tree.lines.append(f"{head}  {tree.look.paint('dim', text)}")
            return
        records = entry["records"]
        line = f"{head}  {tree.look.paint('dim', f'{len(records):,}')}"
        under = below + (tree.last_below if last else tree.mid_below)
        draw = self.record if entry.get("magic") == 2 else self.entry
        if len(records) == 1:
            draw(records[0], f"{line}\n{under}{tree.only}", under + tree.last_below)
        else:
            tree.lines.append(line)
            tree.numbered(records, under, draw)

    def record(self, record: Mapping[str, Any], head: str, below: str) -> None:
        """Draw one record of a batch: offset and timestamp on the first line, then key, value and headers."""
        tree, show = self.tree, self.tree.contents
        extra = f"  attributes {record['attributes']}" if record["attributes"] else ""
        if "control" in record:
            extra += f"  {tree.look.paint('note', 'control: ' + record['control'])}"
        headers = record["headers"]
        head = f"{head}  offset {record['offset']}  timestamp {self.timestamp[record['timestamp']]}{extra}\n"
        self.pair(record, head, below, last=not headers)
        if headers:
            pairs = (f"{values.quote(item['key'])} = {show(item['value'])}" for item in headers)
            tree.lines.append(f"{below}{self.headers}{', '.join(pairs)}")

    def pair(self, record: Mapping[str, Any], above: str, below: str, *, last: bool) -> None:
        """Draw key and value below the line `above`: a line each, or a subtree for an opened payload."""
        tree, show = self.tree, self.tree.contents
        key, value, head = record["key"], record["value"], self.last_value if last else self.value
        if type(key) in AS_TEXT and type(value) in AS_TEXT:
            tree.lines.append(f"{above}{below}{self.key}{show(key)}\n{below}{head}{show(value)}")
            return
        under = below + (tree.last_below if last else tree.mid_below)
        for line, data, inside in (
            (above + below + self.key, key, below + tree.mid_below),
            (below + head, value, under),
        ):
            if type(data) in AS_TEXT:
                tree.lines.append(f"{line}{show(data)}")
            else:
                tree.payload(data, line.rstrip(), inside)


class _ExplainedRecords(_Records):
    """Says behind the key, the value and the headers of a record what they mean."""

    def record(self, record: Mapping[str, Any], head: str, below: str) -> None:
        start = len(self.tree.lines)
        super().record(record, head, below)
        self._explain(start, below, structure(self.format.records))

    def message(self, message: dict[str, Any], head: str, below: str) -> None:
        start = len(self.tree.lines)
        super().message(message, head, below)
        self._explain(start, below, self.format.messages[message["magic"]])

    def _explain(self, start: int, below: str, struct: WireStruct | None) -> None:
        """Put its meaning behind the line of each field that has one below this prefix, from the line `start` on."""
        tree = self.tree
        lines = "\n".join(tree.lines[start:]).split("\n")
        for field in struct.fields if struct is not None else ():
            for guide in (tree.mid, tree.last):
                label = f"{below}{guide}{self.labels.get(field.name, chr(0))} "
                lines = [f"{line}{tree.tail(field)}" if line.startswith(label) else line for line in lines]
        tree.lines[start:] = lines


def _up_to_key(format: RecordFormat, magic: int) -> WireStruct:
    """Return a structure of the fields in front of a message's key, offset and size included."""
    fields = [field for field in format.messages[magic].fields if field.name not in ("key", "value")]
    return WireStruct((*format.front, *fields), None)


_one_batch = values.Memo(lambda records: f"1 batch, {records:,} record{'s' * (records != 1)}")


def _count(found: list[dict[str, Any]]) -> str:
    """Return how many batches, messages and records a record set holds, as text."""
    if not found:
        return "empty"
    if len(found) == 1 and "records_count" in found[0]:
        return _one_batch[found[0]["records_count"]]
    words = {2: ("batch", "batches"), 1: ("message", "messages"), 0: ("message", "messages")}
    kinds = [words.get(entry.get("magic", -1), ("piece", "pieces")) for entry in found]
    parts = [f"{kinds.count(kind):,} {kind[kinds.count(kind) != 1]}" for kind in dict.fromkeys(kinds)]
    records = count_records(found)
    return ", ".join([*parts, f"{records:,} record{'s' * (records != 1)}"])
