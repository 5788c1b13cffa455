"""Every proof that kdbg lays claim to has its evidence, and all the evidence is in its claims.

`python -m tests.evidence` brings them together again. The proofs by Java and by brokers are held to theirs in
tests/brokers, where these are.
"""

from __future__ import annotations

import json

import pytest

from kdbg.protocol import grammars
from kdbg.protocol.grammars.generated import PROOFS, numbers, of_brokers, sides, spans
from kdbg.protocol.wire.language import DIRECTIONS
from kdbg.views.render.coverage import KINDS

from .brokers.releases import RELEASES
from .cases import for_each
from .evidence import tables
from .evidence.proofs import BROKER, EVIDENCE, FROM_SHARED, OF_PAYLOADS, claimed, proved, proved_payloads
from .peers.dice import Message

PEERS = ("kio", "kafka-python")
"""Those that know more with each of their releases: what they know beyond the claims is no fault."""


@pytest.mark.parametrize("kind", sorted(EVIDENCE))
def test_what_is_claimed_was_seen(kind: str, request: pytest.FixtureRequest) -> None:
    if kind in FROM_SHARED:
        request.getfixturevalue("shared")
    assert proved(kind) <= EVIDENCE[kind]()


@pytest.mark.parametrize("kind", sorted(set(EVIDENCE) - set(PEERS)))
def test_what_was_seen_is_claimed(kind: str, request: pytest.FixtureRequest) -> None:
    if kind in FROM_SHARED:
        request.getfixturevalue("shared")
    assert EVIDENCE[kind]() <= proved(kind), "python -m tests.evidence"


@pytest.mark.parametrize("kind", sorted(OF_PAYLOADS))
def test_what_is_claimed_of_payloads_is_what_was_seen(kind: str) -> None:
    assert OF_PAYLOADS[kind]() == proved_payloads(kind), "python -m tests.evidence"


def test_there_is_no_other_kind_of_proof() -> None:
    messages, payloads = claimed()
    brokers = [release.version for release in RELEASES]
    assert set(messages) == {*EVIDENCE, "java", *(BROKER + version for version in brokers)}
    assert set(payloads) == {*OF_PAYLOADS, "java"}
    assert {kind.name for kind in KINDS} == {*EVIDENCE, "java", "brokers"}
    assert list(of_brokers("Metadata")) == brokers, "oldest first"


@for_each("kind", sorted(claimed().messages))
def test_nothing_is_proved_of_versions_that_there_are_not(kind: str) -> None:
    assert proved(kind)
    for message in proved(kind):
        assert message.version in grammars.api(message.key).versions, message


def test_the_file_is_as_it_is_written() -> None:
    claims = claimed()
    rows = {"apis": tables.proof_rows(claims.messages), "payloads": tables.payload_rows(claims.payloads)}
    assert (tables.FOLDER / PROOFS).read_text() == tables.text(tables.PROOFS, **rows)


def test_claims_are_written_as_they_are_read() -> None:
    some = {Message(1, "request", 0), Message(1, "request", 1), Message(1, "request", 3), Message(3, "response", 12)}
    same = {Message(3, direction, version) for direction in DIRECTIONS for version in (3, 4)}
    rows = tables.proof_rows({"kio": some, f"{BROKER}3.9.2": same, f"{BROKER}0.10.1.1": same})
    assert {name: row for name, row in rows.items() if row} == {
        "Fetch": {"kio": "0-1+3/"},
        "Metadata": {"kio": "/12", "brokers": {"0.10.1.1": "3-4", "3.9.2": "3-4"}},
    }
    assert list(rows["Metadata"]["brokers"]) == ["0.10.1.1", "3.9.2"]
    written = json.loads(tables.text("What it is.", apis=rows))
    assert written == {"about": "What it is.", "apis": {name: dict(row) for name, row in rows.items() if row}}


def test_spans_are_read_as_they_are_written() -> None:
    for versions in ([], [0], [0, 1], [0, 2], [0, 1, 2, 5, 7, 8]):
        assert numbers(spans(versions)) == frozenset(versions)
        assert sides(tables.both({"request": frozenset(versions), "response": frozenset([3])})) == {
            "request": frozenset(versions), "response": frozenset([3])
        }  # fmt: skip
