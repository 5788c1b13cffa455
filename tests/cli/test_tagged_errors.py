"""CreateTopics tells in a tagged field why the settings of a topic are not shown: that error is one like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

import kdbg

from ..traffic import Talk, pcap
from .calls import call

DENIED = 29
"""TOPIC_AUTHORIZATION_FAILED"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Two topics are created; the settings of the second one may not be seen."""
    talk = Talk()
    for name, error in (("orders", 0), ("secrets", DENIED)):
        told = {"topic_config_error_code": error} if error else {}
        talk.ask("CreateTopics", 5, topics=[{"name": name}]).answer(topics=[{"name": name, "configs": None} | told])
    (path := tmp_path / "created.pcap").write_bytes(pcap(talk.end()))
    return path


def test_the_filter_finds_it(path: Path) -> None:
    (found,) = call("decode", path, "-f", "json", "--errors").lines
    assert found["response"]["body"]["topics"][0]["topic_config_error_code"] == DENIED
    assert [one.correlation_id for one in kdbg.read(path, errors=True)] == [2]


def test_the_summary_names_it(path: Path) -> None:
    first, second = call("decode", path, "-f", "summary").out.splitlines()[-2:]
    assert "TOPIC_AUTH" in second
    assert "TOPIC_AUTH" not in first


def test_the_tables_have_it(path: Path) -> None:
    pytest.importorskip("pyarrow", reason="the extra spark is not installed")
    assert kdbg.read_capture(path).to_arrow().column("errors").to_pylist() == [[], ["TOPIC_AUTHORIZATION_FAILED"]]
