"""The broker's request log, its logger `kafka.request.logger` at DEBUG or TRACE: a line an exchange, when it is done.

`Completed request:{"requestHeader":{…},"request":{…},"response":{…},"connection":"…","totalTimeMs":2.4,…}` since 2.7
(KIP-673); before that `Completed request:RequestHeader(apiKey=PRODUCE, …) -- {…},response:{…} from connection
…;totalTime:2.4,…`, and before 2.0 `{api_key=0,api_version=2,…}` in place of the header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...exchanges.messages.peers import End
from ...protocol import grammars
from ...protocol.grammars.client_names import named
from .dialect import NOBODY, Dialect, Fields, LineFacts, stamp
from .java import HEADER, fields_of
from .structures import number, object_in, text

BEGINNING = "ompleted request:"
OLD = re.compile(
    rf"\s?(?:{HEADER}correlationId=(?P<id>-?\d{{1,10}})[^)]{{0,30}}\)|\{{api_key=(?P<key>\d{{1,5}}),api_version=(?P<old>\d{{1,5}}),"
    r"correlation_id=(?P<number>-?\d{1,10}),client_id=(?P<name>.{0,250}?)\}) -- (?=\{)"
)
RESPONSE = re.compile(r"\}, ?response[:=](?=\{)")
CAME = re.compile(r" from connection (?P<connection>[^;]{1,150});totalTime:(?P<took>\d{1,9}(?:\.\d{1,9})?)")
CONNECTION = re.compile(r"(?P<broker>.{1,60}):(?P<port>\d{1,5})-(?P<client>.{1,60}):(?P<from>\d{1,5})(?:-\d+){0,2}")


def read(line: str) -> LineFacts | None:
    """Return what a line says."""
    start = line.find(BEGINNING)
    old = OLD.match(line, start + len(BEGINNING)) if start >= 0 else None
    if old is not None:
        return _old(line, old, line[:start])
    brace = line.find("{", start + len(BEGINNING), start + len(BEGINNING) + 2) if start >= 0 else -1
    told = object_in(line, brace) if brace >= 0 else None
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
    return LineFacts(
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


def _old(line: str, found: re.Match[str], before: str) -> LineFacts | None:
    """Return what a line of a broker before 2.7 says, by its header and what stands in front of it."""
    api = named(found["api"]) if found["key"] is None else grammars.find(int(found["key"]))
    came = CAME.search(line, found.end())
    if api is None or came is None:
        return None
    answered = RESPONSE.search(line, found.end(), came.start())
    broker, client = _ends(came["connection"])
    time, zoned = stamp(before)
    return LineFacts(
        "both",
        api,
        int(found["version"] or found["old"]),
        int(found["id"] or found["number"]),
        found["client"] if found["key"] is None else found["name"],
        came["connection"],
        client,
        broker,
        fields=(fields_of(line, found.end()), fields_of(line, answered.end()) if answered is not None else {}),
        latency=round(float(came["took"]) * 1e6),
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
    "broker", "request log of a broker", "logger `kafka.request.logger` at DEBUG, or TRACE", (BEGINNING,), read
)
