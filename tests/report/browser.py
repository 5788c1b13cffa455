"""Chromium without a window, for whoever wants to look at a page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from ..cases import by_day

NAMES = ("chromium", "chromium-browser", "google-chrome")
DESKTOP, PHONE = (1400, 900), (390, 844)
EVERY_WIDTH = pytest.mark.parametrize(
    "shown", by_day([PHONE, DESKTOP], 2), ids=by_day(["phone", "desktop"], 2), indirect=True
)
"""For tests of a fixture `shown`, a page that is on a desktop unless it is told another size."""


def chromium_path() -> str | None:
    """Where a browser is, if there is one."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A running browser, as playwright has it."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium_path(), args=["--no-sandbox"])
        yield browser
        browser.close()


def complaints(tab: Any) -> list[str]:
    """What goes wrong on a page from now on: errors and warnings on the console, and errors of scripts."""
    wrong: list[str] = []
    tab.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: wrong.append(str(error)))
    return wrong


def size(viewport: tuple[int, int]) -> dict[str, int]:
    return {"width": viewport[0], "height": viewport[1]}
