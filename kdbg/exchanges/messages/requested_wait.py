"""How long a request itself asks the broker to wait, so that a long poll is not taken for a slow answer.

Two kinds of such times are distinguished. A broker *holds back* the answer to a fetch until there is something to send,
and that to a JoinGroup until the group is complete: what passes meanwhile says nothing about the broker. Other requests
only say for how long it *may* take: Produce with acks=all, CreateTopics. An answer that needs most of that is slow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from .exchange import Exchange


class Wait(NamedTuple):
    """Where a request says how long the broker may wait.

    `field` holds milliseconds; where it is missing or -1, `otherwise` does. `held`: the broker holds the answer back on
    purpose. `only`: a field and the values of which one must stand there, `never`: the same of values that must not.
    """

    field: str
    held: bool = False
    otherwise: str | None = None
    only: tuple[str, int] | None = None
    never: tuple[str, int] | None = None

    @property
    def fields(self) -> tuple[str, ...]:
        """All fields that tell."""
        conditions = (condition[0] for condition in (self.only, self.never) if condition is not None)
        return tuple(filter(None, (self.field, self.otherwise, *conditions)))

    def of(self, body: Mapping[str, Any]) -> int | None:
        """Return the milliseconds that a body asks for, 0 where it wants its answer at once; None if it broke off."""
        if (self.only is not None and body.get(self.only[0]) != self.only[1]) or (
            self.never is not None and body.get(self.never[0]) == self.never[1]
        ):
            return 0
        asked = body.get(self.field)
        if (asked is None or asked < 0) and self.otherwise is not None:
            asked = body.get(self.otherwise)
        return max(asked, 0) if isinstance(asked, int) else None


_LIMIT = Wait("timeout_ms")
_POLL = Wait("max_wait_ms", held=True, never=("min_bytes", 0))
WAITS: dict[int, Wait] = {
    0: Wait("timeout_ms", only=("acks", -1)),  # Produce: the leader waits for replicas with acks=all alone
    1: _POLL,  # Fetch
    2: _LIMIT,  # ListOffsets, from v10 on
    11: Wait("rebalance_timeout_ms", held=True, otherwise="session_timeout_ms"),  # JoinGroup
    19: _LIMIT,  # CreateTopics
    20: _LIMIT,  # DeleteTopics
    21: _LIMIT,  # DeleteRecords
    37: _LIMIT,  # CreatePartitions
    43: _LIMIT,  # ElectLeaders
    45: _LIMIT,  # AlterPartitionReassignments
    46: _LIMIT,  # ListPartitionReassignments
    57: _LIMIT,  # UpdateFeatures
    78: _POLL,  # ShareFetch
    80: _LIMIT,  # AddRaftVoter
}
"""API key by API key, what its request says; others say nothing."""


def asked_to_wait(exchange: Exchange) -> int | None:
    """Return how long the request itself lets the broker wait, in milliseconds: held back or as a limit.

    0 says that it wants its answer at once; None, that such requests say nothing of it, or that the request is not in
    the capture or could not be read so far.
    """
    wait, request = _wait(exchange), exchange.request
    if wait is None or request is None:
        return None
    return wait.of(request.numbers(*wait.fields))


def beyond_wait(exchange: Exchange) -> int | None:
    """Return the nanoseconds that the answer took beyond what the broker was asked to hold it back; None as `latency`.

    A mere limit, such as the timeout of a Produce, is not taken off: an answer within it may still be slow.
    """
    latency, wait = exchange.latency, _wait(exchange)
    if latency is None or wait is None or not wait.held:
        return latency
    return max(latency - (asked_to_wait(exchange) or 0) * 1_000_000, 0)


def _wait(exchange: Exchange) -> Wait | None:
    return WAITS.get(exchange.api.key) if exchange.api is not None else None
