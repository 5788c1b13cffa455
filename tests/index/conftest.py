"""Small captures get an index in these tests, in a cache of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from kdbg.capture import source
from kdbg.ui.cli import runner
from kdbg.views.index import writer

from ..cli import calls


@pytest.fixture(autouse=True)
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of indexes, which have several blocks each, of captures that are read in several batches."""
    monkeypatch.delitem(calls.ENVIRONMENT, "KDBG_NO_INDEX", raising=False)
    monkeypatch.delenv("KDBG_NO_INDEX", raising=False)
    monkeypatch.setitem(calls.ENVIRONMENT, "XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(runner, "INDEXED", 1)
    monkeypatch.setattr(writer, "AT_ONCE", 16)
    for module in (source, writer):
        monkeypatch.setattr(module, "CHUNK", 1024)
    return tmp_path / "cache" / "kdbg" / "index"
