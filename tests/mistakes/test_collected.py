"""`kdbg.decode(errors="collect")` of a message with each kind of mistake: the body as far as it goes, and findings."""

from __future__ import annotations

from typing import Any

import pytest

import kdbg
from kdbg.exchanges.messages.message import explain
from kdbg.protocol.findings import Kind

from .making import ANY, BATCH, Made, cases
from .score import samples

OF_FRAMES = {"little-endian size", "size that counts itself", "little-endian header"}
"""Mistakes that are in the size, which `decode` does not get, or leave nothing of the header."""
SEED = 41


def decoded(made: Made, frame: bytes, errors: Any) -> kdbg.Message:
    one = made.sample
    return kdbg.decode(frame, api=one.api.key, version=one.version, direction=one.direction, errors=errors)


def sound_fields(made: Made) -> dict[str, Any]:
    """The fields of the body that end before the first byte that is not as it should be."""
    right, wrong = made.right[4:], made.frame
    same = next((at for at, both in enumerate(zip(right, wrong, strict=False)) if both[0] != both[1]), 0)
    ends: dict[str, int] = {}
    for span in explain(made.sample.api, made.sample.version, made.sample.direction, right)[1].spans:
        if span.buffer == 0:
            name = span.path.partition(".")[0].partition("[")[0]
            ends[name] = max(ends.get(name, 0), span.end)
    body = decoded(made, right, "strict").body
    return {name: value for name, value in body.items() if ends.get(name, len(right)) <= same}


@pytest.fixture(scope="module")
def made() -> list[tuple[str, Made]]:
    mixed = samples(SEED)
    names = [name for name in (*ANY, *BATCH) if name not in OF_FRAMES]
    return [(name, one) for name in names for one in cases(name, mixed, SEED, 2)]


def test_the_mistake_is_a_finding_with_its_field_and_byte(made: list[tuple[str, Made]]) -> None:
    found = set()
    for name, one in made:
        for finding in decoded(one, one.frame, "collect").findings:
            if finding.kind is Kind.ENCODING_MISTAKE:
                assert finding.start is not None, name
                assert 0 <= finding.start <= len(one.frame), name
                assert finding.byte == finding.start + 4
                assert finding.path or finding.start >= 0
                found |= {name} if getattr(finding.facts, "kind", "") in one.kinds else set()
    assert {name for name, _ in made} - found == set()


def test_the_body_has_the_fields_before_the_mistake(made: list[tuple[str, Made]]) -> None:
    checked = 0
    for name, one in made:
        if not one.right:
            continue
        body, sound = decoded(one, one.frame, "collect").body, sound_fields(one)
        checked += len(sound)
        assert {field: body.get(field) for field in sound} == sound, (name, str(one.sample), one.data.hex())
    assert checked > 30


def test_strict_raises_where_collect_has_a_finding_that_is_not_harmless(made: list[tuple[str, Made]]) -> None:
    for name, one in made:
        odd = [each for each in decoded(one, one.frame, "collect").findings if each.kind is not Kind.ENCODING_MISTAKE]
        if any(not each.kind.harmless for each in odd):
            with pytest.raises(kdbg.WireError):
                decoded(one, one.frame, "strict")
        else:
            assert decoded(one, one.frame, "strict").body, name
