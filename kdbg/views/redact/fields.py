"""What the texts and bytes in messages hold, by the names of their fields: the registry that redaction goes by.

A field that is not listed here holds a name, if it is text, and else a value: both are replaced. So a field that is
added to a grammar, or comes from a definition that kdbg was given, never stays by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto

from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire.nodes import Node, Sized


class Holds(Enum):
    """What a field holds, and so what becomes of it."""

    NAME = auto()
    """A name: of a topic, a group, a member, a user, a client, a host. It gets a pseudonym, if names are told apart."""
    VALUE = auto()
    """Somebody's data, a secret, a sentence: blank, of the same length."""
    WORD = auto()
    """A word of Kafka's own, kept if it is one of `WORDS`; any other is a name."""
    SETTING = auto()
    """The key of a setting or quota, kept if it looks like Kafka's: `retention.ms`."""
    JSON = auto()
    """JSON, of which texts are blank and keys stay."""
    SOFTWARE = auto()
    """What software calls itself and its version, kept if it is what brokers accept (KIP-511)."""
    MARK = auto()
    """A mark in a SASL message, kept if it is one that the RFCs name."""


WORDS = frozenset({
    # protocol types, assignors and what Connect calls its protocols
    "consumer", "connect", "share", "streams", "classic", "range", "roundrobin", "sticky", "cooperative-sticky",
    "uniform", "stream", "default", "compatible", "sessioned",
    # states of groups, of transactions, kinds of entities and principals
    "Unknown", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty", "Assigning", "Reconciling",
    "NotReady", "AwaitingSync", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort",
    "PrepareEpochFence", "user", "client-id", "ip", "User", "Group",
    # listeners and SASL mechanisms
    "PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", "CONTROLLER", "BROKER", "INTERNAL", "EXTERNAL", "REPLICATION",
    "CLIENT", "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI",
    # features
    "metadata.version", "kraft.version", "transaction.version", "group.version", "eligible.leader.replicas.version",
    "share.version", "streams.version",
})  # fmt: skip
SETTING = re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)+")
"""What Kafka's settings and quotas look like."""
PATTERNS = {
    Holds.SETTING: SETTING,
    Holds.SOFTWARE: re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?"),
    Holds.MARK: re.compile(
        r"[ny]|biws|eSws|true|[0-9]{4,6}|p=(?:tls-unique|tls-server-end-point|tls-exporter)|(?:invalid-encoding|"
        r"extensions-not-supported|invalid-proof|channel-bindings-dont-match|server-does-support-channel-binding|"
        r"channel-binding-not-supported|unsupported-channel-binding-type|unknown-user|invalid-username-encoding|"
        r"no-resources|other-error)"
    ),
}
"""What is kept of such a field: for marks channel bindings, rounds and errors (RFC 5802, RFC 9266)."""
EVERYWHERE = frozenset({"", "*", *TOPICS})
"""Texts that are kept in any field: nothing, any, and the names of Kafka's own topics, by which records are read."""

FIELDS: Mapping[str, Holds] = {
    # the last words of a field's path; those with more words come first
    "configs.name": Holds.SETTING, "synonyms.name": Holds.SETTING,
    "topic_configs.key": Holds.SETTING, "ops.key": Holds.SETTING, "values.key": Holds.SETTING,
    "configuration_keys": Holds.SETTING, "last_assignment_configs.key": Holds.SETTING,
    "requested_metrics": Holds.SETTING,
    "protocols.name": Holds.WORD, "assignors.name": Holds.WORD, "client_assignors.name": Holds.WORD,
    "supported_protocols.name": Holds.WORD, "features.name": Holds.WORD, "finalized_features.name": Holds.WORD,
    "supported_features.name": Holds.WORD, "listeners.name": Holds.WORD, "end_points.name": Holds.WORD,
    "endpoints.name": Holds.WORD, "leader_endpoints.name": Holds.WORD, "value.name": Holds.WORD,
    "request_principal.type": Holds.WORD,
    "protocol": Holds.WORD, "protocol_name": Holds.WORD, "protocol_type": Holds.WORD, "protocol_data": Holds.WORD,
    "assignor_name": Holds.WORD, "server_assignor": Holds.WORD, "feature": Holds.WORD, "listener": Holds.WORD,
    "mechanism": Holds.WORD, "mechanisms": Holds.WORD, "entity_type": Holds.WORD, "group_state": Holds.WORD,
    "group_type": Holds.WORD, "states_filter": Holds.WORD, "state_filters": Holds.WORD, "types_filter": Holds.WORD,
    "unknown_state_filters": Holds.WORD, "transaction_state": Holds.WORD, "principal_type": Holds.WORD,
    "owner_principal_type": Holds.WORD, "token_requester_principal_type": Holds.WORD,
    "client_software_name": Holds.SOFTWARE, "client_software_version": Holds.SOFTWARE,
    "channel_binding": Holds.MARK, "tokenauth": Holds.MARK, "iterations": Holds.MARK, "auth_bytes.error": Holds.MARK,
    "token.error": Holds.MARK,
    "acknowledge_error_message": Holds.VALUE, "batch_index_error_message": Holds.VALUE, "error_message": Holds.VALUE,
    "documentation": Holds.VALUE, "reason": Holds.VALUE, "status_detail": Holds.VALUE, "json": Holds.JSON,
    "committed_metadata": Holds.VALUE, "metadata": Holds.VALUE, "configs.value": Holds.VALUE,
    "synonyms.value": Holds.VALUE, "topic_configs.value": Holds.VALUE, "last_assignment_configs.value": Holds.VALUE,
    "client_tags.value": Holds.VALUE, "nonce": Holds.VALUE, "headers.value": Holds.VALUE, "subscribed_topic_regex":
    Holds.VALUE, "source_topic_regex": Holds.VALUE, "regular_expression": Holds.VALUE,
    "transactional_id_pattern": Holds.VALUE,
}  # fmt: skip
_INDEX = re.compile(r"\[\d+\]")


def holds(path: str, node: Node) -> Holds:
    """Return what the field at a path holds."""
    if not isinstance(node, Sized) or not node.text or node.kind == "secret":
        return Holds.VALUE
    if node.kind in ("topic", "group"):
        return Holds.NAME
    words = _INDEX.sub("", path).split(".")
    found = FIELDS.get(".".join(words[-2:])) or FIELDS.get(words[-1])
    return Holds.NAME if found is None else found


def is_kept(held: Holds, text: str) -> bool:
    """Return whether a text may stay as it is in a field that holds this."""
    if text in EVERYWHERE:
        return True
    if held is Holds.WORD:
        return all(word in WORDS for word in text.split(","))
    pattern = PATTERNS.get(held)
    return pattern is not None and pattern.fullmatch(text) is not None
