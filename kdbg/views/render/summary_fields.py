"""What the summary says of a message beside topics and groups: members, generations, coordinators, transactions, waits.

`SAID` is the table of APIs: which fields of the request and of the response are told of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from ...exchanges.messages.exchange import Exchange
from ...exchanges.messages.requested_wait import WAITS, asked_to_wait
from .values import escape

LONG_POLL = 10_000_000
"""Nanoseconds from which on it is told how long an answer may have been held back."""
KEY_TYPES = {0: "group", 1: "transaction", 2: "share group"}
EPOCHS = {"member_epoch": "epoch", "generation_id": "generation", "generation_id_or_member_epoch": "generation"}
_MEMBER = "generation_id", "member_id", "group_instance_id"
_TRANSACTION = ("transactional_id", "v3_and_below_transactional_id"), ()
_OF_NEW_GROUPS = ("member_id", "member_epoch"), ("member_id", "member_epoch")


class Fields(NamedTuple):
    """The fields that are told of."""

    request: tuple[str, ...]
    response: tuple[str, ...]


SAID = {
    8: Fields(("generation_id_or_member_epoch", *_MEMBER), ()),  # OffsetCommit
    10: Fields(("key", "key_type", "coordinator_keys"), ()),  # FindCoordinator
    11: Fields(("member_id", "group_instance_id"), ("generation_id", "member_id")),  # JoinGroup
    12: Fields(_MEMBER, ()),  # Heartbeat
    13: Fields(("member_id", "members"), ()),  # LeaveGroup
    14: Fields(_MEMBER, ()),  # SyncGroup
    22: Fields(("transactional_id",), ("producer_id", "producer_epoch")),  # InitProducerId
    24: Fields(*_TRANSACTION),  # AddPartitionsToTxn
    25: Fields(*_TRANSACTION),  # AddOffsetsToTxn
    26: Fields(("transactional_id", "committed"), ()),  # EndTxn
    28: Fields(("transactional_id", "generation_id_or_member_epoch", *_MEMBER[1:]), ()),  # TxnOffsetCommit
    68: Fields(*_OF_NEW_GROUPS),  # ConsumerGroupHeartbeat
    76: Fields(*_OF_NEW_GROUPS),  # ShareGroupHeartbeat
    88: Fields(*_OF_NEW_GROUPS),  # StreamsGroupHeartbeat
}
"""API key by API key, what is worth a word."""
HELD = frozenset(key for key, wait in WAITS.items() if wait.held)
"""Keys of the APIs whose answers a broker holds back on purpose."""


def summary_text(exchange: Exchange, fields: Fields) -> list[str]:
    """Return the words of an exchange; where request and response have a field, the response's counts if it is set."""
    found: dict[str, Any] = {}
    for half, names in ((exchange.request, fields.request), (exchange.response, fields.response)):
        if half is not None and names:
            told = half.fields(names)
            found |= {name: told[name] for name in names if told.get(name) not in (None, "", -1)}
    return _words(found)


def waited(exchange: Exchange) -> str:
    """Return for how long the broker was asked to hold the answer back, where it took long or never came; else ""."""
    latency = exchange.latency
    if latency is not None and latency < LONG_POLL:
        return ""
    most = asked_to_wait(exchange)
    return f"wait {milliseconds(most)}" if most else ""


def milliseconds(count: int) -> str:
    """Return milliseconds in a few letters: `500ms`, `1.5s`, `5min`."""
    if count < 1000:
        return f"{count}ms"
    return f"{count / 1000:.4g}s" if count < 60_000 else f"{count / 60_000:.4g}min"


def _words(found: Mapping[str, Any]) -> list[str]:
    """Return what fields say; a message that broke off, or is odd, says less."""
    kind = KEY_TYPES.get(found.get("key_type", 0), "key")
    words = _each(kind, [found.get("key"), *(found.get("coordinator_keys") or ())])
    words += _each("transaction", [found.get("transactional_id"), found.get("v3_and_below_transactional_id")])
    if "committed" in found:
        words.append("commit" if found["committed"] else "abort")
    if "producer_id" in found:
        words.append(f"producer {found['producer_id']}/{found.get('producer_epoch', 0)}")
    words += [f"{word} {found[name]}" for name, word in EPOCHS.items() if name in found]
    members = [found.get("member_id"), *(member.get("member_id") for member in found.get("members") or ())]
    return words + _each("member", members) + _each("instance", [found.get("group_instance_id")])


def _each(word: str, names: Iterable[str | None]) -> list[str]:
    return [f"{word} {escape(name)}" for name in names if name]
