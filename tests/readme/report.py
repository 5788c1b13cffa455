"""`python -m tests.readme.report`: the README's pictures of a report, taken of its page by Chromium.

The traffic is made up, and always the same: half an hour of a small shop, with a broker that falls ill in the middle.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from random import Random

from kdbg.capture import open_capture
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.scale.query.report import Reported
from kdbg.views.report.page import page, report
from tests.report.browser import DESKTOP, PHONE, chromium, size
from tests.traffic import Talk, pcap

TOP = Path(__file__).resolve().parents[2]
PICTURES = TOP / ".readme"
MINUTES = 30
ILL = range(12 * 60, 16 * 60)
"""Seconds in which the broker answers slowly, or not at all well."""
TOPICS = ("orders", "payments")
DELAY = {"Produce": 6, "Fetch": 90, "Heartbeat": 2, "Metadata": 3, "OffsetCommit": 4}
"""Milliseconds that an answer takes, about."""


def traffic() -> Iterator[Talk]:
    """The connections of a shop: producers, a group of consumers, somebody who looks around."""
    dice = Random(7)
    for i, topic in enumerate(TOPICS):
        yield producer(dice, 50_000 + i, topic)
        yield consumer(dice, 51_000 + i, topic)


def said(talk: Talk, dice: Random, api: str) -> None:
    """Let the time pass that the answer takes."""
    ill = talk.at // 1000 in ILL
    talk.at += int(dice.lognormvariate(0, 0.6) * DELAY[api] * (9 if ill else 1))


def producer(dice: Random, port: int, topic: str) -> Talk:
    talk = Talk(("10.0.0.1", port), client_id=f"shop-{topic}")
    talk.ask("ApiVersions", 3, client_software_name="librdkafka", client_software_version="2.16.1").answer()
    end = 1000
    while talk.at < MINUTES * 60_000:
        talk.ask("Produce", 7, acks=-1, topic_data=[{"name": topic, "partition_data": [{"index": 0, "records": []}]}])
        said(talk, dice, "Produce")
        failed = talk.at // 1000 in ILL and dice.random() < 0.4
        end += dice.randrange(1, 4)
        answer = {"index": 0, "base_offset": -1 if failed else end, "error_code": 6 if failed else 0}
        talk.answer(responses=[{"name": topic, "partition_responses": [answer]}])
        if failed:
            talk.ask("Metadata", 1, topics=[{"name": topic}])
            said(talk, dice, "Metadata")
            talk.answer(brokers=[], topics=[{"name": topic, "error_code": 5, "partitions": []}])
        talk.at += dice.randrange(1000, 4000)
    return talk.end()


def consumer(dice: Random, port: int, topic: str) -> Talk:
    talk = Talk(("10.0.0.2", port), client_id=f"billing-{topic}")
    talk.ask("ApiVersions", 3, client_software_name="apache-kafka-java", client_software_version="4.4.0").answer()
    generation, end, done = 1, 1000, 1000
    joined = -60_000
    while talk.at < MINUTES * 60_000:
        ill = talk.at // 1000 in ILL
        if talk.at - joined > (60_000 if ill else 700_000):
            join(talk, topic, generation, dice.randrange(800, 25_000 if ill else 4_000), ill)
            joined, generation = talk.at, generation + 1
        wanted = {"partition": 0, "fetch_offset": done, "partition_max_bytes": 1}
        talk.ask("Fetch", 4, max_wait_ms=500, topics=[{"topic": topic, "partitions": [wanted]}])
        said(talk, dice, "Fetch")
        end += dice.randrange(1, 7)
        talk.answer(responses=[{"topic": topic, "partitions": [{"partition_index": 0, "high_watermark": end}]}])
        done = done if ill else min(end, done + dice.randrange(4, 14))
        commit = {"partition_index": 0, "committed_offset": done}
        talk.ask("OffsetCommit", 2, group_id=f"billing-{topic}", topics=[{"name": topic, "partitions": [commit]}])
        said(talk, dice, "OffsetCommit")
        talk.answer(topics=[{"name": topic, "partitions": [{"partition_index": 0, "error_code": 0}]}])
        talk.ask("Heartbeat", 0, group_id=f"billing-{topic}", generation_id=generation, member_id="m")
        said(talk, dice, "Heartbeat")
        talk.answer(error_code=27 if ill and dice.random() < 0.3 else 0)
        talk.at += dice.randrange(1500, 4500)
    return talk.end()


def join(talk: Talk, topic: str, generation: int, wait: int, ill: bool) -> None:
    group, reason = f"billing-{topic}", "session timed out" if ill else "a new member"
    talk.ask("JoinGroup", 8, group_id=group, member_id="m", protocol_type="consumer", reason=reason)
    talk.at += wait
    talk.answer(generation_id=generation, protocol_type="consumer", protocol_name="range", leader="m", member_id="m")
    talk.ask("SyncGroup", 5, group_id=group, generation_id=generation, member_id="m").answer()


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, closing(Reported(Filters())) as collected:
        capture, html = Path(folder) / "shop.pcap", Path(folder) / "report.html"
        capture.write_bytes(pcap(*traffic()))
        with open_capture(capture) as opened:
            collected.capture(opened, lambda found: (None, None))
        html.write_text(page(report(collected.ask), [capture.name]), encoding="utf-8")
        with chromium() as browser:
            for viewport, theme in ((DESKTOP, "light"), (PHONE, "dark")):
                tab = browser.new_page(viewport=size(viewport), color_scheme=theme)
                tab.goto(html.as_uri())
                tab.wait_for_function("document.querySelectorAll('.chart .main-svg').length > 0")
                if theme == "dark":
                    tab.evaluate("document.documentElement.style.scrollBehavior = 'auto'; location.hash = 'latency'")
                tab.wait_for_timeout(500)
                tab.screenshot(path=PICTURES / f"report-{theme}.png")


if __name__ == "__main__":
    main()
