"""A capture whose report can be worked out by hand. Every packet comes a millisecond after the one before it."""

from __future__ import annotations

from tests.traffic import START, Talk, pcap

HOSTILE = "<img src=x onerror=alert(1)>"
"""A topic, a group and a client of this name appear in the capture; `</script>` and quotes too."""
ESCAPES = "</script><script>alert(2)</script>'\"{{7*7}}%{x}"
HEARTBEATS = 100
FAILED = 3
SECRET = b"correct-horse-battery"
BEGIN = START * 1_000_000
"""Microseconds from 1970 to its first packet."""


def scripted() -> bytes:
    return pcap(shop(), billing(), hostile(), login())


def shop() -> Talk:
    """Says what it is; then heartbeats that are answered after 1, 2, … 100 ms, the first three with an error."""
    talk = Talk(("10.0.0.1", 50001), client_id="shop")
    talk.ask("ApiVersions", 3, client_software_name="shopkit", client_software_version="1.2").answer(error_code=0)
    for delay in range(HEARTBEATS):
        talk.ask("Heartbeat", 0, group_id="readers", generation_id=1, member_id="m")
        talk.at += delay
        talk.answer(error_code=27 if delay < FAILED else 0)
    return talk.end()


def billing() -> Talk:
    """Joins and syncs; commits 40 of 100 records, sees the log grow to 130, commits 125; then an answer is missing."""
    talk = Talk(("10.0.0.3", 50002), client_id="billing-1")
    topic = "orders"
    talk.ask("JoinGroup", 8, group_id="billing", member_id="b-1", protocol_type="consumer", reason="a new pod")
    talk.at += 500
    talk.answer(generation_id=4, protocol_type="consumer", protocol_name="range", leader="b-1", member_id="b-1")
    talk.ask("SyncGroup", 5, group_id="billing", generation_id=4, member_id="b-1").answer(error_code=0)
    latest = {"partition_index": 0, "timestamp": -1}
    talk.ask("ListOffsets", 1, replica_id=-1, topics=[{"name": topic, "partitions": [latest]}])
    talk.answer(topics=[{"name": topic, "partitions": [{"partition_index": 0, "timestamp": -1, "offset": 100}]}])
    commit(talk, topic, 40)
    talk.at += 3000
    wanted = {"partition": 0, "fetch_offset": 40, "partition_max_bytes": 1}
    talk.ask("Fetch", 4, max_wait_ms=1, min_bytes=1, max_bytes=1, topics=[{"topic": topic, "partitions": [wanted]}])
    talk.answer(responses=[{"topic": topic, "partitions": [{"partition_index": 0, "high_watermark": 130}]}])
    talk.at += 3000
    commit(talk, topic, 125)
    talk.at += 3000
    return talk.ask("Metadata", 1, topics=None).end()


def commit(talk: Talk, topic: str, offset: int) -> None:
    partition = {"partition_index": 0, "committed_offset": offset}
    talk.ask("OffsetCommit", 2, group_id="billing", generation_id_or_member_epoch=4, member_id="b-1",
             topics=[{"name": topic, "partitions": [partition]}])  # fmt: skip
    talk.answer(topics=[{"name": topic, "partitions": [{"partition_index": 0, "error_code": 0}]}])


def hostile() -> Talk:
    """Whoever chose these names wishes the reader ill."""
    talk = Talk(("10.0.0.4", 50003), client_id=HOSTILE)
    for name in (HOSTILE, ESCAPES):
        wanted = {"partition": 0, "fetch_offset": 0, "partition_max_bytes": 1}
        talk.ask("Fetch", 4, max_wait_ms=1, min_bytes=1, max_bytes=1, topics=[{"topic": name, "partitions": [wanted]}])
        talk.answer(
            responses=[{"topic": name, "partitions": [{"partition_index": 0, "error_code": 6, "high_watermark": 9}]}]
        )
        partition = {"partition_index": 0, "committed_offset": 1}
        talk.ask("OffsetCommit", 2, group_id=name, member_id=name, topics=[{"name": name, "partitions": [partition]}])
        talk.answer(topics=[{"name": name, "partitions": [{"partition_index": 0, "error_code": 0}]}])
        talk.ask("JoinGroup", 8, group_id=name, member_id=name, protocol_type="consumer", reason=name)
        talk.answer(generation_id=2, protocol_type="consumer", protocol_name="range", leader=name, member_id=name)
    return talk.end()


def login() -> Talk:
    """Sends a password."""
    talk = Talk(("10.0.0.5", 50004), client_id="ops")
    talk.ask("SaslHandshake", 1, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    talk.ask("SaslAuthenticate", 0, auth_bytes=b"\0ops\0" + SECRET).answer(error_code=58, error_message="no")
    return talk.end()
