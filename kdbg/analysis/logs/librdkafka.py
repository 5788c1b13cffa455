"""librdkafka and what is built on it (confluent-kafka of Python, Go, .NET; node-rdkafka; kcat), with `debug=protocol`.

`%7|1795387650.218|SEND|shop#producer-1| [thrd:…]: 127.0.0.1:9092/1: Sent MetadataRequest (v12, 52 bytes @ 0, CorrId 3)`
"""

from __future__ import annotations

import re
from typing import Final

from ...protocol.grammars import named
from .dialect import NOBODY, Dialect, LineFacts, end_of, stamp

LINE = re.compile(
    r"(?P<broker>\S+): (?:(?P<sent>Sent)|Received) (?P<api>[A-Za-z]{2,60}?)(?:Request|Response) "
    r"\(v(?P<version>\d{1,5}), "
    r"(?P<size>\d{1,10}) bytes(?: @ \d+)?, CorrId (?P<id>-?\d{1,10})(?:, rtt (?P<rtt>\d{1,12}(?:\.\d+)?)ms)?\)"
)
CLIENT = re.compile(r"(?:^|[\[| ])(?P<name>(?P<id>[^\[\]|]{0,250})#(?:producer|consumer)-\d+)[\]|]")
"""An instance is called by its client id, what it is, and which of these in its process."""
RESPONSE_HEADER = 8
"""Bytes of a response that librdkafka does not count: its size and its correlation id."""


def read(line: str) -> LineFacts | None:
    """Return what a line says."""
    found = LINE.search(line)
    api = named(found["api"]) if found is not None else None
    if found is None or api is None:
        return None
    instance, (time, zoned) = CLIENT.search(line[: found.start()]), stamp(line[: found.start()])
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


dialect: Final = Dialect(
    "librdkafka",
    "librdkafka and clients based on it",
    "debug=protocol",
    ("CorrId ",),
    read,
)
