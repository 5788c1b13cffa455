"""A capture with messages of each API, version and direction, with values at the edges of each type."""

from __future__ import annotations

from itertools import zip_longest

import kdbg
from kdbg.protocol.grammars import apis

from ..grammars.values import variants
from ..traffic import Talk, framed, pcap


def capture(every: int = 1) -> bytes:
    """The bytes of a pcap file: one connection for each version; `every` takes each n-th version only."""
    talks = []
    for number, (api, version) in enumerate((each, version) for each in apis() for version in each.versions):
        if number % every:
            continue
        talk = Talk(("10.0.0.1", 20_000 + number), at=number * 1000)
        bodies = zip_longest(*(variants(api.at(direction, version)) for direction in ("request", "response")))
        last: tuple[object, object] = ({}, {})
        for correlation_id, given in enumerate(bodies):
            request, response = last = tuple(each or other for each, other in zip(given, last, strict=True))
            header: dict[str, object] = {"correlation_id": correlation_id}
            named = header | {"client_id": f"client {version}"} if api.header_version("request", version) else header
            for direction, body, front in (("request", request, named), ("response", response, header)):
                if direction == "response" and request.get("acks") == 0:
                    continue
                send = talk.send if direction == "request" else talk.reply
                send(framed(kdbg.encode(body, api=api.key, version=version, direction=direction, header=front)))
        talks.append(talk.end())
    return pcap(*talks)
