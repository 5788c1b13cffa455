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
    """Return kind of proof -> the versions of an API that it covers; brokers' answers are not among them."""
    return {kind: sides(text) for kind, text in table(FILE, "apis").get(api, {}).items() if kind != BROKERS}


@cache
def of_brokers(api: str) -> Mapping[str, Versions]:
    """Return release of Kafka -> the versions of an API that its broker answered, the oldest release first."""
    return {release: sides(text) for release, text in table(FILE, "apis").get(api, {}).get(BROKERS, {}).items()}


@cache
def of_payload(payload: str) -> Mapping[str, frozenset[int]]:
    """Return kind of proof -> the versions of a payload that it covers."""
    return {kind: numbers(text) for kind, text in table(FILE, "payloads").get(payload, {}).items()}


@cache
def of_payloads() -> frozenset[str]:
    """Return the kinds of proof that there are for payloads."""
    return frozenset(kind for kinds in table(FILE, "payloads").values() for kind in kinds)
