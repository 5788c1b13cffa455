"""Writers killed at any moment, and several at once: no row lost, none twice, the old or the new state."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from random import Random
from typing import Any

import pytest

from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.delta import DeltaFolder
from tests.cli.calls import ENVIRONMENT, MAIN

from .writers import WRITERS, append, groups, stored

LOCAL, STORE = "local", "store"
FEW, MANY = 2, 50
"""Kills by day, on a local disk alone, and at night."""
LONGEST = {LOCAL: 0.4, STORE: 1.5}
"""Seconds in which a writer commits a few times, from its first commit on."""


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A folder for tables on a local disk, or in an object store."""
    if request.param == LOCAL:
        return str(tmp_path / "tables")
    request.getfixturevalue("store")
    return f"s3://lake/{tmp_path.name}"


def writer(how: str, place: str, name: str, *most: object) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "tests.spark.writers", how, place, name, *map(str, most)]
    environment = ENVIRONMENT | {key: value for key, value in os.environ.items() if key.startswith("AWS_")}
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=MAIN)


def killed(how: str, place: str, name: str, seconds: float) -> list[int]:
    """What a writer committed and printed until it was killed, so many seconds after its first commit."""
    with writer(how, place, name) as running:
        assert running.stdout is not None
        first = running.stdout.readline()
        time.sleep(seconds)
        running.kill()
        return [int(line) for line in (first + running.stdout.read()).split()]


def expected(how: str, name: str, last: int) -> list[str]:
    """The names that a writer has committed up to a number."""
    if how == "replace":
        return [f"{name}-{last}", f"{name}-{last}+"]
    return [f"{name}-{number}" for number in range(last + 1)]


CASES = [
    *(pytest.param(how, LOCAL, FEW, id=f"{how}-local") for how in WRITERS),
    *(
        pytest.param(how, place, MANY, id=f"{how}-{place}-{MANY}", marks=pytest.mark.nightly)
        for how in WRITERS
        for place in (LOCAL, STORE)
    ),
]


@pytest.mark.parametrize(("how", "place", "times"), CASES, indirect=["place"])
def test_a_writer_that_is_killed_leaves_the_old_or_the_new_state(how: str, place: str, times: int) -> None:
    dice, there = Random(f"{how} {times}"), list[str]()
    longest = LONGEST[STORE if "://" in place else LOCAL]
    for kill in range(times):
        name = f"{kill:02}"
        last = killed(how, place, name, dice.uniform(0, longest))[-1]
        before = [] if how == "replace" else there
        states = [sorted(before + expected(how, name, last + more)) for more in (0, 1)]
        found = groups(place)
        assert found in states, f"kill {kill}: {len(found)} rows, {[*map(len, states)]} expected"
        there = found
    append(place, "over", 0)
    assert stored(place) == groups(place) == sorted([*there, "over-0"]), "other readers have the same"


@pytest.mark.parametrize(
    ("place", "most"),
    [(LOCAL, 5), (STORE, 2), pytest.param(STORE, 5, marks=pytest.mark.nightly)],
    indirect=["place"],
)
def test_writers_at_the_same_time_keep_all_rows(place: str, most: int) -> None:
    names = [("append", "one"), ("compact", "two")] + [("append", "three")] * (most > 2)
    running = [writer(how, place, name, most) for how, name in names]
    assert [one.wait(100) for one in running] == [0] * len(names)
    for one in running:
        assert one.stdout is not None
        one.stdout.close()
    wanted = sorted(f"{name}-{number}" for _, name in names for number in range(most))
    assert groups(place) == stored(place) == wanted
    assert sorted(Output(place).known()) == wanted
    runs: list[dict[str, Any]] = DeltaFolder(place).runs(["run"])
    assert [run["sequence"] for run in runs] == [*range(1, len(wanted) + 1)]
