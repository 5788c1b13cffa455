"""What a message tells the tables: what it is about, and the columns of every partition and record in it.

`message_columns` takes it from a message's value; straight.py takes the same straight from the bytes of a clean one.
What a request and its response tell of partitions is put together.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ...exchanges.messages.message import Message
from ...protocol.findings import Kind
from ...protocol.grammars.errors import error_name
from ...protocol.wire.language.payload import OpenedPayload, Sealed
from ...protocol.wire.readings.layout import path_to
from ...protocol.wire.readings.outline import PartitionContext, count_records, outline, parts
from ...protocol.wire.records.sets import CONTROL, TRANSACTIONAL, codec_of
from .cells import TableRow, integer, text, timestamp

if TYPE_CHECKING:
    from ...payloads.values.chosen import ReadBytes

REQUEST, RESPONSE = "request", "response"
KEPT: dict[str, dict[str, dict[str, str]]] = {
    "Produce": {RESPONSE: {"base_offset": "offset", "log_start_offset": "log_start_offset"}},
    "Fetch": {
        REQUEST: {"fetch_offset": "offset"},
        RESPONSE: {
            "high_watermark": "high_watermark", "last_stable_offset": "last_stable_offset",
            "log_start_offset": "log_start_offset",
        },
    },
    "ListOffsets": {
        REQUEST: {"timestamp": "requested_timestamp"}, RESPONSE: {"offset": "offset", "old_style_offsets": "offset"},
    },
    "OffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetFetch": {RESPONSE: {"committed_offset": "offset"}},
    "DeleteRecords": {REQUEST: {"offset": "offset"}, RESPONSE: {"low_watermark": "log_start_offset"}},
    "OffsetForLeaderEpoch": {RESPONSE: {"end_offset": "offset"}},
    "TxnOffsetCommit": {REQUEST: {"committed_offset": "offset"}},
    "OffsetDelete": {},
    "ShareFetch": {},
    "ShareAcknowledge": {},
}  # fmt: skip
"""API by API, the fields of both messages that become columns; a partition's error and record set always do."""


OFFSETS = ("offset", "high_watermark", "last_stable_offset", "log_start_offset", "requested_timestamp")
"""The columns that `KEPT` fills."""


class Amount(NamedTuple):
    """A record set in numbers; `last_offset` counts from 0 in a produce request."""

    bytes: int | None = None
    records: int | None = None
    last_offset: int | None = None
    codec: str | None = None


def amount(entries: Any) -> Amount:
    """Return bytes that are there, number of records, last offset and codec of a record set; no numbers without one."""
    if not isinstance(entries, list):
        return Amount()
    whole = [entry for entry in entries if "magic" in entry]
    held = entries[-1].get("bytes") if entries else None  # of a set of which the end is missing
    size = int(held or 0)
    for entry in entries if held is None else ():
        if "magic" in entry:  # its offset and its length take 12 bytes
            size += entry["batch_length" if entry["magic"] == 2 else "message_size"] + 12
        else:
            size += sum(map(len, entry.values()))
    if not whole:
        return Amount(size, 0)
    last = whole[-1]
    if last["magic"] == 2:
        last_offset = last["base_offset"] + last["last_offset_delta"]
    else:
        inner = (record["offset"] for record in reversed(last.get("records") or ()) if "offset" in record)
        last_offset = next(inner, last["offset"])  # the last of them may have broken off
    return Amount(size, count_records(entries), last_offset, codec_of(whole[0]))


RecordColumns = TableRow
"""The columns of `records` from `offset` on."""


def record_rows(entries: Any, wrong: set[str], path: str, *, values: bool, secrets: bool) -> Iterator[RecordColumns]:
    """Yield the columns of `records` from `offset` on, for each record of a record set.

    Offsets are those in the records. `wrong` are the paths of entries whose checksum does not match, `path` is the
    set's. `values` adds keys and values, those that hold secrets only with `secrets`.
    """
    for i, entry in enumerate(entries if isinstance(entries, list) else ()):
        if "magic" not in entry:
            continue
        here = f"{path}[{i}]"
        sound = not any(where == here or where.startswith((f"{here}.", f"{here}[")) for where in wrong)
        records = [entry]  # a plain message is its own record
        if "records" in entry or entry["magic"] == 2:
            records = [record for record in entry.get("records") or () if "offset" in record]  # the last may be cut off
        for record in records:
            key, value, time = record["key"], record["value"], timestamp(record.get("timestamp"))
            content = (_content(key, secrets), _content(value, secrets)) if values else (None, None)
            headers = [(text(it["key"]) or "", it["value"] if values else None) for it in record.get("headers") or ()]
            sizes = _size(key), _size(value)
            yield record["offset"], time, *sizes, *content, headers, *_producer(entry, record), sound


def _producer(entry: dict[str, Any], record: dict[str, Any]) -> TableRow:
    """Return codec, producer id, epoch, sequence, control type, and whether it is part of a transaction."""
    if entry["magic"] != 2:
        return codec_of(entry), None, None, None, None, False
    idempotent = entry["producer_id"] >= 0
    sequence = entry["base_sequence"] + record["offset"] - entry["base_offset"] if entry["base_sequence"] >= 0 else None
    return (
        codec_of(entry),
        entry["producer_id"] if idempotent else None,
        entry["producer_epoch"] if idempotent else None,
        None if sequence is None else sequence & 0x7FFFFFFF,  # sequences wrap to 0 (KIP-98)
        record.get("control") if entry["attributes"] & CONTROL else None,
        bool(entry["attributes"] & TRANSACTIONAL),
    )


def _content(data: bytes | None, secrets: bool) -> bytes | None:
    """Return a key or a value; None for one that holds secrets, unless these are asked for."""
    hidden = isinstance(data, Sealed) or (isinstance(data, OpenedPayload) and data.secret)
    return None if data is None or (hidden and not secrets) else bytes(data)


def _size(data: bytes | None) -> int | None:
    return None if data is None else len(data)


@dataclass(frozen=True)
class WantedRows:
    """What rows there shall be: `records` a row for each record, `values` their keys and values too, deserialized with
    `read`.

    Without `partitions` there are no rows of partitions, nor of their records. `timed`: exchanges say where their time
    went, where the packets are at hand.
    """

    records: bool = False
    values: bool = False
    show_secrets: bool = False
    partitions: bool = True
    timed: bool = False
    read: ReadBytes | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls, tables: Collection[str], *, values: bool = True, show_secrets: bool = False, timed: bool = False,
        read: ReadBytes | None = None,
    ) -> WantedRows:  # fmt: skip
        """Return what these tables are made of."""
        records = "records" in tables
        return cls(records, records and values, show_secrets, records or "partitions" in tables, timed, read)


class PartitionColumns(NamedTuple):
    """What a message tells of one partition, None for what it does not.

    `group` and `topic` are those around it, the topic's id where it has no name; `offsets` are the columns `OFFSETS`,
    `held` is its record set in numbers, `records` are the columns of its records if they are wanted.
    """

    group: str | None
    topic: Any
    partition: int
    error: int | None
    offsets: tuple[int | None, ...]
    held: Amount | None
    records: Sequence[RecordColumns] | None


class MessageColumns(NamedTuple):
    """What a message tells: topics, groups and errors in their order, the group at its top, the time that it throttles.

    Captured text is as the tables have it, a topic is its id where it has no name and None where it is not said.
    Readings give plain tuples in the place of all three: what is in them is taken by its order.
    """

    topics: Sequence[Any]
    groups: Sequence[str]
    errors: Sequence[int]
    group: str | None
    throttle: int | None
    partitions: Sequence[PartitionColumns]


def message_columns(message: Message, wanted: WantedRows) -> MessageColumns:
    """Return what the value of a message tells."""
    body, api = message.body, message.api.name
    rows, groups, errors = outline(message.grammar)(body)
    found = [_partition(message, part, wanted) for part in parts(message.grammar)(body)] if api in KEPT else ()
    return MessageColumns(
        [_shown(topic) for topic, *_ in rows], [_shown(group) for group in groups], errors,
        _shown(body.get("group_id")), integer(body.get("throttle_time_ms")), found,
    )  # fmt: skip


def _shown(name: Any) -> Any:
    """Return the name of a topic or a group as the tables have it; ids as they are."""
    return text(name) if isinstance(name, str) else name


def _partition(message: Message, part: PartitionContext, wanted: WantedRows) -> PartitionColumns:
    """Return what the structure of a partition tells."""
    value, columns = part.value, dict.fromkeys(OFFSETS)
    for name, column in KEPT[message.api.name].get(message.direction, {}).items():
        said = value.get(name)
        number = integer(said[0] if isinstance(said, list) and said else said)
        if number is not None:
            columns[column] = number
    entries = value.get("records")
    held = amount(entries) if isinstance(entries, list) else None
    records: list[RecordColumns] | None = None
    if wanted.records and held is not None:
        wrong = {finding.path for finding in message.findings if finding.kind is Kind.CRC_MISMATCH}
        path = f"{path_to(value, message.body)}.records" if wrong else ""
        records = list(record_rows(entries, wrong, path, values=wanted.values, secrets=wanted.show_secrets))
    return PartitionColumns(
        _shown(part.group), _shown(part.topic), part.partition, integer(value.get("error_code")), (*columns.values(),),
        held, records,
    )  # fmt: skip


NOTHING, UNTOLD, NO_OFFSETS = Amount(), MessageColumns((), (), (), None, None, ()), (None,) * len(OFFSETS)
Place = tuple[Any, int, str | None]
"""Topic, partition and group."""


def partitions_of(
    asked: MessageColumns | None, answer: MessageColumns | None
) -> Iterator[tuple[Place, PartitionColumns | None, PartitionColumns | None]]:
    """Yield what both messages tell of each partition, in the order of the request, then of the response."""
    *_, around, _, parts = asked or UNTOLD
    of_request: dict[Place, PartitionColumns] = {}
    for part in parts:
        around = part[0] or around
        of_request[part[1], part[2], around] = part
    *_, parts = answer or UNTOLD
    of_response: dict[Place, PartitionColumns] = {}
    for part in parts:
        around = part[0] or around  # a response does not repeat the group
        of_response[part[1], part[2], around] = part
    for place, part in of_request.items():
        yield place, part, of_response.pop(place, None)
    for place, part in of_response.items():
        yield place, None, part


def merged(
    asked: PartitionColumns | None, answer: PartitionColumns | None
) -> tuple[int | None, Sequence[int | None], Amount, Sequence[RecordColumns] | None]:
    """Return (error, offsets, amount, records) of a partition, as both messages tell of it."""
    if answer is None:
        assert asked is not None
        *_, offsets, held, records = asked
        return None, offsets, held or NOTHING, records
    _, _, _, code, offsets, held, records = answer
    if asked is None:
        return code, offsets, held or NOTHING, records
    _, _, _, _, of_request, amount, in_request = asked
    if not (held and held[0]) or (amount and amount[0]):
        held, records = amount, in_request
    if of_request != NO_OFFSETS:
        pairs = zip(of_request, offsets, strict=True)
        offsets = tuple([one if other is None else other for one, other in pairs])
    return code, offsets, held or NOTHING, records


EVENTS = {
    "JoinGroup": "join",
    "SyncGroup": "sync",
    "Heartbeat": "heartbeat",
    "LeaveGroup": "leave",
    "OffsetCommit": "commit",
    "TxnOffsetCommit": "commit",
    "ConsumerGroupHeartbeat": "heartbeat",
    "ShareGroupHeartbeat": "heartbeat",
    "StreamsGroupHeartbeat": "heartbeat",
}
"""The APIs by which members speak to their group's coordinator."""
GENERATIONS = ("generation_id", "generation_id_or_member_epoch", "member_epoch")
INSTANCES = ("group_instance_id", "instance_id")
JOINS, LEAVES = 0, (-1, -2)
"""What a member epoch says in a heartbeat of the newer protocols (KIP-848)."""
Body = Mapping[str, Any]


def event_rows(
    api: str, request: Body, answer: Message | None, client_id: str | None
) -> Iterator[tuple[tuple[Any, ...], tuple[list[str] | None, bool | None, bool | None]]]:
    """Yield the columns of `groups` from `event` to `error`, `member_ids`, and `new_member` by both of its names.

    There are several rows where several members leave at once.
    """
    response: Body = answer.body if answer is not None else {}
    asked, told = _first(GENERATIONS, request), _first(GENERATIONS, response)
    joined = response.get("members") if api == "JoinGroup" else None
    event = EVENTS[api]
    if api.endswith("GroupHeartbeat"):  # the newer protocols, in which the member's epoch tells
        event = "join" if asked == JOINS else "leave" if asked in LEAVES else "heartbeat"
    new_member = (api != "JoinGroup" or not request.get("member_id")) if event == "join" else None
    ids = [text(member.get("member_id")) or "" for member in joined] if joined else None
    whole = request.get("members") or (request,)
    for who, error in zip(whole, _errors(answer, len(whole)), strict=True):
        is_leader = response.get("leader") == response.get("member_id")
        yield (
            (
                event,
                text(request.get("group_id")),
                text(who.get("member_id")) or text(response.get("member_id")),
                text(_first(INSTANCES, who)),
                text(client_id),
                integer(asked if error or told is None else told),
                text(response.get("protocol_type") or request.get("protocol_type")),
                text(response.get("protocol_name") or request.get("protocol_name")),
                is_leader if api == "JoinGroup" and not error and response else None,
                len(joined) if joined else None,
                text(who.get("reason")),
                error,
                None if error is None else error_name(error),
            ),
            (ids, new_member, new_member),
        )


def _errors(answer: Message | None, count: int) -> list[int | None]:
    """Return the error that each of so many members is answered with: its own where there is one for each."""
    if answer is None:
        return [None] * count
    body: Body = answer.body
    members = body.get("members")
    if answer.api.name == "LeaveGroup" and not body.get("error_code") and members and len(members) == count:
        return [member.get("error_code") for member in members]
    return [next(iter(outline(answer.grammar)(body)[2]), 0)] * count


def _first(names: tuple[str, ...], value: Body) -> Any:
    """Return the value of the first of these fields that there is; None if none is."""
    return next((value[name] for name in names if name in value), None)
