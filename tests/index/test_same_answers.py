"""A capture with an index: the same exchanges, text and closing line as without, for every capture and every filter."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import kdbg
from kdbg.errors import KdbgError
from kdbg.exchanges.filters.table import FILTERS
from kdbg.views.index.reader import BY_NUMBER, BY_VALUE
from kdbg.views.index.reader import OTHERS as READ_OTHERWISE

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, MAIN, SHIPPED, call

OTHERS = sorted({*CAPTURES.rglob("*.pcap*")} - {*SHIPPED})
FACTS = sorted((MAIN.parent / "shared" / "captures").rglob("*.pcap*"))
ALL = [*SHIPPED, *by_day(OTHERS, 4), *by_day(FACTS, 12)]
"""Facts are captures of broken messages, which are searched for mistakes: each takes seconds."""


def questions(capture: Path) -> Iterator[tuple[str, ...]]:
    """Filters with values that some exchanges of a capture have, and with values that none has."""
    try:
        reading = kdbg.read(capture)
        found = list(reading)
    except KdbgError:
        return
    if not found:
        return
    one = found[len(found) // 2]
    outlines = [row for row in one.outlines() for row in row[0]]
    half = one.response or one.request
    assert half is not None
    yield ("--errors",)
    yield ("--errors=all",)
    yield ("--api", one.api.name if one.api is not None else "fetch", "--client-id", "nobody")
    yield ("--api", "!fetch", "--topic", "*o*", "--partition", "0")
    yield ("--client-id", (one.client_id or "x").replace("*", "?"))
    yield ("--host", f"*{one.peers.broker[1]}", "--connection", str(one.peers.number))
    yield ("--topic", str(outlines[0][0]) if outlines else "nosuch", "--errors=all")
    for name in sorted(set(reading.topic_names.values()))[:3]:
        yield ("--topic", name)
    yield ("--topic", "nosuch", "--group", "nosuch")
    yield ("--error", "UNKNOWN_*", "--error", "0")
    yield ("--slower-than", str(one.latency_ms or 1))
    yield ("--since", str(one.time / 1e9), "--until", str(found[-1].time / 1e9))
    yield ("--correlation-id", str(one.correlation_id))
    yield ("--packet", str(half.last_packet))
    yield ("--exchange", f"{one.number}-{one.number + 3}")
    yield ("--where", "latency_ms > 0.2", "--api", "!apiversions")
    yield ("--limit", "1")
    yield ("--limit", "2", "--errors=all")
    yield ("--limit", str(len(found)), "--slower-than", "0.001")
    yield ("--exchange", str(one.number), "--topic", "nosuch")
    yield ("--exchange", str(one.number), "--exchange", str(len(found) + 5), "--limit", "1")


FORMS = ("summary", "tree", "json")


@for_each("capture", ALL, by=lambda capture: sum(capture.name.encode()) % 8, ids=[path.name for path in ALL])
def test_a_question_has_the_same_answer_with_and_without_an_index(capture: Path) -> None:
    plain = call("decode", capture, "-f", "tree", "--no-index")
    assert call("decode", capture, "-f", "tree") == plain, "writing an index shows nothing"
    step = 7 if capture.name.startswith("bomb") else 1  # each reading of such a message takes seconds
    for at, question in [*enumerate(questions(capture))][::step]:
        asked = ("decode", capture, "-f", FORMS[at % len(FORMS)], *question)
        indexed, read = call(*asked), call(*asked, "--no-index")
        assert indexed.out == read.out, question
        assert indexed.status == read.status, question
        assert indexed.err == read.err, question
        if "--limit" not in question:
            asked = ("records", capture, *question)
            assert call(*asked) == call(*asked, "--no-index"), question
        if "--limit" in question or at % 3 == 0:
            asked = ("stats", capture, *question, *(() if at % 2 else ("--by", "api,error,client,software")))
            assert call(*asked) == call(*asked, "--no-index"), question
    for number in (3, 1 << 40):
        asked = ("diff", f"{capture}#1", f"{capture}#{number}")
        assert call(*asked) == call(*asked, "--no-index"), asked


def test_captures_with_plaintext_have_indexes(cached: Path) -> None:
    for capture in SHIPPED:
        call("decode", capture, "-f", "summary")
    assert len(list(cached.iterdir())) > 0.8 * len(SHIPPED)


def test_every_filter_is_decided_by_columns_or_by_itself() -> None:
    asking = {name for name, one in FILTERS.items() if one.asks}
    assert asking == {*BY_VALUE, *BY_NUMBER, "where"}


def test_every_filter_that_is_given_is_asked_with_and_without_an_index() -> None:
    asked = {option.split("=")[0][2:].replace("-", "_") for one in questions(SHIPPED[0]) for option in one
             if option.startswith("--")}  # fmt: skip
    assert asked | READ_OTHERWISE | {"errors"} >= FILTERS.keys(), (
        "the others are asked of captures that are read in another way"
    )
