"""The records of a record set as payloads: those of Kafka's own topics, and the control records of any topic.

In a topic whose records may hold secrets, what cannot be read is sealed, and so are compressed bytes with secrets in
them: what is hidden in a record must not be seen beside it.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from ...errors import WireError
from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, InPayload, KnownQuirk, Stopped
from ...protocol.findings.faults import Fault
from ...protocol.grammars.payloads import CONTROL as CONTROL_RECORDS
from ...protocol.grammars.payloads import SECRETIVE, TOPICS, may_be_secretive
from ...protocol.wire.language.payload import Holding, OpenedPayload, PayloadForm, Readable, RecordPayloads, Sealed
from ...protocol.wire.nodes import Node, RemainingBytes, Sized, WireStruct, children, join
from ...protocol.wire.readings.compiled import read_whole
from ...protocol.wire.readings.outline import learn
from ...protocol.wire.readings.secrets import has_secrets, without_tags
from ...protocol.wire.records import RecordsNode
from ...protocol.wire.records.sets import CODEC_MASK, CONTROL
from .message import Context, Message, explain, is_suspicious, quirk_facts
from .secrets import FRAME, is_metadata

if TYPE_CHECKING:
    from ...protocol.wire.readings.annotate import Inspection


METADATA = TOPICS[SECRETIVE]


def open_records(opener: Opener, entries: Any, place: ValuePath) -> Any:
    """Go through a record set, which is changed in place."""
    topic = opener.topic
    if isinstance(topic, UUID):
        topic = opener.context.topics.get(topic, topic)
    kinds = TOPICS.get(topic)
    unsure = topic is None or (kinds is None and may_be_secretive(topic))
    for i, entry in enumerate(entries or ()):
        chosen = kinds
        if unsure:  # records that no topic tells may be those of the KRaft log, and so may compressed ones left unread
            unread = entry.get("raw_records") or entry.get("raw") or entry.get("partial") or b""
            lost = "compressed_records" in entry and "records" not in entry
            chosen = METADATA if lost or is_metadata(unread) or tells_metadata(entry) else None
        if entry.get("magic") == 2 and entry["attributes"] & CONTROL:  # one bit of it may be wrong
            chosen = CONTROL_RECORDS._replace(secret=chosen is not None and chosen.secret)
        if chosen is not None:
            _open_entry(opener, chosen, entry, f"{path_of(place)}[{i}]")
    return entries


def tells_metadata(entry: dict[str, Any]) -> bool:
    """Return whether a record of a batch, or of a message, has no key, and a value as those of the KRaft log have."""
    values = [one.get("value") for one in entry.get("records") or () if not one.get("key")]
    return any(isinstance(value, bytes) and FRAME.match(value) is not None for value in values)


def _open_entry(opener: Opener, kinds: RecordPayloads, entry: dict[str, Any], path: str) -> None:
    """Open the payloads of one batch, or of one message and those inside it; change `entry` in place."""
    outside, opener.secret = opener.secret, False
    for i, record in enumerate(entry.get("records") or ()):
        opened = _open_record if entry.get("magic") == 2 else _open_entry
        opened(opener, kinds, record, f"{path}.records[{i}]")
    if "key" in entry and "records" not in entry:
        _open_record(opener, kinds, entry, path)
    if kinds.secret:  # what was left unread, and the compressed form of what has secrets or was left unread itself
        compressed = "compressed_records" if entry.get("magic") == 2 else "value"
        if opener.secret or "records" not in entry:
            _seal_one(opener, entry, compressed, f"{path}.{compressed}")
        if "records" not in entry and (entry.get("magic") == 2 or entry.get("attributes", 0) & CODEC_MASK):
            opener.seal(b"", f"{path}.records")  # of what is inside a hexdump would tell
        for name, place in (("partial", path), ("raw", path), ("raw_records", f"{path}.records")):
            _seal_one(opener, entry, name, place)
    opener.secret = outside or opener.secret


def _open_record(opener: Opener, kinds: RecordPayloads, record: dict[str, Any], path: str) -> None:
    """Open key and value of one record, in place; the key says what the value is."""
    opener.around.append(record)
    for name, holding in (("key", kinds.key), ("value", kinds.value)):
        if record.get(name):
            record[name] = opener.open(holding, record[name], join(path, name), secret=kinds.secret)
    for i, header in enumerate((kinds.secret and record.get("headers")) or ()):  # which none of Kafka's own has
        _seal_one(opener, header, "value", f"{path}.headers[{i}]")
    opener.around.pop()


def _seal_one(opener: Opener, entry: dict[str, Any], name: str, place: str) -> None:
    if type(entry.get(name)) is bytes:
        entry[name] = opener.seal(entry[name], place)


DEEPEST = 8
"""Payloads inside payloads are opened so far; Kafka's own go three deep."""


def open_payloads(message: Message, data: bytes, context: Context | None = None) -> Message:
    """Open what can be opened in the message, which was read of `data`; what is odd in it joins the findings."""
    walk = plan(message.grammar)
    if walk is None or (message.findings and message.misaligned):
        return message
    opener = Opener(context or Context())
    walk(opener, message.body, None)
    message.payloads = tuple(payload for payload in opener.seen.values() if isinstance(payload, OpenedPayload))
    if opener.odd:
        header = message.header is not None
        _, inspection = explain(message.api, message.version, message.direction, data, header=header)
        message.findings += opener.findings_of(inspection)
    return message


def open_inspection(grammar: WireStruct, inspection: Inspection, context: Context | None = None) -> None:
    """Open what can be opened: each field's length, then the payload's own fields stand in place of the field."""
    walk, context = plan(grammar), context or Context()
    inspection.findings[:] = context.judge(inspection.findings, inspection.header)
    shifted = any(finding.kind.shifts for finding in inspection.findings)
    data = inspection.buffers[0].data
    misaligned = shifted and (has_secrets(grammar) or is_suspicious(grammar, data, inspection.findings))
    if walk is not None and not misaligned and inspection.value:
        opener = Opener(context)
        walk(opener, inspection.value, None)
        inspection.findings += opener.findings_of(inspection)
        inspection.findings[:] = context.judge(inspection.findings, inspection.header)
    inspection.findings += context.mistakes(inspection.findings)


class PayloadAnomaly(NamedTuple):
    """What is odd in the payload at `path`; `name` is what it should have been, where it is not that at all."""

    path: str
    finding: Finding
    name: str = ""


class Opener:
    """One message while its payloads are opened: `around` are the structures that stand around, the nearest last.

    `seen` are the payloads by their paths, opened or not; `odd` is what is odd in them, counted from their beginning.
    `sealed` are the paths below which no bytes may be shown; `secret`: something in what is at hand must be hidden.
    """

    topic: Any = None
    depth: int = 0
    secret: bool = False

    def __init__(self, context: Context) -> None:
        self.context = context
        self.around: list[Mapping[str, Any]] = []
        self.seen: dict[str, bytes] = {}
        self.sealed: set[str] = set()
        self.odd: list[PayloadAnomaly] = []

    def open(self, holding: Holding, data: Any, path: str, *, secret: bool = False) -> Any:
        """Return bytes as the payload that they are; as they came where kdbg can read none in them.

        With `secret` they may be a secret: those that cannot be read are sealed.
        """
        if not data or self.depth >= DEEPEST:
            return data
        scopes: list[Any] = [*reversed(self.around), self.context.around()]
        candidates = list(holding(data, ChainMap(*scopes)))
        tried = (self._whole(one, data, path, secret) for one in candidates)
        opened = next((found for found in tried if found is not None), None)
        if opened is None and len(candidates) == 1:
            opened = self._slowly(candidates[0], data, path, secret)
        if opened is None:
            return self.seal(data, path) if secret else data
        self.seen[path] = opened
        return opened

    def _whole(self, readable: Readable, data: bytes, path: str, secret: bool) -> bytes | None:
        """Read bytes as a payload that fits to their last byte; return None where it does not."""
        try:
            reading = readable.choose(data)
        except WireError:
            return None
        for form in (reading, *reading.former):
            value = read_whole(form.grammar, data)
            if value is None:
                continue
            if form.quirk and form.note:
                self.odd.append(PayloadAnomaly(path, Finding(Kind.KNOWN_QUIRK, facts=quirk_facts(form.quirk))))
            elif form.note:
                self.odd.append(
                    PayloadAnomaly(path, Finding(Kind.KNOWN_VARIANT, facts=FactKind.KNOWN_FORM.of(form.note)))
                )
            return self._opened(form, data, value, path, secret)
        return None

    def _slowly(self, readable: Readable, data: bytes, path: str, secret: bool) -> bytes:
        """Read bytes that are not cleanly the payload they should be; note what is odd in them.

        Return them opened if no fault shifts the fields after it; else as they came, or sealed if they may be secret.
        """
        try:
            reading = readable.choose(data)
        except WireError as error:
            facts = Stopped(error.start, error.fault)
            self.odd.append(PayloadAnomaly(path, Finding(error.kind, "", error.path, error.start, 0, facts)))
            return self.seal(data, path) if secret else data
        from ...protocol.wire.readings.annotate import inspect

        may, secret = secret, secret or has_secrets(reading.grammar)
        inspection = inspect(reading.grammar, data, opaque=secret, spans=False, inner=True)
        broken = next((finding for finding in inspection.findings if finding.kind.shifts), None)
        if broken is not None:
            self.odd.append(PayloadAnomaly(path, broken, reading.name))
            return self.seal(data, path) if secret else data
        self.odd += [PayloadAnomaly(path, finding) for finding in inspection.findings]
        return self._opened(reading, data, inspection.value, path, may)

    def seal(self, data: bytes, path: str) -> Sealed:
        """Return bytes that no view may show, and mark their path: nothing below it may be shown either."""
        self.secret = True
        self.sealed.add(path)
        return Sealed(data)

    def _opened(
        self, reading: PayloadForm, data: bytes, value: dict[str, Any], path: str, secret: bool
    ) -> OpenedPayload:
        """Return the payload, with the payloads inside it opened too; with `secret` its unknown tags are secrets."""
        outside, self.secret = self.secret, has_secrets(reading.grammar)
        if secret and without_tags(value) is not value:
            self.secret = True
        walk = plan(reading.grammar)
        if walk is not None:
            self.depth += 1
            walk(self, value, (None, path))
            self.depth -= 1
        learn(reading.grammar, value, self.context.topics)
        opened = OpenedPayload.of(data, reading.name, reading.grammar, value, secret=self.secret)
        self.secret = outside or self.secret
        return opened

    def findings_of(self, inspection: Inspection) -> tuple[Finding, ...]:
        """Return findings for what is odd in payloads, with their places in the message that was inspected.

        The payloads' own spans are put into the inspection on the way.
        """
        from ...protocol.wire.readings.payload_spans import lay_open

        places = lay_open(inspection, self.seen, self.sealed)
        placed: list[Finding] = []
        for path, finding, name in self.odd:
            start, here = places.get(path), join(path, finding.path) if finding.path else path
            at = start + finding.start if start is not None and finding.start is not None else None
            kind = Kind.MALFORMED_PAYLOAD if finding.kind.is_error else finding.kind
            # of bytes that were read by a grammar of their own
            fault = cast(Fault | Stopped | KnownQuirk, finding.facts)
            facts = InPayload(name, fault, not finding.path)
            placed.append(Finding(kind, inspection.side, here, at, finding.length, facts))
        return tuple(placed)


ValuePath: TypeAlias = "tuple[ValuePath, str | int] | None"
"""Where a value stands: where what it is part of stands, and its name or index there; None is the message."""
Walk = Callable[[Opener, Any, ValuePath], Any]
"""Goes through (opener, value, place): gives the value with its payloads opened, structures and arrays in place."""


def path_of(place: ValuePath) -> str:
    """Return a place in the form that findings and spans use: `topics[0].name`."""
    if place is None:
        return ""
    outside, last = place
    return f"{path_of(outside)}[{last}]" if isinstance(last, int) else join(path_of(outside), last)


@cache
def plan(node: Node) -> Walk | None:
    """Return the function that opens the payloads in values of a grammar; None where there are none."""
    if isinstance(node, RecordsNode):
        return open_records
    if isinstance(node, (Sized, RemainingBytes)):
        return None if node.holds is None else partial(_payload, node.holds)
    below = [(child, walk) for child in children(node) if (walk := plan(child.node)) is not None]
    if not below:
        return None
    if isinstance(node, WireStruct):
        return _structure(node, [(child.key, walk) for child, walk in below])
    ((child, walk),) = below
    return partial(_array, walk) if child.repeated else walk


def _payload(holding: Holding, opener: Opener, data: Any, place: ValuePath) -> Any:
    return opener.open(holding, data, path_of(place)) if data else data


def _array(item: Walk, opener: Opener, items: Any, place: ValuePath) -> Any:
    for i, value in enumerate(items or ()):
        items[i] = item(opener, value, (place, i))
    return items


def _structure(node: WireStruct, below: list[tuple[str, Walk]]) -> Walk:
    topics = [known.name for kind in ("topic_id", "topic") for known in node.members if known.node.kind == kind]

    def walk(opener: Opener, value: Any, place: ValuePath) -> Any:
        if not value:
            return value
        outside = opener.topic
        opener.around.append(value)
        for name in topics:
            opener.topic = value.get(name) or opener.topic
        for name, inner in below:
            if name in value:
                value[name] = inner(opener, value[name], (place, name))
        opener.topic = outside
        opener.around.pop()
        return value

    return walk
