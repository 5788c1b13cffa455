"""The bodies of responses that reject what a request asks: what stands beside an error code, as brokers write it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from ...protocol.wire import Api
from ...protocol.wire.readings.outline import outline

BESIDE: Final[Mapping[str, Any]] = {
    "base_offset": -1, "log_append_time_ms": -1, "log_start_offset": -1, "high_watermark": -1, "generation_id": -1,
    "node_id": -1, "port": -1,
}  # fmt: skip
"""Values of fields beside an error code."""


def has_errors(api: Api, version: int, body: Mapping[str, Any]) -> bool:
    """Return whether a response has an error code other than 0."""
    return any(outline(api.at("response", version))(body)[2])


def as_rejected(body: Any) -> Any:
    """Return the body of a response with what stands beside its error codes."""
    if isinstance(body, list):
        return [as_rejected(item) for item in body]
    if not isinstance(body, Mapping):
        return body
    made = {name: as_rejected(value) for name, value in body.items()}
    return made | {name: BESIDE[name] for name in BESIDE.keys() & made.keys()} if made.get("error_code") else made


def with_partition_errors(body: dict[str, Any], codes: Mapping[Any, int]) -> None:
    """Put error codes, by topic and partition, into a Produce response, in place; an error that is there stays."""
    for topic in body.get("responses") or () if codes else ():
        name = topic.get("name", topic.get("topic_id"))
        for part in topic["partition_responses"]:
            code = codes.get((name, part["index"]))
            if code and not part["error_code"]:
                part.update(as_rejected(part | {"error_code": code}))
