"""A capture whose every answer can be worked out by hand: latencies, errors, lag, rebalances, a request unanswered.

Times are milliseconds after the first packet, 2026-11-21 12:30:00 UTC. A record's value is 11 bytes, so that a record
takes 20 bytes and a batch of n of them 61 + 20 n.
"""

from __future__ import annotations

from typing import Any

from tests.traffic import START, Talk, pcap

ANSWERS = (
    "top-topics: topics with the most bytes, with records produced and fetched\n"
    "topic    partitions  records_in  bytes_in  records_out  bytes_out\n"
    "orders            1           8       282            5        161\n"
    "parcels           1           1        81            0          0\n"
    "\n"
    "errors: errors in responses: client, topic, count, time\n"
    "api        error_code  error                       client_id  topic   partitions  times  "
    "first_time               last_time\n"
    "Heartbeat          27  REBALANCE_IN_PROGRESS       billing-1  –                       1  "
    "2026-11-21 12:31:21      2026-11-21 12:31:21\n"
    "Metadata            3  UNKNOWN_TOPIC_OR_PARTITION  shop       ghosts                  1  "
    "2026-11-21 12:30:00.200  2026-11-21 12:30:00.200\n"
    "… more rows; raise --limit to print them\n"
)
"""What `--ask top-topics --ask errors --limit 2` prints of it, whoever answers."""
TRIES = 100
"""Metadata requests of the shop: answered after 1, 2, 3 … 100 ms."""
LEFT_AT = 95_000
WAITED = 4_000
"""How long the connection goes on after the request that nobody answers."""


def capture() -> bytes:
    return pcap(*talks())


def talks() -> list[Talk]:
    return [shop(), *billing(), lost()]


def wire_bytes() -> int:
    """What all connections carried: packets are 20 bytes of IP, 20 of TCP, and that."""
    return sum(len(segment.data) - 40 for talk in talks() for segment in talk.segments)


def asks(talk: Talk, at: int, api: str, version: int, **body: Any) -> None:
    """A request, one packet, at that time."""
    talk.at = at - len(talk.segments)
    talk.ask(api, version, **body)


def answers(talk: Talk, at: int, **body: Any) -> None:
    talk.at = at - len(talk.segments)
    talk.answer(**body)


def shop() -> Talk:
    """Says what it is, asks for metadata, and produces; one of four batches is refused."""
    talk = Talk(("10.0.0.1", 50001), client_id="shop", most=60_000)
    asks(talk, 10, "ApiVersions", 3, client_software_name="shopkit", client_software_version="1.2")
    answers(talk, 12, error_code=0)
    for latency in range(1, TRIES + 1):
        ghost = latency == 1
        asks(talk, 200 * latency, "Metadata", 8, topics=[{"name": "ghosts"}] if ghost else [])
        topics = [{"error_code": 3, "name": "ghosts", "partitions": []}] if ghost else []
        answers(talk, 200 * latency + latency, topics=topics)
    produces(talk, 30_000, "orders", 0, 5, base=0)
    produces(talk, 61_000, "orders", 0, 3, base=5, throttle=7)
    produces(talk, 62_000, "orders", 1, 1, base=-1, error=6)
    produces(talk, 62_500, "parcels", 0, 1, base=0)
    return talk.end()


def produces(
    talk: Talk, at: int, topic: str, partition: int, count: int, *, base: int, error: int = 0, throttle: int = 0
) -> None:
    """A batch that is answered after 5 ms."""
    asked = {"index": partition, "records": [batch(count)]}
    asks(talk, at, "Produce", 8, acks=-1, timeout_ms=1000, topic_data=[{"name": topic, "partition_data": [asked]}])
    told = {"index": partition, "error_code": error, "base_offset": base, "log_append_time_ms": -1}
    answers(talk, at + 5, responses=[{"name": topic, "partition_responses": [told]}], throttle_time_ms=throttle)


def batch(count: int, base: int = 0) -> dict[str, Any]:
    records = [
        {"offset": base + n, "timestamp": START * 1000, "key": f"k{n}", "value": "eleven byte", "headers": []}
        for n in range(count)
    ]
    return {"magic": 2, "base_offset": base, "records": records}


def billing() -> tuple[Talk, Talk]:
    """Two members of a group: the first fetches and commits, the second comes and goes."""
    first = Talk(("10.0.0.3", 50003), client_id="billing-1", most=60_000, at=60_000)
    wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1 << 20}
    asks(first, 63_000, "Fetch", 11, max_wait_ms=500, min_bytes=1, topics=[{"topic": "orders", "partitions": [wanted]}])
    held = {"partition_index": 0, "high_watermark": 8, "last_stable_offset": 8, "records": [batch(5)]}
    answers(first, 63_400, responses=[{"topic": "orders", "partitions": [held]}])
    commits(first, 64_000, "orders", 5)
    commits(first, 64_100, "orders", 8, error=22)  # refused: what was committed stays 5
    asks(first, 64_200, "ListOffsets", 1, replica_id=-1,
         topics=[{"name": "parcels", "partitions": [{"partition_index": 0, "timestamp": -1}]}])  # fmt: skip
    end = {"partition_index": 0, "error_code": 0, "timestamp": -1, "offset": 7}
    answers(first, 64_204, topics=[{"name": "parcels", "partitions": [end]}])
    commits(first, 64_300, "parcels", 2)
    asks(first, 64_400, "OffsetFetch", 5, group_id="billing", topics=[{"name": "orders", "partition_indexes": [1]}])
    known = {"partition_index": 1, "committed_offset": 4}
    answers(first, 64_404, topics=[{"name": "orders", "partitions": [known]}])

    joins(first, "b-1", (70_000, 70_100), 1, new=True)
    syncs(first, "b-1", (70_110, 70_120), 1)
    second = Talk(("10.0.0.4", 50004), client_id="billing-2", at=79_000)
    joins(second, "b-2", (80_000, 83_000), 2, reason="a new pod", new=True)
    asks(first, 81_000, "Heartbeat", 4, group_id="billing", generation_id=1, member_id="b-1")
    answers(first, 81_004, error_code=27)
    joins(first, "b-1", (82_000, 83_000), 2, reason="group is already rebalancing")
    syncs(second, "b-2", (83_010, 83_030), 2)
    syncs(first, "b-1", (83_015, 83_050), 2)
    leaving = [{"member_id": "b-2", "reason": "the pod is closed"}]
    asks(second, 90_000, "LeaveGroup", 5, group_id="billing", members=leaving)
    answers(second, 90_004, error_code=0, members=[{"member_id": "b-2", "error_code": 0}])
    joins(first, "b-1", (90_500, 90_600), 3)
    syncs(first, "b-1", (90_610, 90_615), 3)
    return first.end(), second.end()


def commits(talk: Talk, at: int, topic: str, offset: int, error: int = 0) -> None:
    """Commits partition 0; it is answered after 4 ms."""
    partition = {"partition_index": 0, "committed_offset": offset, "committed_metadata": ""}
    asks(talk, at, "OffsetCommit", 2, group_id="billing", generation_id_or_member_epoch=1, member_id="b-1",
         topics=[{"name": topic, "partitions": [partition]}])  # fmt: skip
    answers(talk, at + 4, topics=[{"name": topic, "partitions": [{"partition_index": 0, "error_code": error}]}])


def joins(
    talk: Talk, member: str, times: tuple[int, int], generation: int, reason: str | None = None, *, new: bool = False
) -> None:
    """Joins the group; a member that is `new` gets its id by the answer."""
    asks(talk, times[0], "JoinGroup", 8, group_id="billing", member_id="" if new else member, protocol_type="consumer",
         reason=reason)  # fmt: skip
    answers(
        talk, times[1], generation_id=generation, protocol_type="consumer", protocol_name="range", leader="b-1",
        member_id=member,
    )  # fmt: skip


def syncs(talk: Talk, member: str, times: tuple[int, int], generation: int) -> None:
    asks(talk, times[0], "SyncGroup", 3, group_id="billing", generation_id=generation, member_id=member)
    answers(talk, times[1], error_code=0)


def lost() -> Talk:
    """Asks and waits; its connection ends, with two packets, 4 s later."""
    talk = Talk(("10.0.0.9", 50009), client_id="lost", at=94_000)
    asks(talk, LEFT_AT, "Metadata", 8, topics=[])
    talk.at = LEFT_AT + WAITED - 1 - len(talk.segments)
    return talk.end()
