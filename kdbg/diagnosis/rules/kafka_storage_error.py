"""A broker's disk fails."""

from __future__ import annotations

from ..by_error import by_error
from ..case import Rule

rule: Rule = by_error(
    "kafka-storage-error",
    "a broker's disk that fails",
    "{broker} cannot read or write topic {topic}: KAFKA_STORAGE_ERROR, {times}",
    "Look at the broker's log.dirs, its disk and its log.",
    "KIP-112",
    errors=(56,),  # KAFKA_STORAGE_ERROR
)
