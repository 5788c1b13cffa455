"""Record sets in a compact tree: a batch is a line, and so is a record that fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .. import values
from ..record_tree import AS_TEXT, INSIDE, OFFSET, RecordTree
from .table import bare

if TYPE_CHECKING:
    from .base import FoldingTree


PLAIN = ("uncompressed", "create time")
"""What need not be said of a batch."""


class CompactRecords(RecordTree):
    """Draws what matters of batches and records; a batch that a finding is of has its whole header."""

    tree: FoldingTree

    def draw(self, found: list[dict[str, Any]] | None, head: str, below: str) -> None:
        if found and len(found) == 1 and not self.tree.look.full:
            self.entry(found[0], f"{head}{self.tree.look.paint('name', '[0]')}", below)
        else:
            super().draw(found, head, below)

    def batch(self, batch: dict[str, Any], head: str, below: str) -> None:
        inside = [name for name in INSIDE if name in batch]
        if self.tree.look.full or any((id(batch), field.name) in self.tree.noted for field in self.format.batch.fields):
            super().batch(batch, head, below)
            return
        self.tree.lines.append(f"{head}  {self.tree.look.paint('dim', ', '.join(header_words(batch)))}")
        for name in inside:
            if name == "records" and batch[name] is not None:
                self.tree.numbered(batch[name], below, self.record)
            else:
                self.inside(name, batch, below, last=name == inside[-1])

    def record(self, record: Mapping[str, Any], head: str, below: str) -> None:
        tree, show = self.tree, self.tree.contents
        key, value = record["key"], record["value"]
        if not (record["headers"] or "control" in record) and type(key) in AS_TEXT and type(value) in AS_TEXT:
            labels = [tree.look.paint("name", name) for name in ("key", "value")]
            pair = f"{labels[0]} {show(key)}  {labels[1]} {show(value)}"
            line = f"{head}{OFFSET}{record['offset']}{self.time(record)}  {pair}"
            if bare(line) <= tree.look.width:
                tree.lines.append(line)
                return
        super().record(record, head, below)

    def time(self, record: Mapping[str, Any]) -> str:
        return super().time(record) if self.tree.look.full else f"  {moment(record['timestamp'])}"


def moment(milliseconds: int) -> str:
    """Return the date and time of a timestamp alone; the number where that is none."""
    return values.timestamp(milliseconds).partition("  ")[2] or f"timestamp {milliseconds}"


def header_words(batch: Mapping[str, Any]) -> list[str]:
    """Return what matters of a batch's header: offsets, records, codec and flags, time, producer."""
    first, count = batch["base_offset"], batch["records_count"]
    last = first + batch["last_offset_delta"]
    words = [f"offset {first}" if last == first else f"offsets {first}–{last}", f"{count:,} record{'s' * (count != 1)}"]
    flags = values.attributes(batch["attributes"], 2).partition("  ")[2].split(", ")
    words += [flag for flag in flags if flag not in PLAIN]
    words += [moment(batch["max_timestamp"])] if batch["max_timestamp"] >= 0 else []
    if batch["producer_id"] >= 0:
        words.append(f"producer {batch['producer_id']}/{batch['producer_epoch']} sequence {batch['base_sequence']}")
    return words
