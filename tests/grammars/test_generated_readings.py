"""Every generated reading says what the plain path says, over every layout and every value, or refuses; whole or not.

A new reading adds its pair to `READINGS`: what reads the bytes of a message fast, and what it must be equal to. A
reading may refuse bytes that are odd, and what only a value tells, but no more than `REFUSED` allows of sound ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from typing import Any, NamedTuple

import orjson
import pytest

from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.exchanges.messages.message import read, read_slowly
from kdbg.exchanges.messages.payloads import open_payloads
from kdbg.exchanges.messages.validation import validator
from kdbg.payloads.records.record import CapturedRecord, Origin, record_sets
from kdbg.payloads.records.source import FoundSet, PartitionResponse, records_reader, responses_reader
from kdbg.payloads.records.sources import Records
from kdbg.protocol.wire.nodes import UnreadStruct
from kdbg.protocol.wire.readings.compiled import UNREADABLE
from kdbg.protocol.wire.readings.outline import ALWAYS, outline, parts
from kdbg.protocol.wire.readings.outline_codegen import facts_reader
from kdbg.protocol.wire.readings.runtime import Unreadable
from kdbg.views.redact.fill import Effort
from kdbg.views.redact.message import Redacted, redacted_at_once, redacted_by_fields
from kdbg.views.redact.source import finder
from kdbg.views.redact.substitutes import Substitutes
from kdbg.views.render.hex.hexdump import hexdump
from kdbg.views.render.hex.rows import Texts as DumpTexts
from kdbg.views.render.hex.source import dumping
from kdbg.views.render.json_source import json_writer
from kdbg.views.render.jsonlines import as_json, json_body, plain
from kdbg.views.render.style import Look
from kdbg.views.render.tree.lines import Texts
from kdbg.views.render.tree.source import drawing
from kdbg.views.render.tree.tree import Tree
from kdbg.views.tables.message_columns import WantedRows, message_columns
from kdbg.views.tables.straight import reader_of

from ..cases import by_day, ends_by_day, for_each
from .subjects import MESSAGES, Spoken, full, variants

Read = Callable[[bytes], Any]


class Pair(NamedTuple):
    """A fast reading of messages and its plain counterpart; `fast` is None for a layout that it does not suit."""

    fast: Callable[[Spoken], Read | None]
    plain: Callable[[Spoken], Read]
    refused: float
    """The share of sound messages that it may refuse."""


def plain_facts(subject: Spoken) -> Read:
    def facts(data: bytes) -> Any:
        message = read(subject.api, subject.version, subject.direction, data, shallow=True)
        assert not message.findings
        rows, groups, errors = outline(message.grammar)(message.body)
        return tuple(rows), tuple(groups), tuple(errors)

    return facts


def fast_json(subject: Spoken) -> Read | None:
    write = json_writer(subject.header, subject.grammar)
    if write is None:
        return None

    def body(data: bytes) -> bytes:
        out: list[bytes] = []
        write(data, out)
        return b"".join(out)

    return body


def plain_json(subject: Spoken) -> Read:
    def body(data: bytes) -> bytes:
        message = read(subject.api, subject.version, subject.direction, data)
        assert not message.findings
        open_payloads(message, data)
        return orjson.dumps(plain(json_body(message)), default=as_json)

    return body


def fast_tree(subject: Spoken) -> Read | None:
    draw = drawing(Texts(Tree(LOOK, {})), subject.header, subject.grammar, "below ")

    def tree(data: bytes) -> bytes:
        out: list[bytes] = []
        draw(data, out, ALWAYS)
        return b"".join(out)

    return tree if draw is not None else None


def plain_tree(subject: Spoken) -> Read:
    def tree(data: bytes) -> bytes:
        message = open_payloads(read(subject.api, subject.version, subject.direction, data), data)
        assert not message.findings
        tree = Tree(LOOK, {})
        tree.struct(message.grammar)(message.open_body, "", "below ")
        return tree.take().removeprefix("\n").encode()

    return tree


def fast_tables(wanted: WantedRows) -> Callable[[Spoken], Read | None]:
    return lambda subject: reader_of(subject.api, subject.version, subject.direction, wanted)


def plain_tables(wanted: WantedRows) -> Callable[[Spoken], Read]:
    def of(subject: Spoken) -> Read:
        def tells(data: bytes) -> Any:
            message = read(subject.api, subject.version, subject.direction, data)
            assert not message.findings
            *most, partitions = message_columns(open_payloads(message, data), wanted)
            assert not message.findings
            return *most, list(partitions)

        return tells

    return of


def fast_hex(subject: Spoken) -> Read | None:
    dump = dumping(DumpTexts(LOOK, {}), subject.header, subject.grammar)
    return (lambda data: b"".join(dump(data, ALWAYS))) if dump is not None else None


def plain_hex(subject: Spoken) -> Read:
    def lines(data: bytes) -> bytes:
        message = open_payloads(read(subject.api, subject.version, subject.direction, data), data)
        assert not message.findings
        asked = subject.api, subject.version, subject.direction, LOOK, {}
        return "".join(f"{line}\n" for line in hexdump(data, *asked, size=len(data), text=True)).encode()

    return lines


def fast_validation(subject: Spoken) -> Read | None:
    read_valid = validator(subject.api, subject.version, subject.direction)
    return None if read_valid is None else lambda data: read_valid(data, ALWAYS)


def plain_validation(subject: Spoken) -> Read:
    def findings(data: bytes) -> None:
        assert not open_payloads(read(subject.api, subject.version, subject.direction, data), data).findings

    return findings


def half_of(subject: Spoken, data: bytes) -> CapturedMessage:
    half = CapturedMessage(data, (1, 1), (1, 1), subject.direction)
    half.api, half.version = subject.api, subject.version
    return half


def fast_redaction(subject: Spoken) -> Read | None:
    if finder(subject.api, subject.version, subject.direction) is None:
        return None

    def redacted(data: bytes) -> Redacted:
        found = redacted_at_once(half_of(subject, data), Substitutes("a seed", names=True))
        if found is None:
            raise Unreadable
        return found

    return redacted


def plain_redaction(subject: Spoken) -> Read:
    return lambda data: redacted_by_fields(
        half_of(subject, data), subject.api, Substitutes("a seed", names=True), Effort()
    )


def fast_records(subject: Spoken) -> Read | None:
    if not record_sets(subject.grammar):
        return lambda data: []
    read_records = records_reader(subject.api, subject.version, subject.direction)

    def records(data: bytes) -> list[CapturedRecord]:
        found: list[FoundSet] = []
        assert read_records is not None
        read_records(data, ALWAYS, found)
        return [*Records(ALWAYS).made(found, None, FETCHED)]

    return records if read_records is not None else None


def plain_records(subject: Spoken) -> Read:
    def records(data: bytes) -> list[CapturedRecord]:
        if not record_sets(subject.grammar):
            return []
        message = open_payloads(read(subject.api, subject.version, subject.direction, data), data)
        assert not message.findings
        made = Records(ALWAYS)
        return [one for part in parts(message.grammar)(message.body) for one in made.read(message, part, FETCHED)]

    return records


def fast_responses(subject: Spoken) -> Read | None:
    if (subject.api.name, subject.direction) != ("Produce", "response"):
        return lambda data: []
    read_responses = responses_reader(subject.api, subject.version)

    def responses(data: bytes) -> list[PartitionResponse]:
        found: list[PartitionResponse] = []
        assert read_responses is not None
        read_responses(data, ALWAYS, found)
        return found

    return responses if read_responses is not None else None


def plain_responses(subject: Spoken) -> Read:
    def responses(data: bytes) -> list[PartitionResponse]:
        if (subject.api.name, subject.direction) != ("Produce", "response"):
            return []
        message = read(subject.api, subject.version, subject.direction, data)
        assert not message.findings
        found = [(part.topic, part.partition, part.value) for part in parts(message.grammar)(message.body)]
        return [(topic, at, value["base_offset"], value["error_code"]) for topic, at, value in found]

    return responses


FETCHED = Origin("fetched")
LOOK = Look()
RECORDS, VALUES = WantedRows(records=True), WantedRows(records=True, values=True)
READINGS = {
    "facts": Pair(lambda subject: facts_reader(subject.header, subject.grammar), plain_facts, 0.2),
    "json": Pair(fast_json, plain_json, 0.5),
    "hex": Pair(fast_hex, plain_hex, 0.4),
    "tree": Pair(fast_tree, plain_tree, 0.4),
    "tables": Pair(fast_tables(WantedRows()), plain_tables(WantedRows()), 0.2),
    "tables with records": Pair(fast_tables(RECORDS), plain_tables(RECORDS), 0.2),
    "tables with values": Pair(fast_tables(VALUES), plain_tables(VALUES), 0.2),
    "validation": Pair(fast_validation, plain_validation, 0.25),
    "redaction": Pair(fast_redaction, plain_redaction, 0.3),
    "records": Pair(fast_records, plain_records, 0.2),
    "produce responses": Pair(fast_responses, plain_responses, 0.01),
}
SPOKEN = [subject for subject in MESSAGES if not isinstance(subject.grammar, UnreadStruct)]
BY_API = {name: [*subjects] for name, subjects in groupby(SPOKEN, lambda subject: subject.api.name)}
every_reading = for_each("reading", READINGS)
every_api = pytest.mark.parametrize("api", BY_API)


@every_api
@every_reading
def test_what_is_read_fast_is_what_is_read_plainly(api: str, reading: str) -> None:
    for subject in by_day(BY_API[api][::-1], 3):
        compare(READINGS[reading], subject, map(subject.whole, variants(subject)))


@every_api
@every_reading
def test_what_is_odd_is_refused(api: str, reading: str) -> None:
    for subject in ends_by_day(BY_API[api], of=lambda subject: subject.direction):
        compare(READINGS[reading], subject, odd(subject.whole(full(subject))))


def odd(whole: bytes) -> Iterator[bytes]:
    """A message cut at some forty places, with a byte too many, and with a bit or a byte changed at these places."""
    step = max(1, len(whole) // 40)
    for at in by_day(range(0, len(whole), step), 5):
        yield whole[:at]
        yield from (whole[:at] + bytes([whole[at] ^ flip]) + whole[at + 1 :] for flip in (0x01, 0x80, 0xFF))
    yield whole + b"\0"


def compare(pair: Pair, subject: Spoken, messages: Iterable[bytes]) -> None:
    """A fast reading says what the plain one says, which fails where there is a finding, or refuses."""
    fast, plain = pair.fast(subject), pair.plain(subject)
    if fast is None:
        return
    for data in messages:
        try:
            found = fast(data)
        except UNREADABLE:
            continue
        assert found == plain(data), subject


@pytest.mark.parametrize("reading", by_day([*READINGS], 3))
def test_sound_messages_are_seldom_refused(reading: str) -> None:
    pair = READINGS[reading]
    count: Counter[bool] = Counter()
    for subject in SPOKEN:
        fast = pair.fast(subject)
        for value in variants(subject):
            try:
                count[fast is not None and bool(fast(subject.whole(value)) or True)] += 1
            except UNREADABLE:
                count[False] += 1
    assert count[False] <= pair.refused * count.total(), count


@every_api
def test_a_message_that_is_too_long_is_what_the_explaining_reading_makes_of_it(api: str) -> None:
    for subject in by_day(BY_API[api][::-1], 2):
        asked = subject.api, subject.version, subject.direction
        for value in variants(subject):
            data = subject.whole(value) + b"\1\2\3"
            assert read(*asked, data) == read_slowly(*asked, data), subject
