"""The byte of a finding is the same one in its sentence, in JSON and in the hexdump, and counts from the size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.protocol.findings import Finding
from kdbg.protocol.wire.readings.outline import ALWAYS
from kdbg.views.render.findings import finding_object
from kdbg.views.render.hex.hexdump import hexdump
from kdbg.views.render.style import Look

from ..mistakes.making import ANY, cases
from ..mistakes.score import samples

ROOT = Path(__file__).parents[2]
ROW = re.compile(r"([0-9a-f]{4,}) ((?: [0-9a-f]{2})+)")
BYTE = re.compile(r"byte (\d+) of the frame, 0x([0-9a-f]+)\)")


def shown(frame: bytes, api: kdbg.Api | None, version: int, side: str) -> dict[int, int]:
    """The bytes of a hexdump by the numbers that stand before its rows."""
    assert api is not None
    found: dict[int, int] = {}
    for line in hexdump(frame, api, version, side, Look(full=True), ALWAYS, size=len(frame)):  # type: ignore[arg-type]
        if "decompressed" in line:
            break
        if (row := ROW.match(line)) is not None:
            found |= {int(row[1], 16) + at: value for at, value in enumerate(bytes.fromhex(row[2]))}
    return found


def differences(findings: list[Finding], dump: dict[int, int], frame: bytes) -> Iterator[str]:
    for one in findings:
        if one.start is None:
            continue
        offset, text = finding_object(one)["offset"], BYTE.search(one.text)
        if offset != one.start + 4 or (text is not None and {int(text[1]), int(text[2], 16)} != {offset}):
            yield f"{one}: {offset}"
        if 0 <= one.start < len(frame) and dump.get(offset, frame[one.start]) != frame[one.start]:
            yield f"{one}: {offset} is {dump[offset]:02x} in the hexdump"


def test_of_all_captures() -> None:
    tried, wrong = 0, list[str]()
    for path in sorted(ROOT.glob("captures/*.pcap*")):
        for exchange in kdbg.read(path):
            for half in (exchange.request, exchange.response):
                found = list(half.findings()) if isinstance(half, CapturedMessage) and half.api is not None else []
                if half is not None and any(one.start is not None for one in found):
                    tried += 1
                    dump = shown(half.data, half.api, half.version, half.direction)
                    wrong += differences(found, dump, half.data)
    assert tried > 5
    assert wrong == []


def test_of_messages_with_a_mistake() -> None:
    mixed, wrong, texts = samples(12), list[str](), 0
    for name in ANY:
        for made in cases(name, mixed, 12, 2):
            one = made.sample
            message = kdbg.decode(
                made.frame, api=one.api.key, version=one.version, direction=one.direction, errors="collect"
            )
            texts += sum(BYTE.search(finding.text) is not None for finding in message.findings)
            dump = shown(made.frame, one.api, one.version, one.direction)
            wrong += differences(list(message.findings), dump, made.frame)
    assert texts > 30
    assert wrong == []
