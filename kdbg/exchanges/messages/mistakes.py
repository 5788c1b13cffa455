"""The mistake that explains why a captured message is not valid, or is rejected, as a finding; searched for in bounds.

A clean message costs nothing. Of messages that are wrong in the same way, the first `MOST` within `SECONDS` are
searched, so that a client that writes each of a million messages wrong slows nothing down.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Final, Protocol

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, MessageMistake
from ...protocol.findings.faults import FaultKind
from ...protocol.findings.quirks import Sure, has_spare
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import join
from ...protocol.wire.readings.runtime import Odd, Unreadable, WrongChecksum
from ...protocol.wire.records.sets import PREAMBLE
from .message import Message, carries_secrets, forms

MOST: Final = 16
SECONDS: Final = 10
"""How many messages that are wrong in the same way are searched within so many seconds of the capture."""
MOST_SORTS: Final = 4096
MOST_RESULTS: Final = 256
MISSING: Final = 8
"""Bytes that a size may claim too many: where more are missing, a message is not complete."""
MOST_PADDING: Final = 4
INDEX: Final = re.compile(r"\[\d+\]")
OF_SEARCHES: Final = frozenset({Kind.ENCODING_MISTAKE, Kind.SEARCH_LIMIT})


class Half(Protocol):
    """What of a captured message a search wants to know."""

    api: Api | None
    version: int
    direction: Direction
    data: bytes
    missing: int
    held: bool
    rejected: str
    first_time: int

    @property
    def claimed(self) -> int: ...


class Searches:
    """The searches of one run: counted by sort, and the last results, for a client that tries again with the same."""

    def __init__(self) -> None:
        self.count = 0  # messages that were searched, or would have been below the limit
        self._counts: OrderedDict[tuple[int, int, Direction, str, int], int] = OrderedDict()
        self._found: OrderedDict[tuple[object, ...], tuple[Finding, ...]] = OrderedDict()

    def mistakes(self, half: Half, findings: Sequence[Finding]) -> tuple[Finding, ...]:
        """Return the mistake that explains what is wrong with a message, or why it is rejected; nothing if it is valid.

        `findings` are those of the message, as far as it is read. A finding of its own says that the limit is reached.
        """
        api, wrong = half.api, what_is_wrong(half, findings)
        if api is None or api.key < 0 or not wrong or not api.reads(half.direction, half.version):
            return ()
        number = slice(4, 8) if half.direction == "request" else slice(0, 4)  # the correlation id, which differs
        same = blake2b(half.data[: number.start] + half.data[number.stop :], digest_size=16).digest()
        key = api.key, half.version, half.direction, same, half.claimed, half.rejected
        found = self._found.get(key)
        if found is None:
            sort = api.key, half.version, half.direction, wrong, half.first_time // (SECONDS * 1_000_000_000)
            self.count += 1
            count = self._counts[sort] = self._counts.get(sort, 0) + 1
            if len(self._counts) > MOST_SORTS:
                self._counts.popitem(last=False)
            if count > MOST:
                facts = FactKind.SEARCH_LIMIT.of(most=MOST, seconds=SECONDS)
                limit = Finding(Kind.SEARCH_LIMIT, half.direction, facts=facts)
                return (limit,) if count == MOST + 1 else ()
            found = self._found[key] = findings_of(half.data, api, half.version, half.direction, half.claimed)
            if len(self._found) > MOST_RESULTS:
                self._found.popitem(last=False)
        return found


def what_is_wrong(half: Half, findings: Sequence[Finding]) -> str:
    """Return why a message is to be searched: its first finding, its size, or its rejection; "" where it is not.

    Clients ignore a few zero bytes after a response that is valid.
    """
    if not half.held or half.missing > MISSING or any(one.kind in OF_SEARCHES for one in findings):
        return ""
    odd = [one for one in findings if not (one.kind.harmless or one.kind.unread)]
    if odd and not half.missing:
        first, size = odd[0], odd[0].length
        trailing = len(odd) == 1 and half.direction == "response" and first.kind is Kind.TRAILING_BYTES
        padded = trailing and size <= MOST_PADDING and not any(half.data[-size:])
        return "" if padded else f"{first.kind} {INDEX.sub('[]', first.path)}"
    return "size" if half.claimed != len(half.data) else half.rejected


def findings_of(
    data: bytes, api: Api, version: int, direction: Direction, size: int | None = None
) -> tuple[Finding, ...]:
    """Return the mistakes in a message as findings; `size` is the INT32 before it, None where there is none."""
    from ..mistakes.finder import examine  # which clean captures do without

    return tuple(
        one.finding for one in examine(data, api=api, version=version, direction=direction, size=size).mistakes
    )


def explained(message: Message, data: bytes) -> tuple[Finding, ...]:
    """Return the findings of a message that stands alone, with its mistakes; a valid one has none that is a guess."""
    found = findings_of(data, message.api, message.version, message.direction)
    if all(one.kind.harmless for one in message.findings):
        found = tuple(one for one in found if isinstance(one.facts, MessageMistake) and one.facts.sure != Sure.GUESS)
    return message.findings + found


def anomalies_of(half: Half, odd: Sequence[Odd]) -> tuple[Finding, ...]:
    """Return the findings of a message that was read but for what is odd in it.

    Raise `Unreadable` where only the explaining reading can tell: the message may be of another form, in which nothing
    is odd, or may show a secret at the wrong place.
    """
    api, version, direction, data = half.api, half.version, half.direction, half.data
    if api is None:
        return ()
    form, *others = forms(api, version, direction, True, True)
    if others or not api.reads(direction, version) or carries_secrets(form.grammar):
        raise Unreadable
    batches = [one for one in odd if isinstance(one, WrongChecksum)]
    paths: Iterator[str] = iter(())
    if batches:
        from ...protocol.grammars.records import record_format  # which what is clean does without
        from ...protocol.wire.readings.payload_spans import record_places

        sets = record_places(form.header, form.grammar)(data)
        paths = _paths(data, [batch.start for batch in batches], sets)
    found: list[Finding] = []
    for one in odd:
        if isinstance(one, WrongChecksum):
            facts = FaultKind.CHECKSUM_WRONG.of(of="batch", algorithm="CRC-32C", says=one.says, gives=one.gives)
            start = one.start + record_format.crc_at
            found.append(Finding(Kind.CRC_MISMATCH, direction, join(next(paths), "crc"), start, 4, facts))
        elif has_spare(direction, api.key, version, data[one.start :]):
            raise Unreadable  # it may be a quirk of its sender's, as far as that is known without the body
        else:
            facts = FaultKind.LEFTOVER.of(one.length)
            found.append(Finding(Kind.TRAILING_BYTES, direction, "", one.start, one.length, facts))
    return tuple(found)


def _paths(data: bytes, batches: list[int], sets: list[tuple[int, str]]) -> Iterator[str]:
    """Yield the path of each batch, given where the batches begin and where the record sets do, both in order."""
    at, number, place, path = 0, 0, 0, ""
    for start in batches:
        while at < len(sets) and sets[at][0] <= start:
            (place, path), at, number = sets[at], at + 1, 0
        while place < start:
            place += PREAMBLE.size + PREAMBLE.unpack_from(data, place)[1]
            number += 1
        yield f"{path}[{number}]"
