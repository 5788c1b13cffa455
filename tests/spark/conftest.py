"""One Spark session on two cores for all tests of this folder, which run best in a pytest process of their own.

Without Java or pyspark those that need it skip and say why; with `CI` or `KDBG_REQUIRE_BROKERS=1` set they fail.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from pyarrow import fs

from kdbg.errors import SparkError
from kdbg.scale.spark import session
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.pipeline import Pipeline, PipelineOptions, PipelineOutcome

from .servers import free_port, serving

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
    java = found.sparkContext._gateway.proc
    assert java.poll() is None, f"Spark's Java process ended during the tests, with status {java.poll()}"
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
        captures: Sequence[Path],
        *,
        rolled: bool = False,
        out: Path | None = None,
        allow_duplicates: bool = False,
        **options: Any,
    ) -> tuple[Path, PipelineOutcome]:
        out = out or tmp_path / f"tables-{next(numbers)}"
        chosen = PipelineOptions(**options)
        planned = plan([*map(str, captures)], chosen.split, rolled=rolled, allow_duplicates=allow_duplicates)
        return out, Pipeline(spark, Output(str(out)), chosen).run(planned)

    return run


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of those who use the store; its bucket is `lake`."""
    port = free_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_DEFAULT_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    command = (sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", port)
    with serving(tmp_path_factory.mktemp("store") / "store.log", port, *command), pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        bucket().create_dir("lake")
        yield environment


def bucket() -> fs.FileSystem:
    return fs.FileSystem.from_uri("s3://lake?allow_bucket_creation=true")[0]
