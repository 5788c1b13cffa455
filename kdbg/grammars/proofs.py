"""What has proved that kdbg reads and writes which version of which API and payload: generated/proofs.json."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .generated import Versions, numbers, sides, table

FILE = "proofs.json"
BROKERS = "brokers"
"""The kind of proof that a release of Apache Kafka gave which answered the request."""


@cache
def of_api(api: str) -> Mapping[str, Versions]:
    """Kind of proof -> the versions it was had for; without the brokers' answers."""
    return {kind: sides(text) for kind, text in table(FILE, "apis").get(api, {}).items() if kind != BROKERS}


@cache
def of_brokers(api: str) -> Mapping[str, Versions]:
    """Release of Kafka -> the versions that its broker answered, the oldest release first."""
    return {release: sides(text) for release, text in table(FILE, "apis").get(api, {}).get(BROKERS, {}).items()}


@cache
def of_payload(payload: str) -> Mapping[str, frozenset[int]]:
    """Kind of proof -> the versions of a payload it was had for."""
    return {kind: numbers(text) for kind, text in table(FILE, "payloads").get(payload, {}).items()}


@cache
def of_payloads() -> frozenset[str]:
    """The kinds of proof that there are for payloads."""
    return frozenset(kind for kinds in table(FILE, "payloads").values() for kind in kinds)
