"""Where the brokers come from, and what is said when they can't be had; nothing is fetched or started here."""

from __future__ import annotations

from pathlib import Path

import pytest

from . import classpath as fetching
from .classpath import Unavailable, classpath
from .java import java
from .pool import REQUIRED, needed
from .releases import RELEASES, release
from .waiting import NotReady, until


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine with an empty cache, and neither Java nor Maven."""
    monkeypatch.setenv("KDBG_BROKER_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setattr(fetching, "classpath", classpath.__wrapped__)
    for name in REQUIRED:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("bare")
def test_without_maven_a_test_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"no brokers: Maven \(mvn\) is not installed"), needed():
        fetching.classpath(RELEASES[0].broker_artifacts)


@pytest.mark.usefixtures("bare")
def test_without_java_a_test_is_skipped_with_the_reason() -> None:
    with pytest.raises(pytest.skip.Exception, match=r"no brokers: Java \(java\) is not installed"), needed():
        java()


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize("name", REQUIRED)
def test_where_brokers_are_required_their_absence_fails(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "1")
    with pytest.raises(Unavailable, match="Java"), needed():
        java()


@pytest.mark.parametrize(("name", "version"), [("0.8", "0.8.2.2"), ("2.8.2", "2.8.2"), ("4", "4.4.0")])
def test_a_release_is_named_in_full_or_by_its_beginning(name: str, version: str) -> None:
    assert release(name).version == version


@pytest.mark.parametrize("name", ["0.1", "5", "4.4.0.1", ""])
def test_no_other_release_is_guessed_at(name: str) -> None:
    with pytest.raises(LookupError, match=r"there are 0\.8\.2\.2, 0\.10\.1\.1, 2\.8\.2"):
        release(name)


def test_what_does_not_happen_is_not_waited_for_longer() -> None:
    with pytest.raises(NotReady, match=r"after 0\.1 s: nothing came"):
        until(lambda: False, lambda: "nothing came", timeout=0.1)
