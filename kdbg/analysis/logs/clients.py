"""The dialects of clients that do not run on Java: librdkafka, kafka-python, KafkaJS, sarama."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ...protocol import grammars
from ...protocol.grammars import named
from .dialect import NOBODY, Dialect, LineFacts, end_of, number, object_in, printed, stamp, text

RDKAFKA_LINE = re.compile(
    r"(?P<broker>\S+): (?:(?P<sent>Sent)|Received) (?P<api>[A-Za-z]{2,60}?)(?:Request|Response) "
    r"\(v(?P<version>\d{1,5}), "
    r"(?P<size>\d{1,10}) bytes(?: @ \d+)?, CorrId (?P<id>-?\d{1,10})(?:, rtt (?P<rtt>\d{1,12}(?:\.\d+)?)ms)?\)"
)
INSTANCE = re.compile(r"(?:^|[\[| ])(?P<name>(?P<id>[^\[\]|]{0,250})#(?:producer|consumer)-\d+)[\]|]")
"""An instance is called by its client id, what it is, and which of these in its process."""
RESPONSE_HEADER = 8
"""Bytes of a response that librdkafka does not count: its size and its correlation id."""


def _librdkafka(line: str) -> LineFacts | None:
    """Read `%7|1795387650.218|SEND|shop#producer-1| [thrd:…]: b:9/1: Sent MetadataRequest (v1, 52 bytes, CorrId 3)`"""
    found = RDKAFKA_LINE.search(line)
    api = named(found["api"]) if found is not None else None
    if found is None or api is None:
        return None
    instance, (time, zoned) = INSTANCE.search(line[: found.start()]), stamp(line[: found.start()])
    sent, size = found["sent"] is not None, int(found["size"])
    host, _, node = found["broker"].rpartition("/")
    return LineFacts(
        "request" if sent else "response",
        api,
        int(found["version"]),
        int(found["id"]),
        instance["id"].strip() if instance is not None else None,
        f"{instance['name'] if instance is not None else ''} {found['broker']}",
        broker=end_of(host) if node else NOBODY,
        sizes=(size, None) if sent else (None, size + RESPONSE_HEADER),
        latency=round(float(found["rtt"]) * 1e6) if found["rtt"] is not None else None,
        time=time,
        zoned=zoned,
    )


LIBRDKAFKA: Final = Dialect(
    "librdkafka", "librdkafka and clients based on it", "debug=protocol", ("CorrId ",), _librdkafka
)
"""Also confluent-kafka of Python, Go and .NET, node-rdkafka and kcat."""

PYTHON_LINE = re.compile(
    r"<(?:KafkaConnection|BrokerConnection) (?P<about>.{0,400}?)>:? (?:(?P<sent>Request)|Response) (?P<id>\d{1,10})"
    r"(?: \((?P<ms>\d{1,12}(?:\.\d+)?(?:e-\d+)?) ms\))?: "
    r"(?P<api>[A-Za-z]{2,60}?)(?:Request|Response)(?:_v(?P<version>\d{1,5}))?(?=\()"
)
CLIENT = re.compile(r"client_id=(?P<id>.{0,250}?), node_id=")
NODE = re.compile(r"node_id=(?P<node>\S+) host=\[?(?P<broker>[^\s<]+?)\]?(?:<-(?P<port>\d{1,5})\]?)?(?: |$)")


def _kafka_python(line: str) -> LineFacts | None:
    """Read a line of the logger `kafka.net.connection`, or of `kafka.conn` before kafka-python 3.

    `<KafkaConnection node_id=1 host=[127.0.0.1:9092<-52966] …> Request 2: MetadataRequest(version=7, topics=[])`; by
    kafka-python 2, `<BrokerConnection client_id=shop, node_id=1 host=kafka:9092 …> Request 2: …Request_v1(…)`.
    """
    found = PYTHON_LINE.search(line)
    api = named(found["api"]) if found is not None else None
    if found is None or api is None:
        return None
    sent, (time, zoned) = found["sent"] is not None, stamp(line[: found.start()])
    client, node = CLIENT.search(found["about"]), NODE.search(found["about"])
    fields = printed(line, found.start("api"))
    version = found["version"] or fields.pop("version", None)
    return LineFacts(
        "request" if sent else "response",
        api,
        int(version) if str(version).isdecimal() else None,
        int(found["id"]),
        client["id"] if client is not None else None,
        node[0] if node is not None else found["about"],
        client=("", int(node["port"] or 0)) if node is not None else ("", 0),
        broker=end_of(node["broker"]) if node is not None else ("", 0),
        fields=(fields, {}) if sent else ({}, fields),
        latency=round(float(found["ms"]) * 1e6) if found["ms"] is not None else None,
        time=time,
        zoned=zoned,
    )


KAFKA_PYTHON: Final = Dialect(
    "kafka-python",
    "kafka-python",
    '`logging.getLogger("kafka")` at DEBUG',
    ("KafkaConnection ", "BrokerConnection "),
    _kafka_python,
)

MESSAGE = re.compile(r"\[Connection\] (Request|Response) \w+\(key: (\d{1,5}), version: (\d{1,5})\)")

DECODER = json.JSONDecoder()
SEVERAL_LINES = re.compile(r"^(?P<before>[^\n{]{0,200})\{[ \t]*\n", re.MULTILINE)
LONGEST = 1 << 14
"""Characters of an object over several lines."""
OWN_SIZE = 4
"""Bytes of a response that KafkaJS does not count: its size."""


def on_one_line(text: str) -> str:
    """Return a text with KafkaJS's objects of several lines on the first of these; the others are empty."""
    parts, at = [], 0
    for found in SEVERAL_LINES.finditer(text):
        start = found.end("before")
        if start < at or '"kafkajs"' not in text[start : start + LONGEST]:
            continue
        try:
            entry, length = DECODER.raw_decode(text[start : start + LONGEST])
        except (ValueError, RecursionError):
            continue
        lines = text.count("\n", start, start + length)
        parts += [text[at:start], json.dumps(entry), "\n" * lines]
        at = start + length
    return "".join([*parts, text[at:]])


def _kafkajs(line: str) -> LineFacts | None:
    """Read a line of KafkaJS: a JSON object, as its own logger writes it."""
    start = line.find('{"')
    entry = object_in(line, start) if start >= 0 else None
    found = MESSAGE.fullmatch(text(entry.get("message")) or "") if entry is not None else None
    api = grammars.find(int(found[2])) if found is not None else None
    correlation_id = number(entry.get("correlationId")) if entry is not None else None
    if entry is None or found is None or api is None or correlation_id is None:
        return None
    sent, size, data = found[1] == "Request", number(entry.get("size")), entry.get("data")
    time, zoned = stamp(f"{text(entry.get('timestamp')) or line[:start]} ")
    broker, client_id = text(entry.get("broker")) or "", text(entry.get("clientId"))
    fields: Mapping[str, Any] = data if isinstance(data, Mapping) else {}
    return LineFacts(
        "request" if sent else "response",
        api,
        int(found[3]),
        correlation_id,
        client_id,
        f"{client_id} {broker}",
        broker=end_of(broker),
        sizes=(size, None) if sent or size is None else (None, size + OWN_SIZE),
        fields=({}, fields),
        time=time,
        zoned=zoned,
    )


KAFKAJS: Final = Dialect("kafkajs", "KafkaJS", "`logLevel: logLevel.DEBUG`", ('"[Connection] Re',), _kafkajs)

METADATA = re.compile(
    r"client/metadata fetching metadata for (?:all topics|\[(?P<topics>[\w.\- ]{0,5000})\]) from broker (?P<broker>\S+)"
)
COORDINATOR = re.compile(
    r"client/coordinator requesting coordinator for (?:consumergroup )?(?P<key>.{1,300}?) from (?P<broker>\S+)"
)


def _sarama(line: str) -> LineFacts | None:
    """Read a line about metadata or a coordinator that sarama asks for; it tells neither versions nor correlation ids.

    `[sarama] 2026/11/22 23:14:43.611807 client/metadata fetching metadata for [orders] from broker localhost:9092`
    """
    metadata = METADATA.search(line)
    found = metadata or COORDINATOR.search(line)
    api = named("FindCoordinator" if metadata is None else "Metadata")
    if found is None or api is None:
        return None
    time, zoned = stamp(line[: found.start()])
    if metadata is None:
        fields = {"key": found["key"], "coordinatorKeys": [found["key"]]}
    else:
        topics = metadata["topics"]
        fields = {} if topics is None else {"topics": [{"name": topic} for topic in topics.split()]}
    broker = found["broker"]
    return LineFacts(
        "request", api, connection=broker, broker=end_of(broker), fields=(fields, {}), time=time, zoned=zoned
    )  # fmt: skip


SARAMA: Final = Dialect(
    "sarama",
    "sarama",
    "`sarama.Logger` and `sarama.DebugLogger`",
    ("client/metadata f", "client/coordinator r"),
    _sarama,
)
