"""What is odd and yet readable is told alike by every view, whether a generated reading noted it or not.

Every API in every version is tried with bytes left over behind both messages, and with checksums that do not match.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages import mistakes
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.exchanges.messages.known import Known
from kdbg.exchanges.messages.mistakes import Searches
from kdbg.exchanges.messages.peers import Peers
from kdbg.protocol import grammars
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.findings.facts import MessageMistake
from kdbg.protocol.findings.quirks import Sure
from kdbg.protocol.wire.language import DIRECTIONS, Api, Direction
from kdbg.protocol.wire.nodes import UnreadStruct
from kdbg.views.render.hex.view import HexView
from kdbg.views.render.json_source import JsonView
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look
from kdbg.views.render.summary import Summary
from kdbg.views.render.tree.source import TreeView

from ..cases import ALL, by_day, ends_by_day, for_each
from .subjects import Spoken, full, variants
from .values import holds_records

LOOK = Look()
PEERS = Peers(1, ("10.0.0.1", 51514), ("10.0.0.2", 9092))
Render = Callable[[Exchange], Any]
Pair = tuple[Spoken, Spoken]
Messages = dict[str, bytes]
"""The bytes of a request and of its response."""


STRAIGHT: dict[str, Render] = {
    "summary": Summary(LOOK, {}), "tree": TreeView(LOOK, {}), "json": JsonView(LOOK, {}), "hex": HexView(LOOK, {}),
}  # fmt: skip
TREE, HEX = TreeView(LOOK, {}), HexView(LOOK, {})
TREE.drawing = HEX.dumping = lambda *_: None


def plain_summary(exchange: Exchange) -> Any:
    for half in (exchange.request, exchange.response):
        if half is not None:
            half._facts = False
    return Summary(LOOK, {})(exchange)


PLAIN: dict[str, Render] = {"summary": plain_summary, "tree": TREE, "json": json_line, "hex": HEX}
"""View by view what renders an exchange by generated readings where it can, and without any."""
PAIRS = [
    (Spoken(api, "request", version), Spoken(api, "response", version))
    for api in grammars.apis()
    for version in api.versions
    if not any(isinstance(api.at(side, version), UnreadStruct) for side in DIRECTIONS)
]
WITH_RECORDS = [pair for pair in PAIRS if any(holds_records(subject.grammar) for subject in pair)]
every_view = for_each("view", STRAIGHT)


def api_of(pair: Pair) -> str:
    return pair[0].api.name


def name_of(pair: Pair) -> str:
    return f"{pair[0].api.name}-v{pair[0].version}"


def some_pairs(pairs: list[Pair]) -> pytest.MarkDecorator:
    return for_each("pair", ends_by_day(pairs, of=api_of), by=api_of, ids=name_of)


def exchange(pair: Pair, request: bytes, response: bytes) -> Exchange:
    """Both messages as the engine hands them out."""
    subject = pair[0]
    made = Exchange(PEERS, subject.api, subject.version, 7, "me")
    made.number, made.request, made.response = 1, half(pair[0], request), half(pair[1], response)
    made.response.asked = made.request
    return made


def half(subject: Spoken, data: bytes) -> CapturedMessage:
    made = CapturedMessage(data, (1_000_000, 2_000_000), (1, 2), subject.direction)
    made.api, made.version = subject.api, subject.version
    made.known = Known.nothing()._replace(searches=searches(subject, data))
    return made


@lru_cache(maxsize=1024)
def searches(subject: Spoken, data: bytes) -> Searches:
    """The searches for mistakes in a message, which every view of it shares: they cost more than all else here."""
    return Searches()


@pytest.fixture
def quick_search(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give half of the invalid messages the same mistake without a search, for tests of many messages."""

    def search(data: bytes, api: Api, version: int, direction: Direction, size: int) -> tuple[Finding, ...]:
        if size % 2:
            return ()
        mistake = MessageMistake("message-set", api.name, version, "1", "2", Sure.CERTAIN.value)
        return (Finding(Kind.ENCODING_MISTAKE, direction, "", 4, 2, mistake),)

    searches.cache_clear()
    monkeypatch.setattr(mistakes, "findings_of", search)
    yield
    searches.cache_clear()


@pytest.fixture
def quick_search_by_day(request: pytest.FixtureRequest) -> None:
    """Search at night: what a search finds is tested in tests/mistakes, and here it takes four fifths of the time."""
    if ALL not in os.environ:
        request.getfixturevalue("quick_search")


def unsound(subject: Spoken, data: bytes) -> bytes:
    """The message with a wrong checksum in every batch."""
    body = kdbg.decode(data, **subject.question).body
    for batch in batches(body):
        batch["crc"] ^= 1
    header = {"correlation_id": 7} | ({"client_id": "me"} if "client_id" in subject.header.keys else {})
    return kdbg.encode(body, header=header, **subject.question)


def batches(value: Any) -> Iterator[dict[str, Any]]:
    """The batches in a value."""
    if isinstance(value, dict):
        if value.get("magic") == 2:
            yield value
        for inner in value.values():
            yield from batches(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from batches(inner)


def compare(view: str, pair: Pair, request: bytes, response: bytes) -> tuple[Exchange, list[Finding]]:
    """Compare what a view shows and finds with and without generated readings; return the exchange and its findings."""
    one, other = exchange(pair, request, response), exchange(pair, request, response)
    assert STRAIGHT[view](one) == PLAIN[view](other)
    shallow = view == "summary"
    findings = one.all_findings(shallow=shallow)
    assert findings == other.all_findings(shallow=shallow)
    return one, findings


@lru_cache(maxsize=1)
def with_bytes_left_over(pair: Pair) -> list[Messages]:
    both = zip(variants(pair[0]), variants(pair[1]), strict=False)
    return [
        {"request": pair[0].whole(request) + b"\0", "response": pair[1].whole(response) + b"\1\2\3" * 20}
        for request, response in both
    ]


@lru_cache(maxsize=1)
def with_wrong_checksums(pair: Pair) -> list[Messages]:
    """The messages of a pair, one of each two with wrong checksums, and these with and without a byte left over."""
    sound = {one.direction: one.whole(full(one)) for one in pair}
    return [
        sound | {subject.direction: unsound(subject, subject.whole(value)) + behind}
        for subject in pair
        if holds_records(subject.grammar)
        for value in variants(subject)
        for behind in (b"", b"\0")
    ]


@lru_cache(maxsize=1)
def with_wrong_checksums_and_flipped_bits(pair: Pair) -> list[Messages]:
    sound = {one.direction: one.whole(full(one)) for one in pair}
    wrong = {one.direction: unsound(one, one.whole(full(one))) for one in pair}
    return [
        sound | {side: data[:at] + bytes([data[at] ^ flip]) + data[at + 1 :]}
        for side, data in wrong.items()
        for at in by_day(range(0, len(data), max(1, len(data) // 150)), 16)
        for flip in (0x01, 0x80)
    ]


@some_pairs(PAIRS)
@every_view
def test_bytes_left_over_look_alike(pair: Pair, view: str, quick_search_by_day: None) -> None:
    for messages in with_bytes_left_over(pair):
        compare(view, pair, **messages)


@some_pairs(by_day(WITH_RECORDS, 3))
@every_view
def test_wrong_checksums_look_alike(pair: Pair, view: str, quick_search: None) -> None:
    kinds: Counter[Kind] = Counter()
    for messages in with_wrong_checksums(pair):
        _, findings = compare(view, pair, **messages)
        kinds.update(finding.kind for finding in findings)
    assert kinds[Kind.CRC_MISMATCH] or pair[0].version < 3


@for_each("pair", by_day([WITH_RECORDS[-1], WITH_RECORDS[0]], 2), by=api_of, ids=name_of)
@every_view
def test_what_is_odd_beside_a_wrong_checksum_is_told_too(pair: Pair, view: str, quick_search: None) -> None:
    for messages in with_wrong_checksums_and_flipped_bits(pair):
        compare(view, pair, **messages)


def test_fields_that_hold_what_is_odd_are_read() -> None:
    subject = Spoken(grammars.api(0), "request", 8)
    halves = [half(subject, unsound(subject, subject.whole(value))) for value in variants(subject)]
    noted = [one for one in halves if one.facts() is not None and one.noted]
    assert noted
    assert all(one.fields(("topic_data",))["topic_data"] for one in noted)


@pytest.mark.parametrize("key", [0, 1, 3, 8], ids=lambda key: str(grammars.by_key(key)))
@every_view
def test_readings_that_note_what_is_odd_need_no_other(key: int, view: str) -> None:
    """All there is to say of them is known without their values; of messages that may be of another form it is not."""
    api = grammars.by_key(key)
    version = 9 if key == 0 else 11 if key == 1 else 5
    pair = Spoken(api, "request", version), Spoken(api, "response", version)
    odd = [unsound(subject, subject.whole(next(variants(subject)))) + b"\0" for subject in pair]
    shown, findings = compare(view, pair, *odd)
    assert {finding.kind for finding in findings} >= {Kind.TRAILING_BYTES}
    noted = [one.noted or one.known_findings for one in (shown.request, shown.response) if one is not None]
    assert all(noted)
    assert all(one is not None and one._message is None for one in (shown.request, shown.response))
