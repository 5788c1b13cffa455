"""What a message is about: the topics, partitions, groups and error codes in a value, found by its grammar.

`outline(grammar)` returns a function over values of that grammar, compiled once; so does `parts(grammar)`, which finds
the structures of partitions. Filters, the summary and the tables are made of what they find; a message that was read
only in part gives what is in that part. The names of topic ids (KIP-516) are found by the grammar, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from ..nodes import Node, UuidNode, WireStruct, children, contains
from ..records import RecordsNode
from .codegen import CodeGenerator, SourceWriter

PartitionOutline: TypeAlias = "tuple[Any, int | None, int, int | None]"
"""One topic, or one partition of it, as a message mentions it: (topic, partition, error, records).

The topic is a UUID where only the id is given."""


class PartitionContext(NamedTuple):
    """What a message says of one partition: the group and the topic around it, and its structure."""

    group: str | None
    topic: Any
    partition: int
    value: dict[str, Any]


Outline: TypeAlias = "tuple[Sequence[PartitionOutline], Sequence[str], Sequence[int]]"
"""The rows of a message, the groups it names, and every error code in it that is not zero: (rows, groups, errors)."""


def count_records(entries: Any) -> int:
    """Return how many records a record set holds, decoded or not: of a batch that is cut off, those that are there."""
    count = 0
    for entry in entries or ():
        if "magic" in entry:
            records = entry.get("records")
            count += len(records) if records is not None else entry.get("records_count", 1)
    return count


def best_name(one: Any, other: Any) -> Any:
    """Return a topic's name, given its name and id in either order; return the id where the name is missing."""
    name, topic_id = (other, one) if isinstance(one, UUID) else (one, other)
    return name if name else topic_id


KINDS = {"topic": "topic", "topic_id": "topic", "partition": "partition", "error": "error"}


@cache
def outline(grammar: WireStruct) -> Callable[[Any], Outline]:
    """Return the function that outlines values of `grammar`; of a value that breaks off it gives what it could find."""
    walk = _Writer().compiled(grammar)

    def read(value: Any) -> Outline:
        found: Outline = ([], [], [])
        with suppress(*UNFINISHED):
            walk(value, *found)
        return found

    return read


@cache
def parts(grammar: WireStruct) -> Callable[[Any], list[PartitionContext]]:
    """Return the function that finds the structures of partitions in values of `grammar`, in their order."""
    walk = _PartsWriter().compiled(grammar)

    def read(value: Any) -> list[PartitionContext]:
        found: list[PartitionContext] = []
        with suppress(*UNFINISHED):
            walk(value, found)
        return found

    return read


UNFINISHED = (KeyError, TypeError, AttributeError)
"""What a message that broke off leads to; what was found before stands."""


@cache
def relevant(node: Node) -> bool:
    """Return whether anything in `node` says what a message is about: a topic, partition, group, error or records."""
    return contains(node, lambda inner: inner.kind in KINDS or inner.kind == "group" or isinstance(inner, RecordsNode))


class _Writer(SourceWriter):
    found = "rows, groups, errors"
    """What the function adds to."""

    def compiled(self, grammar: WireStruct) -> Callable[..., None]:
        self.names |= {"Part": PartitionContext, "count_records": count_records, "best_name": best_name}
        self.struct(grammar, "value", {}, 1)
        return cast(Callable[..., None], self.define(f"walk(value, {self.found})", "None"))

    def struct(self, node: WireStruct, value: str, around: dict[str, str], depth: int) -> None:
        """Write the rows of one structure; `around` are the topic and partition that it stands in."""
        own = around | {"value": value}
        inner: list[tuple[Node, str]] = []
        for child in children(node):
            if not relevant(child.node):
                continue
            item = f"{value}[{child.key!r}]" if child.always else f"{value}.get({child.key!r})"
            if children(child.node):
                inner.append((child.node, item))
            elif child.node.kind == "group":
                own["group"] = item
                self.group(item, depth)
            elif isinstance(child.node, RecordsNode):
                own["records"] = f"count_records({item})"
            else:
                self.leaf(KINDS[child.node.kind], item, own, depth)
        self.row(own, around, inner, depth)
        below = {kind: name for kind, name in own.items() if kind in ("group", "topic", "partition")}
        for inside, item in inner:
            self.descend(inside, item, below, depth)

    def leaf(self, kind: str, item: str, own: dict[str, str], depth: int) -> None:
        name = f"{kind}_{self.fresh()}"
        before = own.get(kind)
        both = kind == "topic" and before is not None
        self.line(depth, f"{name} = best_name({before}, {item})" if both else f"{name} = {item}")
        own[kind] = name
        if kind == "error":
            self.error(name, depth)
            own[kind] = f"({before} or {name} or 0)" if before else name

    def row(self, own: dict[str, str], around: dict[str, str], inner: list[tuple[Node, str]], depth: int) -> None:
        """Write a row for a structure; for one that holds others, only if it has an error or one of these is empty."""
        if set(own) - set(around) <= {"error", "group", "value"} and "topic" not in own:
            return
        if inner:
            conditions = [f"not {item}" for _, item in inner] + [own[kind] for kind in ("error",) if kind in own]
            self.line(depth, f"if {' or '.join(conditions)}:")
            depth += 1
        self.append(own, depth)

    def descend(self, node: Node, item: str, around: dict[str, str], depth: int) -> None:
        """Write what is inside `item`, the expression of a value that may be null."""
        name = self.fresh()
        if isinstance(node, WireStruct):
            self.line(depth, f"{name} = {item}")
            self.line(depth, f"if {name} is not None:")
            self.line(depth + 1, "pass")
            self.struct(node, name, around, depth + 1)
            return
        inside = children(node)
        if not inside:
            self.single(node, item, around, depth)
        elif not inside[0].repeated:
            self.descend(inside[0].node, item, around, depth)
        else:
            self.line(depth, f"for {name} in {item} or ():")
            self.line(depth + 1, "pass")
            write = self.struct if isinstance(inside[0].node, WireStruct) else self.descend
            write(inside[0].node, name, around, depth + 1)  # type: ignore[arg-type]

    def single(self, node: Node, item: str, around: dict[str, str], depth: int) -> None:
        """Write a leaf that is no field of a structure, such as an item of an array."""
        if node.kind == "group":
            self.group(item, depth)
        elif node.kind == "error":
            self.error(item, depth)
        elif isinstance(node, RecordsNode):
            self.append(around | {"records": f"count_records({item})"}, depth)
        else:
            self.append(around | {KINDS[node.kind]: item}, depth)

    def group(self, item: str, depth: int) -> None:
        self.line(depth, f"if {item} is not None: groups.append({item})")

    def error(self, item: str, depth: int) -> None:
        self.line(depth, f"if {item}: errors.append({item})")

    def append(self, own: dict[str, str], depth: int) -> None:
        known = [own.get(kind, default) for kind, default in (("topic", None), ("partition", None), ("error", 0))]
        self.line(depth, f"rows.append(({', '.join(map(str, known))}, {own.get('records')}))")


class _PartsWriter(_Writer):
    """Writes the way to the structures of partitions alone."""

    found = "parts"

    def group(self, item: str, depth: int) -> None:
        """Write nothing: the part of each partition names its group."""

    def error(self, item: str, depth: int) -> None:
        """Write nothing: the part of each partition holds the structure that the error stands in."""

    def leaf(self, kind: str, item: str, own: dict[str, str], depth: int) -> None:
        if kind != "error":  # a structure that broke off in front of it has its partition none the less
            super().leaf(kind, item, own, depth)

    def row(self, own: dict[str, str], around: dict[str, str], inner: list[tuple[Node, str]], depth: int) -> None:
        """Write a part for a structure that names a partition of its own."""
        if own.get("partition") != around.get("partition"):
            place = ", ".join(str(own.get(kind)) for kind in ("group", "topic", "partition", "value"))
            self.line(depth, f"parts.append(Part({place}))")

    def append(self, own: dict[str, str], depth: int) -> None:
        """Write `pass`: a partition's number that is no field of a structure makes no part."""
        self.line(depth, "pass")


Topics: TypeAlias = Mapping[UUID, str]
"""The names of topic ids, as far as they are known."""
Pairs = Callable[[Any], Iterator[tuple[UUID, str]]]
"""Gives each (id, name) in a value, which may have been read only in part."""
ALWAYS = {UUID(int=1): "__cluster_metadata"}
"""The id that nobody needs to tell: that of the log of KRaft (KIP-595)."""
MOST = 100_000
"""Names that are remembered: a hostile capture may tell any number of them."""


def learn(grammar: WireStruct, value: Any, topics: MutableMapping[UUID, str]) -> None:
    """Add what a value tells to `topics`; an id keeps the name that it had first, as topics do."""
    pairs = topic_names(grammar)
    for topic_id, name in pairs(value) if pairs is not None else ():
        if len(topics) < MOST:
            topics.setdefault(topic_id, name)


def names_by_then(topics: dict[UUID, str], count: int) -> dict[UUID, str]:
    """Return the first `count` names that were learnt: those known when a message was handed out.

    Names are only ever added, so their order is that in which they were learnt.
    """
    return topics if len(topics) <= count else dict(islice(topics.items(), count))


class NamesThen(Mapping[UUID, str]):
    """The names of topic ids as they were known at a moment: the first `count` that were learnt.

    Exchanges come many at a time, and the later ones of them may tell names that the earlier ones could not know.
    """

    def __init__(self, topics: dict[UUID, str]) -> None:
        self.topics = topics
        self._count, self._then = 0, topics

    def at(self, count: int) -> None:
        """Go to the moment when so many names were known."""
        if count != self._count or len(self._then) > count:  # then more were learnt since
            self._count, self._then = count, names_by_then(self.topics, count)

    def __getitem__(self, topic_id: UUID) -> str:
        return self._then[topic_id]

    def __contains__(self, topic_id: object) -> bool:
        return topic_id in self._then

    def get(self, topic_id: UUID, default: Any = None) -> Any:
        """Return the name of a topic id, or `default` where it is not known."""
        return self._then.get(topic_id, default)

    def __iter__(self) -> Iterator[UUID]:
        return iter(self._then)

    def __len__(self) -> int:
        return len(self._then)


@cache
def topic_names(node: Node) -> Pairs | None:
    """Return the function that yields (topic id, name) pairs of a value; None where no structure has both."""
    below = [(child, inside) for child in children(node) if (inside := topic_names(child.node)) is not None]
    kinds = {child.node.kind: child.key for child in children(node)}
    id_key, name_key = kinds.get("topic_id"), kinds.get("topic")
    both = bool(id_key and name_key)
    if not below and not both:
        return None

    def pairs(value: Any) -> Iterator[tuple[UUID, str]]:
        topic_id, name = (value.get(id_key), value.get(name_key)) if both and value else (None, None)
        if topic_id and topic_id.int and name:
            yield topic_id, name
        for child, inside in below:
            for item in child.values(value):
                yield from inside(item)

    return pairs


TopicsReader = Callable[[bytes, "list[str | bytes]"], None]


@cache
def topics_in(header: Node, body: WireStruct) -> TopicsReader:
    """Return a function that adds the names and the ids of topics in a message, as 16 bytes, to a list.

    It raises one of `UNREADABLE` where it cannot read on; then the list has those in front of that place.
    """
    walk = TopicsIn()
    walk.read(header, 1)
    walk.read(body, 1)
    walk.flush(1)
    return walk.define("topics(data, found, pos=0)", "None")  # type: ignore[no-any-return]


class TopicsIn(CodeGenerator):
    """Writes a function that gathers topics, and passes over all else."""

    def leaf(self, node: Node, depth: int) -> str:
        if node.kind not in ("topic", "topic_id"):
            return super().leaf(node, depth)
        topic = self.take("16s", self.fresh()) if isinstance(node, UuidNode) else self.value(node, depth)
        self.flush(depth)
        self.line(depth, f"found.append({topic})")
        return ""
