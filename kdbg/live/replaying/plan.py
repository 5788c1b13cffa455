"""In which order captured requests are sent again, and what each of them waits for. Opens nothing, and waits for none.

All requests of all connections stand in one row, by the time at which they were sent. One is due when its time has
come, and once all answers have come that had come before it in the capture: whatever it follows from, it knows.
"""

from __future__ import annotations

import bisect
from dataclasses import dataclass
from typing import Final, TypeAlias

from ...errors import InputError
from ...exchanges.messages.exchange import Exchange
from ...protocol.findings import Kind

Moment: TypeAlias = tuple[int, int]
"""A time, and the number of a packet, which says what came first within one tick of the clock."""
Talk: TypeAlias = tuple[int, int]
"""A captured connection: which capture it stands in, and its number there."""
SASL: Final = "captured SASL login; the replay uses its own options"
BROKERS: Final = "inter-broker request"
CONTROLLERS: Final = "inter-controller request"
LEFT_OUT: Final = {
    **dict.fromkeys(("SaslHandshake", "SaslAuthenticate"), SASL),
    **dict.fromkeys((
        "LeaderAndIsr", "StopReplica", "UpdateMetadata", "ControlledShutdown", "WriteTxnMarkers", "AlterPartition",
        "AllocateProducerIds", "BrokerRegistration", "BrokerHeartbeat", "AssignReplicasToDirs", "Envelope",
        "InitializeShareGroupState", "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState",
        "ReadShareGroupStateSummary",
    ), BROKERS),
    **dict.fromkeys(
        ("Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot", "ControllerRegistration"), CONTROLLERS
    ),
}  # fmt: skip
"""What is never sent again, by API, and why. A fetch by a follower is left out as well."""
FETCH: Final = "Fetch"


@dataclass
class ReplayStep:
    """A request to send again. `at` is nanoseconds since the first; `after`: how many answers must have come.

    `waits` says that its own answer is one of those that others wait for. `left_out` says why it is not sent.
    """

    exchange: Exchange
    talk: Talk
    at: int
    left_out: str
    unfit: str
    after: int = 0
    waits: bool = False


class Plan:
    """The steps of a run: `add` exchanges, then `order` them. Those of more than `most` bytes are refused."""

    steps: list[ReplayStep]
    held: int
    most: int

    def __init__(self, most: int) -> None:
        self.steps, self.held, self.most = [], 0, most
        self._answers = list[ReplayStep]()
        self._reached = 0
        self._done = set[int]()

    def add(self, exchange: Exchange, capture: int = 0) -> None:
        """Take an exchange of a capture; raise `InputError` where it is too much."""
        if exchange.request is None or exchange.api is None:
            return
        self.held += exchange.size
        if self.held > self.most:
            raise InputError(
                f"the requests exceed {self.most >> 20} MiB; use filters such as --client-id or --since, or "
                "raise --max-memory"
            )
        talk, at = (capture, exchange.peers.number), exchange.request.first_time
        self.steps.append(ReplayStep(exchange, talk, at, left_out(exchange), unfit(exchange)))

    def order(self) -> Plan:
        """Bring the steps into their order, and say of each what it waits for, and whether it is sent at all."""
        self.steps.sort(key=lambda step: step.at)
        first = self.steps[0].at if self.steps else 0
        came: dict[int, Moment] = {}
        for step in self.steps:
            response = step.exchange.response
            step.waits = not step.left_out and response is not None and step.exchange.answered
            if step.waits and response is not None:  # a clock that was set back makes no answer come before its request
                came[id(step)] = max((response.last_time, response.last_packet), _sent(step))
        self._answers = sorted((step for step in self.steps if step.waits), key=lambda step: came[id(step)])
        moments = sorted(came.values())
        for step in self.steps:
            step.after = bisect.bisect_left(moments, _sent(step))
        for step in self.steps:
            step.at -= first
        return self

    def answered(self, step: ReplayStep) -> None:
        """Note that the answer to a step has come, or that none will."""
        self._done.add(id(step))
        while self._reached < len(self._answers) and id(self._answers[self._reached]) in self._done:
            self._done.discard(id(self._answers[self._reached]))
            self._reached += 1

    def is_due(self, step: ReplayStep) -> bool:
        """Return whether all answers have come that a step waits for."""
        return self._reached >= step.after


def _sent(step: ReplayStep) -> Moment:
    """Return when a request was sent, and with which packet."""
    request = step.exchange.request
    assert request is not None
    return request.first_time, request.first_packet


def left_out(exchange: Exchange) -> str:
    """Return why a request is not sent again, "" for one that is."""
    api = exchange.api
    if api is None or api.headerless:
        return SASL
    if api.name == FETCH and exchange.request is not None:
        said = exchange.request.fields(("replica_id", "replica_state"))
        replica = said.get("replica_id", (said.get("replica_state") or {}).get("replica_id", -1))
        return BROKERS if replica >= 0 else ""
    return LEFT_OUT.get(api.name, "")


def unfit(exchange: Exchange) -> str:
    """Return why a request cannot be sent again, "" for one that can."""
    request, api = exchange.request, exchange.api
    if request is None or api is None or request.missing:
        return "the request is incomplete in the capture"
    if not api.reads("request", exchange.version):
        return f"kdbg does not support {api.name} v{exchange.version}"
    broken = [one for one in request.findings() if not one.kind.harmless and one.kind is not Kind.TRAILING_BYTES]
    return f"the request cannot be decoded: {broken[0].text}" if broken else ""
