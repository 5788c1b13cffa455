"""The project's own captures: what is wrong in them is named, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.protocol.findings import Severity

from .test_shared import judged

CAPTURES = Path(__file__).parents[2] / "captures"
WRONG: dict[str, set[str]] = {
    "controlled-shutdown.pcap": {"api-version-unsupported"},
    "errors.pcap": {"not-enough-replicas", "message-too-large", "unknown-topic"},
    "real-0.8.2.2.pcap": {"unknown-topic"},
    "real-4.4.0-transactions.pcap": {"transactional-id-shared", "producer-fenced"},
    "real-errors.pcap": {"error-response", "offset-out-of-range-data-loss", "message-too-large", "unknown-topic"},
    "real-sasl-scram.pcap": {"sasl-wrong-credentials"},
    "real-sasl-tokens.pcap": {"sasl-wrong-credentials"},
    "transactions.pcap": {"corrupt-batch"},
}
"""Causes above a note, by capture; there are none in the others."""


@pytest.mark.parametrize("path", sorted(CAPTURES.glob("*.pcap*")), ids=lambda path: path.name)
def test_what_is_wrong_in_a_capture_is_named_and_nothing_else(path: Path) -> None:
    loud = {case.code for case in judged(path) if case.severity is not Severity.NOTE}
    assert loud == WRONG.get(path.name, set())
