"""An exchange on one line."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

import kdbg
from kdbg.engine.engine import Engine
from kdbg.findings import Finding, Kind
from kdbg.render.look import Look
from kdbg.render.summary import Summary, header, short, size

from ..traffic import Talk, framed, pcap

PIPE = Look()
MAIN = Path(__file__).resolve().parents[2]
CAPTURES = [*(MAIN / "captures").glob("*.pcap*"), *(MAIN.parent / "shared" / "captures").glob("*.pcap*")]
"""Those that stand beside the project, too, where they do."""


def lines(*talks: Talk, look: Look = PIPE) -> list[str]:
    exchanges = kdbg.read(io.BytesIO(pcap(*talks)))
    return [Summary(look, {})(exchange).removesuffix("\n") for exchange in exchanges]


def about(*talks: Talk) -> list[str]:
    """What stands behind the columns, whole."""
    return [line[59:] for line in lines(*talks, look=Look(long_lines=True))]


def produce(*topics: tuple[str, list[int]], **fields: Any) -> Talk:
    entries = [{"magic": 2, "records": [{"value": b"x"}]}]
    data = [
        {"name": name, "partition_data": [{"index": index, "records": entries} for index in partitions]}
        for name, partitions in topics
    ]
    return Talk().ask("Produce", 3, acks=1, topic_data=data, **fields)


def test_the_columns_stand_under_their_names() -> None:
    (line,) = lines(Talk(client_id="me").ask("Metadata", 1, topics=[{"name": "orders"}]).answer())
    assert header(Look()) == "    # time         conn api                 req resp   lat about\n"
    assert line == "    1 12:30:00.002 c1   Metadata v1          28   20 1.0ms orders"


def test_a_long_name_is_cut_in_its_column() -> None:
    (line,) = lines(Talk().ask("AlterPartitionReassignments", 0, topics=[]).answer())
    assert line.split()[3:5] == ["AlterPartition…", "v0"]
    assert line.index(" v0") == line.index("AlterPartition…") + 15


def test_what_stands_for_the_api() -> None:
    raw = Talk().ask("SaslHandshake", 0, mechanism="PLAIN").answer(mechanisms=["PLAIN"])
    raw.send(framed(b"\0alice\0secret")).reply(framed(b""))
    assert [line[24:42].rstrip() for line in lines(raw)] == ["SaslHandshake v0", "SaslToken"]
    alone = Talk().ask("ApiVersions", 0).answer().reply(framed(bytes(8)))
    assert [line[24:42].rstrip() for line in lines(alone)] == ["ApiVersions v0", "?"]
    assert [line[24:42].rstrip() for line in lines(produce(("a", [0])).answer())] == ["Produce v3"]
    assert about(produce(("a", [0]), ("b", [0]), ("c", [0])).answer()) == ["a/0 b/0 c/0 3 records"]


def test_of_several_findings_the_first_error_is_told_or_else_the_first() -> None:
    (exchange,) = kdbg.read(io.BytesIO(pcap(Talk().ask("ApiVersions", 0).answer())))
    for kinds, told in (
        ((Kind.DIALECT, Kind.UNANSWERED), "dialect"),
        ((Kind.UNANSWERED, Kind.DIALECT), "unanswered"),
        ((Kind.DIALECT, Kind.CRC, Kind.GAP), "crc"),
    ):
        exchange.findings[:] = [Finding(kind) for kind in kinds]
        assert Summary(Look(long_lines=True), {})(exchange)[59:].split()[1] == told


def test_what_it_was_about() -> None:
    assert about(produce(("orders", [0])).answer()) == ["orders/0 1 record"]
    assert about(produce(("a", [3, 1]), ("b", [0])).answer()) == ["a/3,1 b/0 3 records"]
    assert about(produce(("a", list(range(9)))).answer()) == ["a/0,1,2,3… 9 records"]
    assert about(produce(*[(f"t{number}", [0]) for number in range(5)]).answer()) == [
        "t0/0 t1/0 t2/0 +2 topics 5 records"
    ]
    assert about(Talk().ask("Heartbeat", 0, group_id="g", member_id="m").answer()) == ["group g"]
    assert about(Talk().ask("ApiVersions", 0).answer()) == [""]


def test_what_went_wrong_comes_first() -> None:
    answer = {"responses": [{"name": "t", "partition_responses": [{"index": 0, "error_code": 6}]}]}
    assert about(produce(("t", [0])).answer(**answer)) == ["✗ NOT_LEADER_OR_FOLLOWER t/0 1 record"]
    assert about(Talk().ask("Heartbeat", 0).answer(error_code=4711)) == ["✗ error 4711"]
    assert about(Talk().ask_bytes("Metadata", 1, b"\0\0\0\0!").answer()) == ["✗ leftover"]
    assert about(produce(("t", [0]))) == ["! unanswered t/0 1 record"]
    assert about(Talk().ask("ApiVersions", 0).answer().reply(framed(bytes(8))))[1] == "! unasked"
    shown = lines(produce(("t", [0])), look=Look("STANDARD"))[0]
    assert shown.endswith(Look("STANDARD").paint("note", "! unanswered t/0 1 r…"))


def test_many_partitions_take_no_longer_than_few() -> None:
    """A line for 60,000 partitions of a topic, within the time of a test."""
    topics = [{"topic": "t", "partitions": [{"partition": index} for index in range(60_000)]}]
    (line,) = lines(Talk(most=60_000).ask("Fetch", 4, topics=topics).answer())
    assert "t/0,1,2,3…" in line


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
    wide = Talk(client_id="東京").ask("Heartbeat", 0, group_id="東京" * 40).answer()
    long = produce(("orders." * 30, list(range(9))))
    for line in lines(wide, Talk(("10.0.0.3", 1)), long, look=Look(width=width)):
        assert width - 1 <= cell_len(line) <= width
    assert max(map(len, lines(long, look=Look(width=width, long_lines=True)))) > 200


@pytest.mark.parametrize("path", CAPTURES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_captures_fit_80_columns(path: Path) -> None:
    for exchange in kdbg.read(path):
        line = Summary(Look(), {})(exchange)
        assert line.endswith("\n")
        assert cell_len(line[:-1]) <= 80
        assert re.match(r" *\d+ \d\d:\d\d:\d\d\.\d{3} c\d+ +\S", line)
        assert line[:-1] == line.rstrip()


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "0"), (9_999, "9999"), (10_000, "9.8k"), (10_240, "10k"), (1_047_000, "1022k"), (1_047_500, "1023k"),
        (1_048_200, "1.0M"), (1 << 24, "16M"), (1 << 30, "1.0G"), (1 << 31, "2.0G"), (1 << 50, "huge"),
    ],
)  # fmt: skip
def test_sizes_take_few_columns(count: int, shown: str) -> None:
    assert size(count) == shown
    assert len(shown) <= 5


@pytest.mark.parametrize(
    ("nanoseconds", "shown"),
    [
        (None, "–"), (0, "0.0µs"), (500, "0.5µs"), (9_949, "9.9µs"), (9_960, "10µs"), (999_400, "999µs"),
        (999_600, "1.0ms"), (42_000_000, "42ms"), (999_600_000, "1.0s"), (99_940_000_000, "99.9s"),
        (99_960_000_000, "100s"), (-1_500_000, "-1.5ms"),
    ],
)  # fmt: skip
def test_latencies_take_five(nanoseconds: int | None, shown: str) -> None:
    assert short(nanoseconds) == shown
