"""The tables: their columns and what is in them. One place; Arrow's, Spark's and Parquet's types follow from it.

All columns may be null, for Spark's readers are exact about that. Times are UTC, to the microsecond. Rows are tuples in
the order of the columns.
"""

from __future__ import annotations

RUN = "run"
CAUSES, RUNS = "causes", "runs"
"""The tables beside these: what diagnosis found, and the runs of the pipeline that wrote the tables."""
STATE = "_kdbg.json"
"""The file that stood for the table of runs up to kdbg 0.1: see scale/spark/maintenance.py."""
_PARTS = "null if kdbg pipeline divided the capture, and in DataFrames of captures"
_WHO = {
    "capture": ("text", "name of the capture point: of the file, without what rotation and compression added to it"),
    "connection_id": ("long", "number of the first packet of the connection in the capture"),
    "client": ("text", "address:port"),
    "broker": ("text", "address:port"),
    "connection": ("text", f"`c1` and so on, as in the views; {_PARTS}"),
    "connection_uid": (
        "text",
        "identity of the connection: hash of capture, addresses, ports, time of the first packet",
    ),
}
"""Which connection: the first columns of every table about one."""
_WHAT = {
    "api": ("text", "name of the API; null if unknown to kdbg"),
    "api_key": ("short", "key of the API; null also for SASL tokens without a Kafka header"),
    "api_version": ("short", "version in the request header"),
    "correlation_id": ("int", "correlation id in the request header"),
    "client_id": ("text", "client id in the request header"),
    "request_time": ("time", "time of the first byte of the request, or of the response if the request is missing"),
    "exchange_uid": ("text", "identity of the exchange: connection_uid, time of its first byte, correlation id"),
}
"""Which exchange of it."""
_NUMBER = ("long", f"number of the exchange, as in `#1` and `FILE#1`; {_PARTS}")

_RUN = ("text", "name of the run of the pipeline, as in the table runs; null in `kdbg query CAPTURE`")
"""The last column of every table: the same in all rows of a run."""
KEYS: dict[str, tuple[str, ...]] = {
    "exchanges": ("exchange_uid",),
    "partitions": ("exchange_uid", "topic", "topic_id", "partition", "group_id"),
    "connections": ("connection_uid",),
    "files": ("run", "file"),
}
"""Table by table, the columns of which no two rows have the same values; rows of the other tables may be alike."""
REFERENCES = {"connection_uid": "connections", "exchange_uid": "exchanges"}
"""The columns by which tables are joined, and the table whose key each is."""

_TIMES = {
    f"{name}_us": ("long", f"{about}; null if unknown or not requested; {_PARTS}")
    for name, about in {
        "waiting": "part of the latency: waiting for earlier requests on the connection",
        "throttle": "part of the latency: throttling of the client",
        "network": "part of the latency: network round trip, measured by the TCP handshake",
        "held": "part of the latency: long-poll wait",
        "broker": "part of the latency: broker processing and unattributed time",
        "reading": "after the latency: time the client did not read",
    }.items()
}
"""Where the time of an exchange went: the parts of `Split` by their names (messages/capture_points.py)."""

_TABLES: dict[str, dict[str, tuple[str, str]]] = {
    "exchanges": _WHO | _WHAT | {
        "response_time": ("time", "time of the first byte of the response"),
        "latency_us": ("long", "from the last byte of the request to the first byte of the response"),
        "request_bytes": ("long", "bytes of the request on the wire, with its size field; null if not in the capture"),
        "response_bytes": ("long", "the same for the response"),
        "request_packet": ("long", "number of the first packet of the request in the capture"),
        "response_packet": ("long", "number of the first packet of the response in the capture"),
        "answered": ("boolean", ("false if no response is expected (acks=0); null if the response is not in "
                                 "the capture")),
        "topics": ("texts", "names of the topics, or topic ids if a name is unknown"),
        "groups": ("texts", "consumer groups in the messages"),
        "error_codes": ("shorts", "error codes other than 0, in the order of the messages"),
        "errors": ("texts", "names of the error codes"),
        "throttle_ms": ("int", "throttle time in the response, in milliseconds"),
        "notes": ("texts", "findings of the exchange, as sentences"),
        "number": _NUMBER,
        "late_us": ("long", "old name of excess_latency_us"),
        "error_topics": ("texts", "topic of each error; null if none"),
        "error_partitions": ("ints", "partition of each error; null if none"),
    } | _TIMES | {
        "excess_latency_us": ("long", "latency minus the wait that the request allows (such as max_wait_ms)"),
    },
    "partitions": _WHO | _WHAT | {
        "topic": ("text", "name of the topic; null if only its id is known"),
        "topic_id": ("text", "id of the topic; null if only its name is known"),
        "partition": ("int", "number of the partition"),
        "group_id": ("text", "group of the request, if it has one"),
        "error_code": ("short", "error code of this partition in the response; 0 for none, null without a response"),
        "error": ("text", "name of the error code"),
        "offset": ("long", "offset fetched from, appended at, found or committed"),
        "high_watermark": ("long", "high watermark in the response"),
        "last_stable_offset": ("long", "last stable offset in the response"),
        "log_start_offset": ("long", "log start offset in the response"),
        "asked_timestamp": ("long", "old name of requested_timestamp"),
        "bytes": ("long", "bytes of the record set"),
        "records": ("long", "number of records in the record set"),
        "last_offset": ("long", "offset of the last record; null in a Produce request without a response"),
        "codec": ("text", "compression codec of the first batch"),
        "requested_timestamp": ("long", "timestamp of ListOffsets, in milliseconds; -1 for the end, -2 for the start"),
    },
    "records": _WHO | _WHAT | {
        "topic": ("text", "name of the topic, or its id if the name is unknown"),
        "partition": ("int", "number of the partition"),
        "offset": ("long", "offset of the record; in a Produce request from the response, null without one"),
        "timestamp": ("time", "timestamp of the record"),
        "key_size": ("long", "bytes of the key; null without a key"),
        "value_size": ("long", "bytes of the value; null without a value"),
        "key": ("bytes", "bytes of the key, if requested"),
        "value": ("bytes", "bytes of the value, if requested"),
        "headers": ("headers", "names of the headers, and their values if requested"),
        "codec": ("text", "compression codec of the batch"),
        "producer_id": ("long", "producer id; null without idempotence"),
        "producer_epoch": ("short", "producer epoch; null without idempotence"),
        "sequence": ("int", "sequence number of the record, used by the broker to detect duplicates"),
        "control": ("text", "type of a control record, such as COMMIT or ABORT; null for records of clients"),
        "transactional": ("boolean", "whether the record is part of a transaction"),
        "crc_ok": ("boolean", "whether the checksum of the batch is correct"),
        "key_text": ("text", "deserialized key, data as JSON, if a schema or a format was given; null for bytes"),
        "value_text": ("text", "deserialized value, data as JSON, if a schema or a format was given; null for bytes"),
        "key_problem": ("text", "why the key could not be deserialized"),
        "value_problem": ("text", "why the value could not be deserialized"),
    },
    "connections": _WHO | {
        "start_time": ("time", "time of the first packet"),
        "end_time": ("time", "time of the last packet"),
        "packets": ("long", "packets of both directions"),
        "bytes": ("long", "bytes of TCP payload, with retransmissions"),
        "handshake": ("boolean", "whether the TCP handshake is in the capture"),
        "kafka": ("boolean", "whether the connection carries plaintext Kafka"),
        "exchanges": ("long", "number of exchanges"),
        "client_id": ("text", "the first client id on the connection"),
        "software_name": ("text", "client software, from ApiVersions"),
        "software_version": ("text", "client software version, from ApiVersions"),
        "mechanism": ("text", "SASL mechanism"),
        "notes": ("texts", "findings of the connection, as sentences"),
    },
    "groups": _WHO | {
        "time": ("time", "time of the request"),
        "event": ("text", "join, sync, heartbeat, leave, commit"),
        "group_id": ("text", "group id in the request"),
        "member_id": ("text", "member id in the request, or in the response for a new member"),
        "group_instance_id": ("text", "group.instance.id of a static member"),
        "client_id": ("text", "client id of the request"),
        "generation_id": ("int", "generation, or the member epoch in the KIP-848 protocol"),
        "protocol_type": ("text", "protocol type, such as consumer or connect"),
        "protocol_name": ("text", "assignor"),
        "leader": ("boolean", "of a join: whether the member is the new group leader"),
        "members": ("int", "number of members, from the response to the leader"),
        "reason": ("text", "reason in the request"),
        "error_code": ("short", "error code in the response; 0 for none, null without a response"),
        "error": ("text", "name of the error code"),
        "duration_us": ("long", "from the last byte of the request to the first byte of the response"),
        "number": _NUMBER,
        "member_ids": ("texts", "of a join: all members of the generation, from the response to the leader"),
        "newcomer": ("boolean", "old name of new_member"),
        "new_member": ("boolean", "of a join: whether the member is new (no member id, or epoch 0 in KIP-848)"),
        "exchange_uid": _WHAT["exchange_uid"],
    },
    "problems": _WHO | _WHAT | {
        "file": ("text", "path of the file, as in files, if the problem is that of the file"),
        "kind": ("text", "kind of the finding: kdbg guide findings"),
        "severity": ("text", "error, warning or note"),
        "side": ("text", "request or response; null for a connection or a file"),
        "path": ("text", "path of the field"),
        "offset": ("long", "offset of the first byte in the frame, counted from its size field"),
        "length": ("long", "number of bytes concerned"),
        "text": ("text", "the finding as a sentence"),
        "number": _NUMBER,
        "old_kind": ("text", "name of the kind up to kdbg 0.1; null if it is the same"),
    },
    "files": {
        "capture": _WHO["capture"],
        "file": ("text", "path of the file below the folder that the command line named"),
        "size": ("long", "size of the file in bytes"),
        "packets": ("long", "number of packets"),
        "tcp_packets": ("long", "number of TCP packets"),
        "other_packets": ("long", "number of other packets"),
        "passed_over": ("long", "old name of skipped_packets"),
        "packet_bytes": ("long", "bytes of packets, as captured"),
        "first_packet": ("long", "number of the first packet in the capture"),
        "first_time": ("time", "time of the first packet"),
        "last_time": ("time", "time of the last packet"),
        "gap_us": ("long", "time since the last packet of the previous file of the capture"),
        "problem": ("text", "problem of the file; null for none"),
        "skipped_packets": ("long", "number of packets on ports that were not selected"),
    },
}  # fmt: skip
"""The columns of every table, each with its kind and its meaning."""
CONTENTS = ("key", "value", "headers", "key_text", "value_text", "key_problem", "value_problem")
"""The columns of `records` that hold what users put into records."""
TIMES = tuple(_TIMES)
"""The columns on where the time of an exchange went, which are worked out only for those who ask."""
for _columns in _TABLES.values():
    _columns[RUN] = _RUN
WHO, WHAT = ({column: kind for column, (kind, _) in columns.items()} for columns in (_WHO, _WHAT))
TABLES: dict[str, dict[str, str]] = {
    table: {column: kind for column, (kind, _) in columns.items()} for table, columns in _TABLES.items()
}
"""Every table's columns with their kinds; the partition column `date` (UTC) is added when they are written."""
ABOUT: dict[str, dict[str, str]] = {
    table: {column: about for column, (_, about) in columns.items()} for table, columns in _TABLES.items()
}
"""The meaning of every column."""
