"""The scripted capture: as a file, as facts to ask for, as a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import Reported
from kdbg.views.report.page import page, report
from kdbg.views.report.page_data import moving
from kdbg.views.report.queries import Ask

from .browser import chromium
from .scripted import scripted

Asking = Callable[..., Ask]


@pytest.fixture(scope="session")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("scripted") / "scripted.pcap"
    path.write_bytes(scripted())
    return path


@pytest.fixture
def asking() -> Iterator[Asking]:
    """Gives what answers questions about captures, narrowed down by filters."""
    opened: list[Reported] = []

    def ask(*paths: Path, **filters: Any) -> Ask:
        collected = Reported(Filters(**filters))
        opened.append(collected)
        for path in paths:
            with open_capture(path) as found:
                collected.capture(found)
        return collected.ask

    yield ask
    for collected in opened:
        collected.close()


@pytest.fixture(scope="session")
def written(capture: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the scripted capture."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    with closing(Reported(Filters())) as collected, open_capture(capture) as found:
        collected.capture(found)
        made = report(collected.ask, collected.diagnosis)
        path.write_text(page(made, [capture.name], moving(collected.ask, made)), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as running:
        yield running
