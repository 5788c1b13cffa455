"""What the bytes in fields of messages, and of other payloads, may be: for `Holds(Bytes, ...)` in their declarations.

Classic groups (KIP-62's JoinGroup and its relatives) carry what the members of a group say to each other, which the
broker does not read: the protocol type says whose words they are, and inside a consumer's, the assignor's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from ....errors import BadValue
from ...findings.faults import NothingNear
from ...wire.language.payload import Around, Payload, PayloadRefused, Readable
from .registry import payload

if TYPE_CHECKING:
    from .sasl_tokens import MechanismMessages


@dataclass(frozen=True)
class HintedHolding:
    """A holding that a field near the bytes tells.

    `by` are the names that field goes by, `readings` its values and the payloads that each stands for, likeliest
    first. Where no such field is near, the bytes may be any of them, or something else; where it says anything else,
    nothing is known.
    """

    by: tuple[str, ...]
    readings: Mapping[str, tuple[str, ...]]

    def __call__(self, data: bytes, around: Around) -> list[Readable]:
        said = next(filter(None, map(around.get, self.by)), None)
        if said is not None:
            return [payload(name) for name in self.readings.get(said, ())]
        names = dict.fromkeys(name for names in self.readings.values() for name in names)
        return [*map(payload, names), PayloadRefused(BadValue("", 0, NothingNear(self.by)))]


PROTOCOL_TYPE = ("protocol_type",)
ASSIGNOR = ("name", "protocol_name", "protocol_data", "protocol")
"""A protocol of JoinGroup has a name, its answer a protocol name; DescribeGroups and stored groups say it otherwise."""

subscription: Final = HintedHolding(PROTOCOL_TYPE, {
    "consumer": ("ConsumerProtocolSubscription",),
    "connect": ("ConnectWorkerState",),
})  # fmt: skip
assignment: Final = HintedHolding(PROTOCOL_TYPE, {
    "consumer": ("ConsumerProtocolAssignment",),
    "connect": ("ConnectAssignment",),
})  # fmt: skip
subscription_data: Final = HintedHolding(ASSIGNOR, {
    "sticky": ("StickyAssignorUserDataV1", "StickyAssignorUserDataV0", "StickyAssignorUserData"),
    "cooperative-sticky": ("CooperativeStickyAssignorUserDataV0", "StickyAssignorUserDataV1"),
    "stream": ("SubscriptionInfoData",),
})  # fmt: skip
assignment_data: Final = HintedHolding(ASSIGNOR, {"stream": ("AssignmentInfo",)})


def connect_allocation(data: bytes, around: Around) -> list[Payload]:
    """Return the payload with which a Connect worker reports what it runs: that of the assignment it was given."""
    return [payload("ConnectAssignment")]


def classic_subscription(data: bytes, around: Around) -> list[Payload]:
    """Return the payload with which a classic member joined a group of the new protocol: its subscription."""
    return [payload("ConsumerProtocolSubscription")]


def principal(data: bytes, around: Around) -> list[Payload]:
    """Return the payload that names the sender of a forwarded request, as Kafka's own principal builder writes it.

    Other principal builders may write anything.
    """
    return [payload("DefaultPrincipalData")]


def client_token(data: bytes, around: Around) -> Iterable[Readable]:
    """Return what a client's token may be: by the mechanism around it, or of any mechanism where that was not seen."""
    from .sasl_tokens import CLIENT  # which connections without SASL never need

    return _of_mechanism(CLIENT, around)


def server_token(data: bytes, around: Around) -> Iterable[Readable]:
    """Return what a broker's token may be: by the mechanism around it, or of any mechanism where that was not seen."""
    from .sasl_tokens import SERVER

    return _of_mechanism(SERVER, around)


def _of_mechanism(messages: tuple[MechanismMessages, ...], around: Around) -> Iterable[Readable]:
    mechanism = around.get("mechanism")
    if mechanism is None:
        return messages
    family = str(mechanism).partition("-SHA-")[0]
    return [known for known in messages if known.mechanism == family]
