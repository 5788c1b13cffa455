"""Random values: of a grammar, and of the plain types that a peer's own schema is made of.

Dice are seeded with a text; the same text gives the same values on every machine.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

import kdbg
from kdbg.protocol import grammars
from kdbg.protocol.grammars.records import Records
from kdbg.protocol.wire.language import Direction
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import Field, Node, NullableStruct, WireArray, WireStruct
from kdbg.protocol.wire.records import RecordsNode, build_set

from ..grammars.values import BLOBS, NUMBERS, RECORD_SETS, TEXTS, Maker

WIDTHS = {"b": 7, "h": 15, "i": 31, "q": 63}
LETTERS = "aZ09_.-é日🎉"
MOST = 3
"""Items of an array."""


class Message(NamedTuple):
    """A message in one version, as kdbg reads and writes it."""

    key: int
    direction: Direction
    version: int

    def __str__(self) -> str:
        return f"{self.name}-{self.direction}-v{self.version}"

    @property
    def name(self) -> str:
        return grammars.api(self.key).name

    @property
    def grammar(self) -> WireStruct:
        return grammars.api(self.key).at(self.direction, self.version)

    def decode(self, data: bytes) -> Any:
        return kdbg.decode(data, api=self.key, version=self.version, direction=self.direction, header=False).body

    def encode(self, body: Any) -> bytes:
        return kdbg.encode(body, api=self.key, version=self.version, direction=self.direction)


class Dice(Random):
    """A random source that throws every plain type there is: the edges of each as often as anything between.

    `numbers`: the only ones that a peer can take of some types, by their letter in `struct`.
    """

    numbers: Mapping[str, Sequence[Any]] = {}

    def number(self, code: str) -> Any:
        """A number by its letter in `struct`."""
        if code in self.numbers:
            return self.choice(self.numbers[code])
        if self.random() < 0.5:
            return self.choice(NUMBERS[code])
        if code == "d":
            return self.uniform(-1e9, 1e9)
        if code in WIDTHS:
            return self.randint(-(1 << WIDTHS[code]), (1 << WIDTHS[code]) - 1)
        return self.choice(NUMBERS[code]) ^ self.getrandbits(16)

    def text(self) -> str:
        if self.random() < 0.3:
            return self.choice(TEXTS)
        return "".join(self.choices(LETTERS, k=self.randint(0, 20)))

    def blob(self) -> bytes:
        return self.choice(BLOBS) if self.random() < 0.3 else self.randbytes(self.randint(0, 20))

    def uuid(self) -> uuid.UUID:
        return uuid.UUID(bytes=self.randbytes(16))

    def records(self) -> bytes:
        """A whole record set, without its length."""
        format = Records.at(At(0, False)).format
        return build_set(self.choice(RECORD_SETS)(False), format, "")

    def length(self) -> int:
        return self.randint(0, MOST)


class RandomMaker(Maker):
    """Random values of a grammar, as `Maker` makes them in turn."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        super().__init__(0, record_set=dice.randrange(len(RECORD_SETS)))

    def turn(self, kind: str) -> int:
        return self.dice.randrange(1 << 16)

    def pick(self, kind: str, choices: list[Any]) -> Any:
        if choices is TEXTS:
            return self.dice.text()
        if choices is BLOBS:
            return self.dice.blob()
        if kind == "uuid":
            return self.dice.choice([self.dice.uuid(), *choices])
        return self.dice.number(kind)

    def leaves_out(self, kind: str) -> bool:
        return self.dice.random() < 0.3

    def array(self, node: WireArray, depth: int) -> Any:
        if node.nullable and self.leaves_out("null"):
            return None
        return [self.value(node.item, depth + 1) for _ in range(self.dice.length())]


def comparable(node: Node, value: Any) -> Any:
    """A value as a peer sees it: tagged fields that are not there have their defaults, record sets are bytes."""
    if value is None:
        return None
    if isinstance(node, WireArray):
        return [comparable(node.item, item) for item in value]
    if isinstance(node, NullableStruct):
        return comparable(node.struct, value)
    if isinstance(node, WireStruct):
        return {field.name: comparable(field.node, value.get(field.name, field.default)) for field in all_fields(node)}
    if isinstance(node, RecordsNode) and isinstance(value, list):
        return build_set(value, node.format, "")
    return value


def all_fields(struct: WireStruct) -> list[Field]:
    """The fields of a structure, the tagged ones behind the others."""
    return [*struct.fields, *(struct.tags or {}).values()]
