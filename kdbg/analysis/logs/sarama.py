"""sarama with `sarama.Logger` and `sarama.DebugLogger` set: it tells of metadata and coordinators that it asks for.

`[sarama] 2026/11/22 23:14:43.611807 client/metadata fetching metadata for [orders] from broker localhost:9092`. Neither
versions nor correlation ids are told, and of other requests nothing.
"""

from __future__ import annotations

import re
from typing import Final

from ...protocol.grammars import named
from .dialect import Dialect, LineFacts, end_of, stamp

METADATA = re.compile(
    r"client/metadata fetching metadata for (?:all topics|\[(?P<topics>[\w.\- ]{0,5000})\]) from broker (?P<broker>\S+)"
)
COORDINATOR = re.compile(
    r"client/coordinator requesting coordinator for (?:consumergroup )?(?P<key>.{1,300}?) from (?P<broker>\S+)"
)


def read(line: str) -> LineFacts | None:
    """Return what a line says."""
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


dialect: Final = Dialect(
    "sarama", "sarama", "`sarama.Logger` and `sarama.DebugLogger`", ("client/metadata f", "client/coordinator r"), read
)
