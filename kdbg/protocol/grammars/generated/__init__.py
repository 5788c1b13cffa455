"""Tables that no one writes by hand: `python -m tests.evidence` makes them of what Kafka's own files and the tests say.

releases.json says which release of Kafka has which version (see releases.py), proofs.json what has proved that kdbg
reads and writes which version of which API and payload. Versions are written `0-3+5`; `0-2/1-2` are those of requests
and of responses.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ...wire.language import DIRECTIONS, Direction

Versions = Mapping[Direction, frozenset[int]]
PROOFS = "proofs.json"
BROKERS = "brokers"
"""The kind of proof that a release of Apache Kafka gave which answered the request."""


@cache
def table(file: str, name: str) -> Mapping[str, Mapping[str, Any]]:
    """Read a table from a JSON file beside this module; return the name of each API or payload -> its entries."""
    found: Mapping[str, Mapping[str, Any]] = json.loads(pkgutil.get_data(__name__, file) or b"")[name]
    return found


def numbers(text: str) -> frozenset[int]:
    """Return the versions that a text such as `0-3+5` stands for."""
    ends = [span.split("-") for span in text.split("+") if span]
    return frozenset(number for end in ends for number in range(int(end[0]), int(end[-1]) + 1))


def spans(versions: Iterable[int]) -> str:
    """Return versions as a text that `numbers` reads: `0-3+5`."""
    runs: list[list[int]] = []
    for version in sorted(versions):
        if runs and runs[-1][-1] == version - 1:
            runs[-1][1:] = [version]
        else:
            runs.append([version])
    return "+".join("-".join(map(str, run)) for run in runs)


def sides(text: str) -> Versions:
    """Return the versions of requests and of responses that `0-2/1-2` stands for; without `/` they are the same."""
    request, slash, response = text.partition("/")
    return dict(zip(DIRECTIONS, map(numbers, (request, response if slash else request)), strict=True))


@cache
def of_api(api: str) -> Mapping[str, Versions]:
    """Return kind of proof -> the versions of an API that it covers; brokers' answers are not among them."""
    return {kind: sides(text) for kind, text in table(PROOFS, "apis").get(api, {}).items() if kind != BROKERS}


@cache
def of_brokers(api: str) -> Mapping[str, Versions]:
    """Return release of Kafka -> the versions of an API that its broker answered, the oldest release first."""
    return {release: sides(text) for release, text in table(PROOFS, "apis").get(api, {}).get(BROKERS, {}).items()}


@cache
def of_payload(payload: str) -> Mapping[str, frozenset[int]]:
    """Return kind of proof -> the versions of a payload that it covers."""
    return {kind: numbers(text) for kind, text in table(PROOFS, "payloads").get(payload, {}).items()}


@cache
def of_payloads() -> frozenset[str]:
    """Return the kinds of proof that there are for payloads."""
    return frozenset(kind for kinds in table(PROOFS, "payloads").values() for kind in kinds)
