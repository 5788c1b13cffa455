"""Does a message end where its length says? That tells a message from bytes that only look like one.

Answered by the compiled grammars, so that wrong places cost little; the slow reading of an odd message is paid for only
where what stands around it speaks for it.
"""

from __future__ import annotations

from ...protocol.findings import Kind
from ...protocol.wire import Api
from ...protocol.wire.language.api import Direction
from ...protocol.wire.readings.compiled import UNREADABLE
from ..messages.message import Message, forms, read, read_slowly

CLOSE_LOOK = 1 << 18
"""Messages up to so many bytes are read slowly for a proof."""
MOST_LEFT = 16
"""Bytes that peers are known to leave over; where a search found a message with more, it is none."""


def extent(api: Api, version: int, direction: Direction, data: bytes) -> int | None:
    """Return how many bytes the message takes by its grammar; None where it does not end within `data`."""
    found = None
    for form in forms(api, version, direction, True, True):
        try:
            (_, body), end = form.read(data, 0)
        except UNREADABLE:
            continue
        if not form.admits(body):
            continue
        if end == len(data):
            return end
        if end < len(data) and found is None:
            found = end
    return found


def fits(api: Api, version: int, direction: Direction, data: bytes) -> bool:
    """Return whether these bytes, no more and no fewer, are such a message without anything odd."""
    return api.reads(direction, version) and extent(api, version, direction, data) == len(data)


def may_fit(api: Api, version: int, direction: Direction, data: bytes) -> bool:
    """Return whether they may be such a message, if odd (a tag, few bytes left over), or its version is unknown."""
    if not api.reads(direction, version):
        return True
    if len(data) > CLOSE_LOOK:
        return False
    found = read_slowly(api, version, direction, data).findings
    left = sum(finding.length for finding in found if finding.kind is Kind.TRAILING_BYTES)
    return left <= MOST_LEFT and not any(finding.kind.breaks for finding in found)


def excess(api: Api, version: int, direction: Direction, data: bytes) -> int:
    """Return how many bytes at the end of a message its grammar has no use for; 0 where it is unreadable."""
    return excess_of(read(api, version, direction, data, shallow=True))


def excess_of(message: Message) -> int:
    """Return how many bytes are left over at the end of a message that was read; 0 where reading broke off before."""
    findings = message.findings
    if not findings or any(finding.kind.breaks for finding in findings):
        return 0
    return sum(finding.length for finding in findings if finding.kind is Kind.TRAILING_BYTES)
