"""A capture by meaning: who speaks, in which versions, what clients set in their requests, what goes wrong.

One exchange goes in after the other; memory is bounded by the APIs, fields and errors that there are, not by traffic.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.requested_wait import beyond_wait
from ...protocol.findings import Kind
from ...protocol.wire.nodes import Node
from ..stats.measures import Sketch
from .messages import is_ignored, leaves

MOST = 1000
"""Different values of one field, and clients, that are counted at most."""
LONGEST = 200
"""Characters of a text that may be a setting."""
WHOM = frozenset({"topic", "group", "partition", "error", "secret"})
"""Meanings of fields that say whom or what a request is about, not how it is made."""
SOFTWARE = "client_software_name", "client_software_version"
NAMES = frozenset({"key", "host", "port", *SOFTWARE})
"""Names of fields that identify the subject of a request, and have no meaning that states it."""
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
        if exchange.request is None:
            return
        self.versions[name][exchange.version] += 1
        message = exchange.request.message(shallow=True)
        if message is None:
            return
        body = message.open_body
        if SOFTWARE[0] in body and len(self.clients) < MOST:
            self.clients[exchange.client_id, body[SOFTWARE[0]], body[SOFTWARE[1]]] += 1
        for path, node, value in leaves(body, message.grammar):
            if is_setting(path, node, value):
                setting = self.settings.get((name, path))
                if setting is None:
                    setting = self.settings[name, path] = Setting(node)
                setting.add(value)


def is_setting(path: str, node: Node | None, value: Any) -> bool:
    """Return whether a field says how a client was set up: a number, a flag or a short text that names nobody."""
    if not isinstance(value, (int, float, str, bool, type(None))):
        return False
    name = path.rpartition(".")[2]
    if is_ignored(name, node) or name in NAMES or name.endswith(PLACES) or (node is not None and node.kind in WHOM):
        return False
    return not isinstance(value, str) or len(value) <= LONGEST


PERCENTS = 50, 95, 99
MOST_DIFFERENT = 12
"""Different values beyond which a field is not a setting any more, unless the other capture has few."""


class ComparisonRow(NamedTuple):
    """One line of a comparison: what was counted in each capture, by value; None where a capture has nothing of it.

    In `answers` it is percentiles, in nanoseconds beyond the wait that was asked for. `node` is what the values of a
    field were read by. `same`: both captures have the same values, however often, or the same percentiles.
    """

    section: str
    api: str | None
    name: str
    a: Mapping[Any, int] | None
    b: Mapping[Any, int] | None
    node: Node | None = None

    @property
    def same(self) -> bool:
        if self.section == "answers":
            return self.a == self.b
        return (self.a or {}).keys() == (self.b or {}).keys()


def rows(a: Profile, b: Profile) -> Iterator[ComparisonRow]:
    """Yield the rows of all sections: clients, versions, settings, errors, and how late answers came."""
    ours, theirs = _software(a), _software(b)
    for client_id in _union(ours, theirs):
        yield ComparisonRow("clients", None, client_id, ours.get(client_id), theirs.get(client_id))
    apis = _union(a.versions, b.versions)
    for api in apis:
        yield ComparisonRow("versions", api, api, a.versions.get(api), b.versions.get(api))
    for api, path in sorted(_union(a.settings, b.settings), key=lambda setting: apis.index(setting[0])):
        if api not in a.versions or api not in b.versions:
            continue  # that a capture lacks an API is said once
        one, other = a.settings.get((api, path)), b.settings.get((api, path))
        if _is_settled(one) or _is_settled(other):
            node = (one or other).node  # type: ignore[union-attr]
            yield ComparisonRow("settings", api, path, _counts(one), _counts(other), node)
    for api in _union(a.errors, b.errors):
        yield ComparisonRow("errors", api, api, a.errors.get(api), b.errors.get(api))
    for api in apis:
        if api in a.answers and api in b.answers:
            yield ComparisonRow("answers", api, api, _late(a.answers[api]), _late(b.answers[api]))


def _software(profile: Profile) -> dict[str, dict[str, int]]:
    """Return client id by client id: software and version as one text, with how often it was told."""
    found: dict[str, dict[str, int]] = {}
    for (client_id, name, version), count in profile.clients.items():
        found.setdefault(client_id or "", {})[f"{name} {version}"] = count
    return found


def _late(answers: Sketch) -> dict[str, int]:
    """Return the percentiles that are shown, in nanoseconds."""
    return {f"p{percent}": answers.quantile(percent / 100) or 0 for percent in PERCENTS}


def _union(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> list[Any]:
    """Return the keys of both, those of the first in their order before the others."""
    return [*dict.fromkeys((*a, *b))]


def _is_settled(setting: Setting | None) -> bool:
    return setting is not None and not setting.more and len(setting.values) <= MOST_DIFFERENT


def _counts(setting: Setting | None) -> Mapping[Any, int] | None:
    return setting.values if setting is not None else None
