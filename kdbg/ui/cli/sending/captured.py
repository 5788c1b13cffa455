"""`--from CAPTURE#N`: a request taken from a capture, to be sent again."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import Any

from ....capture import open_capture
from ....errors import InputError
from ....exchanges.engine.engine import Engine
from ....exchanges.messages.assign import Assignment
from ....exchanges.messages.exchange import Exchange
from ....exchanges.messages.message import strict
from ....views.reading.files import numbered
from .request import FromBody


def captured(source: str, version: int | None, sets: list[Assignment]) -> FromBody:
    """Return the request of exchange N in a capture, as `kdbg decode` counts; `version` None keeps its own.

    `source` is CAPTURE#N. Raise `InputError` where the capture does not hold the whole request.
    """
    found = numbered(source)
    if found is None or not found[1].isdecimal():
        raise InputError(f"--from {source!r}: no exchange number; use CAPTURE#N, such as orders.pcap#3")
    exchange, names = find(found[0], int(found[1]))
    half = exchange.request
    if half is None or exchange.api is None:
        raise InputError(f"{source}: the request of this exchange is not in the capture")
    if exchange.api.headerless:
        raise InputError(f"{source}: a raw SASL token, not a request; use --sasl-raw with --sasl-mechanism")
    message = half.message()
    if message is None or half.missing:
        raise InputError(f"{source}: the request is incomplete in the capture")
    strict(message)
    chosen = version if version is not None else exchange.version
    return FromBody(exchange.api, chosen, sets, by_name(message.body, names))


def find(path: str, number: int) -> tuple[Exchange, Mapping[uuid.UUID, str]]:
    """Return the exchange of that number, and the names of topic ids that were learnt up to it.

    Raise `InputError` where the capture has no such exchange.
    """
    session = Engine()
    with open_capture(path) as capture:
        last = 0
        for exchange in session.run(capture.blocks()):
            last = exchange.number
            if last == number:
                return exchange, session.topic_names
    raise InputError(f"{path}: no exchange #{number}; the last is #{last}")


def by_name(value: Any, names: Mapping[uuid.UUID, str]) -> Any:
    """Return the value with topics by name, not by id, where `names` has one: ids differ from cluster to cluster."""
    if isinstance(value, list):
        return [by_name(item, names) for item in value]
    if not isinstance(value, dict):
        return value
    topic = names.get(value.get("topic_id", uuid.UUID(int=0)))
    found = {name: by_name(item, names) for name, item in value.items() if topic is None or name != "topic_id"}
    return found | {"name": topic} if topic is not None else found
