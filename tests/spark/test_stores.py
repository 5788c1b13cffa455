"""`kdbg pipeline` on URLs: captures and tables in an object store, which has no folders and renames nothing."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from pyarrow import fs

from tests.cli.calls import spawn

from .archives import concatenated, rolled
from .conftest import bucket
from .decoded import Row, tabled

pytestmark = pytest.mark.usefixtures("spark")  # where Spark cannot start, these skip or fail as all others do


def fetched(folder: Path) -> list[Row]:
    """The rows of the tables in the store."""
    fs.copy_files("s3://lake/tables", str(folder))
    return tabled(folder)


@pytest.mark.nightly
def test_captures_and_tables_may_lie_in_an_object_store(store: dict[str, str], tmp_path: Path) -> None:
    packets, folders = concatenated(12), tmp_path / "captures"
    folders.mkdir()
    for name, part in (("first", packets[:2000]), ("second", packets[2000:])):
        fs.copy_files(str(rolled(folders / name, part, 3, Random(3))), f"s3://lake/{name}")
    spawn("pipeline", folders, "--out", tmp_path / "tables", "--master", "local[2]")

    def run(*arguments: str) -> str:
        outcome = spawn("pipeline", *arguments, "--out", "s3://lake/tables", "--master", "local[2]", **store)
        assert outcome.status in (0, 1), outcome.err
        return outcome.closing

    for _ in range(2):  # the second time the tables are put in place of the first ones
        assert "tables in s3://lake/tables" in run("s3://lake/first/")
    run("s3://lake/first/*.pcap*", "s3://lake/second/", "--append", "--forget", "0")
    found = fetched(tmp_path / "fetched")
    assert len(found) > 100
    here = [(f"s3://lake/{capture}", *rest) for capture, *rest in tabled(tmp_path / "tables")]
    assert found == sorted(here, key=repr)
    left = bucket().get_file_info(fs.FileSelector("lake/tables"))
    assert not [info.path for info in left if ".kdbg" in info.path]
