"""Messages as real clients and brokers wrote them, decoded to the values that somebody else found in them, and back.

Those of the captures that come along were read by Kafka's own table of layouts (tests/facts/plain.py). 1,246 others
stand in the test suites of public Kafka clients, which are under licences of their own: they are read where they stand
beside the checkout. What of these is not simply read and written back is explained here, one by one: in NOT_CLEAN for
bytes that follow Kafka's definition and yet hold something odd, in EXPLAINED for bytes that do not follow it.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import kdbg
from kdbg.exchanges.messages.message import Message, read
from kdbg.protocol import grammars
from kdbg.protocol.grammars.guides import FORMER_NAMES
from kdbg.protocol.wire.language import DIRECTIONS, snake_case
from kdbg.protocol.wire.nodes import Node, NullableStruct, WireArray, WireStruct
from kdbg.protocol.wire.records import RecordsNode, build_set

from .. import facts
from ..conftest import SHARED

Vector = Mapping[str, Any]
COUNT = 1246


class Found(NamedTuple):
    """What becomes of a row: the kinds of its findings, what `kdbg.decode` raises (None: it is decoded), and why."""

    kinds: tuple[str, ...]
    raises: str | None
    why: str


NOT_CLEAN = {
    "pixie-io/pixie fetch_test.cc:411": Found(
        ("malformed-record-set",), "malformed-record-set",
        "zeros stand where a record set should; the fields around it are right"
    ),
    "pixie-io/pixie fetch_test.cc:460": Found(
        ("malformed-record-set",), "malformed-record-set", "the same, in a flexible version"
    ),
    "kafka-rust/kafka-rust fetch2.mytopic.nocompression.invalid_crc.kafka.0900": Found(
        ("crc-mismatch",), "crc-mismatch", "recorded to have a wrong checksum; the message is decoded nevertheless"
    ),
}  # fmt: skip
"""Rows of class ok whose bytes follow the definition, with something odd in them."""

STUB = "the same six bytes stand for a reply of any API in KafkaJS's test helpers"
NO_THROTTLE = "the field throttle_time_ms is left out, so that what is there is version 0, and is told to be that"
REFUSED = "a broker that does not know the version asked for answers in version 0 (KIP-511)"
NULL_ARRAY = "a null where the definition has an array that may not be null; sarama writes and accepts it"
EXPLAINED = {
    "tulios/kafkajs findCoordinator/v0 response": Found(("truncated",), "truncated", STUB),
    "tulios/kafkajs heartbeat/v0 response": Found(("trailing-bytes",), "trailing-bytes", STUB),
    "tulios/kafkajs initProducerId/v0 response": Found(("truncated",), "truncated", STUB),
    "tulios/kafkajs initProducerId/v1 response": Found(("truncated",), "truncated", STUB),
    "tulios/kafkajs joinGroup/v0 response": Found(("truncated",), "truncated", STUB),
    "tulios/kafkajs joinGroup/v1 response": Found(("truncated",), "truncated", STUB),
    "tulios/kafkajs leaveGroup/v0 response": Found(("trailing-bytes",), "trailing-bytes", STUB),
    "tulios/kafkajs apiVersions/v1 response: defaults throttle_time_ms": Found(("known-variant",), None, NO_THROTTLE),
    "tulios/kafkajs apiVersions/v2 response: defaults throttle_time_ms": Found(("known-variant",), None, NO_THROTTLE),
    "tulios/kafkajs apiVersions/v1 response: throws": Found(("known-quirk",), None, REFUSED),
    "tulios/kafkajs apiVersions/v2 response: throws": Found(("known-quirk",), None, REFUSED),
    "IBM/sarama api_versions_response_test.go:176": Found(("known-quirk",), None, REFUSED),
    "IBM/sarama api_versions_response_test.go:192": Found(("known-quirk",), None, REFUSED),
    "IBM/sarama api_versions_response_test.go:202": Found(("known-quirk",), None, REFUSED),
    "IBM/sarama describe_log_dirs_response_test.go:180": Found(("unexpected-null",), "unexpected-null", NULL_ARRAY),
    "IBM/sarama describe_log_dirs_response_test.go:274": Found(("unexpected-null",), "unexpected-null", NULL_ARRAY),
    "IBM/sarama alter_configs_request_test.go:81 body": Found(
        ("truncated",), "truncated", "the inner tagged fields are left out, so that one byte is missing"
    ),
    "IBM/sarama alter_configs_request_test.go:81 frame": Found(
        ("truncated",), "truncated", "the same message with size and header"
    ),
}  # fmt: skip
"""Rows of the other classes."""

NO_OWNED = "the subscription inside says version 1 and ends before what that version added: it is read as version 0"
MADE_UP = "where a subscription or an assignment should stand there are a few bytes that the test made up"
PAYLOAD = {
    **{f"tulios/kafkajs joinGroup/v{version} {side}": NO_OWNED for version in range(1, 6) for side in DIRECTIONS},
    "tulios/kafkajs describeGroups/v0 response": "what the member says and gets has a form of its own",
    "tulios/kafkajs describeGroups/v1 response": NO_OWNED,
    "tulios/kafkajs describeGroups/v2 response": NO_OWNED,
    "kafkaex/kayrock join_group_factory.ex": NO_OWNED,
    "kafkaex/kayrock describe_groups_factory.ex": MADE_UP,
    "IBM/sarama describe_groups_response_test.go:53": MADE_UP,
    "IBM/sarama describe_groups_response_test.go:346": MADE_UP,
    "IBM/sarama join_group_request_test.go:56": MADE_UP,
    "IBM/sarama join_group_request_test.go:84": MADE_UP,
    "IBM/sarama join_group_request_test.go:206": MADE_UP,
    "IBM/sarama join_group_response_test.go:350": MADE_UP,
    "IBM/sarama sync_group_request_test.go:151": MADE_UP,
    "IBM/sarama sync_group_response_test.go:111": MADE_UP,
}
"""Rows of class ok whose bytes hold, as bytes, what is not what such bytes are: found, and kept as they are."""


PUBLIC = SHARED / "cases" / "public-vectors.jsonl"


def public() -> list[Vector]:
    """The messages of public test suites."""
    found = list(map(json.loads, PUBLIC.read_text(encoding="utf-8").splitlines()))
    assert len(found) == COUNT
    return found


Vectors = Callable[[], Sequence[Vector]]
SOURCES: list[Vectors] = [facts.vectors, public] if PUBLIC.is_file() else [facts.vectors]
"""Those of the captures, and those of public test suites where they are."""


@pytest.fixture(scope="module", params=SOURCES)
def vectors(request: pytest.FixtureRequest) -> list[Vector]:
    found: list[Vector] = request.param()
    return found


def place(vector: Vector) -> str:
    """Where a row comes from, short enough for a table and long enough to tell it from its neighbours."""
    source, file, test = vector["source"], vector["file"], vector["test"]
    if source == "tulios/kafkajs":
        _, _, _, api, version, spec = file.split("/")
        about = f": {' '.join(test.split()[: 2 if test.startswith('defaults') else 1])}" if api == "apiVersions" else ""
        return f"{source} {api}/{version} {spec.split('.')[0]}{about}"
    if file == "alter_configs_request_test.go:81":
        return f"{source} {file} {vector['form']}"
    return f"{source} {Path(file).name}"


def question(vector: Vector) -> dict[str, Any]:
    return {"api": vector["api_key"], "version": vector["version"], "direction": vector["direction"]}


def read_body(vector: Vector) -> Message:
    """The row's body, whatever it holds."""
    api = grammars.api(vector["api_key"])
    return read(api, vector["version"], vector["direction"], bytes.fromhex(vector["body_hex"]), header=False)


def kinds(message: Message) -> set[str]:
    return {finding.kind for finding in message.findings}


def allowed(vector: Vector) -> set[str]:
    """The kinds of findings that a clean row may have: none but what PAYLOAD tells of."""
    why = PAYLOAD.get(place(vector))
    return {"known-quirk"} if why == NO_OWNED else {"malformed-payload"} if why else set()


def read_opened(vector: Vector) -> Message:
    """The row's body, with the payloads in it opened."""
    return kdbg.decode(bytes.fromhex(vector["body_hex"]), header=False, **question(vector))


def clean(vectors: list[Vector]) -> list[Vector]:
    return [vector for vector in vectors if vector["class"] == "ok" and place(vector) not in NOT_CLEAN]


def odd(vectors: list[Vector]) -> list[Vector]:
    return [vector for vector in vectors if vector["class"] == "ok" and place(vector) in NOT_CLEAN]


def others(vectors: list[Vector]) -> list[Vector]:
    return [vector for vector in vectors if vector["class"] != "ok"]


def newly_named(vector: Vector, value: Any) -> Any:
    """The values with the names of Kafka 4.4; those of the table are older."""
    renamed = FORMER_NAMES.get((grammars.api(vector["api_key"]).name, vector["direction"]), {})
    keys = set(grammars.api(vector["api_key"]).at(vector["direction"], vector["version"]).keys)
    return {renamed[key] if renamed.get(key) in keys else key: item for key, item in value.items()}


def test_a_field_may_have_the_name_of_an_older_release() -> None:
    about = {"api": "TxnOffsetCommit", "version": 3, "direction": "request"}
    old, new = ({name: 7, "group_id": "g"} for name in ("generation_id", "generation_id_or_member_epoch"))
    assert kdbg.encode(old, **about) == kdbg.encode(new, **about)  # type: ignore[arg-type]


def test_what_clients_and_brokers_wrote_is_decoded_whole(vectors: list[Vector]) -> None:
    for number, vector in enumerate(clean(vectors)):
        message = read_opened(vector)
        assert kinds(message) <= allowed(vector), (number, place(vector))
        expected = newly_named(vector, snake_cased(vector["values"]))
        assert as_json(message.grammar, message.body) == expected, (number, place(vector))


def test_what_was_decoded_is_encoded_to_the_same_bytes(vectors: list[Vector]) -> None:
    for number, vector in enumerate(clean(vectors) + odd(vectors)):
        assert vector["canonical"]
        message = read_body(vector)
        assert kdbg.encode(message.body, **question(vector)).hex() == vector["body_hex"], (number, place(vector))


def test_values_are_encoded_without_having_been_decoded(vectors: list[Vector]) -> None:
    """JSON names are enough to write the bytes: hexadecimal becomes bytes, everything else stays as it is."""
    for number, vector in enumerate(clean(vectors) + odd(vectors)):
        grammar = grammars.api(vector["api_key"]).at(vector["direction"], vector["version"])
        value = from_json(grammar, newly_named(vector, snake_cased(vector["values"])))
        assert kdbg.encode(value, **question(vector)).hex() == vector["body_hex"], (number, place(vector))


def test_whole_frames_are_decoded_and_encoded(vectors: list[Vector]) -> None:
    frames = [vector for vector in clean(vectors) if "frame_hex" in vector]
    for number, vector in enumerate(frames):
        frame = bytes.fromhex(vector["frame_hex"])
        assert int.from_bytes(frame[:4], "big") == len(frame) - 4
        message = kdbg.decode(frame[4:], **question(vector))
        assert kinds(message) <= allowed(vector), (number, place(vector))
        assert kdbg.encode(message.body, header=message.header, **question(vector)) == frame[4:]
        assert message.body == read_body(vector).body
        if vector["direction"] == "request":
            assert message.header is not None
            named = message.header["api_key"], message.header["api_version"]
            assert named == (vector["api_key"], vector["version"]), (number, place(vector))
    assert len(frames) > 400


def snake_cased(values: Any) -> Any:
    """The row's values by kdbg's names."""
    if isinstance(values, dict):
        return {snake_case(name): snake_cased(item) for name, item in values.items()}
    return [snake_cased(item) for item in values] if isinstance(values, list) else values


def as_json(node: Node, value: Any) -> Any:
    """A decoded value as the rows have it: bytes, UUIDs and record sets in hexadecimal."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, uuid.UUID):
        return value.hex
    if not isinstance(value, dict):
        if isinstance(node, RecordsNode) and value is not None:
            return build_set(value, node.format, "").hex()
        return [as_json(node.item, item) for item in value] if isinstance(node, WireArray) and value else value
    inner = fields(node)
    return {name: as_json(inner[name], item) for name, item in value.items()}


def from_json(node: Node, value: Any) -> Any:
    """The other way round: what kdbg.encode wants for a row's value."""
    if isinstance(node, WireArray):
        return None if value is None else [from_json(node.item, item) for item in value]
    if isinstance(node, (WireStruct, NullableStruct)):
        inner = fields(node)
        return None if value is None else {name: from_json(inner[name], item) for name, item in value.items()}
    return bytes.fromhex(value) if isinstance(value, str) and node.bnf.endswith(("BYTES", "RECORDS")) else value


def fields(node: Node) -> dict[str, Node]:
    struct = node.struct if isinstance(node, NullableStruct) else node
    assert isinstance(struct, WireStruct)
    return {field.name: field.node for field in (*struct.fields, *(struct.tags or {}).values())}
