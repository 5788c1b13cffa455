"""The broker's request log, its logger `kafka.request.logger` at DEBUG or TRACE: a line an exchange, when it is done.

`Completed request:{"requestHeader":{…},"request":{…},"response":{…},"connection":"…","totalTimeMs":2.4,…}` since 2.7
(KIP-673); before that `Completed request:RequestHeader(apiKey=PRODUCE, …) -- {…},response:{…} from connection
…;totalTime:2.4,…`, and before 2.0 `{api_key=0,api_version=2,…}` in place of the header.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from ...protocol import grammars
from ...protocol.grammars import named
from .dialect import NOBODY, Dialect, LineFacts, number, object_in, stamp, text
from .java import HEADER, fields_of

BEGINNING = "ompleted request:"
OLD = re.compile(
    rf"\s?(?:{HEADER}correlationId=(?P<id>-?\d{{1,10}})[^)]{{0,30}}\)|\{{api_key=(?P<key>\d{{1,5}}),api_version=(?P<old>\d{{1,5}}),"
    r"correlation_id=(?P<number>-?\d{1,10}),client_id=(?P<name>.{0,250}?)\}) -- (?=\{)"
)
RESPONSE = re.compile(r"\}, ?response[:=](?=\{)")
CAME = re.compile(r" from connection (?P<connection>[^;]{1,150});totalTime:(?P<took>\d{1,9}(?:\.\d{1,9})?)")
CONNECTION = re.compile(r"(?P<broker>.{1,60}):(?P<port>\d{1,5})-(?P<client>.{1,60}):(?P<from>\d{1,5})(?:-\d+){0,2}")


def read(line: str) -> LineFacts | None:
    """Return what a line holds; before 2.7 that is in its header and in what follows its bodies."""
    start = line.find(BEGINNING)
    if start < 0:
        return None
    begun = start + len(BEGINNING)
    took: Any
    version: int | None
    correlation_id: int | None
    bodies: list[Any]
    old = OLD.match(line, begun)
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
        told = object_in(line, brace) if brace >= 0 else None
        header = told.get("requestHeader") if told is not None else None
        if told is None or not isinstance(header, Mapping):
            return None
        key, version, correlation_id = (
            number(header.get(name)) for name in ("requestApiKey", "requestApiVersion", "correlationId")
        )
        api = grammars.find(key) if key is not None else None
        client_id, name = text(header.get("clientId")), text(told.get("connection")) or ""
        took, bodies = told.get("totalTimeMs"), [told.get("request"), told.get("response")]
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


dialect: Final = Dialect(
    "broker", "request log of a broker", "logger `kafka.request.logger` at DEBUG, or TRACE", (BEGINNING,), read
)
