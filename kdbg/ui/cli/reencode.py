"""Exchanges as JSON Lines, back to bytes: what `kdbg decode --format json` prints, undone.

The JSON holds the bodies and of the headers what matters: API, version, correlation id, client id. Tagged fields of
a header, of which no sender is known, are lost; so are bytes that are not decoded (`trailing-bytes`, `truncated`).
A body in another known form of its version is written in that form, for the exchange's findings name it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ...errors import InputError, KdbgError
from ...exchanges.messages.guide_names import understood
from ...exchanges.messages.message import grammar_of, header_grammar, opaque_api
from ...exchanges.messages.reshape import rebuild
from ...protocol.findings import Kind
from ...protocol.findings.amounts import count
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ...protocol.wire import Api
from ...protocol.wire.language import DIRECTIONS, Direction
from ...protocol.wire.nodes import WireStruct, build

LISTED = 5


def parse(text: bytes, where: str) -> Any:
    """Parse JSON. Raise `InputError` that names the place of a mistake."""
    import orjson

    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error}") from None


def guarded(encode: Callable[[], bytes]) -> bytes:
    """Return what `encode` returns. Raise `InputError` also where a value has a type that no grammar takes."""
    try:
        return encode()
    except KdbgError:
        raise
    except (TypeError, ValueError, KeyError, AttributeError, OverflowError, RecursionError, struct.error) as error:
        raise InputError(f"the body differs from the form that kdbg decode prints: {error}") from None


class Reencoder:
    """Encodes exchange after exchange. A half that cannot be encoded is told to `complain` and stands as null."""

    refused: int = 0

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.complain = complain
        self.resized: list[str] = []

    def lines(self, lines: Iterable[bytes]) -> Iterator[dict[str, bytes | None]]:
        """Yield request and response of each line as bytes, None for none; raise `InputError` for no exchange."""
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            exchange = parse(line, f"line {number}")
            if not isinstance(exchange, Mapping) or not {"request", "response"} & set(exchange):
                raise InputError(f"line {number}: not an exchange; use the output of kdbg decode --format json")
            yield {direction: self.half(exchange, direction, f"line {number}: {direction}") for direction in DIRECTIONS}

    def half(self, exchange: Mapping[str, Any], direction: Direction, where: str) -> bytes | None:
        """Return the bytes of one half; None where it has no body or cannot be encoded."""
        half = exchange.get(direction)
        if half is None or (isinstance(half, Mapping) and half.get("body") is None):
            return None
        try:
            data = guarded(lambda: message(exchange, direction, half["body"]))
        except KdbgError as error:
            self.refused += 1
            if self.refused <= LISTED:
                self.complain(f"{where}: {error}")
            return None
        if half.get("size", len(data) + 4) != len(data) + 4:
            self.resized.append(where)
        return data

    def close(self) -> None:
        """Complain of messages that were only counted, and of those whose size is not the captured one."""
        if self.refused > LISTED:
            self.complain(f"{count(self.refused - LISTED, 'more message')} could not be encoded")
        if self.resized:
            more = len(self.resized) - LISTED
            listed = ", ".join(self.resized[:LISTED]) + (f" and {more:,} more" if more > 0 else "")
            self.complain(f"size differs from the capture (changed, or incompletely decoded): {listed}")


def message(exchange: Mapping[str, Any], direction: Direction, body: Any) -> bytes:
    """Return the bytes of one half, with the header that its exchange tells of."""
    api, version = which(exchange)
    grammar = form(api, version, direction, exchange)
    if grammar is None:
        grammar, body = understood(api, direction, version, body)
    data = build(grammar, rebuild(body))
    if api.headerless:
        return data
    grammar = header_grammar(api, version, direction)
    known = {
        "api_key": api.key, "api_version": version,
        "correlation_id": exchange.get("correlation_id"), "client_id": exchange.get("client_id"),
    }  # fmt: skip
    return build(grammar, {name: value for name, value in known.items() if name in grammar.keys}, "header") + data


def which(exchange: Mapping[str, Any]) -> tuple[Api, int]:
    """Return API (of bytes, for an unknown one) and version of an exchange; raise `InputError` where one is missing."""
    key, version = exchange.get("api_key"), exchange.get("api_version")
    if key is None and exchange.get("api") == SASL_TOKEN.name:
        return SASL_TOKEN, 0
    if type(key) is not int or type(version) is not int:
        raise InputError("api_key and api_version are missing, or not numbers")
    return find(key) or opaque_api(key), version


def form(api: Api, version: int, direction: Direction, exchange: Mapping[str, Any]) -> WireStruct | None:
    """Return the layout of a body in another known form, which a finding names, or of an unknown version; else None."""
    told = [one for one in exchange.get("findings") or ()
            if isinstance(one, Mapping) and one.get("side") == direction and not one.get("path")]  # fmt: skip
    variants = [str(one.get("text")) for one in told if Kind.named(str(one.get("kind"))) is Kind.KNOWN_VARIANT]
    quirks = [one["quirk"].get("code") for one in told if isinstance(one.get("quirk"), Mapping)]
    for dialect, layout in api.dialects_of(direction, version):
        if any(dialect.name in text for text in variants) or (dialect.quirk and dialect.quirk in quirks):
            return layout
    return None if version in api.versions else grammar_of(api, version, direction)
