"""The configuration keys that kdbg shows are those that Kafka's own classes call anything but a password."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from kdbg.protocol.wire.readings.secrets import public_names

from .classpath import classpath
from .java import QUICK, java
from .pool import needed
from .releases import release

SOURCE = Path(__file__).with_name("ConfigNames.java")
CREDENTIALS = {"SCRAM-SHA-256", "SCRAM-SHA-512"}
"""Salted passwords of users, which the classes call strings."""
RELEASES = ("2.8", "3.9", "4.4")


def types(name: str) -> set[tuple[str, str]]:
    """The keys that a release's classes define, each with its type."""
    jars = classpath(release(name).broker_artifacts)
    done = subprocess.run(
        [java(), *QUICK, "-cp", jars, str(SOURCE)], capture_output=True, text=True, check=True, timeout=120
    )
    return {(key, kind) for key, _, kind in (line.rpartition(" ") for line in done.stdout.splitlines())}


@pytest.fixture(scope="module")
def known() -> set[tuple[str, str]]:
    with needed():
        return set().union(*map(types, RELEASES))


def test_no_password_is_public(known: set[tuple[str, str]]) -> None:
    passwords = {key for key, kind in known if kind == "PASSWORD"}
    assert {"sasl.jaas.config", "ssl.keystore.key", "delegation.token.master.key"} <= passwords
    assert not (passwords | CREDENTIALS) & public_names()


def test_all_others_are_public_and_nothing_else(known: set[tuple[str, str]]) -> None:
    passwords = {key for key, kind in known if kind == "PASSWORD"}
    assert {key for key, _ in known} - passwords - CREDENTIALS == public_names()
