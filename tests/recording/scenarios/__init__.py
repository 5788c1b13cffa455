"""Every scenario by the name of the file it records: a function that is given the path to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recording.scenarios import everyday, families, old, shapes, trouble

Scenario = Callable[[Path], None]

MTU_1500 = {"segmented-lossy.pcap", "midstream.pcap"}  # the others send segments of up to 64 KB, as loopback does

SCENARIOS: dict[str, Scenario] = {
    "first-contact.pcap": everyday.first_contact,
    "codecs.pcap": everyday.codecs,
    "old-versions.pcap": old.old_versions,
    "errors.pcap": trouble.errors,
    "group-rebalance.pcap": everyday.group_rebalance,
    "transactions.pcap": everyday.transactions,
    "pipelined-acks0.pcap": everyday.pipelined_acks0,
    "kafka-python.pcap": families.kafka_python,
    "aiokafka.pcap": families.aiokafka,
    "nanosecond.pcapng": shapes.nanosecond,
    "segmented-lossy.pcap": shapes.segmented_lossy,
    "midstream.pcap": shapes.midstream,
    "sasl-plain-raw.pcap": old.sasl_plain_raw,
    "controlled-shutdown.pcap": trouble.controlled_shutdown,
}
