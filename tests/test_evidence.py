"""Every proof that kdbg lays claim to has its evidence, and all the evidence is in its claims.

`python -m tests.evidence` brings them together again. The proofs by Java and by brokers are held to theirs in
tests/brokers, where these are.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg import grammars
from kdbg.grammars.proofs import PROOFS
from kdbg.grammars.releases import parse, spans
from kdbg.render.coverage import KINDS, releases
from kdbg.wire.language.api import DIRECTIONS

from .brokers.releases import RELEASES
from .evidence import EVIDENCE, OF_PAYLOADS, proved, proved_payloads, written, written_payloads
from .peers.dice import Message

SHARED_KINDS = ("layouts", "vectors")
"""Those whose evidence stands beside the checkout."""
PEERS = ("kio", "kafka-python")
"""Those that know more with each of their releases: what they know beyond the claims is no fault."""


@pytest.mark.parametrize("kind", sorted(EVIDENCE))
def test_what_is_claimed_was_seen(kind: str, request: pytest.FixtureRequest) -> None:
    if kind in SHARED_KINDS:
        request.getfixturevalue("shared")
    assert proved(kind) <= EVIDENCE[kind]()


@pytest.mark.parametrize("kind", sorted(set(EVIDENCE) - set(PEERS)))
def test_what_was_seen_is_claimed(kind: str, request: pytest.FixtureRequest) -> None:
    if kind in SHARED_KINDS:
        request.getfixturevalue("shared")
    assert EVIDENCE[kind]() <= proved(kind), "python -m tests.evidence"


@pytest.mark.parametrize("kind", sorted(OF_PAYLOADS))
def test_what_is_claimed_of_payloads_is_what_was_seen(kind: str, shared: Path) -> None:
    assert OF_PAYLOADS[kind]() == proved_payloads(kind), "python -m tests.evidence"


def test_there_is_no_other_kind_of_proof() -> None:
    brokers = {f"broker {release.version}" for release in RELEASES}
    assert set(PROOFS) == {*EVIDENCE, "java", *brokers, *OF_PAYLOADS, "payloads java"}
    assert {kind.name for kind in KINDS} == {*EVIDENCE, "java", "brokers"}
    assert releases() == tuple(release.version for release in RELEASES)


MESSAGES = sorted(kind for kind in PROOFS if not kind.startswith("payloads"))


@pytest.mark.parametrize("kind", MESSAGES)
def test_nothing_is_proved_of_versions_that_there_are_not(kind: str) -> None:
    known = {
        Message(api.key, side, version) for api in grammars.apis() for side in DIRECTIONS for version in api.versions
    }
    assert proved(kind)
    assert proved(kind) <= known


def test_claims_are_written_as_they_are_read() -> None:
    some = {Message(1, "request", 0), Message(1, "request", 1), Message(1, "request", 3), Message(3, "response", 12)}
    assert written(some) == "Fetch 0-1+3/, Metadata /12"
    both = {Message(0, direction, version) for direction in DIRECTIONS for version in (3, 4)}
    assert written(both) == "Produce 3-4"
    for kind in MESSAGES:
        assert written(proved(kind)) == PROOFS[kind]
    for kind in PROOFS.keys() - MESSAGES:
        assert written_payloads(proved_payloads(kind)) == PROOFS[kind]


def test_spans_are_read_as_they_are_written() -> None:
    for numbers in ([], [0], [0, 1], [0, 2], [0, 1, 2, 5, 7, 8]):
        assert parse(f"Fetch {spans(numbers)}")["Fetch"]["request"] == frozenset(numbers)
