"""Tables that no one writes by hand: `python -m tests.evidence` makes them of what Kafka's own files and the tests say.

releases.json says which release of Kafka has which version (see releases.py), proofs.json what has proved which version
(see proofs.py). Versions are written `0-3+5`; `0-2/1-2` are those of requests and of responses.
"""

from __future__ import annotations

import json
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

from ...wire.language import DIRECTIONS, Direction

Versions = Mapping[Direction, frozenset[int]]


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
