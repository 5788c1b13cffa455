"""The dialects of Kafka itself: the Java client, and the request log of a broker."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...protocol import grammars
from ...protocol.grammars import named
from .dialect import NOBODY, Dialect, LineFacts, number, object_in, printed, stamp, text

HEADER = r"RequestHeader\(apiKey=(?P<api>\w{1,60}), apiVersion=(?P<version>\d{1,5}), clientId=(?P<client>.{0,250}?), "
LINE = re.compile(
    r"(?:(?P<sent>Sending)|Received) \w{1,60} (?:request|response from node (?P<by>-?\d{1,10}) for request) "
    rf"with header {HEADER}correlationId=(?P<id>-?\d{{1,10}})[^)]{{0,30}}\)"
    r"(?: and timeout -?\d+ to node (?P<to>-?\d{1,10}))?: "
)
OLD_SENT = re.compile(
    r"(?:Using older server API v(?P<version>\d{1,5}) to send|Sending) (?P<api>[A-Z_]{2,60}) (?P<body>\{.*\}) "
    r"with correlation id (?P<id>\d{1,10}) to node (?P<node>-?\d{1,10})"
)
OLD_RECEIVED = re.compile(
    r"Completed receipt from node (?P<node>-?\d{1,10}) for (?P<api>[A-Z_]{2,60}) with correlation id (?P<id>\d{1,10}), "
    r"received (?P<body>\{)"
)
CLIENT = re.compile(r"\[[A-Za-z ]{1,40}clientId=(?P<id>[^\],]{1,250})[\],]")


def _client(line: str) -> LineFacts | None:
    """Read a line of the client's logger, which Connect and brokers use too.

    `[Producer clientId=p] Sending METADATA request with header RequestHeader(apiKey=METADATA, apiVersion=12,
    clientId=p, correlationId=2, headerVersion=2) and timeout 30000 to node 1: MetadataRequestData(…)`; before 2.7
    `Sending METADATA {…} with correlation id 2 to node 1`, with the version only if that is not the newest.
    """
    found = LINE.search(line)
    if found is not None:
        sent, version, client_id = found["sent"] is not None, found["version"], found["client"]
        node, body = found["to"] or found["by"], found.end()
    else:
        older = OLD_SENT.search(line)
        found = older or OLD_RECEIVED.search(line)
        if found is None:
            return None
        client = CLIENT.search(line[: found.start()])
        sent, version = older is not None, older["version"] if older is not None else None
        client_id = client["id"] if client is not None else None
        node, body = found["node"], found.start("body")
    api = named(found["api"])
    if api is None:
        return None
    time, zoned = stamp(line[: found.start()])
    fields = fields_of(line, body)
    return LineFacts(
        "request" if sent else "response",
        api,
        int(version) if version is not None else None,
        int(found["id"]),
        client_id,
        f"{client_id} node {node}",
        fields=(fields, {}) if sent else ({}, fields),
        time=time,
        zoned=zoned,
    )


def fields_of(line: str, start: int) -> dict[str, Any]:
    """Return the fields of a body; a Produce request is printed in a form of its own, for its records are long."""
    fields = printed(line, start)
    sizes = fields.pop("partitionSizes", None)
    if isinstance(sizes, list):
        topics: dict[str, list[dict[str, int]]] = {}
        for one in sizes:
            topic, _, partition = str(one).rpartition("=")[0].rpartition("-")
            if topic and partition.isdecimal():
                topics.setdefault(topic, []).append({"index": int(partition)})
        fields["topicData"] = [{"name": topic, "partitionData": found} for topic, found in topics.items()]
    return fields


JAVA: Final = Dialect(
    "java",
    "Java client, also in Connect, Streams and brokers",
    "logger `org.apache.kafka.clients.NetworkClient` at DEBUG",
    ("RequestHeader(apiKey=", " with correlation id "),
    _client,
)

BEGINNING = "ompleted request:"
OLD_COMPLETED = re.compile(
    rf"\s?(?:{HEADER}correlationId=(?P<id>-?\d{{1,10}})[^)]{{0,30}}\)|\{{api_key=(?P<key>\d{{1,5}}),api_version=(?P<old>\d{{1,5}}),"
    r"correlation_id=(?P<number>-?\d{1,10}),client_id=(?P<name>.{0,250}?)\}) -- (?=\{)"
)
RESPONSE = re.compile(r"\}, ?response[:=](?=\{)")
CAME = re.compile(r" from connection (?P<connection>[^;]{1,150});totalTime:(?P<took>\d{1,9}(?:\.\d{1,9})?)")
CONNECTION = re.compile(r"(?P<broker>.{1,60}):(?P<port>\d{1,5})-(?P<client>.{1,60}):(?P<from>\d{1,5})(?:-\d+){0,2}")


def _broker(line: str) -> LineFacts | None:
    """Read a line of the broker's request log: an exchange, when it is done.

    `Completed request:{"requestHeader":{…},"request":{…},"response":{…},"connection":"…","totalTimeMs":2.4,…}` since
    2.7 (KIP-673); before that `Completed request:RequestHeader(apiKey=PRODUCE, …) -- {…},response:{…} from connection
    …;totalTime:2.4,…`, and before 2.0 `{api_key=0,api_version=2,…}` in place of the header.
    """
    start = line.find(BEGINNING)
    if start < 0:
        return None
    begun = start + len(BEGINNING)
    took: Any
    version: int | None
    correlation_id: int | None
    bodies: list[Any]
    old = OLD_COMPLETED.match(line, begun)
    if old is not None:
        came = CAME.search(line, old.end())
        if came is None:
            return None
        api = named(old["api"]) if old["key"] is None else grammars.find(int(old["key"]))
        version, correlation_id = int(old["version"] or old["old"]), int(old["id"] or old["number"])
        client_id = old["client"] if old["key"] is None else old["name"]
        name, took = came["connection"], float(came["took"])
        answered = RESPONSE.search(line, old.end(), came.start())
        bodies = [fields_of(line, old.end()), fields_of(line, answered.end()) if answered is not None else {}]
    else:
        brace = line.find("{", begun, begun + 2)
        entry = object_in(line, brace) if brace >= 0 else None
        header = entry.get("requestHeader") if entry is not None else None
        if entry is None or not isinstance(header, Mapping):
            return None
        key, version, correlation_id = (
            number(header.get(name)) for name in ("requestApiKey", "requestApiVersion", "correlationId")
        )
        api = grammars.find(key) if key is not None else None
        client_id, name = text(header.get("clientId")), text(entry.get("connection")) or ""
        took, bodies = entry.get("totalTimeMs"), [entry.get("request"), entry.get("response")]
    if api is None or version is None or correlation_id is None:
        return None
    broker, client = NOBODY, NOBODY
    if (ends := CONNECTION.fullmatch(name)) is not None:
        broker, client = (ends["broker"], int(ends["port"])), (ends["client"], int(ends["from"]))
    request, response = (body if isinstance(body, Mapping) else {} for body in bodies)
    time, zoned = stamp(line[:start])
    return LineFacts(
        "both",
        api,
        version,
        correlation_id,
        client_id,
        name,
        client,
        broker,
        fields=(request, response),
        latency=round(took * 1e6) if isinstance(took, (int, float)) and 0 <= took < 1e12 else None,
        time=time,
        zoned=zoned,
    )


BROKER: Final = Dialect(
    "broker", "request log of a broker", "logger `kafka.request.logger` at DEBUG, or TRACE", (BEGINNING,), _broker
)
