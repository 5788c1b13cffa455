"""A message made fit to be shared: its bytes go in, as many come out, which every view shows the same exchange for.

Names, values and secrets are replaced where they stand, in records and in payloads too. What was compressed is
compressed again to the same size, checksums are made to fit; one that did not fit before does not fit afterwards.

What a field holds is known by its name. A field that is not listed here holds a name, if it is text, and else a value:
both are replaced. So a field that is added to a grammar, or comes from a definition that kdbg was given, never stays
by mistake.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from functools import partial
from typing import NamedTuple

from ...exchanges.messages.exchange import CapturedMessage
from ...exchanges.messages.message import carries_secrets, explain
from ...exchanges.messages.payloads import open_inspection
from ...protocol.findings import Kind
from ...protocol.findings.quirks import is_spare
from ...protocol.grammars.payloads import TOPICS
from ...protocol.wire.nodes import Fixed, Node, RemainingBytes, Sized, Varint
from ...protocol.wire.nodes.leaves import UuidNode
from ...protocol.wire.nodes.sasl_tokens import DerLength, ObjectId
from ...protocol.wire.readings.inspection import Inspection, Span
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, crc32, crc32c
from .fill import Effort, Plain, refill
from .packets import TEXT
from .substitutes import BLANK, Replaced, Substitutes, blank

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
PREAMBLE = 17
"""Bytes of an entry that is cut off which say that it is one: offset, length, epoch or CRC, magic."""
MAGIC = 16
LENGTH = 5
"""Bytes of the longest length in front of a text."""
FEW = 8
"""Bytes left over after a message up to which it is taken to be read rightly: some clients send spare ones."""
JSON_TOKEN = re.compile(rb'"(?P<text>(?:[^"\\]|\\.)*)"(?P<key>\s*:)?|[{}\[\],\s]+|true|false|null', re.DOTALL)
JSON_KEYS = frozenset({b"status", b"scope", b"openid-configuration"})
"""Keys of the error that a broker sends for a token (RFC 7628)."""
JSON_NUMBER = re.compile(rb"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
PLAIN = (Fixed, Varint, UuidNode, DerLength, ObjectId)
"""Numbers and ids, which stay."""
HEADER = frozenset({"api_key", "api_version", "correlation_id", "client_id"})
STRUCTURE = frozenset({
    "base_offset", "batch_length", "partition_leader_epoch", "magic", "crc", "attributes", "last_offset_delta",
    "base_timestamp", "max_timestamp", "producer_id", "producer_epoch", "base_sequence", "records_count", "offset",
    "message_size", "timestamp",
})  # fmt: skip
"""The fields of a batch or message that stay where the records after them cannot be read."""
CORRELATION_ID = 4
SIZE_FIELDS = {"batch_length": ("base_offset", crc32c), "message_size": ("offset", crc32)}
"""The field that says how long an entry is; the first field of such an entry, and what its checksum is made by."""
PREFIX = 12
"""Bytes in front of what that length counts."""


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


class Edit(NamedTuple):
    """Bytes in place of those from `start` to `end` of a buffer, as many; `free`: any other bytes would do as well.

    `kind` is what was replaced; None for a text that stays.
    """

    buffer: int
    start: int
    end: int
    data: bytes
    free: bool = False
    kind: Replaced | None = Replaced.VALUE


def edits(inspection: Inspection, made: Substitutes, secret: bool, cut: bool) -> Iterator[Edit]:
    """Yield what is replaced. `secret`: its grammar may hold some; `cut`: the capture lacks the message's end."""
    for finding in inspection.findings:  # fields may not be what their names say, for a wrong length has moved them
        harmless = finding.kind in (Kind.TRAILING_BYTES, Kind.UNEXPECTED_NULL) and finding.length <= FEW
        if finding.kind.shifts and not (cut and finding.kind.cut) and (secret or not harmless):
            yield from _all_but_header(inspection, made)
            return
    sets = {span.path for span in inspection.spans if isinstance(span.node, RecordsNode)}
    unreadable = (Kind.MALFORMED_RECORD_SET, Kind.DECOMPRESSION_FAILED)
    broken = [finding.path for finding in inspection.findings if finding.kind in unreadable]
    spoilt = tuple({  # batches and messages whose records cannot be read: their bytes may have moved as well
        f"{path[: path.find(']', len(records)) + 1]}."
        for path in broken for records in sets if path.startswith(f"{records}[")
    })  # fmt: skip
    for span in inspection.spans:
        if span.path.startswith(spoilt) and span.path.rpartition(".")[2] not in STRUCTURE:
            yield _blanked(span)
        elif span.role == "raw":
            if span.type != "COMPRESSED":
                yield _blanked(span, _kept(span, inspection))
        elif span.role == "value" and span.value is not None and not isinstance(span.node, PLAIN):
            yield _replaced(span, made)


def _kept(span: Span, inspection: Inspection) -> int:
    """Return the bytes that stay of some that no field claims: what says that an entry, or a field, was cut off."""
    broken = inspection.broken
    if any(is_spare(one) and one.start == span.start and not span.buffer for one in inspection.findings):
        return span.end - span.start  # a known pattern of zeros and ones
    if broken is not None and span.path == broken.path and not span.buffer:
        kept = min(max(broken.start - span.start, 0), LENGTH)
        return 0 if TEXT.search(inspection.buffers[span.buffer].data, span.start, span.start + kept) else kept
    records, _, number = span.path.rpartition("[")
    if number[:-1].isdigit():  # it may stand in a batch that was cut off, after what is whole of it
        batch = f"{records}[{int(number[:-1]) - 1}].batch_length"
        lengths = [one for one in inspection.spans if one.path == batch and one.buffer == span.buffer]
        if any(one.end + one.value > span.start for one in lengths):
            return 0
    is_told = any(one.path == span.path and one.start == span.start for one in inspection.findings)
    front = inspection.buffers[span.buffer].data[span.start : min(span.start + PREAMBLE, span.end)]
    if not span.path.endswith("]") or is_told or len(front) < PREAMBLE:
        return 0
    begins = front[MAGIC] <= 2 and not (front[0] or front[8])  # an entry, by its magic, offset and length
    return PREAMBLE if begins and not TEXT.search(front) else 0


def _all_but_header(inspection: Inspection, made: Substitutes) -> Iterator[Edit]:
    """Yield the edits that leave nothing of a message but its header; of that, the client id is replaced as ever."""
    start = 0
    for span in inspection.spans:
        if span.buffer or span.path not in HEADER:
            break
        start = span.start + _kept(span, inspection) if span.role == "raw" else span.end
        if isinstance(span.node, Sized) and span.value:
            yield _replaced(span, made)
    size = len(inspection.buffers[0].data) - start
    yield Edit(0, start, start + size, blank(size), kind=Replaced.OTHER)


def _blanked(span: Span, kept: int = 0) -> Edit:
    start = min(span.start + kept, span.end)
    return Edit(span.buffer, start, span.end, blank(span.end - start))


def _replaced(span: Span, made: Substitutes) -> Edit:
    """Return the edit of a text or of bytes; their length in front of them stays."""
    node, value = span.node, span.value
    if not isinstance(node, (Sized, RemainingBytes)):
        return _blanked(span)
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
    new, free, held = blank(len(data)), False, holds(span.path, node)
    kind: Replaced | None = Replaced.VALUE
    if node.kind == "address" and len(data) in (4, 16):
        new = made.address(data)
    elif held is Holds.JSON:
        new = _json_blanked(data)
    elif held is Holds.VALUE:
        free, kind = not node.kind, Replaced.SECRET if node.kind == "secret" else Replaced.VALUE
    elif is_kept(held, str(value)):
        new, kind = data, None
    else:
        new, kind = made.name(str(value)), Replaced.NAME
    return Edit(span.buffer, span.end - len(data), span.end, new, free, kind)


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


class Redacted(NamedTuple):
    """The bytes in place of a message's; `lost` counts compressed batches that could not be compressed as far."""

    data: bytes
    lost: int


def redact(half: CapturedMessage, made: Substitutes, effort: Effort) -> Redacted:
    """Return the bytes in place of a captured message's, without its size."""
    if half.api is None:
        kept = min(CORRELATION_ID, len(half.data))
        made.replaced.add(half.data[kept:], Replaced.OTHER)
        return Redacted(half.data[:kept] + blank(len(half.data) - kept), 0)
    grammar, inspection = explain(half.api, half.version, half.direction, half.data)
    open_inspection(grammar, inspection, half.context)
    found = list(edits(inspection, made, carries_secrets(grammar), bool(half.missing)))
    return MessageEdits(inspection, found, made, effort).folded()


class MessageEdits:
    """The buffers of a message with their edits made; from the innermost out, each is packed into the one around it."""

    def __init__(self, inspection: Inspection, found: list[Edit], made: Substitutes, effort: Effort) -> None:
        self.effort = effort
        self.old = [buffer.data for buffer in inspection.buffers]
        self.new = [bytearray(data) for data in self.old]
        self.names = [buffer.name for buffer in inspection.buffers]
        self.rooms: list[list[tuple[int, int]]] = [[] for _ in self.old]
        for buffer, start, end, data, free, kind in found:
            old = self.old[buffer][start:end]
            made.replaced.keep(old) if kind is None else made.replaced.add(old, kind)
            self.new[buffer][start:end] = data
            if free:
                self.rooms[buffer].append((start, end))
        self.spans = {span.path: span for span in inspection.spans}
        self.checksums: list[list[tuple[int, int, int, Callable[[bytes], int]]]] = [[] for _ in self.old]
        """By buffer, where checksums stand, what they cover, and the function that makes them."""
        for span in inspection.spans:
            path, _, name = span.path.rpartition(".")
            if name in SIZE_FIELDS:
                first, proves = SIZE_FIELDS[name]
                begins, crc = self._field(path, first), self._field(path, "crc")
                if begins is not None and crc is not None:
                    end = min(begins.start + PREFIX + span.value, len(self.old[span.buffer]))
                    self.checksums[span.buffer].append((crc.start, crc.end, end, proves))
        self.lost = 0

    def folded(self) -> Redacted:
        """Return the message as bytes again."""
        for buffer in range(len(self.new) - 1, 0, -1):
            self._prove(buffer, self.new[buffer])
            self._pack(buffer)
        self._prove(0, self.new[0])
        return Redacted(bytes(self.new[0]), self.lost)

    def _pack(self, buffer: int) -> None:
        """Compress a buffer into its place, to the size that it had; where that cannot be, the place becomes blank."""
        path = self.names[buffer].removesuffix(".records")
        place = self._field(path, "compressed_records") or self._field(path, "value")
        attributes, magic = self._field(path, "attributes"), self._field(path, "magic")
        if place is None or attributes is None or magic is None:
            return
        is_field = place.type != "COMPRESSED"
        start, end = place.end - len(place.value) if is_field else place.start, place.end
        old = self.old[place.buffer][start:end]
        plain = Plain(bytes(self.new[buffer]), sorted(self.rooms[buffer]), partial(self._prove, buffer))
        packed = None
        if plain.data == self.old[buffer]:
            packed = old
        elif is_field or self.new[place.buffer][start:end].strip(BLANK):  # else it was blanked as it is
            packed = refill(attributes.value & CODEC_MASK, plain, old, magic.value, self.effort)
            self.lost += packed is None
        self.new[place.buffer][start:end] = blank(len(old)) if packed is None else packed

    def _field(self, path: str, name: str) -> Span | None:
        return self.spans.get(f"{path}.{name}")

    def _prove(self, buffer: int, new: bytearray) -> None:
        """Write the checksums of the entries in a buffer, into `new`, its new bytes."""
        old = self.old[buffer]
        for crc, start, end, proves in self.checksums[buffer]:
            wrong = int.from_bytes(old[crc : crc + 4], "big") ^ proves(old[start:end])
            new[crc : crc + 4] = struct.pack(">I", wrong ^ proves(bytes(new[start:end])))
