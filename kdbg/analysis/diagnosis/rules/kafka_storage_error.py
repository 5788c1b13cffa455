"""A broker's disk fails."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "kafka-storage-error",
    "broker storage failure",
    "broker {broker} cannot read or write topic {topic}: KAFKA_STORAGE_ERROR, {times}",
    "Check log.dirs, the disks and the server log of broker {broker}.",
    "KIP-112",
    errors=(56,),  # KAFKA_STORAGE_ERROR
)
