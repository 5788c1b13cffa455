"""A transaction stayed open beyond its timeout: the coordinator aborted it and raised the producer's epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from ....protocol.findings.kinds import Severity
from ...ledgers.evidence import Mark, Occurrences
from ..case import Case, Rule, Who
from ..queries import MS, evidence
from .transactional_id_shared import FENCED, users

if TYPE_CHECKING:
    from ...ledgers import Ledgers
    from ...ledgers.producers import Transactional


def open_longest(txn: Transactional, end: Mark) -> tuple[int, int]:
    """Return when the transaction began that was open longest, and until when the producer took it for open."""
    spans = [
        (one.began.time, (end if one.ended is None or one.by_coordinator else one.ended).time)
        for one in txn.transactions
    ]
    return max(spans, key=lambda span: span[1] - span[0], default=(0, 0))


def find(book: Ledgers) -> Iterator[Case]:
    """Look for fenced producers whose transactional id nobody else uses, and whose transaction lasted too long."""
    for txn in book.producers.transactional.values():
        fenced = Occurrences.of(seen for (_, code), seen in txn.errors.items() if code in FENCED)
        if not fenced or fenced.first is None or len({client for client, _ in users(txn)}) > 1 or not txn.begun:
            continue
        since, until = open_longest(txn, fenced.first)
        timeout = txn.begun[0].timeout_ms
        aborted = any(not committed for _, committed in txn.markers)
        if not timeout or (until - since < timeout * MS and not aborted):
            continue
        began = txn.begun[0]
        yield rule.case(
            Who(began.client_id or None, began.host, transactional_id=txn.name), since, fenced.until, fenced.count,
            evidence([began.mark, *fenced.marks], "transaction_timeout_ms", "error_code"),
            facts={"timeout": timeout * MS, "open": until - since}, certainty="certain" if aborted else "likely",
            weight=2.5,
        )  # fmt: skip


rule: Rule = Rule(
    "transaction-timed-out",
    Severity.ERROR,
    "transaction timed out",
    (
        "client {client_id} kept a transaction of transactional id {transactional_id} open for {open!d}, "
        "longer than its timeout of {timeout!d}: the coordinator {probably}aborted the transaction and "
        "fenced the producer"
    ),
    "Raise transaction.timeout.ms of client {client_id}, or make its transactions shorter.",
    "KIP-98, KIP-447",
    find,
    ("another producer, not in the capture, uses the same transactional.id",),
    frozenset({"producer-fenced"}),
)
