"""Which release of Kafka has which version, from what Kafka's own files say.

The table of APIs among the facts dates every version up to Kafka 4.2. For later releases Kafka's own classes are asked,
release by release: what one has and none before had came with it, what it has no more went with the one before. The
next release is one more line in NEWER.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from kdbg.protocol import grammars
from kdbg.protocol.grammars.releases import dated, since, until

from ..facts import apis

TABLED = "4.2.1"
"""The last release that the table was made of."""
NEWER = ("4.3.1", "4.4.0")
"""The releases after it, oldest first; their classes date their versions."""

Version = tuple[int, int]
"""A version of an API: (API key, version)."""


class Lifetime(NamedTuple):
    """The release that brought a version, and the last that had it, or None where the newest still has."""

    since: str
    until: str | None = None


Lifetimes = Mapping[Version, Lifetime]


def short(release: str) -> str:
    """A release as kdbg writes it: 0.8.2 and 3.9, not 3.9.2."""
    parts = release.split(".")
    return ".".join(parts[:3] if parts[0] == "0" else parts[:2])


def age(release: str) -> list[int]:
    """What releases are ordered by, the oldest first."""
    return [int(part) for part in release.split(".")]


def claimed() -> dict[Version, Lifetime]:
    """What kdbg says."""
    return {
        (key, version): Lifetime(first, until(entry.name, version))
        for key, entry in grammars.ENTRIES.items()
        for version in dated(entry.name)
        if (first := since(entry.name, version))
    }


def tabled() -> dict[Version, Lifetime]:
    """What the table says; it gives no release for the few versions that it took from kio."""
    return {
        (entry["api_key"], row["version"]): Lifetime(
            short(row["first_release"]), short(row["last_release"]) if row["last_release"] else None
        )
        for entry in apis()
        for row in entry["versions"]
        if row["first_release"]
    }


def followed(before: Lifetimes, newest: str, releases: Iterable[tuple[str, set[Version]]]) -> dict[Version, Lifetime]:
    """`before`, which ends with the release `newest`, continued by the versions that later releases have."""
    found = dict(before)
    for release, versions in releases:
        for version in sorted(versions):
            found.setdefault(version, Lifetime(short(release)))
        for version, lifetime in found.items():
            if version not in versions and lifetime.until is None:
                found[version] = lifetime._replace(until=short(newest))
        newest = release
    return found


def asked() -> list[tuple[str, set[Version]]]:
    """The versions that the classes of each newer release have, those still in the making included."""
    from ..brokers.javamessages import JavaMessages

    found = []
    for release in NEWER:
        with JavaMessages((f"org.apache.kafka:kafka-clients:{release}",)) as classes:
            found.append((release, {(api.key, version) for api in classes.apis() for version in api.versions}))
    return found


def lifetimes(releases: Iterable[tuple[str, set[Version]]]) -> dict[Version, Lifetime]:
    """What the table and `releases` say of every version; without releases, what kdbg says so far of later ones."""
    known, classes = tabled(), list(releases)
    return followed(known, TABLED, classes) if classes else known | _later(known)


def _later(known: Lifetimes) -> dict[Version, Lifetime]:
    """What kdbg says of releases behind the table: versions that they brought, and that they were the last to have."""
    found = {}
    for version, lifetime in claimed().items():
        if version not in known:
            found[version] = lifetime
        elif known[version].until is None and lifetime.until and age(lifetime.until) >= age(short(TABLED)):
            found[version] = known[version]._replace(until=lifetime.until)
    return found
