"""Every scenario by the name of the file it records: a function that is given the path to write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from recording.scenarios import everyday, families, inside, internal, old, places, real, shapes, tls, trouble

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
    "real-0.8.2.2.pcap": real.kafka_0_8,
    "real-0.10.1.1.pcap": real.kafka_0_10,
    "real-2.8.2.pcap": real.kafka_2_8,
    "real-3.9.2-rebalance.pcap": real.rebalance,
    "real-4.4.0-new-group.pcap": real.new_group,
    "real-4.4.0-share-group.pcap": real.share_group,
    "real-4.4.0-transactions.pcap": real.transactions,
    "real-codecs-4.4.0.pcap": real.codecs,
    "real-errors.pcap": real.errors,
    "real-3.9.2-envelope.pcap": inside.envelope,
    "real-4.4.0-telemetry.pcap": inside.telemetry,
    "places/client.pcap": places.two_places,
    "real-4.4.0-internal-topics.pcap": internal.internal_topics,
    "real-sasl-tokens.pcap": inside.sasl_tokens,
    "real-sasl-scram.pcap": real.sasl_scram,
    "real-javascript.pcap": real.javascript,
    "real-go.pcap": real.go,
    "tls/real-tls-1.3.pcap": tls.tls_1_3,
    "tls/real-tls-1.2.pcap": tls.tls_1_2,
}
