"""Stories of real incidents: what diagnosis and the exchanges say, in one line of time, with the same numbers."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.analysis.diagnosis import Case, diagnose
from kdbg.analysis.diagnosis.stories import STORIES, Event, subjects, tell
from kdbg.analysis.diagnosis.stories.text import SENTENCES, event_object, sentence
from kdbg.analysis.diagnosis.text import case_object

from ..cases import by_day, for_each
from ..cli.calls import call
from ..traffic import Talk, pcap
from .books import CAPTURES, SHARED, STAGED, book, truths

ROOM = Path(kdbg.__file__).parent / "analysis" / "diagnosis" / "stories"
SUBJECTS = {"group": "group", "topic": "topic", "client": "client_id", "transaction": "transactional_id"}
FEW = ("poll-too-late-java", "members-come-and-go", "transaction-timed-out-java", "transactional-id-of-two-java",
       "unknown-topic-consumer", "sasl-plain-wrong-password", "throttled-producer", "sequence-gap", "group-not-allowed",
       "members-come-and-go-new-protocol")  # fmt: skip
STAGE = [STAGED / truth["file"] for truth in truths(STAGED)]
BESIDE = [SHARED / truth["file"] for truth in truths(SHARED)]
PATHS = [*(STAGED / f"{name}.pcap.gz" for name in FEW), *BESIDE]


def told(path: Path, kind: str, name: str) -> list[Event]:
    events = tell(book(path), kind, name)
    assert events is not None
    return events


def of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event.kind == kind]


def test_every_kind_of_event_has_its_sentence() -> None:
    made = set[str]()
    for path in ROOM.glob("*.py"):
        made |= set(re.findall(r'Event\(\s*[^"]*?"([a-z-]+)"', path.read_text()))
        made |= set(re.findall(r'kind="([a-z-]+)"', path.read_text()))
    assert made - {"cause"} <= SENTENCES.keys()
    assert SENTENCES.keys() - made <= {"writes", "reads", "writes-last", "reads-last"}


def test_the_command_has_an_option_for_each_story() -> None:
    help = call("story", "--help").out
    assert all(f"--{kind} " in help for kind in STORIES)


@pytest.mark.skipif(not BESIDE, reason="the staged incidents are not beside the project")
@pytest.mark.parametrize("path", BESIDE, ids=lambda path: path.name)
def test_an_incident_beside_the_project_is_one_story(path: Path) -> None:
    stands_in_the_stories(path)


@for_each("path", by_day(STAGE, 2), by=lambda path: path.name[0], ids=lambda path: path.name)
def test_one_incident_is_one_story(path: Path) -> None:
    stands_in_the_stories(path)


def stands_in_the_stories(path: Path) -> None:
    """What diagnosis finds stands in the story of whom it is about, with the same time, count and exchanges."""
    cases: list[Case] = diagnose(book(path))
    known = {(kind, subject.name) for kind, subject in subjects(book(path))}
    for case in cases:
        said = case_object(case)
        for kind, part in SUBJECTS.items():
            name = getattr(case.who, part)
            if name is None or (kind, name) not in known:
                continue
            (found,) = [event for event in of(told(path, kind, name), "cause") if event.case == case]
            shown = event_object(kind, name, found)
            facts: dict[str, Any] = shown["facts"]
            assert (shown["time"], facts["until"]) == (said["since"], said["until"])
            assert (facts["cause"], facts["count"]) == (said["cause"], said["count"])
            assert shown["exchanges"] == said["evidence"]["exchanges"]
            assert said["sentence"] in shown["sentence"]


@pytest.mark.parametrize("path", by_day(PATHS, 4), ids=lambda path: path.name)
def test_all_stories_are_told_in_order(path: Path) -> None:
    for kind, subject in subjects(book(path)):
        events = told(path, kind, subject.name)
        assert events
        assert [event.time for event in events] == sorted(event.time for event in events)
        for event in events:
            said = sentence(event)
            assert said
            assert "None" not in said
            assert " -" not in said
            assert not said.endswith(".")


def test_a_group_loses_a_member_that_polls_too_late() -> None:
    path = STAGED / "poll-too-late-java.pcap.gz"
    events = told(path, "group", "thumbnails")
    left = of(events, "member-leaves")[0]
    (cause,) = [event for event in of(events, "cause") if event.facts["cause"] == "max-poll-interval-exceeded"]
    assert left.time == cause.time
    assert left.exchanges == cause.exchanges == (18,)
    first, second = of(events, "generation")
    assert sentence(first) == (
        "generation 1: member thumb-1 joins; member thumb-1 is assigned topic thumbs, partitions 0-1"
    )
    assert sentence(second) == (
        "generation 3: member thumb-1 left: max.poll.interval.ms exceeded; member thumb-1 rejoins; member thumb-1 is "
        "assigned topic thumbs, partitions 0-1; no Fetch request for 5.1 s"
    )
    fetched = sorted(time for polls in book(path).polls.values() for time in polls.times)
    pauses = [later - earlier for earlier, later in pairwise(fetched)]
    assert second.facts["pause_ns"] == max(pauses)


def test_generations_have_what_the_exchanges_say() -> None:
    """JoinGroup and SyncGroup, read one by one."""
    path = CAPTURES / "group-rebalance.pcap"
    asked = dict[int, set[str]]()
    for exchange in kdbg.read(path, api="JoinGroup"):
        body = exchange.messages()[1].body
        if not body["error_code"]:
            asked.setdefault(body["generation_id"], set()).add(exchange.client_id or "")
    found = of(told(path, "group", "drivers"), "generation")
    assert {one.facts["generation"]: {*one.facts["new"], *one.facts["again"]} for one in found} == asked
    assert [one.facts["given"][0]["partitions"] for one in found] == [4, 2, 4]


def test_members_of_the_new_protocol_come_and_go() -> None:
    events = told(STAGED / "members-come-and-go-new-protocol.pcap.gz", "group", "cruises-group")
    assert [event.who.client_id for event in of(events, "member-joins")] == ["cruises-1", "cruises-2", "cruises-3"]
    assert [event.facts["member"] for event in of(events, "member-leaves")] == ["cruises-3", "cruises-2", "cruises-1"]
    assert [event.facts["generation"] for event in of(events, "generation")] == [2, 3, 4]


def test_a_transaction_ends_when_the_coordinator_says_so() -> None:
    events = told(STAGED / "transaction-timed-out-java.pcap.gz", "transaction", "invoices-1")
    (end,) = of(events, "transaction-ends")
    assert (end.facts["committed"], end.facts["by_coordinator"]) == (False, True)
    assert [event.facts["cause"] for event in of(events, "cause")] == ["transaction-timed-out", "producer-fenced"]
    assert end.facts["for_ns"] > 1_000_000_000  # its timeout


def test_two_producers_fence_each_other() -> None:
    events = told(STAGED / "transactional-id-of-two-java.pcap.gz", "transaction", "booker")
    fencing = [event.facts["fences"] for event in of(events, "transactional-id") if event.facts["fences"]]
    assert fencing == ["book-a"]
    assert all(event.facts["for_ns"] >= 0 for event in of(events, "transaction-ends"))


def test_the_command_tells_what_diagnose_says() -> None:
    path = STAGED / "poll-too-late-java.pcap.gz"
    (cause,) = [line for line in call("diagnose", path, "-f", "json").lines if line["cause"].startswith("max-poll")]
    story = call("story", path, "--group", "thumbnails", "-f", "json")
    (shown,) = [
        line for line in story.lines if line["facts"].get("cause") == cause["cause"] and line["kind"] == "cause"
    ]
    assert (shown["time"], shown["facts"]["until"], shown["facts"]["count"]) == (
        cause["since"], cause["until"], cause["count"],
    )  # fmt: skip
    assert story.status == 0


def test_the_command_lists_and_refuses() -> None:
    path = CAPTURES / "first-contact.pcap"
    listed = call("story", path)
    assert listed.status == 0
    assert "--client shop " in listed.out
    none = call("story", path, "--topic", "nowhere")
    assert (none.status, none.out) == (2, "")
    assert "unknown topic nowhere" in none.err
    assert call("story", path, "--topic", "orders", "--client", "shop").status == 2


def test_captured_names_are_escaped(tmp_path: Path) -> None:
    talk = Talk(most=60_000).ask("Metadata", 1, topics=[{"name": "bad\x1b[31m"}]).answer(brokers=[])
    path = tmp_path / "hostile.pcap"
    path.write_bytes(pcap(talk))
    assert "\x1b" not in call("story", path).out
    assert "\x1b" not in call("story", path, "--topic", "bad\x1b[31m").out
