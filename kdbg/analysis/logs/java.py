"""The Java client, with its logger `org.apache.kafka.clients.NetworkClient` at DEBUG; Connect and brokers use it too.

`[Producer clientId=p] Sending METADATA request with header RequestHeader(apiKey=METADATA, apiVersion=12, clientId=p,
correlationId=2, headerVersion=2) and timeout 30000 to node 1: MetadataRequestData(…)`, on one line; before 2.7
`Sending METADATA {…} with correlation id 2 to node 1`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from ...protocol.grammars import named
from .dialect import Dialect, LineFacts, printed, stamp

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


def read(line: str) -> LineFacts | None:
    """Return what a line says; one of a client before 2.7 says the version only if that is not the newest."""
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


dialect: Final = Dialect(
    "java",
    "Java client, also in Connect, Streams and brokers",
    "logger `org.apache.kafka.clients.NetworkClient` at DEBUG",
    ("RequestHeader(apiKey=", " with correlation id "),
    read,
)
