"""The body of a request from the few things a person says: one function per API, the table of them, and partitioners.

A form takes the version that will be sent and keyword arguments, which are the options of `kdbg send` under the same
names; its signature says which must be given (no default) and which may be given several times (tuples). What it
returns holds this version's fields, nothing else. No I/O: offsets to look up and partitions to choose are known by
now. Fields as in the 0.8 guide and the 0.10.1 protocol, later ones as the KIPs in the grammars' docstrings say.
"""

from __future__ import annotations

import itertools
import random
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from ... import __version__
from ...errors import InputError

TIMEOUT_MS = 30_000
"""How long a broker may take: request.timeout.ms of the Java client."""
MAX_WAIT_MS, MAX_BYTES = 500, 1 << 20
"""fetch.max.wait.ms and max.partition.fetch.bytes of the Java client's consumer."""
SESSION_TIMEOUT_MS, REBALANCE_TIMEOUT_MS = 30_000, 60_000
Body = dict[str, Any]
Words = tuple[str, ...]
Pairs = tuple[tuple[str, Any], ...]
CONSUMER = "consumer"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
"""By the number that the attributes of a batch or message carry."""
RECORD_FORMATS = {"v0": range(2), "v1": range(2, 3), "v2": range(3, 1 << 15)}
"""The record formats, and the versions of Produce that carry them."""
HEADERS_SINCE, ZSTD_SINCE = 3, 7


def carried_by(
    versions: range, *, record_format: str | None = None, compression: str = "none", header: object = ()
) -> range:
    """Return those of `versions` (of Produce) that carry such records; `InputError` where none does."""
    within = RECORD_FORMATS[record_format] if record_format else range(1 << 15)
    first = max(within[0], HEADERS_SINCE if header else 0, ZSTD_SINCE if compression == "zstd" else 0)
    found = [version for version in versions if first <= version <= within[-1]]
    if not found:
        what = "headers" if header else "zstd" if compression == "zstd" else "these records"
        raise InputError(f"record format {record_format} does not support {what}; omit --record-format, or use v2")
    return range(found[0], found[-1] + 1)


def entries(
    version: int, values: tuple[bytes | str | None, ...], key: bytes | None, headers: tuple[tuple[str, Any], ...],
    timestamp: int, compression: str, record_format: str | None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Return the record set of these values in `record_format`, by default that of this version of Produce.

    `InputError` for headers in format v0 or v1, which have none. A compressed message set is one message, with the last
    offset of those inside it (KIP-31).
    """
    name = record_format or next(name for name, versions in RECORD_FORMATS.items() if version in versions)
    magic = list(RECORD_FORMATS).index(name)
    records: list[dict[str, Any]] = [{"key": key, "value": value, "timestamp": timestamp} for value in values]
    codec = CODECS.index(compression)
    if magic == 2:
        named = [{"key": name, "value": value} for name, value in headers]
        return [{"magic": 2, "attributes": codec, "records": [record | {"headers": named} for record in records]}]
    if headers:
        raise InputError("record headers require record format v2, which needs Produce v3 or later")
    for record in records if not magic else ():
        del record["timestamp"]
    messages = [{"magic": magic, "offset": i} | record for i, record in enumerate(records)]
    if not codec:
        return messages
    last = messages[-1] if messages else {}
    outer = {"timestamp": last["timestamp"]} if "timestamp" in last else {}
    return [{"magic": magic, "offset": len(messages) - 1, "attributes": codec, "records": messages} | outer]


def produce(
    version: int, *, topic: str, value: tuple[bytes | None, ...], key: bytes | None = None,
    partition: int | None = None, header: Pairs = (), timestamp: int = -1, acks: int = -1, timeout_ms: int = TIMEOUT_MS,
    compression: str = "none", record_format: str | None = None,
) -> Body:  # fmt: skip
    records = entries(version, value, key, header, timestamp, compression, record_format)
    partitions = [{"index": partition or 0, "records": records}]
    return {"acks": acks, "timeout_ms": timeout_ms, "topic_data": [{"name": topic, "partition_data": partitions}]}


def fetch(
    version: int, *, topic: str, partition: int = 0, offset: int | str = "earliest", max_bytes: int = MAX_BYTES,
    min_bytes: int = 1, max_wait: int = MAX_WAIT_MS, read_committed: bool = False,
) -> Body:  # fmt: skip
    at = offset if isinstance(offset, int) else 0  # a word (earliest, latest) that was not looked up
    place = {"partition": partition, "fetch_offset": at, "partition_max_bytes": max_bytes}
    body: Body = {"max_wait_ms": max_wait, "min_bytes": min_bytes, "topics": [{"topic": topic, "partitions": [place]}]}
    if version >= 3:
        body["max_bytes"] = max_bytes
    return body | ({"isolation_level": int(read_committed)} if version >= 4 else {})


def list_offsets(
    version: int, *, topic: str, partition: tuple[int, ...] = (0,), time: int = -1, max_offsets: int = 1
) -> Body:
    extra = {"max_num_offsets": max_offsets} if version == 0 else {}
    partitions = [{"partition_index": number, "timestamp": time} | extra for number in partition]
    return {"replica_id": -1, "topics": [{"name": topic, "partitions": partitions}]}


def metadata(version: int, *, topic: Words = (), create: bool = True) -> Body:
    """Build a Metadata body; for all topics it has an empty list in v0, a null one since v1."""
    topics = [{"name": name} for name in topic] or (None if version else [])
    return {"topics": topics} | ({"allow_auto_topic_creation": create} if version >= 4 else {})


def offset_commit(
    version: int, *, group: str, topic: str, offset: int, partition: int = 0, metadata: str = "", generation: int = -1,
    member_id: str = "",
) -> Body:  # fmt: skip
    place = {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata}
    body: Body = {"group_id": group, "topics": [{"name": topic, "partitions": [place]}]}
    member = {"generation_id_or_member_epoch": generation, "member_id": member_id}
    return body | (member if version else {})


def offset_fetch(version: int, *, group: str, topic: Words = (), partition: tuple[int, ...] = (0,)) -> Body:
    """Build an OffsetFetch body; without topics it asks for all of the group's, which v0 and v1 cannot."""
    named = [{"name": name, "partition_indexes": list(partition)} for name in topic]
    topics = named or (None if version >= 2 else [])
    one = {"group_id": group, "topics": topics}
    return {"groups": [one]} if version >= 8 else one


def find_coordinator(version: int, *, group: str | None = None, transactional_id: str | None = None) -> Body:
    if (group is None) == (transactional_id is None):
        raise InputError("a group or transactional id is missing; use --group or --transactional-id")
    name = group if group is not None else transactional_id
    kind = {"key_type": int(group is None)} if version else {}
    return kind | ({"coordinator_keys": [name]} if version >= 4 else {"key": name})


def join_group(
    version: int, *, group: str, topic: Words = (), member_id: str = "", instance_id: str | None = None,
    protocol_type: str = CONSUMER, protocol: str = "range", session_timeout_ms: int = SESSION_TIMEOUT_MS,
    rebalance_timeout_ms: int = REBALANCE_TIMEOUT_MS,
) -> Body:  # fmt: skip
    protocols = [{"name": protocol, "metadata": subscription(topic)}]
    body: Body = {
        "group_id": group, "session_timeout_ms": session_timeout_ms, "member_id": member_id,
        "protocol_type": protocol_type, "protocols": protocols,
    }  # fmt: skip
    if version:
        body["rebalance_timeout_ms"] = rebalance_timeout_ms
    return body | ({"group_instance_id": instance_id} if version >= 5 else {})


def sync_group(
    version: int, *, group: str, generation: int, member_id: str, topic: Words = (), partition: tuple[int, ...] = (0,),
    instance_id: str | None = None, protocol_type: str = CONSUMER, protocol: str = "range",
) -> Body:  # fmt: skip
    """Build a SyncGroup body; with topics, it is that of the leader of a group of one, which takes the partitions."""
    given = [{"member_id": member_id, "assignment": assignment(topic, partition)}] if topic else []
    body: Body = {"group_id": group, "generation_id": generation, "member_id": member_id, "assignments": given}
    if version >= 5:
        body |= {"protocol_type": protocol_type, "protocol_name": protocol}
    return body | ({"group_instance_id": instance_id} if version >= 3 else {})


def heartbeat(version: int, *, group: str, generation: int, member_id: str, instance_id: str | None = None) -> Body:
    body: Body = {"group_id": group, "generation_id": generation, "member_id": member_id}
    return body | ({"group_instance_id": instance_id} if version >= 3 else {})


def leave_group(version: int, *, group: str, member_id: str, instance_id: str | None = None) -> Body:
    member: Body = {"member_id": member_id}
    if version < 3:
        return {"group_id": group} | member
    return {"group_id": group, "members": [member | {"group_instance_id": instance_id}]}


def describe_groups(version: int, *, group: Words) -> Body:
    return {"groups": list(group)}


def list_groups(version: int, *, state: Words = (), type: Words = ()) -> Body:
    body: Body = {"states_filter": list(state)} if version >= 4 else {}
    return body | ({"types_filter": list(type)} if version >= 5 else {})


def sasl_handshake(version: int, *, mechanism: str = "PLAIN") -> Body:
    return {"mechanism": mechanism}


def api_versions(version: int, *, software_name: str = "kdbg", software_version: str = __version__) -> Body:
    software = {"client_software_name": software_name, "client_software_version": software_version}
    return software if version >= 3 else {}


def create_topics(
    version: int, *, topic: Words, partitions: int = 1, replication_factor: int = 1, topic_config: Pairs = (),
    timeout_ms: int = TIMEOUT_MS, validate_only: bool = False,
) -> Body:  # fmt: skip
    configs = [{"name": name, "value": value} for name, value in topic_config]
    shape = {"num_partitions": partitions, "replication_factor": replication_factor, "configs": configs}
    body: Body = {"topics": [{"name": name} | shape for name in topic], "timeout_ms": timeout_ms}
    return body | ({"validate_only": validate_only} if version else {})


def delete_topics(version: int, *, topic: Words, timeout_ms: int = TIMEOUT_MS) -> Body:
    named: Body = {"topics": [{"name": name} for name in topic]} if version >= 6 else {"topic_names": list(topic)}
    return named | {"timeout_ms": timeout_ms}


def describe_acls(
    version: int, *, resource_type: str = "any", resource_name: str | None = None, pattern_type: str = "any",
    principal: str | None = None, host: str | None = None, operation: str = "any", permission: str = "any",
) -> Body:  # fmt: skip
    """Build a DescribeAcls body: all ACLs, unless something narrows them."""
    body: Body = {
        "resource_type_filter": resource_type, "resource_name_filter": resource_name, "principal_filter": principal,
        "host_filter": host, "operation": operation, "permission_type": permission,
    }  # fmt: skip
    return body | ({"pattern_type_filter": pattern_type} if version else {})


def create_partitions(
    version: int, *, topic: Words, count: int, timeout_ms: int = TIMEOUT_MS, validate_only: bool = False
) -> Body:
    topics = [{"name": name, "count": count, "assignments": None} for name in topic]
    return {"topics": topics, "timeout_ms": timeout_ms, "validate_only": validate_only}


def elect_leaders(
    version: int, *, topic: Words = (), partition: tuple[int, ...] = (0,), election_type: str = "preferred",
    timeout_ms: int = TIMEOUT_MS,
) -> Body:  # fmt: skip
    """Build an ElectLeaders body; without topics, it is for all partitions of the cluster."""
    named = [{"topic": name, "partitions": list(partition)} for name in topic]
    body: Body = {"topic_partitions": named or None, "timeout_ms": timeout_ms}
    return body | ({"election_type": election_type} if version else {})


FORMS: dict[str, Callable[..., Body]] = {
    form.__name__.title().replace("_", ""): form
    for form in (
        produce, fetch, list_offsets, metadata, offset_commit, offset_fetch, find_coordinator, join_group, heartbeat,
        leave_group, sync_group, describe_groups, list_groups, sasl_handshake, api_versions, create_topics,
        delete_topics, describe_acls, create_partitions, elect_leaders,
    )
}  # fmt: skip
"""The APIs that have options of their own, in the order of their keys."""


def subscription(topics: Words) -> bytes:
    """Return the bytes of a ConsumerProtocolSubscription v0: what members of a consumer group tell their leader."""
    return struct.pack(">hi", 0, len(topics)) + b"".join(map(_string, topics)) + struct.pack(">i", -1)


def assignment(topics: Words, partitions: tuple[int, ...]) -> bytes:
    """Return the bytes of a ConsumerProtocolAssignment v0: these partitions of every topic, for one member."""
    numbers = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hi", 0, len(topics)) + b"".join(_string(t) + numbers for t in topics) + struct.pack(">i", -1)


def _string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    return struct.pack(">h", len(data)) + data


Partitioner = Callable[[bytes | None, Sequence[int]], int]
"""Key and partitions to the partition: Java's default is murmur2 of the key (`Utils.murmur2`; KIP-480 and KIP-794 for
records without one), librdkafka's is CRC-32 (`consistent_random`)."""
SEED, M, MASK = 0x9747B28C, 0x5BD1E995, 0xFFFFFFFF


def murmur2(data: bytes) -> int:
    """Return the 32-bit MurmurHash2 of Java's client, unsigned."""
    hashed, whole = SEED ^ len(data), len(data) & ~3
    for start in range(0, whole, 4):
        k = int.from_bytes(data[start : start + 4], "little") * M & MASK
        hashed = hashed * M & MASK ^ (k ^ k >> 24) * M & MASK
    if len(data) > whole:
        hashed = (hashed ^ int.from_bytes(data[whole:], "little")) * M & MASK
    hashed = (hashed ^ hashed >> 13) * M & MASK
    return hashed ^ hashed >> 15


def partitioner(name: str) -> Partitioner:
    """Make a partitioner of PARTITIONERS.

    Java's client takes toPositive(murmur2(key)) % partitions, librdkafka's consistent_random crc32(key) % partitions,
    where there is a key (crc32: one that is not empty), else any; round-robin takes one partition after the other.
    """
    turns = itertools.count()

    def choose(key: bytes | None, partitions: Sequence[int]) -> int:
        if name == "murmur2" and key is not None:
            place = murmur2(key) & 0x7FFFFFFF
        elif name == "crc32" and key:
            place = zlib.crc32(key)
        elif name == "round-robin":
            place = next(turns)
        else:
            return random.choice(partitions)
        return partitions[place % len(partitions)]

    return choose


PARTITIONERS = ("murmur2", "crc32", "round-robin", "random")
