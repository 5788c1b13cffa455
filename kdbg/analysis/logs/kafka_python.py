"""kafka-python, its logger `kafka` at DEBUG (`kafka.net.connection` since 3.0, `kafka.conn` before).

`<KafkaConnection node_id=1 host=[127.0.0.1:9092<-52966] …> Request 2: MetadataRequest(version=7, topics=[])`; or, by
kafka-python 2, `<BrokerConnection client_id=shop, node_id=1 host=kafka:9092 …> Request 2: …Request_v1(…)`.
"""

from __future__ import annotations

import re
from typing import Final

from ...protocol.grammars import named
from .dialect import Dialect, LineFacts, end_of, printed, stamp

LINE = re.compile(
    r"<(?:KafkaConnection|BrokerConnection) (?P<about>.{0,400}?)>:? (?:(?P<sent>Request)|Response) (?P<id>\d{1,10})"
    r"(?: \((?P<ms>\d{1,12}(?:\.\d+)?(?:e-\d+)?) ms\))?: "
    r"(?P<api>[A-Za-z]{2,60}?)(?:Request|Response)(?:_v(?P<version>\d{1,5}))?(?=\()"
)
CLIENT = re.compile(r"client_id=(?P<id>.{0,250}?), node_id=")
NODE = re.compile(r"node_id=(?P<node>\S+) host=\[?(?P<broker>[^\s<]+?)\]?(?:<-(?P<port>\d{1,5})\]?)?(?: |$)")


def read(line: str) -> LineFacts | None:
    """Return what a line says."""
    found = LINE.search(line)
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


dialect: Final = Dialect(
    "kafka-python",
    "kafka-python",
    '`logging.getLogger("kafka")` at DEBUG',
    ("KafkaConnection ", "BrokerConnection "),
    read,
)
