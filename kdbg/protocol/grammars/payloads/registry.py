"""The payloads by their names: the words of payload.py made into declarations, one file a family, read when asked for.

`payload("OffsetCommitValue")` and `payload("offset-commit-value")` are the same; case, dashes and underscores do not
count.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from importlib import import_module

from ....errors import UnknownPayload
from ...wire.language.payload import Payload
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
_ALIASES = {plain(alias): plain(name) for alias, name in ALIASES.items()}


@cache
def _family(module: str) -> tuple[Payload, ...]:
    names = vars(import_module(f".{module}", __package__))
    found = (*names.values(), *names.get("RECORDS", {}).values())
    return tuple(declared for declared in found if isinstance(declared, Payload))


def payloads() -> Iterator[Payload]:
    """Yield every payload, family by family; a family's file is read when its turn comes."""
    for module in FAMILIES:
        yield from _family(module)


@lru_cache(maxsize=1024)
def known(name: str) -> Payload | None:
    """Return the payload of a name or alias, None where there is none; later families than its own stay unread."""
    word = plain(name)
    word = _ALIASES.get(word, word)
    return next((found for found in payloads() if plain(found.name) == word), None)


def payload(name: str) -> Payload:
    """Return the payload of a name or alias; raise `UnknownPayload`, with the nearest names, where there is none."""
    found = known(name)
    if found is None:
        names = {plain(found.name): found.name for found in payloads()}
        names |= {plain(alias): true for alias, true in ALIASES.items()}
        import difflib

        near = difflib.get_close_matches(plain(name), names, n=3, cutoff=0.6)
        raise UnknownPayload(name, tuple(dict.fromkeys(names[word] for word in near)))
    return found


def aliases(found: Payload) -> list[str]:
    """Return the other names that releases of Kafka have for a payload."""
    return [alias for alias, name in ALIASES.items() if name == found.name]


def about(found: Payload) -> str:
    """Return the text that the file of a payload's family begins with: what it is for and which KIPs shaped it."""
    module = next(module for module in FAMILIES if found in _family(module))
    return (import_module(f".{module}", __package__).__doc__ or "").strip()
