"""The head of the page: what diagnosis says of the captures, and the stories of whom that is about."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import Reported
from kdbg.views.report.causes import MOST_EVENTS, ReportedCauses, event_text
from kdbg.views.report.page import Report, page, report
from kdbg.views.report.page_data import moving

from ..cases import by_day, for_each
from ..cli.calls import call
from ..diagnosis.books import STAGED
from ..traffic import Talk, pcap
from .browser import DESKTOP, EVERY_WIDTH, chromium_path, complaints, size
from .scripted import ESCAPES, HOSTILE

BROKEN = (
    "advertised-localhost-librdkafka", "consumer-too-slow-java", "group-of-two-programs", "transaction-left-open",
    "transactional-id-of-two", "network-cut", "commit-with-wrong-generation",
)  # fmt: skip
"""Captures of each kind of subject."""
HEALTHY = ("rolling-restart", "idle-long-polls")
BEGINS = '<section id="causes" aria-labelledby="causes-title">'


def made(*paths: Path, **filters: Any) -> tuple[Report, str]:
    """A report of captures, and its page."""
    with closing(Reported(Filters(**filters))) as collected:
        for path in paths:
            with open_capture(path) as found:
                collected.capture(found)
        whole = report(collected.ask, collected.diagnosis)
        return whole, page(whole, [path.name for path in paths], moving(collected.ask, whole))


def judged(report: Report) -> ReportedCauses:
    assert report.diagnosis is not None
    return report.diagnosis


def head(text: str) -> str:
    """The part of a page that is about causes."""
    return text.partition(BEGINS)[2].partition("</section>")[0]


def staged(name: str) -> Path:
    return STAGED / f"{name}.pcap.gz"


@for_each("name", by_day(BROKEN, 2))
def test_it_says_what_diagnose_says_in_its_order(name: str) -> None:
    path = staged(name)
    cases = [json.loads(line) for line in call("diagnose", path, "-f", "json").out.splitlines()]
    whole, text = made(path)
    told = judged(whole)
    assert [cause.case.code for cause in told.causes] == [case["cause"] for case in cases]
    loud = [case for case in cases if case["severity"] != "note"]
    assert loud
    assert [(cause.sentence, cause.advice, cause.case.count) for cause in told.loud] == [
        (case["sentence"], case["advice"], case["count"]) for case in loud
    ]
    codes = [part.partition('"')[0] for part in head(text).split('data-code="')[1:]]
    assert codes[: len(loud)] == [case["cause"] for case in loud]
    for case in loud:
        if case["evidence"]["exchanges"]:
            assert f"kdbg decode {path}#{case['evidence']['exchanges'][0]}" in head(text)


@pytest.mark.parametrize("name", HEALTHY)
def test_of_healthy_ones_it_says_that_nothing_stands_out(name: str) -> None:
    whole, text = made(staged(name))
    assert "No problems found" in head(text)
    assert 'class="cause ' not in text
    assert judged(whole).lanes == []
    assert "stories" not in [section.id for section in whole.sections]


@for_each("name", by_day(BROKEN, 3))
def test_each_cause_has_the_story_of_whom_it_concerns(name: str) -> None:
    whole, _ = made(staged(name))
    told = judged(whole)
    assert told.lanes
    causes = {event.case.code for lane in told.lanes for event in lane.events if event.case is not None}
    assert {cause.case.code for cause in told.loud} <= causes
    for lane in told.lanes:
        story = [json.loads(line) for line in
                 call("story", staged(name), f"--{lane.kind}", lane.name, "-f", "json").out.splitlines()]  # fmt: skip
        timed = [(event["sentence"], event["time"]) for event in story if event["time"] > 0]
        assert [(event_text(event), event.time / 1e9) for event in lane.events] == timed[:MOST_EVENTS]
    [section] = [section for section in whole.sections if section.id == "stories"]
    [chart] = section.charts
    assert len(chart.numbers.rows) == sum(len(lane.events) for lane in told.lanes)


def test_it_judges_all_that_was_read_whatever_filters_choose() -> None:
    path = staged("group-of-two-programs")
    every, few = made(path)[0], made(path, api="heartbeat")[0]
    assert [cause.case for cause in judged(few).causes] == [cause.case for cause in judged(every).causes]


def test_several_captures_are_judged_by_themselves_the_weightiest_first() -> None:
    whole, text = made(staged("rolling-restart"), staged("consumer-too-slow-java"), staged("transaction-left-open"))
    told = judged(whole)
    assert [cause.level for cause in told.loud] == sorted(cause.level for cause in told.loud)
    assert {Path(cause.file).name for cause in told.loud} == {
        "consumer-too-slow-java.pcap.gz", "transaction-left-open.pcap.gz",
    }  # fmt: skip
    assert f"in <b>{str(STAGED)[:20]}" in head(text)


def test_of_tables_it_says_who_says_it(asking: Any, capture: Path) -> None:
    text = page(report(asking(capture)), ["tables"])
    assert "created without kdbg pipeline --diagnose" in head(text)


def test_captured_text_is_text() -> None:
    talk = Talk(client_id=HOSTILE)
    for _ in range(30):
        talk.ask("Metadata", 4, topics=[{"name": ESCAPES}], allow_auto_topic_creation=False)
        talk.answer(brokers=[], topics=[{"error_code": 3, "name": ESCAPES}])
        talk.at += 1000
    talk.end()
    path = Path(__file__).parent  # of no capture: it is read from memory
    with closing(Reported(Filters())) as collected:
        import io

        with open_capture(io.BytesIO(pcap(talk))) as found:
            collected.capture(found)
        whole = report(collected.ask, collected.diagnosis)
        text = page(whole, [str(path)])
    assert judged(whole).loud
    assert HOSTILE not in text
    assert "<script>alert(2)" not in text
    assert "&lt;img src=x onerror=alert(1)&gt;" in head(text)


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of two captures with causes."""
    path = tmp_path_factory.mktemp("two") / "report.html"
    path.write_text(made(staged("transactional-id-of-two"), staged("group-of-two-programs"))[1], encoding="utf-8")
    return path


@pytest.fixture
def shown(request: pytest.FixtureRequest, browser: Any, two: Path) -> Iterator[Any]:
    """That page, drawn; whatever goes wrong on it is an error of the test."""
    tab = browser.new_page(viewport=size(getattr(request, "param", DESKTOP)), color_scheme="dark")
    wrong = complaints(tab)
    tab.goto(two.as_uri())
    tab.wait_for_selector("#filters[data-ready]", state="attached")
    yield tab
    tab.close()
    assert not wrong


@EVERY_WIDTH
@pytest.mark.skipif(chromium_path() is None, reason="no Chromium: apt-get install chromium")
def test_causes_and_stories_have_room_on_a_screen_of_any_width(shown: Any) -> None:
    assert shown.evaluate("document.documentElement.scrollWidth <= innerWidth")
    first = shown.evaluate("document.querySelector('#causes .cause h3').getBoundingClientRect().bottom")
    assert first <= shown.viewport_size["height"]
    lanes = shown.locator("#chart-stories-time .ytick text").all_text_contents()
    assert len(lanes) >= 2
    assert shown.locator("#chart-stories-time .point").count() > 0


@pytest.mark.skipif(chromium_path() is None, reason="no Chromium: apt-get install chromium")
def test_stories_stay_whole_when_something_is_chosen(shown: Any) -> None:
    marks = shown.locator("#chart-stories-time .point").count()
    shown.locator("#filter-api").select_option(index=1)
    shown.wait_for_selector("main[aria-busy='false']")
    note = shown.locator("#stories .whole")
    assert note.inner_text() == "Not affected by the filters."
    assert note.is_visible()
    assert shown.locator("#chart-stories-time .point").count() == marks
