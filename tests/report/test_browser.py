"""The page in a real browser, at two sizes: what moves, and that nothing goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from .browser import DESKTOP, EVERY_WIDTH, chromium_path, complaints, size
from .scripted import ESCAPES, HOSTILE

pytestmark = pytest.mark.skipif(chromium_path() is None, reason="no Chromium: apt-get install chromium")
CHARTS = 9
APIS = "#traffic .scroll[aria-label='APIs']"
DRAWN = "document.querySelectorAll('.chart .main-svg').length > 0"
RANGES = "[...document.querySelectorAll('.chart')].map((chart) => String(chart.layout.xaxis.range))"
ZOOMED = """(() => {
    const [from, to] = document.getElementById("chart-bytes").layout.xaxis.range;
    return Plotly.relayout("chart-bytes", {"xaxis.range[0]": from.replace(/...$/, "900"), "xaxis.range[1]": to});
})()"""
VALIDATED = """Object.values(JSON.parse(document.getElementById("figures").textContent))
    .flatMap((figure) => Plotly.validate(figure.data, figure.layout) || [])
    .filter((wrong) => wrong.code !== "unused").map((wrong) => wrong.msg)"""


@pytest.fixture(scope="module")
def pages(browser: Any, written: Path) -> Callable[[tuple[int, int]], tuple[Any, list[str]]]:
    """Opens the page at a size, once: it takes seconds to draw. With it comes what goes wrong on it."""

    @cache
    def opened(viewport: tuple[int, int]) -> tuple[Any, list[str]]:
        tab = browser.new_page(viewport=size(viewport), color_scheme="light")
        wrong = complaints(tab)
        tab.on("dialog", lambda dialog: (wrong.append(f"alert {dialog.message}"), dialog.dismiss()))
        tab.on("request", lambda asked: None if asked.url.startswith(("file:", "data:")) else wrong.append(asked.url))
        tab.goto(written.as_uri())
        tab.wait_for_function(DRAWN)
        return tab, wrong

    return opened


@pytest.fixture
def shown(request: pytest.FixtureRequest, pages: Any) -> Iterator[Any]:
    """The page, drawn, as tests before have left it; whatever goes wrong on it is an error of the test, at its end."""
    tab, wrong = pages(getattr(request, "param", DESKTOP))
    tab.emulate_media(color_scheme="light")
    tab.evaluate("scrollTo(0, 0)")
    yield tab
    found = [*wrong]
    wrong.clear()
    assert not found


def column(tab: Any, number: int) -> list[str]:
    found: list[str] = tab.locator(f"{APIS} tbody td:nth-child({number})").all_inner_texts()
    return found


def background(tab: Any) -> str:
    found: str = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    return found


@EVERY_WIDTH
def test_every_chart_is_drawn_and_nothing_sticks_out(shown: Any) -> None:
    assert shown.locator(".chart .main-svg:first-child").count() == CHARTS
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")


@EVERY_WIDTH
def test_what_is_wrong_is_on_the_first_screen(shown: Any) -> None:
    bottom = shown.evaluate("document.getElementById('causes').getBoundingClientRect().bottom")
    assert bottom <= shown.viewport_size["height"]
    assert shown.locator("#stands-out .points > li").count() >= 3


def test_amounts_stand_at_whole_units(shown: Any) -> None:
    for chart in ("exchanges", "bytes", "errors-time", "lag-time"):
        marks = shown.locator(f"#chart-{chart} .ytick text").all_text_contents()
        assert len(marks) >= 2
        assert all(mark.rstrip("kMGB").isdigit() for mark in marks), marks


def test_all_charts_are_zoomed_to_the_same_time(shown: Any) -> None:
    whole = shown.evaluate(RANGES)
    shown.evaluate(ZOOMED)
    assert [len(set(ranges)) for ranges in (whole, shown.evaluate(RANGES))] == [1, 1]
    assert shown.evaluate(RANGES) != whole
    shown.evaluate("Plotly.relayout('chart-bytes', {'xaxis.autorange': true})")
    assert shown.evaluate(RANGES) == whole


def test_a_click_on_a_heading_sorts_and_another_turns_it_round(shown: Any) -> None:
    heading = shown.locator(f"{APIS} th button", has_text="exchanges")
    before = column(shown, 2)
    heading.click()
    assert column(shown, 2) == sorted(before, key=int, reverse=True)
    heading.click()
    assert column(shown, 2) == sorted(before, key=int) != sorted(before, key=int, reverse=True)
    assert shown.locator(f"{APIS} th").nth(1).get_attribute("aria-sort") == "ascending"
    shown.locator(f"{APIS} th button", has_text="API").press("Enter")
    assert column(shown, 1) == sorted(column(shown, 1))


def test_a_series_can_be_put_away_and_brought_back(shown: Any) -> None:
    bars = shown.locator("#chart-exchanges .trace.bars")
    key = shown.locator("[data-chart=exchanges]").first
    everything = bars.count()
    key.click()
    assert (key.get_attribute("aria-pressed"), bars.count()) == ("false", everything - 1)
    key.click()
    assert (key.get_attribute("aria-pressed"), bars.count()) == ("true", everything)


def test_the_theme_follows_the_system_and_the_switch(shown: Any) -> None:
    light = background(shown)
    words = shown.locator("#chart-exchanges .ytick text").first
    before = words.evaluate("word => getComputedStyle(word).fill")
    shown.click("#theme")
    dark = background(shown)
    assert dark != light
    assert words.evaluate("word => getComputedStyle(word).fill") != before
    shown.click("#theme")
    assert background(shown) == light
    shown.evaluate("delete document.documentElement.dataset.theme")
    shown.emulate_media(color_scheme="dark")
    assert background(shown) == dark


def test_a_topic_that_looks_like_markup_is_text(shown: Any) -> None:
    for name in (HOSTILE, ESCAPES):
        assert shown.locator("#topics td").get_by_text(name, exact=True).count() == 1
        assert shown.locator("[data-chart=lag-time]").get_by_text(name).count() == 1
    assert shown.locator("img").count() == 0
    labels = shown.locator("#chart-rebalances-time .ytick text").all_text_contents()
    assert any(label.startswith("<img src=x") for label in labels)


def test_numbers_stand_under_every_chart(shown: Any) -> None:
    for figure in shown.locator("figure").all():
        figure.locator("summary").click()
        assert figure.locator("tbody tr").first.is_visible()


def test_the_library_knows_all_that_figures_say(shown: Any) -> None:
    assert shown.evaluate(VALIDATED) == []
