"""KafkaJS with `logLevel: logLevel.DEBUG`: a JSON object a line, as its own logger writes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, Final

from ...protocol import grammars
from .dialect import Dialect, LineFacts, end_of, number, object_in, stamp, text

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
            told, length = DECODER.raw_decode(text[start : start + LONGEST])
        except (ValueError, RecursionError):
            continue
        lines = text.count("\n", start, start + length)
        parts += [text[at:start], json.dumps(told), "\n" * lines]
        at = start + length
    return "".join([*parts, text[at:]])


def read(line: str) -> LineFacts | None:
    """Return what a line says."""
    start = line.find('{"')
    told = object_in(line, start) if start >= 0 else None
    found = MESSAGE.fullmatch(text(told.get("message")) or "") if told is not None else None
    api = grammars.find(int(found[2])) if found is not None else None
    correlation_id = number(told.get("correlationId")) if told is not None else None
    if told is None or found is None or api is None or correlation_id is None:
        return None
    sent, size, data = found[1] == "Request", number(told.get("size")), told.get("data")
    time, zoned = stamp(f"{text(told.get('timestamp')) or line[:start]} ")
    broker, client_id = text(told.get("broker")) or "", text(told.get("clientId"))
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


dialect: Final = Dialect("kafkajs", "KafkaJS", "`logLevel: logLevel.DEBUG`", ('"[Connection] Re',), read)
