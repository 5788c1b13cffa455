"""The payloads by their names: the words of payload.py made into declarations, one file a family, read when asked for.

`payload("OffsetCommitValue")` and `payload("offset-commit-value")` are the same; case, dashes and underscores do not
count.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ...errors import UnknownPayload
from ...wire.payload import Payload
from .. import plain

FAMILIES = (
    "consumer_protocol", "assignor_data", "streams", "connect_protocol", "kafka_principal", "group_records",
    "consumer_group_records", "share_group_records", "streams_group_records", "transaction_log", "share_state",
    "cluster_metadata", "remote_log", "control_records", "quorum_state", "producer_snapshot",
)  # fmt: skip
"""The files of declarations beside this one. Every `Payload` in them, or in their `RECORDS`, is in the registry."""

ALIASES = {
    "ControlRecordTypeSchema": "ControlRecordKey",
    "LegacyOffsetCommitKey": "OffsetCommitKey",
    "LegacyOffsetCommitValue": "OffsetCommitValue",
    "QuotaRecord": "ClientQuotaRecord",
    "SubscriptionInfo": "SubscriptionInfoData",
}
"""Other names that Kafka's releases had or have for the same layouts."""


@cache
def _family(module: str) -> tuple[Payload, ...]:
    names = vars(import_module(f".{module}", __package__))
    found = (*names.values(), *names.get("RECORDS", {}).values())
    return tuple(declared for declared in found if isinstance(declared, Payload))


@cache
def _by_name() -> dict[str, Payload]:
    named = {plain(declared.name): declared for declared in payloads()}
    return named | {plain(alias): named[plain(name)] for alias, name in ALIASES.items()}


def payloads() -> Iterator[Payload]:
    """Every payload, family by family."""
    for module in FAMILIES:
        yield from _family(module)


def known(name: str) -> Payload | None:
    """The payload of a name, None where there is none."""
    return _by_name().get(plain(name))


@cache
def payload(name: str) -> Payload:
    """The payload of a name; `UnknownPayload` names the nearest ones."""
    found = known(name)
    if found is None:
        near = difflib.get_close_matches(plain(name), _by_name(), n=3, cutoff=0.6)
        raise UnknownPayload(name, tuple(dict.fromkeys(_by_name()[word].name for word in near)))
    return found


def aliases(found: Payload) -> list[str]:
    """The other names of a payload."""
    return [alias for alias, name in ALIASES.items() if name == found.name]


def about(found: Payload) -> str:
    """What a payload's family is for and which KIPs shaped it: the text that its file begins with."""
    module = next(module for module in FAMILIES if found in _family(module))
    return (import_module(f".{module}", __package__).__doc__ or "").strip()
