"""One Spark session on two cores for all tests of this folder, which run best in a pytest process of their own.

Without Java or pyspark those that need it skip and say why; with `CI` or `KDBG_REQUIRE_BROKERS=1` set they fail.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from kdbg.errors import SparkError
from kdbg.scale.spark import session
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions, PipelineOutcome

REQUIRED = ("CI", "KDBG_REQUIRE_BROKERS")
Run = Callable[..., tuple[Path, PipelineOutcome]]


def pytest_itemcollected(item: pytest.Item) -> None:
    """One worker of pytest-xdist runs all of these (`--dist loadgroup`): Spark starts once."""
    item.add_marker(pytest.mark.xdist_group("spark"))


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    try:
        found = session.start("local[2]")
    except SparkError as error:
        if any(os.environ.get(name) for name in REQUIRED):
            raise
        pytest.skip(str(error))
    yield found
    session.stop(found)


@pytest.fixture
def here(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have commands that run in this process use the session that there is: to start one takes seconds."""

    def started(master: str | None = None, configuration: Mapping[str, str] | None = None, **_: object) -> Any:
        found = spark.newSession()  # with settings and views of its own
        for name, value in (configuration or {}).items():
            found.conf.set(name, value)
        return found

    monkeypatch.setattr(session, "start", started)
    monkeypatch.setattr(session, "stop", lambda _: None)


@pytest.fixture
def run(spark: Any, tmp_path: Path) -> Run:
    """Runs the pipeline over captures: gives the folder of the tables, and what came of it."""
    numbers = count()

    def run(
        captures: Sequence[Path], *, rolled: bool = False, out: Path | None = None, **options: Any
    ) -> tuple[Path, PipelineOutcome]:
        out = out or tmp_path / f"tables-{next(numbers)}"
        chosen = PipelineOptions(**options)
        planned = plan([str(path) for path in captures], chosen.split, rolled=rolled)
        return out, Pipeline(spark, Output(str(out)), chosen).run(planned)

    return run
