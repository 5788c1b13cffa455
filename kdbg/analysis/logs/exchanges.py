"""Exchanges as logs tell them: the halves are messages without bytes, which have the fields that stand in the lines."""

from __future__ import annotations

from collections.abc import Sequence

from ...exchanges.messages.exchange import CapturedMessage, Exchange
from ...exchanges.messages.lines import UNNUMBERED, UNTIMED, LogLine
from ...exchanges.messages.message import Message, grammar_of
from ...exchanges.messages.peers import Peers
from ...protocol.findings import Finding
from ...protocol.wire.language.api import Direction
from ...protocol.wire.readings.outline import Outline
from .field_match import fitting
from .lines import ProtocolLine

UNVERSIONED = -1
"""The version of an exchange of which nobody says which it is."""


class LoggedMessage(CapturedMessage):
    """A half of an exchange that a log tells: it has no bytes, and of its fields those that the log shows."""

    __slots__ = ("_size",)

    def __init__(self, told: ProtocolLine, direction: Direction) -> None:
        said = told.facts
        side = 0 if direction == "request" else 1
        time = said.time
        if said.half == "both" and direction == "request" and time != UNTIMED and said.latency is not None:
            time = max(time - said.latency, 0)  # such a line is written when all is done
        super().__init__(b"", (time, time), (0, 0), direction)
        self.api, self.version = said.api, UNVERSIONED if said.version is None else said.version
        self._size = said.sizes[side] or 0
        version = said.api.versions[-1] if said.version is None else said.version
        grammar = grammar_of(said.api, version, direction)
        body = fitting(grammar, said.fields[side])
        self._message = Message(said.api, version, direction, None, body, grammar, self._size)
        self._facts = False
        self.told = ()

    @property
    def size(self) -> int:
        """Bytes on the wire, the 4-byte size included; 0 where the log does not say."""
        return self._size

    def message(self, *, shallow: bool = False) -> Message | None:
        """Return what the log tells of it."""
        return self._message

    def facts(self) -> Outline | None:
        """Return None: there are no bytes to tell."""
        return None

    def take(self) -> Message | None:
        """Return the message; there are no bytes to read it from again."""
        return self._message

    def forget(self) -> None:
        """Do nothing, as for `take`."""

    def findings(self, *, shallow: bool = False) -> Sequence[Finding]:
        """Return nothing: what a log leaves out is not odd."""
        return ()


def logged_exchange(told: ProtocolLine, peers: Peers) -> Exchange:
    """Return the exchange that a line tells of, with the halves that it speaks of."""
    said = told.facts
    version = UNVERSIONED if said.version is None else said.version
    correlation_id = UNNUMBERED if said.correlation_id is None else said.correlation_id
    exchange = Exchange(peers, said.api, version, correlation_id, said.client_id)
    add(exchange, told)
    return exchange


def add(exchange: Exchange, told: ProtocolLine) -> None:
    """Add to an exchange what a line says of it."""
    said = told.facts
    if said.half != "response":
        exchange.request = LoggedMessage(told, "request")
    if said.half != "request":
        exchange.response = LoggedMessage(told, "response")
    if said.latency is not None:
        exchange.told_latency = said.latency
    exchange.lines += (line_of(told),)


def line_of(told: ProtocolLine, log: str = "", zone: int = 0) -> LogLine:
    """Return what is shown of a line beside its exchange; `zone` is how far times without one are ahead of UTC."""
    said = told.facts
    time = said.time if said.zoned or said.time == UNTIMED else said.time - zone
    return LogLine(told.dialect.name, told.number, said.half, time, log)
