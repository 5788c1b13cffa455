"""What is in a capture, as the tests of redaction ask for it: exchanges, and what nobody else may see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kdbg.capture import open_capture
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.message import explain
from kdbg.exchanges.messages.payloads import open_inspection

NAMES = frozenset({
    "name", "topic", "topics", "topic_name", "topic_names", "group", "group_id", "groups", "group_ids", "groups_names",
    "member_id", "group_instance_id", "instance_id", "client_id", "client_host", "host", "host_name", "v0_host", "rack",
    "rack_id", "racks", "cluster_id", "transactional_id", "transactional_ids", "user", "authorization_id", "principal",
    "principal_name", "resource_name", "entity_name", "log_dir", "leader", "key", "coordinator_keys",
    "subscribed_topic_names", "token_id", "owner_principal_name",
})  # fmt: skip
"""Fields of names, by Kafka's own names for them."""
DATA = frozenset({
    "key", "value", "password", "auth", "auth_bytes", "token", "salt", "proof", "signature", "nonce", "hmac",
    "metadata", "salted_password", "stored_key", "server_key", "user_data", "committed_metadata",
    "error_message", "custom_metadata",
})  # fmt: skip
"""Fields of data and secrets."""
WORDS = frozenset({
    "consumer", "connect", "range", "roundrobin", "sticky", "cooperative-sticky", "uniform", "default", "user", "User",
    "__consumer_offsets", "__transaction_state", "__cluster_metadata", "__share_group_state", "__remote_log_metadata",
    "PLAINTEXT", "CONTROLLER", "client-id", "share", "streams", "SASL_PLAINTEXT", "compatible", "sessioned",
})  # fmt: skip
"""Kafka's own words, which are nobody's."""


SETTINGS = frozenset({"configs", "synonyms", "supported_features", "finalized_features", "features"})
"""What stands in these has names of settings and features, which are Kafka's own."""


class Seen(NamedTuple):
    """What a capture shows: facts of each exchange, kinds of findings, and what is nobody else's business."""

    exchanges: list[tuple[Any, ...]]
    findings: list[list[str]]
    hidden: set[bytes]
    inside: list[bytes]
    """Decompressed buffers."""


def exchanges(path: Path) -> Iterator[Exchange]:
    """Yield the exchanges of a capture, each while its names of topics are at hand."""
    engine = Engine()
    with open_capture(path) as capture:
        for exchange in engine.run(capture.blocks()):
            engine.names_then.at(exchange.names)
            yield exchange


def seen(path: Path) -> Seen:
    """Return what a capture shows."""
    facts, findings, hidden, inside = [], [], set[bytes](), list[bytes]()
    kept: list[bytes] = []
    for one in exchanges(path):
        halves = [
            half and (half.size, half.missing, half.first_packet, half.last_packet, half.first_time, half.last_time)
            for half in (one.request, one.response)
        ]
        name = one.api.name if one.api is not None else None
        facts.append((one.number, one.peers.number, name, one.version, one.correlation_id, one.latency, *halves))
        findings.append([str(finding.kind) for finding in one.all_findings()])
        for half in (one.request, one.response):
            if half is None or half.api is None:
                continue
            grammar, inspection = explain(half.api, half.version, half.direction, half.data)
            open_inspection(grammar, inspection, half.context)
            inside += [buffer.data for buffer in inspection.buffers[1:]]
            if not any(finding.kind.shifts for finding in inspection.findings):
                hidden |= set(_hidden(inspection.spans))
                kept += _kept(inspection.spans)
    return Seen(facts, findings, {one for one in hidden if not any(one in text for text in kept)}, inside)


def names(path: Path) -> list[bytes]:
    """Return the names in a capture's messages, each as often as it stands there, in their order."""
    found: list[bytes] = []
    for half in (half for one in exchanges(path) for half in (one.request, one.response)):
        if half is not None and half.api is not None:
            _, inspection = explain(half.api, half.version, half.direction, half.data)
            found += _hidden([span for span in inspection.spans if isinstance(span.value, str)])
    return found


def _kept(spans: list[Any]) -> Iterator[bytes]:
    """Yield the names of settings and features, and what clients call their software: names may be part of those."""
    for span in spans:
        is_setting = span.path.endswith(".name") and any(f"{word}[" in span.path for word in SETTINGS)
        if isinstance(span.value, str) and (is_setting or span.path.startswith("client_software")):
            yield span.value.encode()


def _hidden(spans: list[Any]) -> Iterator[bytes]:
    """Yield keys, values, names and secrets: texts and bytes of such fields, wherever they stand."""
    for span in spans:
        words = span.path.replace("]", "").replace("[", ".").split(".")
        field = next(word for word in reversed(words) if not word.isdigit()) if span.path else ""
        is_setting = field == "name" and not SETTINGS.isdisjoint(words)
        is_text = span.role == "value" and isinstance(span.value, (str, bytes))
        if is_setting or not is_text or field not in NAMES | DATA:
            continue
        data = span.value.encode("utf-8", "surrogateescape") if isinstance(span.value, str) else bytes(span.value)
        if len(data) > 3 and data.decode("utf-8", "replace") not in WORDS:
            yield data
