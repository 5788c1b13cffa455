"""The tables: their columns and what is in them. One place; Arrow's, Spark's and Parquet's types follow from it.

All columns may be null, for Spark's readers are exact about that. Times are UTC, to the microsecond. Rows are tuples in
the order of the columns.
"""

from __future__ import annotations

STATE = "_kdbg.json"
"""The file in a folder of tables that says what they are made of."""
CAUSES = "causes"
"""The folder beside the tables with what diagnosis found, as JSON Lines."""
_WHO = {
    "capture": ("text", "the file, or what the files that one capture was rolled into have in common"),
    "connection_id": ("long", "the number of its first packet in the capture"),
    "client": ("text", "address:port"),
    "broker": ("text", "address:port"),
    "connection": ("text", "`c1` and so on, as views have it; null where captures are decoded in parts: on Spark"),
}
"""Which connection: in front of every table that tells of one."""
_WHAT = {
    "api": ("text", "its name; null where kdbg does not know it"),
    "api_key": ("short", "null also for SASL tokens without Kafka's header"),
    "api_version": ("short", "of the request's header"),
    "correlation_id": ("int", "of the request's header"),
    "client_id": ("text", "of the request's header"),
    "request_time": ("time", "of the request's first byte; of the response's where the request is missing"),
}
"""Which exchange of it."""
_NUMBER = ("long", "of the exchange, `#1` in views and `FILE#1`; null where captures are decoded in parts: on Spark")

_TIMES = {
    f"{name}_us": ("long", f"{about}; null on Spark, and where nobody knows or asks")
    for name, about in {
        "waiting": "part of the latency: waiting for earlier requests on the connection",
        "throttle": "of the latency: while a throttled client was kept waiting",
        "network": "of the latency: to the broker and back, by the handshake",
        "held": "part of the latency: long-poll wait",
        "broker": "part of the latency: broker processing and unattributed time",
        "reading": "after the latency: time the client did not read",
    }.items()
}
"""Where the time of an exchange went: the parts of `Split` by their names (kdbg/messages/latency.py)."""

_TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "exchanges": _WHO | _WHAT | {
        "response_time": ("time", "of the response's first byte"),
        "latency_us": ("long", "from the request's last byte to the response's first"),
        "request_bytes": ("long", "on the wire, the four of the size included; null where the half is missing"),
        "response_bytes": ("long", "the same of the response"),
        "request_packet": ("long", "number of its first packet in the capture"),
        "response_packet": ("long", "the same of the response"),
        "answered": ("boolean", ("false if no response is expected (acks=0); null if the response is not in "
                                 "the capture")),
        "topics": ("texts", "their names, or ids where no name is known"),
        "groups": ("texts", "the consumer groups that are named"),
        "error_codes": ("shorts", "each that is not 0, in the order of the messages"),
        "errors": ("texts", "their names"),
        "throttle_ms": ("int", "milliseconds that the broker held the client back, or asks it to wait"),
        "notes": ("texts", "as `kdbg decode` has them"),
        "number": _NUMBER,
        "late_us": ("long", "latency minus the wait that the request allows (such as max_wait_ms)"),
        "error_topics": ("texts", "topic of each error; null if none"),
        "error_partitions": ("ints", "partition of each error; null if none"),
    } | _TIMES,
    "partitions": _WHO | _WHAT | {
        "topic": ("text", "null where only the id is known"),
        "topic_id": ("text", "null where only the name is known"),
        "partition": ("int", "its number"),
        "group_id": ("text", "of a request that names one"),
        "error_code": ("short", "as answered for this partition; 0 for none, null without an answer"),
        "error": ("text", "its name"),
        "offset": ("long", "fetched from, appended at, found or committed"),
        "high_watermark": ("long", "as answered"),
        "last_stable_offset": ("long", "as answered"),
        "log_start_offset": ("long", "as answered"),
        "asked_timestamp": ("long", "milliseconds; -1 asks for the end of the log, -2 for its beginning"),
        "bytes": ("long", "of its record set"),
        "records": ("long", "how many are in it"),
        "last_offset": ("long", "of the last record in it; null in a produce request that nobody answered"),
        "codec": ("text", "of its first batch"),
    },
    "records": _WHO | _WHAT | {
        "topic": ("text", "name, or id where no name is known"),
        "partition": ("int", "its number"),
        "offset": ("long", "in a produce request by what the broker answered; null where it did not"),
        "timestamp": ("time", "of the record"),
        "key_size": ("long", "bytes; null for no key"),
        "value_size": ("long", "bytes; null for no value"),
        "key": ("bytes", "key, value and the headers' values only if asked for"),
        "value": ("bytes", "the same"),
        "headers": ("headers", "names, and values if asked for"),
        "codec": ("text", "of its batch"),
        "producer_id": ("long", "null for a producer that is not idempotent"),
        "producer_epoch": ("short", "the same"),
        "sequence": ("int", "sequence number of the record, used by the broker to detect duplicates"),
        "control": ("text", "COMMIT, ABORT and the like; null for records of clients"),
        "transactional": ("boolean", "whether it is part of a transaction"),
        "crc_ok": ("boolean", "whether its batch's checksum is right"),
    },
    "connections": _WHO | {
        "start_time": ("time", "of its first packet"),
        "end_time": ("time", "of its last packet"),
        "packets": ("long", "of both directions"),
        "bytes": ("long", "of TCP payload, repetitions included"),
        "handshake": ("boolean", "its beginning is in the capture"),
        "kafka": ("boolean", "whether the connection carries plaintext Kafka"),
        "exchanges": ("long", "that were found"),
        "client_id": ("text", "the first one named"),
        "software_name": ("text", "by ApiVersions"),
        "software_version": ("text", "by ApiVersions"),
        "mechanism": ("text", "of SASL"),
        "notes": ("texts", "findings of the connection, as sentences"),
    },
    "groups": _WHO | {
        "time": ("time", "of the request"),
        "event": ("text", "join, sync, heartbeat, leave, commit"),
        "group_id": ("text", "as the request has it"),
        "member_id": ("text", "as the request has it, or the answer for a new member"),
        "group_instance_id": ("text", "of static members"),
        "client_id": ("text", "of the request"),
        "generation_id": ("int", "or the member's epoch, in the newer protocol"),
        "protocol_type": ("text", "consumer, connect and others"),
        "protocol_name": ("text", "the assignor"),
        "leader": ("boolean", "of a join: whether this member leads the group from now on"),
        "members": ("int", "as the leader learns of them"),
        "reason": ("text", "as the member gives it"),
        "error_code": ("short", "as answered; 0 for none, null without an answer"),
        "error": ("text", "its name"),
        "duration_us": ("long", "from the request's last byte to the answer's first"),
        "number": _NUMBER,
        "member_ids": ("texts", "of a join: all members of the generation, as the leader learns of them"),
        "newcomer": ("boolean", "of a join: it came without a member id, in the newer protocols with epoch 0"),
    },
    "problems": _WHO | _WHAT | {
        "file": ("text", "of the capture, where the problem is the file's"),
        "kind": ("text", "of the finding: kdbg guide findings"),
        "severity": ("text", "error, warning, note"),
        "side": ("text", "request or response; null where it is of a connection or a file"),
        "path": ("text", "the field"),
        "offset": ("long", "of its first byte in the frame, whose first byte is that of the size"),
        "length": ("long", "bytes that it is about"),
        "text": ("text", "a sentence"),
        "number": _NUMBER,
        "old_kind": ("text", "name of the kind up to kdbg 0.1; null if it is the same"),
    },
    "files": {
        "capture": ("text", "what the files that one capture was rolled into have in common"),
        "file": ("text", "its path"),
        "size": ("long", "bytes"),
        "packets": ("long", "all of them"),
        "tcp_packets": ("long", "those of TCP"),
        "other_packets": ("long", "all others"),
        "passed_over": ("long", "of other ports than were asked for"),
        "packet_bytes": ("long", "bytes of packets, as captured"),
        "first_packet": ("long", "the number of its first packet in the capture"),
        "first_time": ("time", "of its first packet"),
        "last_time": ("time", "of its last packet"),
        "gap_us": ("long", "to the file before it in the same capture"),
        "problem": ("text", "what is wrong with it; null for nothing"),
    },
}  # fmt: skip
"""Every table's columns, each with its kind and what it says."""
TIMES = tuple(_TIMES)
"""The columns on where the time of an exchange went, which are worked out only for those who ask."""
WHO, WHAT = ({column: kind for column, (kind, _) in columns.items()} for columns in (_WHO, _WHAT))
TABLES: dict[str, dict[str, str]] = {
    table: {column: kind for column, (kind, _) in columns.items()} for table, columns in _TABLES.items()
}
"""Every table's columns with their kinds; the partition column `date` (UTC) is added when they are written."""
ABOUT: dict[str, dict[str, str]] = {
    table: {column: about for column, (_, about) in columns.items()} for table, columns in _TABLES.items()
}
"""What every column says, in a few words."""
