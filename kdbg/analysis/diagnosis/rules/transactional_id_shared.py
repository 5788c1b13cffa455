"""Two producers use one transactional id: each fences the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Occurrences
from ..case import Case, Rule, Who
from ..queries import evidence
from ..text import UNKNOWN, named

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.producers import Transactional

FENCED: frozenset[int] = frozenset({47, 90})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED."""


def users(txn: Transactional) -> list[tuple[str, int]]:
    """Return who began with a transactional id, in order: client id and connection."""
    return list(dict.fromkeys((began.client_id, began.mark.connection) for began in txn.begun if not began.code))


def find(book: Ledgers) -> Iterator[Case]:
    """Look for transactional ids that two connections began with, of which one was fenced while it went on."""
    for txn in book.producers.transactional.values():
        fenced = Occurrences.of(seen for (_, code), seen in txn.errors.items() if code in FENCED)
        clients = list(dict.fromkeys(client for client, _ in users(txn)))
        if not fenced or len(users(txn)) < 2:
            continue
        epochs = [began.epoch for began in txn.begun if not began.code]
        yield rule.case(
            Who(clients[0] or None, txn.begun[0].host, transactional_id=txn.name), txn.begun[0].mark.time,
            fenced.until, fenced.count,
            evidence([*(began.mark for began in txn.begun[:3]), *fenced.marks[:3]], "producer_epoch", "error_code"),
            facts={"clients": named("client", clients) if len(clients) > 1
                   else f"two instances of client {clients[0] or UNKNOWN['client_id']}",
                   "epochs": ", ".join(map(str, epochs[:6]))},
            certainty="certain" if len(clients) > 1 else "likely", weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "transactional-id-shared",
    Severity.ERROR,
    "two producers share a transactional.id",
    (
        "{clients} {probably}share transactional id {transactional_id}: each InitProducerId raises the "
        "producer epoch ({epochs}) and fences the other, {times}"
    ),
    "Set a different transactional.id for each running producer, and reuse that id after a restart.",
    "KIP-98",
    find,
    ("an instance was started while the old one was still running",),
    frozenset({"transaction-timed-out", "producer-fenced"}),
)
