"""An exchange on one line."""

from __future__ import annotations

import io
import re
import time
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import kdbg
from kdbg.exchanges.engine.engine import Engine
from kdbg.protocol.findings import Finding, Kind
from kdbg.views.render.style import Look
from kdbg.views.render.summary import Summary, header, short, size

from ..cases import by_day, for_each
from ..traffic import START, Talk, framed, pcap

PIPE = Look()
NARROW = Look(full=False)
MAIN = Path(__file__).resolve().parents[2]
CAPTURES = [
    *sorted((MAIN / "captures").glob("*.pcap*")),
    *sorted((MAIN.parent / "shared" / "captures").glob("*.pcap*")),
]
"""Those that stand beside the project, too, where they do."""


def lines(*talks: Talk, look: Look = PIPE) -> list[str]:
    exchanges = kdbg.read(io.BytesIO(pcap(*talks)))
    view = Summary(look, {})
    return [view(exchange).removesuffix("\n") for exchange in exchanges]


def about(*talks: Talk) -> list[str]:
    """What stands behind the columns, whole."""
    return [line[59:] for line in lines(*talks)]


def produce(*topics: tuple[str, list[int]], **fields: Any) -> Talk:
    entries = [{"magic": 2, "records": [{"value": b"x"}]}]
    data = [
        {"name": name, "partition_data": [{"index": index, "records": entries} for index in partitions]}
        for name, partitions in topics
    ]
    return Talk().ask("Produce", 3, acks=1, topic_data=data, **fields)


def test_the_columns_stand_under_their_names() -> None:
    (line,) = lines(Talk(client_id="me").ask("Metadata", 1, topics=[{"name": "orders"}]).answer())
    names = "    # time UTC     conn api                 req resp   lat details"
    assert header(PIPE, None) == f"{names}\n"
    assert header(PIPE, START * 10**9) == f"{names} (2026-11-21)\n"
    assert header(Look(width=70, full=False), START * 10**9) == f"{names} (2…\n"
    assert line == "    1 12:30:00.002 c1   Metadata v1          28   20 1.0ms orders"


def test_a_wide_screen_has_columns_for_client_and_broker() -> None:
    talk = Talk(("fe80::1234:5678:9abc:def0", 4000), ("::2", 9092), client_id="東京-" * 9)
    talk.ask("Heartbeat", 0).answer()
    for width, shown in (
        (109, ""),
        (110, "東京-東京-東…  "),
        (140, "[::2]:9092            東京-東京-東…  "),
        (180, "…5678:9abc:def0]:4000 [::2]:9092            東京-東京-東…  "),
    ):
        look = Look(width=width)
        (line,) = lines(talk, look=look)
        assert line[24:].startswith(f"{shown}Heartbeat v0 "), width
        names = header(look, None)
        for name, text in (("api", "Heartbeat"), ("client id", "東"), ("broker", "[::2]")):
            assert (name in names) is (text in line)
            if name in names:
                assert cell_len(line[: line.index(text)]) == names.index(name)


def test_times_are_of_the_first_day_or_say_which() -> None:
    night = 11 * 3_600_000 + 1_790_000
    first, second = lines(
        Talk(at=night).ask("ApiVersions", 0).answer(),
        Talk(("10.0.0.3", 4), at=night + 20_000).ask("ApiVersions", 0).answer(),
    )
    assert (first[6:18], second[6:24]) == ("23:59:50.002", "11-22 00:00:10.002")


def test_a_view_that_sees_only_later_exchanges_is_told_the_first_day() -> None:
    (exchange,) = kdbg.read(io.BytesIO(pcap(Talk(at=12 * 3_600_000).ask("ApiVersions", 0).answer())))
    view = Summary(PIPE, {})
    view.begin(START * 10**9)
    assert view(exchange)[6:24] == "11-22 00:30:00.002"


def test_times_may_be_local(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        look = Look(local=True)
        assert header(look, (START + 12 * 3600) * 10**9)[6:].startswith("time JST     ")
        assert header(look, (START + 12 * 3600) * 10**9).endswith(" details (2026-11-22)\n")
        assert lines(Talk().ask("ApiVersions", 0), look=look)[0][6:18] == "21:30:00.002"
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_long_name_is_cut_in_its_column() -> None:
    assert "AlterPartitionReassignments v0 " in lines(Talk().ask("AlterPartitionReassignments", 0, topics=[]))[0]
    (line,) = lines(Talk().ask("AlterPartitionReassignments", 0, topics=[]).answer(), look=NARROW)
    assert line.split()[3:5] == ["AlterPartition…", "v0"]
    assert line.index(" v0") == line.index("AlterPartition…") + 15


def test_what_stands_for_the_api() -> None:
    raw = Talk().ask("SaslHandshake", 0, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    raw.send(framed(b"\0alice\0secret")).reply(framed(b""))
    assert [line[24:42].rstrip() for line in lines(raw)] == ["SaslHandshake v0", "SaslToken"]
    alone = Talk().ask("ApiVersions", 0).answer().reply(framed(b"\0\0\0\7abc"))
    assert [line[24:42].rstrip() for line in lines(alone)] == ["ApiVersions v0", "?"]
    assert [line[24:42].rstrip() for line in lines(produce(("a", [0])).answer())] == ["Produce v3"]
    assert about(produce(("a", [0]), ("b", [0]), ("c", [0])).answer()) == ["a/0 b/0 c/0 3 records"]


def test_of_several_findings_errors_are_told_first() -> None:
    (exchange,) = kdbg.read(io.BytesIO(pcap(Talk().ask("ApiVersions", 0).answer())))
    for kinds, told in (
        ((Kind.KNOWN_VARIANT, Kind.NO_RESPONSE), "known-variant"),
        ((Kind.NO_RESPONSE, Kind.KNOWN_VARIANT), "no-response"),
        ((Kind.KNOWN_VARIANT, Kind.CRC_MISMATCH, Kind.TCP_GAP), "crc-mismatch"),
    ):
        exchange.findings[:] = [Finding(kind) for kind in kinds]
        assert Summary(PIPE, {})(exchange)[59:].split()[1] == told


def test_what_it_was_about() -> None:
    assert about(produce(("orders", [0])).answer()) == ["orders/0 1 record"]
    assert about(produce(("a", [3, 1]), ("b", [0])).answer()) == ["a/1,3 b/0 3 records"]
    assert about(produce(("a", [7, *range(5), 8])).answer()) == ["a/0-4,7,8 7 records"]
    many = produce(*[(f"t{number}", [0]) for number in range(5)]).answer()
    assert about(many) == ["t0/0 t1/0 t2/0 t3/0 t4/0 5 records"]
    assert lines(many, look=Look(width=109, full=False))[0].endswith(" t0/0 t1/0 t2/0 +2 topics 5 records")
    odd = produce(("a", list(range(1, 20, 2)))).answer()
    assert about(odd) == ["a/1,3,5,7,9,11,13,15,17,19 10 records"]
    assert lines(odd, look=NARROW)[0].endswith(" a/1,3,5,7… 10 records")
    assert about(Talk().ask("Heartbeat", 0, group_id="g", member_id="m").answer()) == ["group g generation 0 member m"]
    assert about(Talk().ask("ApiVersions", 0).answer()) == [""]


def failed(**errors: int) -> Talk:
    """A produce to partitions 0 to 3 of each topic, with an error in the partitions that are given as `t2=6`."""
    topics = dict.fromkeys(name[0] for name in errors)
    answers = [{"name": topic, "partition_responses": []} for topic in topics]
    for answer in answers:
        codes = [errors.get(f"{answer['name']}{index}", 0) for index in range(4)]
        answer["partition_responses"] = [{"index": index, "error_code": code} for index, code in enumerate(codes)]
    return produce(*((topic, [0, 1, 2, 3]) for topic in topics)).answer(responses=answers)


def test_what_went_wrong_comes_first_with_what_it_is_of() -> None:
    answer = {"responses": [{"name": "t", "partition_responses": [{"index": 0, "error_code": 6}]}]}
    assert about(produce(("t", [0])).answer(**answer)) == ["✗ NOT_LEADER_OR_FOLLOWER t/0 1 record"]
    assert about(failed(a2=6, b0=0)) == ["✗ NOT_LEADER_OR_FOLLOWER a/2 · b/0-3 a/0,1,3 8 records"]
    assert about(failed(a0=6, a1=6, a2=6, a3=3)) == [
        "✗ NOT_LEADER_OR_FOLLOWER a/0-2 ✗ UNKNOWN_TOPIC_OR_PARTITION a/3 4 records"
    ]
    assert about(Talk().ask("Heartbeat", 0).answer(error_code=4711)) == ["✗ error 4711 generation 0"]
    assert about(Talk().ask_bytes("Metadata", 1, b"\0\0\0\0!").answer()) == ["✗ trailing-bytes"]
    assert about(produce(("t", [0]))) == ["! no-response t/0 1 record"]
    assert about(Talk().ask("ApiVersions", 0).answer().reply(framed(bytes(8))))[1] == "! unsolicited-response"


def test_an_error_and_a_finding_are_both_told() -> None:
    assert about(Talk().ask("Heartbeat", 0).answer_bytes(b"\0\x19!")) == [
        "✗ UNKNOWN_MEMBER_ID ✗ trailing-bytes ✗ encoding-mistake generation 0"
    ]


def test_on_a_terminal_what_went_wrong_is_never_cut() -> None:
    above, below = lines(failed(a2=6, a1=0), look=NARROW)[0].split("\n")
    assert above.endswith("1.0ms a/0-3 4 records")
    assert below == "      ✗ NOT_LEADER_OR_FOLLOWER a/2"
    (line,) = lines(failed(a2=6, a1=0), look=Look(width=95, full=False))
    assert line.endswith(" ✗ NOT_LEADER_OR_FOLLOWER a/2 · a/0,…")
    tiny = lines(failed(a2=6, a1=0), look=Look(width=20, full=False))[0]
    assert tiny.split("\n")[1] == "      ✗ NOT_LEADER_OR_FOLLOWER"


def test_what_is_wrong_is_red_and_normal_steps_are_dim() -> None:
    look = Look("STANDARD")
    shown = lines(produce(("t", [0])), look=look)[0]
    assert shown.endswith(look.paint("note", "! no-response") + " t/0 1 record")
    (shown,) = lines(failed(t1=6), look=look)
    assert look.paint("bad", "✗ NOT_LEADER_OR_FOLLOWER t/1") + " · t/0,2,3" in shown
    step = lines(Talk().ask("Heartbeat", 0, group_id="g").answer(error_code=27), look=look)[0]
    assert look.paint("dim", "✗ REBALANCE_IN_PROGRESS") + " group g" in step
    other = lines(Talk().ask("LeaveGroup", 0, group_id="g").answer(error_code=27), look=look)[0]
    assert look.paint("bad", "✗ REBALANCE_IN_PROGRESS") + " group g" in other


@for_each(
    ("talk", "told"),
    [
        (Talk().ask("JoinGroup", 5, group_id="g", member_id="", session_timeout_ms=1, rebalance_timeout_ms=1)
             .answer(generation_id=3, member_id="m-1"), "group g generation 3 member m-1"),
        (Talk().ask("Heartbeat", 3, group_id="g", generation_id=3, member_id="m\x1b", group_instance_id="i").answer(),
         "group g generation 3 member m\\x1b instance i"),
        (Talk().ask("LeaveGroup", 4, group_id="g", members=[{"member_id": "a"}, {"member_id": "b"}]).answer(),
         "group g member a member b"),
        (Talk().ask("FindCoordinator", 2, key="g", key_type=0).answer(), "group g"),
        (Talk().ask("FindCoordinator", 4, key_type=1, coordinator_keys=["x", "y"]).answer(),
         "transaction x transaction y"),
        (Talk().ask("InitProducerId", 1, transactional_id="x").answer(producer_id=7, producer_epoch=2),
         "transaction x producer 7/2"),
        (Talk().ask("EndTxn", 1, transactional_id="x", committed=False).answer(), "transaction x abort"),
        (Talk().ask("OffsetCommit", 7, group_id="g", generation_id_or_member_epoch=4, member_id="m").answer(),
         "group g generation 4 member m"),
    ],
)  # fmt: skip
def test_members_generations_coordinators_and_transactions(talk: Talk, told: str) -> None:
    assert about(talk) == [told]
    (exchange,) = kdbg.read(io.BytesIO(pcap(talk)))
    for half in (exchange.request, exchange.response):
        assert half is not None
        half.message()  # told by its value as well
    assert Summary(PIPE, {})(exchange)[59:] == f"{told}\n"


def test_how_long_an_answer_may_be_held_back_is_told_where_it_took_long() -> None:
    def fetch(after: int, **fields: int) -> list[str]:
        talk = Talk().ask("Fetch", 4, max_wait_ms=500, min_bytes=1, topics=[], **fields)
        talk.at += after
        return about(talk.answer())

    assert fetch(5) == [""]
    assert fetch(400) == ["wait 500ms"]
    assert about(Talk().ask("Fetch", 4, max_wait_ms=90_000, min_bytes=1, topics=[])) == ["! no-response wait 1.5min"]


def test_many_partitions_take_no_longer_than_few() -> None:
    """A line for 60,000 partitions of a topic, within the time of a test."""
    topics = [{"topic": "t", "partitions": [{"partition": index} for index in range(60_000)]}]
    (line,) = lines(Talk(most=60_000).ask("Fetch", 4, topics=topics).answer())
    assert "t/0-59999" in line


def test_names_of_topics_that_have_only_an_id() -> None:
    session = Engine()
    path = MAIN / "captures" / "codecs.pcap"
    from kdbg.capture import open_capture

    with open_capture(path) as capture:
        fetches = [
            exchange for exchange in session.run(capture.blocks()) if exchange.api and exchange.api.name == "Fetch"
        ]
    assert "parcels-" in Summary(Look(), session.topic_names)(fetches[0])
    assert "parcels-" not in Summary(Look(), {})(fetches[0])


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_a_line_fits_the_width_in_columns(width: int) -> None:
    wide = Talk(client_id="東京").ask("Heartbeat", 0, group_id="東京" * 80).answer()
    long = produce(("orders." * 30, list(range(9)))).answer()
    for line in lines(wide, Talk(("10.0.0.3", 1)), long, look=Look(width=width, full=False)):
        assert width - 1 <= cell_len(line) <= width
    assert max(map(len, lines(long, look=Look(width=width)))) > 200


@pytest.mark.parametrize("path", by_day(CAPTURES, 2), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_captures_fit_80_columns(path: Path) -> None:
    for exchange in kdbg.read(path):
        line = Summary(NARROW, {})(exchange)
        assert line.endswith("\n")
        assert max(map(cell_len, line[:-1].split("\n"))) <= 80
        assert re.match(r" *\d+ \d\d:\d\d:\d\d\.\d{3} c\d+ +\S", line)
        assert line[:-1] == line.rstrip()


@for_each(
    ("count", "shown"),
    [
        (0, "0"), (9_999, "9999"), (10_000, "9.8k"), (10_240, "10k"), (1_047_000, "1022k"), (1_047_500, "1023k"),
        (1_048_200, "1.0M"), (1 << 24, "16M"), (1 << 30, "1.0G"), (1 << 31, "2.0G"), (1 << 50, "huge"),
    ],
)  # fmt: skip
def test_sizes_take_few_columns(count: int, shown: str) -> None:
    assert size(count) == shown
    assert len(shown) <= 5


@for_each(
    ("nanoseconds", "shown"),
    [
        (None, "–"), (0, "0.0µs"), (500, "0.5µs"), (9_949, "9.9µs"), (9_960, "10µs"), (999_400, "999µs"),
        (999_600, "1.0ms"), (42_000_000, "42ms"), (999_600_000, "1.0s"), (99_940_000_000, "99.9s"),
        (99_960_000_000, "100s"), (-1_500_000, "-1.5ms"),
    ],
)  # fmt: skip
def test_latencies_take_five(nanoseconds: int | None, shown: str) -> None:
    assert short(nanoseconds) == shown
