"""The page's filters in a real browser: what is left is what a report shows of exchanges that kdbg's filters chose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kdbg.views.report.cells import ReportTable
from kdbg.views.report.page import Report, report

from ..cases import by_day
from .browser import DESKTOP, PHONE, chromium_path, complaints, size
from .conftest import Asking
from .scripted import ESCAPES, FAILED, HEARTBEATS, HOSTILE

pytestmark = pytest.mark.skipif(chromium_path() is None, reason="no Chromium: apt-get install chromium")
READY = "#filters[data-ready]"
SAME = ("APIs", "Errors by client", "Errors by code and API", "Expected errors", "Long polls by API",
        "Latency by API")  # fmt: skip
"""Lists that say the same of some exchanges, whether the page chose these or kdbg did."""
CHOICES: list[tuple[str, str, dict[str, Any]]] = [
    ("Client", "shop", {"client_id": "shop"}),
    ("Client", "billing-1", {"client_id": "billing-1"}),
    ("API", "OffsetCommit", {"api": "OffsetCommit"}),
    ("API", "Fetch", {"api": "Fetch"}),
    ("Topic", "orders", {"topic": "orders"}),
]
DRAWN = """(id) => document.getElementById(`chart-${id}`).data
    .map((trace) => trace.y.reduce((sum, value) => sum + (value ?? 0), 0)).reduce((a, b) => a + b, 0)"""


@pytest.fixture(scope="module", params=by_day([DESKTOP, PHONE], 2), ids=by_day(["desktop", "phone"], 2))
def opened(request: pytest.FixtureRequest, browser: Any, written: Path) -> tuple[Any, list[str]]:
    """The page, and what goes wrong on it."""
    tab = browser.new_page(viewport=size(request.param), color_scheme="light")
    tab.set_default_timeout(10_000)
    wrong = complaints(tab)
    tab.goto(written.as_uri())
    tab.wait_for_selector(READY, state="attached")
    return tab, wrong


@pytest.fixture
def tab(opened: tuple[Any, list[str]]) -> Iterator[Any]:
    """The page, ready to be filtered. What goes wrong on it is an error of the test, at its end."""
    tab, wrong = opened
    if tab.locator("#chosen").inner_text() != "all traffic":
        tab.locator("#all").click()
        tab.wait_for_selector("main[aria-busy=false]")
    yield tab
    found = [*wrong]
    wrong.clear()
    assert not found


def choose(tab: Any, name: str, value: str) -> None:
    if tab.locator("#filters:not([open])").count():
        tab.locator("#filters summary").click()
    select = tab.get_by_label(name, exact=True)
    select.select_option(label=value)
    tab.wait_for_selector("main[aria-busy=false]")


def listed(tab: Any, caption: str) -> list[list[str]]:
    """What is shown of a table, in no order."""
    rows = tab.locator(f'table[data-list="{caption}"] tbody tr:not([hidden])')
    return sorted(row.locator("td").all_text_contents() for row in rows.all())


def tables(found: Report) -> dict[str, ReportTable]:
    return {table.caption: table for section in found.sections for table in section.tables}


def texts(table: ReportTable | None) -> list[list[str]]:
    return sorted([cell.text for cell in row] for row in table.rows) if table else []


def tiles(tab: Any) -> dict[str, str]:
    names, values = (tab.locator(f".tiles {tag}").all_text_contents() for tag in ("dt", "dd"))
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize(("name", "value", "filters"), by_day(CHOICES, 2), ids=lambda each: str(each)[:20])
def test_what_is_left_is_what_a_report_of_those_exchanges_shows(
    tab: Any, asking: Asking, capture: Path, name: str, value: str, filters: dict[str, Any]
) -> None:
    choose(tab, name, value)
    found = report(asking(capture, **filters))
    expected = tables(found)
    for caption in SAME:
        assert listed(tab, caption) == texts(expected.get(caption)), caption
    assert found.tiles is not None
    [row] = found.tiles.rows
    assert list(tiles(tab).values()) == [cell.text for cell in row]
    total = row[0].sort
    assert tab.evaluate(DRAWN, "exchanges") == total
    assert tab.locator("#chosen").inner_text() == f"{row[0].text} of 116 exchanges"


def test_filters_go_together_and_all_is_shown_again(tab: Any) -> None:
    before = {caption: listed(tab, caption) for caption in SAME}, tiles(tab), tab.evaluate(DRAWN, "exchanges")
    points = tab.locator("#stands-out .points").inner_text()
    choose(tab, "Client", "shop")
    choose(tab, "API", "Heartbeat")
    assert tiles(tab)["exchanges"] == str(HEARTBEATS)
    assert listed(tab, "Expected errors")[0][2] == str(FAILED)
    assert tab.locator("#stands-out .point:visible a").all_inner_texts() == ["1 of the slowest responses"]
    choose(tab, "Client", "ops")
    assert tiles(tab)["exchanges"] == "0"
    assert tab.locator("#stands-out .point:visible").count() == 0
    assert tab.locator("#nothing").is_visible()
    assert tab.locator("#chart-errors-time").is_hidden()
    tab.locator("#all").click()
    tab.wait_for_selector("main[aria-busy=false]")
    assert tab.locator("#chosen").inner_text() == "all traffic"
    assert before == ({caption: listed(tab, caption) for caption in SAME}, tiles(tab), tab.evaluate(DRAWN, "exchanges"))
    assert tab.locator("#stands-out .points").inner_text() == points
    assert tab.locator("#nothing").is_hidden()


def test_lag_rebalances_and_topics_move_too(tab: Any) -> None:
    choose(tab, "Topic", "orders")
    assert [row[0] for row in listed(tab, "Topics")] == ["orders"]
    assert listed(tab, "Lag at the end, by partition") == [["billing", "orders", "0", "130", "125", "5"]]
    drawn = tab.evaluate("document.getElementById('chart-lag-time').data.map((trace) => Math.max(...trace.y))")
    assert sorted(drawn) == [0, 0, 90]
    tab.locator("#all").click()
    choose(tab, "Client", "billing-1")
    assert [row[0] for row in listed(tab, "Rebalances: numbers")] == ["billing"]
    assert tab.evaluate("document.getElementById('chart-rebalances-time').data[0].y") == ["billing"]
    assert tab.locator("#stands-out .point:visible a").all_inner_texts() == [
        "1 of the slowest responses", "1 rebalance", "1 request without a response"]  # fmt: skip


def test_numbers_below_a_chart_are_those_that_it_draws(tab: Any) -> None:
    choose(tab, "Client", "billing-1")
    rows = listed(tab, tab.locator("#chart-exchanges").locator("xpath=..").locator("table").get_attribute("data-list"))
    assert sum(int(number) for _, *numbers in rows for number in numbers) == 7


def test_filters_are_reached_and_moved_by_the_keyboard_alone(tab: Any) -> None:
    tab.locator("#filters summary").focus()
    if tab.locator("#filters:not([open])").count():
        tab.keyboard.press("Enter")
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.labels[0].textContent") == "Client"
    tab.keyboard.type("shop")
    tab.wait_for_function("document.getElementById('chosen').textContent !== 'all traffic'")
    assert tab.locator("#chosen[role=status]").inner_text() == f"{1 + HEARTBEATS} of 116 exchanges"


def test_names_that_look_like_markup_are_options_like_others(tab: Any) -> None:
    for name in (HOSTILE, ESCAPES):
        choose(tab, "Topic", name)
        assert [row[0] for row in listed(tab, "Topics")] == [name]
    choose(tab, "Client", "all")


def test_nothing_sticks_out_while_filtered(tab: Any) -> None:
    choose(tab, "Client", "ops")
    assert tab.evaluate("document.documentElement.scrollWidth <= innerWidth")
