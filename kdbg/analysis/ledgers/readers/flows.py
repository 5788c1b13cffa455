"""Produce and Fetch: what is written to partitions, and read from them."""

from __future__ import annotations

from typing import Any

from ....exchanges.messages.exchange import Exchange
from ....protocol.wire.readings.outline import Outline
from ..accounts import Accounts
from ..evidence import Mark, Occurrences
from ..flows import MOST_EVENTS, Began, Fetched, PartitionWrites, Polls, Sample, Transactional
from ..sessions import KafkaConnection

Body = dict[str, Any]

MOST_TIMES = 4096
MOST_SERVED = 128
CODEC = 0x07
PRODUCE = 0
OPENED: dict[int, int] = {PRODUCE: 16}
"""API key → how many requests of a connection are read with their records: the first ones."""
OFFSET_OUT_OF_RANGE = 1


def produce(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of Produce."""
    acks, transactional = asked.get("acks"), asked.get("transactional_id")
    txn = book.producers.transactions_of(transactional) if transactional else None
    if transactional:
        session.used(PRODUCE).transactional = True
    answers = {
        (book.topic(topic.get("name"), topic.get("topic_id")), partition.get("index", -1)): partition
        for topic in response.get("responses") or ()
        for partition in topic.get("partition_responses") or ()
    }
    for topic in asked.get("topic_data") or ():
        name = book.topic(topic.get("name"), topic.get("topic_id"))
        for partition in topic.get("partition_data") or ():
            index = partition.get("index", -1)
            entry = book.written.entry((session.peers.number, name, index), PartitionWrites)
            if entry is None:
                continue
            entry.requests.add(mark)
            if acks is not None:
                entry.acks[acks] += 1
            for batch in partition.get("records") or ():
                if isinstance(batch, dict):
                    _wrote(book, session, mark, entry, name, index, batch, txn, answers.get((name, index)))
    for (name, index), answer in answers.items():
        code = answer.get("error_code", 0)
        if not code:
            continue
        entry = book.written.get((session.peers.number, name, index))
        if entry is not None:
            entry.errors.setdefault(code, Occurrences()).add(mark)
        if txn is not None:
            txn.failed(0, code, mark)


def _wrote(
    book: Accounts, session: KafkaConnection, mark: Mark, entry: PartitionWrites, name: str, index: int, batch: Body,
    txn: Transactional | None, answer: Body | None,
) -> None:  # fmt: skip
    """Take a batch, and the producer id that a transaction's batch has, if the broker accepted it."""
    count = batch.get("records_count")
    if count is None:
        count = len(batch["records"]) if isinstance(batch.get("records"), list) else 1
    entry.batches += 1
    entry.records += count
    entry.bytes += batch.get("batch_length") or batch.get("message_size") or 0
    entry.singles += count == 1
    entry.waited, entry.longest = entry.waited + mark.end - mark.time, max(entry.longest, mark.end - mark.time)
    if (batch.get("max_timestamp") or -1) > 0:
        age = mark.time // 1_000_000 - batch["max_timestamp"]
        entry.oldest, entry.newest = max(entry.oldest, age), min(entry.newest, age)
    records = batch.get("records")
    entry.keyless += isinstance(records, list) and bool(records) and records[0].get("key") is None
    entry.uncompressed += not (batch.get("attributes") or 0) & CODEC
    producer_id = batch.get("producer_id", -1)
    if producer_id is not None and producer_id >= 0 and (producer := book.producers.producer(producer_id)) is not None:
        producer.client_id = producer.client_id or session.client_id
        producer.transactional_id = producer.transactional_id or (txn.name if txn is not None else None)
        producer.produced.add(mark)
        if not session.sampled:
            producer.wrote(name, index, batch.get("producer_epoch", -1), batch.get("base_sequence", -1), count, mark)
        if txn is not None:
            txn.opened(mark)
            if answer is not None and not answer.get("error_code", 0):
                txn.who(producer_id, batch.get("producer_epoch", -1))


def fetch(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of Fetch."""
    polls = book.polls.entry(session.peers.number, Polls)
    if polls is None:
        return
    _asked(polls, mark, asked)
    offsets = dict[tuple[str, int], int]()
    for topic in asked.get("topics") or ():
        name = book.topic(topic.get("topic"), topic.get("topic_id"))
        for partition in topic.get("partitions") or ():
            index = partition.get("partition", -1)
            offsets[name, index] = offset = partition.get("fetch_offset", -1)
            entry = book.fetched.entry((session.peers.number, name, index), Fetched)
            if entry is None:
                continue
            entry.requests.add(mark)
            entry.limit = partition.get("partition_max_bytes", 0)
            entry.isolation = asked.get("isolation_level") or 0
            if entry.first_offset < 0:
                entry.first_offset = offset
    polls.partitions = max(polls.partitions, len(offsets))
    anything, failed = False, bool(response.get("error_code"))
    for topic in response.get("responses") or ():
        name = book.topic(topic.get("topic"), topic.get("topic_id"))
        for partition in topic.get("partitions") or ():
            got, wrong = _got(book, session, mark, name, partition, offsets)
            anything, failed = anything or got, failed or wrong
    if response:
        polls.last_end = mark.end
        if response.get("session_id") == 0 and asked.get("session_epoch") == 0:
            polls.full_sessions.add(mark)
        if response.get("error_code"):
            polls.session_errors.setdefault(response["error_code"], Occurrences()).add(mark)
        if not anything and not failed:
            polls.empty.add(mark)
        waited = (mark.end - mark.time) // 1_000_000
        if anything and polls.min_bytes > 1 and waited >= polls.max_wait_ms * 0.9 > 0:
            polls.held.add(mark)


def _asked(polls: Polls, mark: Mark, asked: Body) -> None:
    if polls.last_end and mark.time > polls.last_end:
        polls.idle += mark.time - polls.last_end
    polls.requests.add(mark)
    polls.times.append(mark.time)
    if len(polls.times) > 2 * MOST_TIMES:
        del polls.times[:MOST_TIMES]
    if not asked:
        return
    polls.max_wait_ms, polls.min_bytes = asked.get("max_wait_ms", 0), asked.get("min_bytes", 0)
    state = asked.get("replica_state")
    polls.replica = state.get("replica_id", -1) if isinstance(state, dict) else asked.get("replica_id", polls.replica)


def _got(
    book: Accounts,
    session: KafkaConnection,
    mark: Mark,
    name: str,
    partition: Body,
    offsets: dict[tuple[str, int], int],
) -> tuple[bool, bool]:
    """Take one partition of an answer; return whether it had records, and whether an error."""
    index = partition.get("partition_index", -1)
    entry = book.fetched.entry((session.peers.number, name, index), Fetched)
    if entry is None:
        return False, False
    code = partition.get("error_code", 0)
    if code:
        entry.errors.setdefault(code, Occurrences()).add(mark)
        if code == OFFSET_OUT_OF_RANGE and entry.out_of_range < 0:
            entry.out_of_range = offsets.get((name, index), -1)
    records = partition.get("records") or ()
    size = count = 0
    last = -1
    for batch in records:
        if not isinstance(batch, dict):
            continue
        size += (batch.get("batch_length") or batch.get("message_size") or 0) + 12
        count += batch.get("records_count", 1)
        if "base_offset" in batch:
            last = batch["base_offset"] + batch.get("last_offset_delta", 0)
    high, stable = partition.get("high_watermark", -1), partition.get("last_stable_offset")
    start = partition.get("log_start_offset", -1)
    if start is not None and start >= 0:
        entry.log_start = start
    asked = offsets.get((name, index), -1)
    if size:
        entry.with_data.add(mark)
        served = entry.served
        if asked in served:  # the consumer came back to where it had been before
            served[asked] += 1
            entry.stuck.add(mark)
            if served[asked] >= served.get(entry.stuck_at, 0):
                entry.stuck_at = asked
        elif asked >= 0:
            served[asked] = 1
            if len(served) > MOST_SERVED:
                del served[next(iter(served))]
        entry.records += count
        entry.bytes += size
        if entry.limit and size > entry.limit:
            entry.oversized.add(mark)
    offset = offsets.get((name, index), entry.samples.last.offset if entry.samples.last is not None else -1)
    if high is not None and high >= 0:
        here = last + 1 if last >= 0 else offset
        entry.samples.add(Sample(mark.time, here, high, high if stable is None or stable < 0 else stable))
    return bool(size), bool(code)


def count_produce(book: Accounts, session: KafkaConnection, mark: Mark, facts: tuple[Outline, Outline]) -> None:
    """Count a Produce that is not read closely, as the ones before it were."""
    for name, index, _, records in facts[0][0]:
        entry = book.written.get((session.peers.number, book.topic(None, name), index if index is not None else -1))
        if entry is None:
            continue
        entry.requests.add(mark)
        if records:
            entry.records += records
            entry.batches += 1
            entry.singles += records == 1
            entry.uncompressed += entry.uncompressed > 0
            entry.bytes += entry.bytes // entry.batches


def count_fetch(book: Accounts, session: KafkaConnection, mark: Mark, facts: tuple[Outline, Outline]) -> None:
    """Count a Fetch that is not read closely."""
    polls = book.polls.get(session.peers.number)
    if polls is None:
        return
    _asked(polls, mark, {})
    polls.last_end = mark.end
    data = False
    for name, index, _, records in facts[1][0]:
        entry = book.fetched.get((session.peers.number, book.topic(None, name), index if index is not None else -1))
        if entry is not None:
            entry.requests.add(mark)
            if records:
                data = True
                entry.with_data.add(mark)
                entry.records += records
    if not data:
        polls.empty.add(mark)


def begin(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of InitProducerId."""
    name, code = asked.get("transactional_id"), response.get("error_code", 0)
    producer_id, epoch = response.get("producer_id", -1), response.get("producer_epoch", -1)
    timeout = asked.get("transaction_timeout_ms", 0)
    began = Began(mark, session.client_id, session.peers.client[0], producer_id, epoch, timeout, code)
    if producer_id >= 0 and (producer := book.producers.producer(producer_id)) is not None:
        producer.client_id = producer.client_id or session.client_id
        producer.transactional_id = producer.transactional_id or name
        producer.begun.append(began)
        del producer.begun[:-MOST_EVENTS]
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    txn.failed(22, code, mark)
    if len(txn.begun) < MOST_EVENTS:
        txn.begun.append(began)
    if producer_id >= 0 and not code and (txn.now is None or txn.now.mark.end < mark.end):
        txn.now = began
        txn.who(producer_id, epoch)
        txn.closed(mark, False, 0, by_coordinator=True)


def add(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange) -> None:
    """Take an exchange of AddPartitionsToTxn, or of AddOffsetsToTxn."""
    old = {key.removeprefix("v3_and_below_"): value for key, value in asked.items() if key != "transactions"}
    codes = {error.code for error in exchange.errors}
    for entry in [old, *(asked.get("transactions") or ())]:
        name = entry.get("transactional_id")
        txn = book.producers.transactions_of(name) if name else None
        if txn is None:
            continue
        for code in codes:
            txn.failed(25 if "group_id" in asked else 24, code, mark)
        if codes or not response:
            continue
        txn.opened(mark)
        txn.who(entry.get("producer_id", -1), entry.get("producer_epoch", -1))


def end(book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange) -> None:
    """Take an exchange of EndTxn."""
    name = asked.get("transactional_id")
    if not name or (txn := book.producers.transactions_of(name)) is None:
        return
    code = response.get("error_code", 0)
    txn.failed(26, code, mark)
    if response:
        txn.closed(mark, bool(asked.get("committed")), code)
        if not code:
            txn.who(asked.get("producer_id", -1), asked.get("producer_epoch", -1))
            txn.who(response.get("producer_id", -1), response.get("producer_epoch", -1))


def markers(
    book: Accounts, session: KafkaConnection, mark: Mark, asked: Body, response: Body, exchange: Exchange
) -> None:
    """Take an exchange of WriteTxnMarkers, by which a coordinator ends transactions."""
    for entry in asked.get("markers") or ():
        producer_id, epoch = entry.get("producer_id", -1), entry.get("producer_epoch", -1)
        committed = bool(entry.get("transaction_result"))
        for txn in book.producers.transactional.values():
            if txn.producer_id != producer_id:
                continue
            txn.who(producer_id, epoch)
            txn.markers.append((mark, committed))
            del txn.markers[:-MOST_EVENTS]
            txn.closed(mark, committed, 0, by_coordinator=True)


READERS = {0: produce, 1: fetch, 22: begin, 24: add, 25: add, 26: end, 27: markers}
COUNTERS = {0: count_produce, 1: count_fetch}
"""What counts those exchanges of an API that are not read closely, by its key: (ledgers, session, mark, facts)."""
