"""Transactions: those that stay open or time out, and producers that are fenced."""

from __future__ import annotations

from collections.abc import Iterator

from ...ledgers import Ledgers
from ...ledgers.evidence import Occurrences
from ...ledgers.flows import Samples, Transactional
from ..case import Case, Who, rule
from ..queries import MS, SECOND, by_error, evidence, extent, failures, grouped, who
from ..text import UNKNOWN, named

LONG = 2 * SECOND
READ_COMMITTED = 1
FENCED: frozenset[int] = frozenset({47, 90})
"""INVALID_PRODUCER_EPOCH, PRODUCER_FENCED."""


def held_since(samples: Samples) -> int | None:
    """Return since when the last stable offset has not moved though the partition has more; None where it moves."""
    last = samples.last
    if last is None or last.high_watermark <= last.stable:
        return None
    since = last.time
    for sample in reversed(samples.found):
        if sample.stable != last.stable or sample.high_watermark <= sample.stable:
            break
        since = sample.time
    return since


@rule(
    "hanging-transaction",
    "transactions",
    title="transaction stays open",
    sentence="topic {topic}, partition {partition} {probably}has an open transaction of {writer}: the last stable "
    "offset stays at {stable}, so client {reader} cannot read {behind:offset} after it with read_committed",
    advice="Find the transaction with kafka-transactions.sh find-hanging and abort it there if its producer is gone; "
    "otherwise have the producer commit or abort.",
    document="KIP-664, KIP-890",
)
def hanging_transaction(book: Ledgers) -> Iterator[Case]:
    """Look for partitions whose last stable offset stands still to the end, below the high watermark."""
    told = set[tuple[str, int]]()
    for (number, topic, partition), fetched in book.fetched.items():
        if fetched.isolation != READ_COMMITTED or (topic, partition) in told:
            continue
        since, last = held_since(fetched.samples), fetched.samples.last
        if since is None or last is None or last.time - since < LONG:
            continue
        told.add((topic, partition))
        open_ones = [
            txn
            for txn in book.producers.transactional.values()
            if txn.transactions and txn.transactions[-1].ended is None
        ]
        writer = open_ones[0] if len(open_ones) == 1 else None
        began = writer.begun[-1] if writer is not None and writer.begun else None
        session = book.sessions[number]
        about = who(
            (book.sessions.get(began.mark.connection) if began is not None else None) or session,
            topic=topic, partition=partition, transactional_id=writer.name if writer is not None else None,
        )  # fmt: skip
        client = named("client", [began.client_id if began is not None else ""])
        yield hanging_transaction.case(
            about, since, last.time, fetched.requests.count,
            evidence(fetched.requests, "last_stable_offset", "high_watermark"), weight=2.5,
            facts={"reader": session.client_id or UNKNOWN["client_id"], "stable": last.stable,
                   "behind": last.high_watermark - last.stable,
                   "writer": f"{client} (transactional id {writer.name})" if writer is not None
                   else "an unknown producer"},
            certainty="certain" if writer is not None else "likely",
        )  # fmt: skip


@rule(
    "producer-fenced",
    "transactions",
    title="producer is fenced",
    sentence="client {client_id} is fenced by broker {broker}, {times}: another producer {probably}uses the same "
    "transactional.id, or a transaction timed out",
    advice="Check whether another producer uses the same transactional.id, or a transaction exceeded "
    "transaction.timeout.ms.",
    document="KIP-98, KIP-588",
)
def producer_fenced(book: Ledgers) -> Iterator[Case]:
    """Look for the error, once for each client."""
    for one, *_ in grouped(failures(book, FENCED), lambda one: one.client_id).values():
        yield producer_fenced.case(who(one.session), *extent(one.seen, "error_code"), certainty="likely")


def users(txn: Transactional) -> list[tuple[str, int]]:
    """Return who began with a transactional id, in order: client id and connection."""
    return list(dict.fromkeys((began.client_id, began.mark.connection) for began in txn.begun if not began.code))


def fenced(txn: Transactional) -> Occurrences:
    """Return how often producers with a transactional id were fenced."""
    return Occurrences.of(seen for (_, code), seen in txn.errors.items() if code in FENCED)


@rule(
    "transactional-id-shared",
    "transactions",
    title="two producers share a transactional.id",
    sentence="{clients} {probably}share transactional id {transactional_id}: each InitProducerId raises the producer "
    "epoch ({epochs}) and fences the other, {times}",
    advice="Set a different transactional.id for each running producer, and reuse that id after a restart.",
    document="KIP-98",
    alternatives=("an instance was started while the old one was still running",),
    explains={"transaction-timed-out", "producer-fenced"},
)
def transactional_id_shared(book: Ledgers) -> Iterator[Case]:
    """Look for transactional ids that two connections began with, of which one was fenced while it went on."""
    for txn in book.producers.transactional.values():
        seen, clients = fenced(txn), list(dict.fromkeys(client for client, _ in users(txn)))
        if not seen or len(users(txn)) < 2:
            continue
        first, epochs = txn.begun[0], [began.epoch for began in txn.begun if not began.code]
        yield transactional_id_shared.case(
            Who(clients[0] or None, first.host, transactional_id=txn.name), first.mark.time, seen.until, seen.count,
            evidence([*(began.mark for began in txn.begun[:3]), *seen.marks[:3]], "producer_epoch", "error_code"),
            facts={"clients": named("client", clients) if len(clients) > 1
                   else f"two instances of client {clients[0] or UNKNOWN['client_id']}",
                   "epochs": ", ".join(map(str, epochs[:6]))},
            certainty="certain" if len(clients) > 1 else "likely", weight=2.5,
        )  # fmt: skip


@rule(
    "transaction-timed-out",
    "transactions",
    title="transaction timed out",
    sentence="client {client_id} kept a transaction of transactional id {transactional_id} open for {open!d}, longer "
    "than its timeout of {timeout!d}: the coordinator {probably}aborted the transaction and fenced the producer",
    advice="Raise transaction.timeout.ms of client {client_id}, or make its transactions shorter.",
    document="KIP-98, KIP-447",
    alternatives=("another producer, not in the capture, uses the same transactional.id",),
    explains={"producer-fenced"},
)
def transaction_timed_out(book: Ledgers) -> Iterator[Case]:
    """Look for fenced producers whose transactional id no other uses, and whose transaction lasted too long."""
    for txn in book.producers.transactional.values():
        seen = fenced(txn)
        if seen.first is None or len({client for client, _ in users(txn)}) > 1 or not txn.begun:
            continue
        spans = [
            (one.began.time, (seen.first if one.ended is None or one.by_coordinator else one.ended).time)
            for one in txn.transactions
        ]  # until when the producer took each for open
        since, until = max(spans, key=lambda span: span[1] - span[0], default=(0, 0))
        began = txn.begun[0]
        timeout = began.timeout_ms * MS
        aborted = any(not committed for _, committed in txn.markers)
        if not timeout or (until - since < timeout and not aborted):
            continue
        yield transaction_timed_out.case(
            Who(began.client_id or None, began.host, transactional_id=txn.name), since, seen.until, seen.count,
            evidence([began.mark, *seen.marks], "transaction_timeout_ms", "error_code"),
            facts={"timeout": timeout, "open": until - since}, certainty="certain" if aborted else "likely",
            weight=2.5,
        )  # fmt: skip


invalid_transaction_timeout = by_error(
    "invalid-transaction-timeout",
    "transactions",
    title="transaction.timeout.ms exceeds the broker limit",
    sentence="client {client_id} requests a transaction.timeout.ms above transaction.max.timeout.ms of broker "
    "{broker} for transactional id {transactional_id}: INVALID_TRANSACTION_TIMEOUT, {times}",
    advice="Set transaction.timeout.ms on the producer to at most transaction.max.timeout.ms of the brokers (default "
    "15 minutes), or raise the broker limit.",
    document="KIP-98",
    errors=(50,),  # INVALID_TRANSACTION_TIMEOUT
    subject="transactional_id",
    weight=2.5,
)
