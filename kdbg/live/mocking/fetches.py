"""The records that fetches of a capture brought, by partition: what a fetch at any offset is given of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

from ...protocol.wire.nodes import WireStruct
from ...protocol.wire.readings.outline import parts


class RecordedBatch(NamedTuple):
    """What a recorded answer says of a partition: its records go from offset `first` up to `last`."""

    first: int
    last: int
    said: Mapping[str, Any]


@dataclass
class RecordedLog:
    """A partition: pieces with records, the latest that was said of it without any, how far it goes."""

    pieces: list[RecordedBatch] = field(default_factory=list)
    said: Mapping[str, Any] = field(default_factory=dict)
    end: int = 0

    def at(self, offset: int) -> dict[str, Any]:
        """Return what a fetch at an offset is told: the piece that begins there or holds it, else no records."""
        fitting = [one for one in self.pieces if one.last >= offset]
        begun = [one for one in fitting if one.first <= offset]
        best = max(begun, key=lambda one: one.first, default=None)
        if best is None:  # offsets in between are those of records that are gone
            best = min(fitting, key=lambda one: one.first, default=None)
        said = dict(best.said if best is not None else self.said)
        if best is None:
            said |= {"records": None if said.get("records") is None else [], "error_code": 0}
        return said | {"high_watermark": self.end}


class FetchLog:
    """All partitions, each answer in version `version`."""

    version: int

    def __init__(self) -> None:
        self.version = 0
        self._logs: dict[tuple[Any, int], RecordedLog] = {}

    def add(self, grammar: WireStruct, body: Mapping[str, Any], names: Mapping[UUID, str], version: int) -> None:
        """Take a recorded answer."""
        self.version = version
        for part in parts(grammar)(body):
            if part.value.get("error_code"):
                continue
            log = self._logs.setdefault((names.get(part.topic, part.topic), part.partition), RecordedLog())
            log.said = part.value
            log.end = max(log.end, part.value["high_watermark"])
            ends = [span for entry in part.value.get("records") or () if (span := _span(entry)) is not None]
            if ends:
                log.pieces.append(RecordedBatch(ends[0][0], ends[-1][1], part.value))

    def at(self, topic: Any, partition: int, offset: int) -> dict[str, Any] | None:
        """Return what a fetch is told of a partition; None of one that the capture shows nothing of."""
        log = self._logs.get((topic, partition))
        return log.at(offset) if log is not None else None

    def span(self, topic: Any, partition: int) -> tuple[int, int]:
        """Return the first offset of a partition's records, and the end of its log, as far as fetches show them."""
        log = self._logs.get((topic, partition), RecordedLog())
        return min((one.first for one in log.pieces), default=log.end), log.end


def _span(entry: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the first and the last offset of an entry of a record set; None of one that was cut off."""
    if "base_offset" in entry:
        return entry["base_offset"], entry["base_offset"] + entry["last_offset_delta"]
    return (entry["offset"], entry["offset"]) if "offset" in entry else None
