"""Connections that were asked for in vain, put together: by who asked, whom, and what came of it."""

from __future__ import annotations

from typing import Final, NamedTuple

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import NobodyThere, TurnedDown
from .peers import End, Peers

MOST: Final = 4096
"""Of host, end and outcome that are told apart."""


class Attempts(NamedTuple):
    """Connections that `host` asked `broker` for in vain, with the last finding of one: refused, or not answered.

    `connections` is how many they were, `tries` how often they were asked for together, from `since` to `until` in
    nanoseconds since 1970. `number` and `first_packet` are those of the first.
    """

    host: str
    broker: End
    finding: Finding
    connections: int
    tries: int
    since: int
    until: int
    number: int
    first_packet: int

    @property
    def kind(self) -> Kind:
        """What came of them."""
        return self.finding.kind


class Tried:
    """Takes the findings of connections that never came to be, in bounded memory; `found` has what they come to."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, End, Kind], Attempts] = {}

    def take(self, peers: Peers, finding: Finding) -> None:
        """Take the finding of a connection."""
        facts = finding.facts
        if not isinstance(facts, TurnedDown | NobodyThere):
            return
        key = peers.client[0], peers.broker, finding.kind
        known = self._found.get(key)
        if known is not None:
            self._found[key] = known._replace(
                finding=finding, connections=known.connections + 1, tries=known.tries + facts.tries,
                since=min(known.since, facts.time), until=max(known.until, facts.until),
                number=min(known.number, peers.number), first_packet=min(known.first_packet, peers.first_packet),
            )  # fmt: skip
        elif len(self._found) < MOST:
            self._found[key] = Attempts(
                peers.client[0], peers.broker, finding, 1, facts.tries, facts.time, facts.until, peers.number,
                peers.first_packet,
            )  # fmt: skip

    @property
    def found(self) -> list[Attempts]:
        """All of them, in the order of the first of each."""
        return sorted(self._found.values(), key=lambda one: one.first_packet)
