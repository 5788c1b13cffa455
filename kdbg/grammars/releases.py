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
    """Version -> the release that brought it ("since"), or the last that had it ("until")."""
    known = table(FILE, "apis").get(api, {}).get(which, {})
    return {version: release for release, versions in known.items() for version in numbers(versions)}


def dated(api: str) -> frozenset[int]:
    """The versions of the API `api` that some release is known to have."""
    return frozenset(_releases(api, "since"))


def since(api: str, version: int) -> str | None:
    """The first release that had a version of the API `api`; None where none is known to."""
    return _releases(api, "since").get(version)


def until(api: str, version: int) -> str | None:
    """The last release that had it; None where the newest still has, or none is known to."""
    return _releases(api, "until").get(version)
