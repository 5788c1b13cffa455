"""The broker's request log, its logger `kafka.request.logger` at DEBUG or TRACE: a line an exchange, when it is done.

`Completed request:{"requestHeader":{…},"request":{…},"response":{…},"connection":"…","totalTimeMs":2.4,…}` since 2.6;
earlier brokers write it in a form that is not read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from .. import grammars
from ..messages.peers import End
from .objects import number, object_in, text
from .said import NOBODY, Dialect, Fields, Said
from .stamps import stamp

BEGINNING = "ompleted request:{"
CONNECTION = re.compile(r"(?P<broker>.{1,60}):(?P<port>\d{1,5})-(?P<client>.{1,60}):(?P<from>\d{1,5})-\d+(?:-\d+)?")


def read(line: str) -> Said | None:
    """Return what a line says."""
    start = line.find(BEGINNING)
    told = object_in(line, start + len(BEGINNING) - 1) if start >= 0 else None
    header = told.get("requestHeader") if told is not None else None
    if told is None or not isinstance(header, Mapping):
        return None
    key, version, correlation_id = (
        number(header.get(name)) for name in ("requestApiKey", "requestApiVersion", "correlationId")
    )
    api = grammars.find(key) if key is not None else None
    if api is None or version is None or correlation_id is None:
        return None
    name = text(told.get("connection")) or ""
    broker, client = _ends(name)
    time, zoned = stamp(line[:start])
    took = told.get("totalTimeMs")
    return Said(
        "both",
        api,
        version,
        correlation_id,
        text(header.get("clientId")),
        name,
        client,
        broker,
        fields=(_fields(told.get("request")), _fields(told.get("response"))),
        latency=round(took * 1e6) if isinstance(took, (int, float)) and 0 <= took < 1e12 else None,
        time=time,
        zoned=zoned,
    )


def _ends(connection: str) -> tuple[End, End]:
    """Return the ends that a connection's name tells: the broker's, the client's."""
    found = CONNECTION.fullmatch(connection)
    if found is None:
        return NOBODY, NOBODY
    return (found["broker"], int(found["port"])), (found["client"], int(found["from"]))


def _fields(told: Any) -> Fields:
    return told if isinstance(told, Mapping) else {}


dialect: Final = Dialect(
    "broker", "the broker's request log", "logger `kafka.request.logger` at DEBUG, or TRACE", (BEGINNING,), read
)
