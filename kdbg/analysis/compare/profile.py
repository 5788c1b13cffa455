"""A capture by meaning: who speaks, in which versions, what clients set in their requests, what goes wrong.

One exchange goes in after the other; memory is bounded by the APIs, fields and errors that there are, not by traffic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.requested_wait import beyond_wait
from ...protocol.findings import Kind
from ...protocol.wire.nodes import Node
from ..stats.sketch import Sketch
from .fields import leaves
from .ignored_fields import is_ignored

MOST = 1000
"""Different values that are counted of one field, clients that are told apart."""
LONGEST = 200
"""Characters of a text that may be a setting."""
WHOM = frozenset({"topic", "group", "partition", "error", "secret"})
"""Meanings of fields that say whom or what a request is about, not how it is made."""
SOFTWARE = "client_software_name", "client_software_version"
NAMES = frozenset({"key", "host", "port", *SOFTWARE})
"""Names of fields that say whom a request is about, and have no meaning that tells it."""
PLACES = "offset", "_epoch", "offset_delta"
"""Ends of the names of fields that say how far something has come."""


@dataclass(slots=True)
class Setting:
    """The values that a field of requests had, each with how often; `more`: others were not counted any more."""

    node: Node | None
    values: Counter[Any] = field(default_factory=Counter)
    more: bool = False

    def add(self, value: Any) -> None:
        """Count a value."""
        if value in self.values or len(self.values) < MOST:
            self.values[value] += 1
        else:
            self.more = True


@dataclass(slots=True)
class Profile:
    """What a capture shows, added up; times are nanoseconds since the epoch."""

    first: int | None = None
    last: int = 0
    exchanges: int = 0
    bytes: int = 0
    connections: set[int] = field(default_factory=set)
    unanswered: int = 0
    clients: Counter[tuple[str | None, str | None, str | None]] = field(default_factory=Counter)
    """Client id, software and its version, as ApiVersions tells them; with how many ApiVersions requests."""
    versions: defaultdict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    """API by API: the versions that requests had."""
    settings: dict[tuple[str, str], Setting] = field(default_factory=dict)
    """By API and path of a field of its requests."""
    errors: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """API by API: error codes by name."""
    answers: defaultdict[str, Sketch] = field(default_factory=lambda: defaultdict(Sketch))
    """API by API: the nanoseconds that answers took beyond what their requests asked to wait for."""

    def add(self, exchange: Exchange) -> None:
        """Add one exchange."""
        self.first = exchange.time if self.first is None else self.first
        self.last = max(self.last, exchange.time)
        self.exchanges += 1
        self.bytes += exchange.size
        self.connections.add(exchange.peers.number)
        self.unanswered += any(finding.kind is Kind.NO_RESPONSE for finding in exchange.findings)
        if exchange.api is None:
            return
        name = exchange.api.name
        for error in exchange.errors:
            self.errors[name][error.name] += 1
        if (late := beyond_wait(exchange)) is not None:
            self.answers[name].add(late)
        if exchange.request is not None:
            self.versions[name][exchange.version] += 1
            self._request(name, exchange)

    def _request(self, api: str, exchange: Exchange) -> None:
        """Add what a request sets."""
        message = exchange.request.message(shallow=True) if exchange.request is not None else None
        if message is None:
            return
        body = message.open_body
        if SOFTWARE[0] in body and len(self.clients) < MOST:
            self.clients[exchange.client_id, body[SOFTWARE[0]], body[SOFTWARE[1]]] += 1
        for path, node, value in leaves(body, message.grammar):
            if not is_setting(path, node, value):
                continue
            setting = self.settings.get((api, path))
            if setting is None:
                setting = self.settings[api, path] = Setting(node)
            setting.add(value)


def is_setting(path: str, node: Node | None, value: Any) -> bool:
    """Return whether a field says how a client was set up: a number, a flag or a short text that names nobody."""
    if not isinstance(value, (int, float, str, bool, type(None))):
        return False
    name = path.rpartition(".")[2]
    if is_ignored(name, node) or name in NAMES or name.endswith(PLACES) or (node is not None and node.kind in WHOM):
        return False
    return not isinstance(value, str) or len(value) <= LONGEST
