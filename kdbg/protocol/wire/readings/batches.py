"""Record batches of magic 2 in a generated reading: the loop over them, their proof, and the loop over their records.

`Batches` is the walk over the inside of a record set. A reading says what becomes of a batch and of a record: it
overrides `head`, `record` and what stands around them. What is no sound batch (other magic, a wrong checksum or length,
a control batch, append time) is unreadable here, as the plain reading knows it (see ../records/sets.py); a reading that
`notes` what is odd goes on after a wrong checksum, as far as the records are sound.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

from ....budget import MEMORY
from ..nodes import Field, LengthPrefixed, Node, Sized, WireArray, WireStruct
from ..records.sets import APPEND_TIME, CODEC_MASK, CONTROL, PREAMBLE, RECORD, RecordFormat, castagnoli
from .codegen import CodeGenerator
from .runtime import Odd, Unreadable

COUNTED = ("batch_length", "crc", "records_count")
"""The fields of a batch's header without which it can be neither passed over nor proved nor counted."""


def _decompress(codec: int, data: bytes) -> bytes:
    from ..records.compression import decompress  # which batches without a codec do without

    return decompress(codec, data)


class Batches(CodeGenerator):
    """Writes the function of the record sets of one format; `cut`: the last entry may be cut off.

    `fields` are the variables of the batch at hand by the names of its header's fields, `of_record` those of the
    record. `deep`: the records are read as well, not only counted.
    """

    deep = True
    makes = True
    """Whether anything is made of a record that is kept."""
    unusual = APPEND_TIME | CONTROL
    """Attributes of batches that are unreadable: their records are changed or opened when they are read."""

    def __init__(self, format: RecordFormat, *, cut: bool) -> None:
        super().__init__()
        self.format, self.cut = format, cut
        self.fields: dict[str, str] = {}
        self.of_record: dict[str, str] = {}
        self.names |= {"crc32c": castagnoli(), "decompress": _decompress, "take": MEMORY.take}

    # What a reading may add

    def batch_field(self, field: Field, depth: int) -> str:
        """Write what reads a field of a batch's header; return the variable with its value."""
        return self.value(field.node, depth)

    def head(self, depth: int) -> None:
        """Write what becomes of a batch that is proved; `start` and `stop` are its places, `pos` its first record's."""

    def record(self, depth: int) -> None:
        """Write what becomes of a record that was read."""

    def foot(self, depth: int) -> None:
        """Write what follows the records of a batch."""

    def partial(self, depth: int) -> None:
        """Write what becomes of the bytes from `pos` to `end`, which are cut off."""

    def content(self, node: Node, depth: int) -> str:
        """Write what reads a key or a value; return the variable with what the reading makes of it."""
        return self.value(node, depth)

    def headers(self, node: Node, depth: int) -> None:
        """Write what reads the headers of a record, the last of its fields."""
        self.read(node, depth)

    def list_headers(self, node: Node, depth: int, made: Callable[[str, str], str]) -> None:
        """Write what makes a list of them; `made` returns the items of a header, as its key and value are called."""
        assert isinstance(node, WireArray)
        assert isinstance(node.item, WireStruct)
        key, value = node.item.fields
        count = self.length(node.length, depth)
        self.line(depth, "headers = []")
        self.line(depth, f"if {count} < 0: raise Unreadable")

        def header(depth: int) -> None:
            self.line(depth, f"headers.append(({made(self.value(key.node, depth), self.value(value.node, depth))}))")

        self.loop(count, depth, header)

    def each(self, count: str, depth: int) -> None:
        """Write the loop over the records, with what stands around them."""
        self.loop(count, depth, self.one)

    # The loops

    def loop_over_batches(self, depth: int) -> None:
        """Write the loop over the batches between `pos` and `end`."""
        self.line(depth, "while pos < end:")
        depth += 1
        self.line(depth, "start = pos")
        self.line(depth, f"if end - start < {PREAMBLE.size + 5}:")
        self.cut_off(depth + 1)
        self.line(depth, f"if data[start + 16] != 2 or end - start < {self.format.header_size}: raise Unreadable")
        for field in self.format.batch.fields:
            if self.deep or field.name in COUNTED:
                self.fields[field.name] = self.batch_field(field, depth)
            else:
                self.skip(field.node, depth)
        self.flush(depth)
        least = self.format.header_size - PREAMBLE.size
        self.line(depth, f"stop = start + {PREAMBLE.size} + {self.fields['batch_length']}")
        self.line(depth, f"if {self.fields['batch_length']} < {least}: raise Unreadable")
        self.line(depth, "if stop > end:")
        self.line(depth + 1, "pos = start")
        self.cut_off(depth + 1)
        says, gives = self.fields["crc"], f"crc32c(data[start + {self.format.crc_at + 4}:stop])"
        if not self.notes:
            self.line(depth, f"if {gives} != {says}: raise Unreadable")
        elif self.deep:
            self.line(depth, f"if (gives := {gives}) != {says}: wrong_checksum(odd, start, {says}, gives)")
        else:
            prove = self.named("prove", partial(prove_batches, self.format))
            self.line(depth, f"if {gives} != {says}: {prove}(data, start, stop, odd)")
        if self.deep:
            self.inside(depth)
        else:
            self.head(depth)
        self.line(depth, "pos = stop")

    def cut_off(self, depth: int) -> None:
        """Write the end of the loop where an entry is cut off."""
        if self.cut:
            self.partial(depth)
        self.line(depth, "break" if self.cut else "raise Unreadable")

    def inside(self, depth: int) -> None:
        """Write what reads the records of the batch, decompressed if need be; `data` and `pos` are theirs meanwhile."""
        attributes, count = self.fields["attributes"], self.fields["records_count"]
        self.line(depth, f"if {attributes} & {self.unusual} or {count} < 0: raise Unreadable")
        self.head(depth)
        self.line(depth, "whole = data")
        self.line(depth, f"if {attributes} & {CODEC_MASK}:")
        self.line(depth + 1, f"data = decompress({attributes} & {CODEC_MASK}, data[pos:stop])")
        if self.makes:
            self.line(depth + 1, f"take({count} * {int(RECORD * self.factor)})")
        self.line(depth + 1, "pos = 0")
        self.line(depth + 1, "last = len(data)")
        self.line(depth, "else:")
        self.line(depth + 1, "last = stop")
        self.each(count, depth)
        self.line(depth, "if pos != last: raise Unreadable")
        self.line(depth, "data = whole")
        self.foot(depth)

    def one(self, depth: int) -> None:
        """Write what reads one record."""
        node = self.format.records.item
        assert isinstance(node, LengthPrefixed)
        end = self.begin_prefixed(node, depth)
        for field in node.item.fields:
            if field.name == "headers":
                self.headers(field.node, depth)
            elif isinstance(field.node, Sized):
                self.of_record[field.name] = self.content(field.node, depth)
            else:
                self.of_record[field.name] = self.value(field.node, depth)
        self.flush(depth)
        self.line(depth, f"if pos != {end}: raise Unreadable")
        self.record(depth)


class Prover(Batches):
    """Writes a function that proves batches to the last record, and notes the checksums that are wrong."""

    notes = True
    makes = False
    unusual = 0

    def content(self, node: Node, depth: int) -> str:
        self.skip(node, depth)
        return ""


def prove_batches(format: RecordFormat, data: bytes, start: int, end: int, odd: list[Odd] | None) -> None:
    """Prove the batches between two places, down to their records, and note the checksums that are wrong."""
    if odd is None:
        raise Unreadable
    batch_prover(format)(data, start, end, odd)


@cache
def batch_prover(format: RecordFormat) -> Callable[[bytes, int, int, list[Odd] | None], None]:
    """Return the function that `prove_batches` calls, which is seldom needed."""
    walk = Prover(format, cut=False)
    walk.loop_over_batches(1)
    return walk.define("prove(data, pos, end, odd)", "None")  # type: ignore[no-any-return]
