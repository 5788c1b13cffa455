"""The tables: their columns and what is in them. One place; Arrow's, Spark's and Parquet's types follow from it.

All columns may be null, for Spark's readers are exact about that. Times are UTC, to the microsecond. Rows are tuples in
the order of the columns.
"""

from __future__ import annotations

WHO = {
    "capture": "text",  # the file, or what the files that one capture was rolled into have in common
    "connection_id": "long",  # the number of its first packet in the capture
    "client": "text",  # address:port
    "broker": "text",
}
"""Which connection: in front of every table that tells of one."""
WHAT = {
    "api": "text",
    "api_key": "short",
    "api_version": "short",
    "correlation_id": "int",
    "client_id": "text",
    "request_time": "time",  # of the request's first byte; of the response's where the request is missing
}
"""Which exchange of it."""

TABLES: dict[str, dict[str, str]] = {
    "exchanges": WHO | WHAT | {
        "response_time": "time",  # of the response's first byte
        "latency_us": "long",  # from the request's last byte to the response's first
        "request_bytes": "long",  # on the wire, the four of the size included; null where the half is missing
        "response_bytes": "long",
        "request_packet": "long",  # number of its first packet in the capture
        "response_packet": "long",
        "answered": "boolean",  # false for what wants no answer (acks=0), null where the answer was not seen
        "topics": "texts",
        "groups": "texts",
        "error_codes": "shorts",  # each that is not 0, in the order of the messages
        "errors": "texts",  # their names
        "throttle_ms": "int",
        "notes": "texts",  # as `kdbg decode` has them
    },
    "partitions": WHO | WHAT | {
        "topic": "text",  # null where only the id is known
        "topic_id": "text",
        "partition": "int",
        "group_id": "text",
        "error_code": "short",
        "error": "text",
        "offset": "long",  # fetched from, appended at, found or committed
        "high_watermark": "long",
        "last_stable_offset": "long",
        "log_start_offset": "long",
        "asked_timestamp": "long",  # milliseconds; -1 asks for the end of the log, -2 for its beginning
        "bytes": "long",  # of its record set
        "records": "long",
        "last_offset": "long",  # of the last record in it; null in a produce request that nobody answered
        "codec": "text",
    },
    "records": WHO | WHAT | {
        "topic": "text",
        "partition": "int",
        "offset": "long",
        "timestamp": "time",
        "key_size": "long",
        "value_size": "long",
        "key": "bytes",  # key, value and the headers' values only if asked for
        "value": "bytes",
        "headers": "headers",
        "codec": "text",
        "producer_id": "long",
        "producer_epoch": "short",
        "sequence": "int",
        "control": "text",
        "transactional": "boolean",
        "crc_ok": "boolean",
    },
    "connections": WHO | {
        "start_time": "time",
        "end_time": "time",
        "packets": "long",
        "bytes": "long",  # of TCP payload, repetitions included
        "handshake": "boolean",  # its beginning is in the capture
        "kafka": "boolean",
        "exchanges": "long",
        "client_id": "text",
        "software_name": "text",
        "software_version": "text",
        "mechanism": "text",
        "notes": "texts",
    },
    "groups": WHO | {
        "time": "time",
        "event": "text",  # join, sync, heartbeat, leave, commit
        "group_id": "text",
        "member_id": "text",
        "group_instance_id": "text",
        "client_id": "text",
        "generation_id": "int",  # or the member's epoch, in the newer protocol
        "protocol_type": "text",
        "protocol_name": "text",
        "leader": "boolean",
        "members": "int",  # as the leader learns of them
        "reason": "text",
        "error_code": "short",
        "error": "text",
        "duration_us": "long",
    },
    "problems": WHO | WHAT | {
        "file": "text",
        "kind": "text",
        "severity": "text",  # error, warning, note
        "side": "text",  # request or response; null where it is of a connection or a file
        "path": "text",  # the field
        "offset": "long",  # of its first byte, from the first of the message's header on
        "length": "long",
        "text": "text",
    },
    "files": {
        "capture": "text",
        "file": "text",
        "size": "long",
        "packets": "long",
        "tcp_packets": "long",
        "other_packets": "long",
        "passed_over": "long",  # of other ports than were asked for
        "packet_bytes": "long",
        "first_packet": "long",  # the number of its first packet in the capture
        "first_time": "time",
        "last_time": "time",
        "gap_us": "long",  # to the file before it in the same capture
        "problem": "text",
    },
}  # fmt: skip
"""Every table's columns; the partition column `date` (UTC) is added when they are written."""
