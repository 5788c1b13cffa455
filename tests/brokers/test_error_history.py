"""What error codes were called and whether clients tried again, release by release: Kafka's own classes say it.

The last patch of every minor release is asked, oldest first; what differs from the release before it is what kdbg's
history has, no more and no less.
"""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from kdbg.protocol.grammars.errors import CHANGES, ERRORS

from .classpath import classpath
from .java import QUICK, java
from .pool import needed

SOURCE = Path(__file__).with_name("ErrorCodes.java")
RELEASES = (
    "0.8.2.2", "0.9.0.1", "0.10.0.1", "0.10.1.1", "0.10.2.2", "0.11.0.3", "1.0.2", "1.1.1", "2.0.1", "2.1.1", "2.2.2",
    "2.3.1", "2.4.1", "2.5.1", "2.6.3", "2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.2.3", "3.3.2", "3.4.1", "3.5.2",
    "3.6.2", "3.7.2", "3.8.1", "3.9.2", "4.0.1", "4.1.1", "4.2.0", "4.3.1", "4.4.0",
)  # fmt: skip
Codes = dict[int, tuple[str, bool]]
"""Code -> name, retriable."""


def codes(release: str) -> Codes:
    """The error codes of a release's client."""
    jars = classpath((f"org.apache.kafka:kafka-clients:{release}",))
    done = subprocess.run(
        [java(), *QUICK, "-cp", jars, str(SOURCE)], capture_output=True, text=True, check=True, timeout=60
    )
    lines = [line.split() for line in done.stdout.splitlines()]
    return {int(code): (name, retriable == "true") for code, name, retriable in lines}


@pytest.fixture(scope="module")
def history() -> list[tuple[str, Codes]]:
    with needed():
        return [(release, codes(release)) for release in RELEASES]


def minor(release: str) -> str:
    parts = release.split(".")
    return ".".join(parts[:3] if parts[0] == "0" else parts[:2])


@pytest.mark.nightly  # fetches the clients of all releases, which do not change
def test_every_change_of_a_name_or_of_retriability_is_known(history: list[tuple[str, Codes]]) -> None:
    seen = {
        (code, minor(release), name if name != now[code][0] else "", again if again != now[code][1] else None)
        for (_, before), (release, now) in pairwise(history)
        for code, (name, again) in before.items()
        if now[code] != (name, again)
    }
    known = {
        (code, change.release, change.name, change.retriable)
        for code, changes in CHANGES.items()
        for change in changes
        if change.name or change.retriable is not None
    }
    assert known == seen


def test_the_newest_release_says_what_kdbg_says() -> None:
    with needed():
        newest = codes(RELEASES[-1])
    assert newest == {code: (error.name, error.retriable) for code, error in ERRORS.items()}
