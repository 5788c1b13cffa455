"""Which release of Kafka brought each version of each API, and which was the last to have it: generated/releases.json.

Versions that a release has, but does not call stable yet, count: a broker that is told so serves them
(`unstable.api.versions.enable`). Kafka 4 dropped what clients before 2.1 need (KIP-896), and the APIs of ZooKeeper's
times (KIP-500).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ...errors import InputError
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


def rank(release: str) -> tuple[int, ...]:
    """Return what orders releases: `0.10.2` before `1.0`; beyond the second number (third before 1.0) all are one.

    Raise `InputError` for what is no release.
    """
    parts = release.removeprefix("v").split(".")
    if not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts) or len(parts) < 2:
        raise InputError(f"{release!r} is not a Kafka release; use a value such as 4.0 or 0.10.2")
    found = tuple(map(int, parts))
    return found[:3] if found[0] == 0 else found[:2]


@cache
def newest() -> str:
    """Return the newest release that is known."""
    names: list[str] = [release for entry in table(FILE, "apis").values() for release in entry["since"]]
    return max(names, key=rank)


def has(api: str, version: int, release: str) -> bool | None:
    """Return whether a release has a version of the API `api`; None where nothing is known of that version."""
    first, last = since(api, version), until(api, version)
    if first is None:
        return None
    return rank(first) <= rank(release) and (last is None or rank(release) <= rank(last))


def versions_in(api: str, release: str) -> list[int]:
    """Return the versions of the API `api` that a release has."""
    return sorted(version for version in dated(api) if has(api, version, release))
