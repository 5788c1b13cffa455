"""OpenTelemetry's MetricsData, the protobuf that clients push (KIP-714), as a leaf of plain lists and dicts.

The library opentelemetry-proto reads it; `installed` says whether it is there. The value is what MetricsData holds,
its `resource_metrics`, with OTLP's own field names and the forms of its JSON: 64-bit integers are strings, bytes are
base64, enumerations their names.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

from ....errors import BadValue, BuildError
from ...findings.faults import FaultKind, PlainFault
from ..records.compression import compress, decompress
from .leaves import Node, Stream

LIMIT = 1 << 20
"""Plain bytes of one push: clients send some ten thousand. The worst that fit take a second and 200 MB to read."""


def installed() -> bool:
    """Return whether the library that reads OpenTelemetry's metrics is installed."""
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.proto") is not None


@dataclass(eq=False, repr=False)
class ResourceMetrics(Node):
    """All the bytes that are left: MetricsData, compressed by `codec`, one of Kafka's numbers."""

    bnf = "OTLP"
    codec: int

    def default(self) -> list[Any]:
        return []

    def _parse(self, stream: Stream, context: Any, path: str) -> list[Any]:
        from google.protobuf.json_format import Error, MessageToDict
        from google.protobuf.message import DecodeError
        from google.protobuf.unknown_fields import UnknownFieldSet
        from opentelemetry.proto.metrics.v1 import metrics_pb2

        start = stream.tell()
        plain = decompress(self.codec, stream.read(), limit=LIMIT)
        try:
            message = metrics_pb2.MetricsData.FromString(plain)
            value: dict[str, Any] = MessageToDict(message, preserving_proto_field_name=True)
        except (DecodeError, Error, RecursionError) as error:
            raise BadValue(path, start, FaultKind.NO_TELEMETRY.of(str(error)), self.bnf) from None
        if len(UnknownFieldSet(message)) or not value:
            raise BadValue(path, start, PlainFault.NO_METRICS, self.bnf)
        return list(value["resource_metrics"])

    def _build(self, value: Any, stream: Stream, context: Any, path: str) -> Any:
        from google.protobuf.json_format import ParseDict, ParseError
        from opentelemetry.proto.metrics.v1 import metrics_pb2

        try:
            message = ParseDict({"resource_metrics": value}, metrics_pb2.MetricsData())
        except (ParseError, TypeError, AttributeError) as error:
            raise BuildError(path, f"not OpenTelemetry metrics: {error}") from None
        stream.write(compress(self.codec, message.SerializeToString()))
        return value
