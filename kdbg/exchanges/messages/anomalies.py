"""Findings of what generated readings noted: those that the explaining reading would tell of the same message."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...protocol.findings import Finding, Kind
from ...protocol.findings.faults import ChecksumWrong, Leftover
from ...protocol.findings.quirks import has_spare
from ...protocol.grammars.records import record_format
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import join
from ...protocol.wire.readings.runtime import Odd, Unreadable, WrongChecksum
from ...protocol.wire.records.sets import PREAMBLE
from .message import carries_secrets, forms


def findings_of(api: Api, version: int, direction: Direction, data: bytes, odd: Sequence[Odd]) -> tuple[Finding, ...]:
    """Return the findings of a message that was read but for what is odd in it.

    Raise `Unreadable` where only the explaining reading can tell: the message may be of another form, in which nothing
    is odd, or may show a secret at the wrong place.
    """
    if not odd:
        return ()
    form, *others = forms(api, version, direction, True, True)
    if others or not api.reads(direction, version) or carries_secrets(form.grammar):
        raise Unreadable
    batches = [one for one in odd if isinstance(one, WrongChecksum)]
    paths: Iterator[str] = iter(())
    if batches:
        from ...protocol.wire.readings.payload_spans import record_places

        sets = record_places(form.header, form.grammar)(data)
        paths = _paths(data, [batch.start for batch in batches], sets)
    found: list[Finding] = []
    for one in odd:
        if isinstance(one, WrongChecksum):
            facts, start = ChecksumWrong("batch", "CRC-32C", one.says, one.gives), one.start + record_format.crc_at
            found.append(Finding(Kind.CRC_MISMATCH, direction, join(next(paths), "crc"), start, 4, facts))
        elif has_spare(direction, api.key, version, data[one.start :]):
            raise Unreadable  # it may be a quirk of its sender's, as far as that is known without the body
        else:
            found.append(Finding(Kind.TRAILING_BYTES, direction, "", one.start, one.length, Leftover(one.length)))
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
