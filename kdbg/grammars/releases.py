"""Which release of Kafka brought each version of each API, and which was the last to have it: generated/releases.json.

Versions that a release has, but does not call stable yet, count: a broker that is told so serves them
(`unstable.api.versions.enable`). Kafka 4 dropped what clients before 2.1 need (KIP-896), and the APIs of ZooKeeper's
times (KIP-500).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from .generated import numbers, table

FILE = "releases.json"


@cache
def _releases(api: str, which: str) -> Mapping[int, str]:
    """Return version -> the release that brought it (`which` is "since") or the last that had it ("until")."""
    known = table(FILE, "apis").get(api, {}).get(which, {})
    return {version: release for release, versions in known.items() for version in numbers(versions)}


def dated(api: str) -> frozenset[int]:
    """Return the versions of the API `api` that some release is known to have."""
    return frozenset(_releases(api, "since"))


def since(api: str, version: int) -> str | None:
    """Return the first release that had a version of the API `api`; None where none is known to."""
    return _releases(api, "since").get(version)


def until(api: str, version: int) -> str | None:
    """Return the last release that had a version of the API `api`; None if the newest still has it or none is known."""
    return _releases(api, "until").get(version)
