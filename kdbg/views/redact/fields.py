"""What a field of a message holds, and its substitute.

The name of the field decides. A field that is not listed here holds a name, if it is text, and else a value: both are
replaced. So a field that is added to a grammar, or comes from a definition that kdbg was given, never stays by mistake.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple

from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire.nodes import Fixed, Node, RemainingBytes, Sized, Varint
from ...protocol.wire.nodes.leaves import UuidNode
from ...protocol.wire.nodes.sasl_tokens import DerLength, ObjectId
from .substitutes import Replaced, Substitutes, blank

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
EVERYWHERE = frozenset({"", "*", *TOPICS})
"""Texts that are kept in any field: nothing, any, and the names of Kafka's own topics, by which records are read."""
_INDEX = re.compile(r"\[\d+\]")
JSON_TOKEN = re.compile(rb'"(?P<text>(?:[^"\\]|\\.)*)"(?P<key>\s*:)?|[{}\[\],\s]+|true|false|null', re.DOTALL)
JSON_KEYS = frozenset({b"status", b"scope", b"openid-configuration"})
"""Keys of the error that a broker sends for a token (RFC 7628)."""
JSON_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = (Fixed, Varint, UuidNode, DerLength, ObjectId)
"""Numbers and ids, which stay."""


class Holds(Enum):
    """What a field holds, and so what becomes of it."""

    NAME = auto()
    """A name: of a topic, a group, a member, a user, a client, a host. It gets a pseudonym with `--names`."""
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


PATTERNS = {
    Holds.SETTING: re.compile(r"[a-z][a-z0-9]*([._-][a-z0-9]+)+"),
    Holds.SOFTWARE: re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?"),
    Holds.MARK: re.compile(
        r"[ny]|biws|eSws|true|[0-9]{4,6}|p=(?:tls-unique|tls-server-end-point|tls-exporter)|(?:invalid-encoding|"
        r"extensions-not-supported|invalid-proof|channel-bindings-dont-match|server-does-support-channel-binding|"
        r"channel-binding-not-supported|unsupported-channel-binding-type|unknown-user|invalid-username-encoding|"
        r"no-resources|other-error)"
    ),
}
"""What is kept of such a field: for marks channel bindings, rounds and errors (RFC 5802, RFC 9266)."""

FIELDS: Mapping[str, Holds] = {
    # the last words of a field's path; those with more words come first
    name: held
    for held, names in {
        Holds.SETTING: (
            "configs.name synonyms.name topic_configs.key ops.key values.key configuration_keys "
            "last_assignment_configs.key requested_metrics"
        ),
        Holds.WORD: (
            "protocols.name assignors.name client_assignors.name supported_protocols.name features.name "
            "finalized_features.name supported_features.name listeners.name end_points.name endpoints.name "
            "leader_endpoints.name value.name request_principal.type protocol protocol_name protocol_type "
            "protocol_data assignor_name server_assignor feature listener mechanism mechanisms entity_type "
            "group_state group_type states_filter state_filters types_filter unknown_state_filters transaction_state "
            "principal_type owner_principal_type token_requester_principal_type"
        ),
        Holds.SOFTWARE: "client_software_name client_software_version",
        Holds.MARK: "channel_binding tokenauth iterations auth_bytes.error token.error",
        Holds.VALUE: (
            "acknowledge_error_message batch_index_error_message error_message documentation reason status_detail "
            "committed_metadata metadata configs.value synonyms.value topic_configs.value "
            "last_assignment_configs.value client_tags.value nonce headers.value subscribed_topic_regex "
            "source_topic_regex regular_expression transactional_id_pattern"
        ),
        Holds.JSON: "json",
    }.items()
    for name in names.split()
}


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


class Content(NamedTuple):
    """The content of a field. `free`: other bytes of the same length would be valid as well."""

    held: Holds
    secret: bool
    address: bool
    free: bool


def content_of(path: str, node: Sized | RemainingBytes) -> Content:
    """Return the content of the field at a path."""
    held = holds(path, node)
    return Content(held, node.kind == "secret", node.kind == "address", held is Holds.VALUE and not node.kind)


def substitute(content: Content, data: bytes, made: Substitutes) -> tuple[bytes, Replaced | None]:
    """Return the substitute of a field's bytes, and the kind of what was replaced; None for a text that stays."""
    held = content.held
    if content.address and len(data) in (4, 16):
        return made.address(data), Replaced.VALUE
    if held is Holds.VALUE:
        return blank(len(data)), Replaced.SECRET if content.secret else Replaced.VALUE
    if held is Holds.JSON:
        return _json_blanked(data), Replaced.VALUE
    text = data.decode("utf-8", "surrogateescape")
    return (data, None) if is_kept(held, text) else (made.name(text), Replaced.NAME)


def _json_blanked(data: bytes) -> bytes:
    """Return JSON without its texts, numbers and unknown keys; what is no JSON is blank from there on."""
    made, place = b"", 0
    while (found := JSON_TOKEN.match(data, place)) is not None and found.end() > place:
        text, token = found["text"], found[0]
        is_known = text is None or (found["key"] is not None and text in JSON_KEYS)
        made += token if is_known else b'"' + blank(len(text)) + token[len(text) + 1 :]
        place = found.end()
        if number := JSON_NUMBER.match(data, place):
            made += b"1" * len(number[0])
            place = number.end()
    return made + blank(len(data) - place)
