"""Every reading over every class of node: what is found in a plain field is found wherever else it may stand.

A value that readings look for (an error code, a secret, a group, a topic, a record set, a payload) is declared at every
place that grammars have: plain and tagged fields, structures, arrays, nullable structures, lengths in front, optional
fields of the draft of KIP-482, and those inside one another.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any
from uuid import UUID

import orjson

from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.known import Known
from kdbg.exchanges.messages.message import NO_HEADER, explain
from kdbg.exchanges.messages.payloads import plan
from kdbg.exchanges.messages.peers import Peers
from kdbg.exchanges.messages.weigh import weigh
from kdbg.protocol.grammars.meanings import Host, Port
from kdbg.protocol.grammars.payloads import consumer_protocol, subscription
from kdbg.protocol.grammars.records import Records
from kdbg.protocol.wire import (
    Api,
    Array,
    Bytes,
    ErrorCode,
    GroupId,
    Holds,
    Int8,
    Nullable,
    Optional,
    Partition,
    Prefixed,
    Secret,
    String,
    Struct,
    Tag,
    TopicId,
    TopicName,
    UVarint,
)
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.nodes import Node, WalkedNode, WireStruct, build, children
from kdbg.protocol.wire.readings.compiled import UNREADABLE, read_whole
from kdbg.protocol.wire.readings.endpoints import endpoints_reader, with_endpoints
from kdbg.protocol.wire.readings.layout import layout, productions
from kdbg.protocol.wire.readings.measure import end_of
from kdbg.protocol.wire.readings.outline import ALWAYS, MOST, learn, outline, relevant, topic_names
from kdbg.protocol.wire.readings.outline_codegen import facts_reader
from kdbg.protocol.wire.readings.secrets import has_secrets, hide
from kdbg.views.render.jsonlines import record_sets
from kdbg.views.render.style import Look
from kdbg.views.render.views import view
from kdbg.views.tables.cells import plain
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows

from ...cases import for_each

Place = tuple[Callable[[Any], Struct], Callable[[Any], dict[str, Any]]]
"""A declaration around a type, and the value of it around a value of that type."""
ID, PASSWORD = uuid.UUID("00112233-4455-6677-8899-aabbccddeeff"), "swordfish"
PLACES: dict[str, Place] = {
    "a field": (lambda of: Struct("it" / of), lambda value: {"it": value}),
    "a tagged field": (lambda of: Struct("it" / Tag(0, of)), lambda value: {"it": value}),
    "a structure": (lambda of: Struct("box" / Struct("it" / of)), lambda value: {"box": {"it": value}}),
    "a tagged structure": (
        lambda of: Struct("box" / Tag(1, Struct("it" / Tag(0, of)))),
        lambda value: {"box": {"it": value}},
    ),
    "an array": (lambda of: Struct("box" / Array(of)), lambda value: {"box": [value]}),
    "a tagged array": (lambda of: Struct("box" / Tag(0, Array(of))), lambda value: {"box": [value]}),
    "an array of structures": (lambda of: Struct("box" / Array("it" / of)), lambda value: {"box": [{"it": value}]}),
    "an array in an array": (
        lambda of: Struct("box" / Array("more" / Array("it" / of))),
        lambda value: {"box": [{"more": [{"it": value}]}]},
    ),
    "an array of arrays": (lambda of: Struct("box" / Array(Array(of))), lambda value: {"box": [[value]]}),
    "a nullable structure": (
        lambda of: Struct("box" / Nullable(Struct("it" / of))),
        lambda value: {"box": {"it": value}},
    ),
    "a tagged nullable structure": (
        lambda of: Struct("box" / Tag(0, Nullable(Struct("it" / of)))),
        lambda value: {"box": {"it": value}},
    ),
    "a tagged field in an array": (
        lambda of: Struct("box" / Array("other" / Int8, "it" / Tag(0, of))),
        lambda value: {"box": [{"other": 1, "it": value}]},
    ),
    "a length in front": (
        lambda of: Struct("box" / Prefixed(UVarint, Struct("it" / of))),
        lambda value: {"box": {"it": value}},
    ),
    "lengths in an array": (
        lambda of: Struct("box" / Array(Prefixed(UVarint, Struct("it" / of)))),
        lambda value: {"box": [{"it": value}]},
    ),
    "an optional field": (lambda of: Struct("it" / Optional(0, of)), lambda value: {"it": value}),
}
ABSENT: dict[str, dict[str, Any]] = {
    "a tagged field": {},
    "a tagged structure": {},
    "a tagged array": {},
    "an array": {"box": []},
    "an array of structures": {"box": []},
    "a nullable structure": {"box": None},
    "a tagged nullable structure": {"box": None},
    "a tagged field in an array": {"box": [{"other": 1}, {"other": 2}]},
}
"""Values of those places in which nothing stands."""
every_place = for_each("place", PLACES)


def api(place: str, of: Any) -> Api:
    declared = PLACES[place][0](of)
    draft = place == "an optional field"
    optional = {"optional": range(1)} if draft else {"flexible": 0}
    return Api(1000, "Lamp", declared, declared, range(1), headerless=True, **optional)  # type: ignore[arg-type]


def grammar(place: str, of: Any) -> WireStruct:
    return api(place, of).at("response", 0)


def value(place: str, of: Any) -> dict[str, Any]:
    return PLACES[place][1](of)


def exchange(place: str, of: Any, what: Any) -> Exchange:
    """A captured response with the value in it."""
    return exchange_of(place, of, value(place, what))


def exchange_of(place: str, of: Any, body: dict[str, Any]) -> Exchange:
    """A captured response with this body."""
    lamp = api(place, of)
    half = CapturedMessage(build(grammar(place, of), body), (5, 5), (1, 1), "response")
    half.api, half.known = lamp, Known.nothing()
    found = Exchange(Peers(1, ("10.0.0.1", 1), ("10.0.0.2", 2)), lamp, 0, 0, None)
    found.number, found.response = 1, half
    return found


def shown(format: str, one: Exchange, *, show_secrets: bool = False) -> str:
    text = view(format).exchange(Look(width=200, show_secrets=show_secrets, long_lines=True), {})(one)
    return text.decode() if isinstance(text, bytes) else text


SECRET_TEXT, SECRET_BYTES = Secret(String), Secret(Bytes)
EVERYTHING = {
    "an error": (ErrorCode, 6),
    "a secret": (SECRET_TEXT, PASSWORD),
    "a group": (GroupId, "billing"),
    "a topic": (TopicName, "orders"),
    "a topic's id": (TopicId, ID),
    "a partition": (Partition, 3),
    "a record set": (Records, []),
}


@every_place
@for_each("what", EVERYTHING)
def test_the_plain_readings_agree(place: str, what: str) -> None:
    """construct's own parser and builder, the compiled reader and the spans give one value; the BNF names the field."""
    of, item = EVERYTHING[what]
    node, body = grammar(place, of), value(place, item)
    data = build(node, body)
    assert node.parse(data) == body
    assert read_whole(node, data) == body
    assert end_of(node, data, 0) == len(data)
    _, inspection = explain(api(place, of), 0, "response", data)
    assert inspection.value == body
    assert not inspection.findings
    edges = [(span.start, span.end) for span in inspection.spans if span.buffer == 0]
    assert edges[0][0] == 0
    assert edges[-1][1] == len(data)
    assert all(one[1] == other[0] for one, other in pairwise(edges))
    name = "it" if "it" in str(PLACES[place][1]("")) else "box"
    assert any(row.path.split(":")[-1].split(".")[-1].strip("[]") == name for row in layout(node))
    assert name in "\n".join(productions(node, "")) or "tagged" in place or "optional" in place
    weighed = weigh([node], build(node, body), 0, 1000.0)
    assert weighed is not None
    assert (weighed.end, weighed.cut) == (len(build(node, body)), False)
    assert_facts(place, node, body)


def fits(filters: Filters, one: Exchange, topics: dict[UUID, str] | None = None) -> bool:
    return all(check(one) for check in filters.checks(topics or {}))


def assert_facts(place: str, node: WireStruct, body: dict[str, Any]) -> None:
    """Straight from the bytes comes what the value tells, except of what only a value tells: tagged fields."""
    read = facts_reader(WireStruct((), None), node)
    facts = None
    with suppress(*UNREADABLE):
        facts = read(build(node, body)) if read is not None else None
    assert facts == tuple(map(tuple, outline(node)(body))) or (
        facts is None and ("tagged" in place or "optional" in place)
    )


@for_each("what", EVERYTHING)
@for_each("place", ABSENT)
def test_what_is_absent_is_passed_over_by_every_reading(place: str, what: str) -> None:
    of, _ = EVERYTHING[what]
    node, body = grammar(place, of), ABSENT[place]
    assert node.parse(build(node, body)) == body
    assert read_whole(node, build(node, body)) == body
    assert outline(node)(body)[2] == []
    assert hide(node, body) == body
    known: dict[uuid.UUID, str] = {}
    learn(node, body, known)
    assert known == {}
    lamp = exchange_of(place, of, body)
    for format in ("tree", "hex", "summary", "json"):
        assert shown(format, lamp)
    assert not fits(Filters(errors=True), lamp)


@every_place
def test_an_error_is_an_error_wherever_it_stands(place: str) -> None:
    assert outline(grammar(place, ErrorCode))(value(place, 6))[2] == [6]
    assert outline(grammar(place, ErrorCode))(value(place, 0))[2] == []
    one = exchange(place, ErrorCode, 6)
    assert fits(Filters(errors=True), one)
    assert not fits(Filters(errors=True), exchange(place, ErrorCode, 0))
    assert "NOT_LEADER_OR_FOLLOWER" in shown("tree", one)
    assert "NOT_LEADER_OR_FOLLOWER" in shown("hex", one)
    assert "NOT_LEADER_OR_FOLLOWER" in shown("summary", one)
    assert orjson.loads(shown("json", one))["response"]["body"] == value(place, 6)
    assert [6] in [cell for table, row in rows(one) if table == "exchanges" for cell in row]


@every_place
@for_each("of", [SECRET_TEXT, SECRET_BYTES], ids=["text", "bytes"])
def test_a_secret_is_hidden_wherever_it_stands(place: str, of: Any) -> None:
    word = PASSWORD if of is SECRET_TEXT else PASSWORD.encode()
    node = grammar(place, of)
    assert has_secrets(node)
    assert PASSWORD not in str(hide(node, value(place, word)))
    one = exchange(place, of, word)
    for format in ("tree", "hex", "summary", "json"):
        assert PASSWORD not in shown(format, one), format
        assert PASSWORD.encode().hex(" ") not in shown(format, one), format
    assert "hidden" in shown("json", one)
    assert "redacted" in shown("hex", one)
    assert (PASSWORD if of is SECRET_TEXT else PASSWORD.encode().hex(" ")) in shown("tree", one, show_secrets=True)
    assert PASSWORD not in str(rows(one))


@every_place
def test_a_group_is_found_wherever_it_stands(place: str) -> None:
    one = exchange(place, GroupId, "billing")
    assert fits(Filters(group="billing"), one)
    assert not fits(Filters(group="other"), one)


@every_place
def test_an_endpoint_is_found_and_changed_wherever_it_stands(place: str) -> None:
    of = Struct("host" / Host, "port" / Port)
    node, data = grammar(place, of), build(grammar(place, of), value(place, {"host": "a", "port": 9092}))
    read = endpoints_reader(NO_HEADER, node)
    assert read is not None
    assert read(data) == ["a"]
    changed = with_endpoints(NO_HEADER, node, data, lambda host, port: (host + "bc", port + 1))
    assert changed == build(node, value(place, {"host": "abc", "port": 9093}))


@every_place
def test_a_topic_is_found_wherever_it_stands(place: str) -> None:
    one = exchange(place, TopicName, "orders")
    assert fits(Filters(topic="orders"), one)
    assert "orders" in shown("summary", one)
    by_id = exchange(place, TopicId, ID)
    assert fits(Filters(topic="orders"), by_id, {ID: "orders"})


@every_place
def test_a_topics_id_and_name_are_learnt_wherever_they_stand(place: str) -> None:
    both = Struct("name" / TopicName, "topic_id" / TopicId)
    known: dict[uuid.UUID, str] = {}
    learn(grammar(place, both), value(place, {"name": "orders", "topic_id": ID}), known)
    assert known == {ID: "orders"}


def test_a_topic_keeps_the_name_that_was_told_first() -> None:
    """Names are only added: what an exchange showed before does not depend on what came later."""
    both, known = Struct("name" / TopicName, "topic_id" / TopicId).at(At(0, False)), dict[uuid.UUID, str]()
    for name in ("orders", "payments"):
        learn(both, {"name": name, "topic_id": ID}, known)
    assert known == {ID: "orders"}


def test_the_names_that_are_remembered_have_a_bound() -> None:
    node = grammar("an array of structures", TopicName)
    assert topic_names(node) is None
    both = Struct("box" / Array("name" / TopicName, "topic_id" / TopicId)).at(At(0, False))
    known = {uuid.UUID(int=n): "old" for n in range(2, MOST + 2)}
    learn(both, {"box": [{"name": "new", "topic_id": uuid.UUID(int=2)}, {"name": "more", "topic_id": ID}]}, known)
    assert (len(known), known[uuid.UUID(int=2)], ID in known) == (MOST, "old", False)
    assert ALWAYS[uuid.UUID("00000000-0000-0000-0000-000000000001")] == "__cluster_metadata"


@every_place
def test_records_are_counted_and_read_as_text_wherever_they_stand(place: str) -> None:
    batch = {"magic": 2, "records": [{"key": b"7", "value": b"hello", "headers": []}]}
    node = grammar(place, Records)
    assert relevant(node)
    assert len(record_sets(node)) == 1
    one = exchange(place, Records, [batch])
    assert '"value":"hello"' in shown("json", one)
    assert '"hello"' in shown("tree", one)
    body = one.messages()[0].body
    assert sum(records or 0 for *_, records in outline(node)(body)[0]) == 1 or place in ("a field", "a tagged field")


@every_place
def test_payloads_are_opened_wherever_they_stand(place: str) -> None:
    pair = Struct("protocol_type" / String, "metadata" / Holds(Bytes, subscription))
    data = build(consumer_protocol.subscription.reading(0).grammar, {"topics": ["orders"]})
    node = grammar(place, pair)
    assert plan(node) is not None
    one = exchange(place, pair, {"protocol_type": "consumer", "metadata": data})
    assert "ConsumerProtocolSubscription" in shown("tree", one)


def rows(one: Exchange) -> list[tuple[str, tuple[Any, ...]]]:
    found: list[tuple[str, tuple[Any, ...]]] = []
    Rows(plain(lambda table, time, row, size: found.append((table, row))), WantedRows(), {}).exchange("lamp.pcap", one)
    return found


def holders(node: Node) -> set[type[Node]]:
    """The classes of a node and of those below it that have children."""
    inside = children(node)
    return set[type[Node]]({type(node)} if inside else ()).union(*(holders(child.node) for child in inside))


def test_every_class_of_node_that_holds_others_is_among_the_places() -> None:
    """A class that holds nodes names them in its constructor; one that `children` does not know is missed here."""
    seen = set().union(*(holders(grammar(place, ErrorCode)) for place in PLACES))
    holding = {
        one
        for one in (*Node.__subclasses__(), *WalkedNode.__subclasses__())
        if one.__module__.startswith("kdbg.protocol.wire")
        and {"item", "struct", "fields"} & one.__init__.__annotations__.keys()
    }
    assert len(holding) == 4
    assert holding <= seen
