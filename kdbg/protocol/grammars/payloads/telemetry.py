"""The metrics that a client pushes with PushTelemetry (KIP-714): OpenTelemetry's MetricsData, perhaps compressed.

Without the library that reads them (the extra `telemetry`) they stay bytes, by their name.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from ....errors import BadValue
from ...findings.faults import FaultKind
from ...wire.language.payload import Around, PayloadForm, Readable
from ...wire.nodes import Field, RemainingBytes, WireStruct
from ...wire.nodes.otlp import ResourceMetrics, installed
from ...wire.records.compression import CODECS

PROTOBUF = Field("protobuf", RemainingBytes(), about="the metrics as they were sent, perhaps compressed")
UNREAD = PayloadForm("OpenTelemetry's MetricsData", WireStruct((PROTOBUF,), None))


NAMES = {codec: f"MetricsData {name}" if codec else "MetricsData" for codec, name in CODECS.items()}


@cache
def metrics_data(codec: int) -> PayloadForm:
    """Return the reading of MetricsData compressed with one of Kafka's codecs, given by its number."""
    metrics = Field("resource_metrics", ResourceMetrics(codec), about="metrics, by what they were measured on")
    return PayloadForm(NAMES[codec], WireStruct((metrics,), None))


def named(name: str) -> PayloadForm | None:
    """Return the reading that `metrics_data` gives this name; None where there is none, or no library to read it."""
    return next((metrics_data(codec) for codec, known in NAMES.items() if known == name and installed()), None)


@dataclass(frozen=True)
class Pushed:
    """Metrics whose message says how they are compressed."""

    codec: int

    def choose(self, data: bytes) -> PayloadForm:
        if self.codec not in CODECS:
            raise BadValue("", 0, FaultKind.UNKNOWN_CODEC.of(self.codec))
        return metrics_data(self.codec) if installed() else UNREAD


def metrics(data: bytes, around: Around) -> Iterable[Readable]:
    """Return what the metrics of a PushTelemetry request may be; nothing where its compression type was not seen."""
    codec = around.get("compression_type")
    return [] if codec is None else [Pushed(codec)]
