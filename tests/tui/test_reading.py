"""What the reader writes into the index and the spool, in this process: rows, parcels, exchanges, jobs over them."""

from __future__ import annotations

import os
import pickle
from array import array
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.ui.cli.browse_captures import Files
from kdbg.ui.tui import table as module
from kdbg.ui.tui.contents import ExchangeContents
from kdbg.ui.tui.feed import LARGEST, PART, Causes, JobDone, Note, Progress, _tell
from kdbg.ui.tui.fields import SIZE, ByteRange, opened
from kdbg.ui.tui.index import COLUMNS, HALF, LONGEST, MOST_NAMES, WRONG, Batch, Index, Parcel, Who
from kdbg.ui.tui.pane import StyledText
from kdbg.ui.tui.rows import fitting, groups_of, numbers, producers_of, topics_of
from kdbg.ui.tui.spool import Chunk, SpoolReader, SpoolWalk, SpoolWriter, new_file
from kdbg.ui.tui.table import RowTexts, columns
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
ERRORS, SHARED = CAPTURES / "errors.pcap", CAPTURES / "group-rebalance.pcap"
TRANSACTIONS = CAPTURES / "transactions.pcap"


class Read:
    """Files that were read to their end: an index, the descriptor of the spool, what else was told."""

    most = None

    def __init__(self, *files: Path) -> None:
        self.index, self.spool = Index(), new_file()
        self.told: list[Any] = []
        Files([*map(str, files)], Filters())(self.spool, self.take)
        self.reader = SpoolReader(self.spool, self.index.topics)

    def take(self, what: Batch | Note | Progress | Causes) -> None:
        if isinstance(what, Batch):
            self.index.add(what)
        else:
            self.told.append(what)

    def exchange(self, position: int) -> Exchange:
        return self.reader.read(*self.index.place(position))


@pytest.fixture(scope="module")
def read() -> Iterator[Read]:
    found = Read(ERRORS, SHARED)
    yield found
    os.close(found.spool)


def test_rows_say_what_exchanges_are(read: Read) -> None:
    position = 0
    for file, path in enumerate((ERRORS, SHARED)):
        wrong = {exchange.number for exchange in kdbg.read(path, errors=True)}
        for exchange in kdbg.read(path):
            request, response = exchange.request, exchange.response
            halves = [half.size if half is not None else -1 for half in (request, response)]
            flags = WRONG * (exchange.number in wrong) | HALF * (
                request is None or (response is None and exchange.answered)
            )
            row = [
                read.index.value(name, position)
                for name in ("number", "time", "request", "response", "latency", "flags")
            ]
            latency = -1 if exchange.latency is None else exchange.latency
            assert row == [exchange.number, exchange.time, *halves, latency, flags]
            client, broker = (f"{host}:{port}" for host, port in (exchange.peers.client, exchange.peers.broker))
            assert exchange.api is not None
            assert read.index.who_of(position) == Who(
                file, exchange.peers.number, client, broker, exchange.api.name, exchange.version, exchange.client_id
            )
            position += 1
    assert len(read.index) == position == 58 + 64
    assert len(read.index.who) == len({*read.index.who})
    assert {one.file for one in read.told if isinstance(one, Causes)} == {0, 1}
    assert [one.read == one.whole for one in read.told if isinstance(one, Progress)][-1]


def test_names_stand_once(read: Read) -> None:
    index = read.index
    assert len(index.names) == len({*index.names})
    assert index.names[0] == ()
    assert {index.names_of("topics", at) for at in range(58)} == {(), ("orders",), ("ghosts",)}
    assert {index.names_of("groups", at) for at in range(58, 122)} == {(), ("drivers",)}
    made = Read(TRANSACTIONS)
    producers = {made.index.names_of("producers", at) for at in range(len(made.index))}
    assert producers == {(), (438959000,), (196879000, "ledger-7"), ("ledger-7", 196879000)}
    os.close(made.spool)


def test_producers_of_a_message_alone() -> None:
    exchanges = [one for one in kdbg.read(TRANSACTIONS, api="initproducerid") if [*producers_of(one)]]
    assert [[*producers_of(one)] for one in exchanges][-1] == ["ledger-7", 196879000]
    both = exchanges[-1]
    request = both.request
    both.request = None
    assert [*producers_of(both)] == [196879000]
    assert request is not None
    message = request.message()
    assert message is not None
    for name in ("", None, "ledger-8"):
        message.body["transactional_id"] = name
        both.request, both.response = request, None
        assert [*producers_of(both)] == [name] * bool(name)


def test_names_that_messages_tell() -> None:
    known, unknown = UUID(int=7), UUID(int=8)
    names = NamesThen({known: "orders"})
    names.at(1)
    topics = [("a" * 300, 0), (known, 0), (unknown, 0), (None, 0)]
    outline: Any = (topics, ["g" * 300, "", None], ())
    assert [*topics_of([outline, ((("b", 1),), (), ())], names)] == ["a" * LONGEST, "orders", str(unknown), "b"]
    assert [*groups_of([outline])] == ["g" * LONGEST]
    assert (MOST_NAMES, LONGEST) == (16, 256)


def test_exchanges_are_read_from_the_spool_in_any_order(read: Read) -> None:
    wanted = [*map(json_line, kdbg.read(ERRORS)), *map(json_line, kdbg.read(SHARED))]
    for position in (121, 0, 57, 58, 100, 3):
        assert json_line(read.exchange(position)) == wanted[position]


def walk(file: int, start: Any = None) -> list[Chunk]:
    return [*(SpoolWalk(file) if start is None else SpoolWalk(file, start))]


def test_a_walk_goes_through_all_parcels(read: Read) -> None:
    found = walk(read.spool)
    assert [len(chunk.exchanges) for chunk in found] == counts(read.index)
    assert [chunk.file for chunk in found] == sorted(chunk.file for chunk in found)
    assert [exchange.number for chunk in found for exchange in chunk.exchanges] == [
        read.index.value("number", at) for at in range(122)
    ]
    first = {chunk.file: chunk.first_time for chunk in found}
    earliest = [min(read.index.value("time", at) for at in span) for span in (range(58), range(58, 122))]
    assert all(first[file] <= earliest[file] < first[file] + 10**9 for file in (0, 1))
    assert found[-1].names.topics == read.index.topics[1]


def counts(index: Index) -> list[int]:
    firsts = [at for at in range(len(index)) if index.place(at)[1] == 0]
    return [after - before for before, after in zip(firsts, [*firsts[1:], len(index)], strict=True)]


def test_a_walk_may_start_behind_what_is_forgotten() -> None:
    made = Read(ERRORS, SHARED)
    until = made.index.forget(1)
    assert until == made.index.start.at > 0
    assert sum(len(chunk.exchanges) for chunk in walk(made.spool, made.index.start)) == 122 - made.index.first
    found = array("I")
    for data in fitting(made.spool, made.index.start, Filters()):
        found.frombytes(data)
    assert [*found] == [*range(made.index.first, 122)]
    os.close(made.spool)


def test_questions_over_all_exchanges(read: Read) -> None:
    found = array("I")
    for data in fitting(read.spool, read.index.start, Filters(api=("produce",))):
        found.frombytes(data)
    assert [*found] == [at for at in range(122) if read.index.who_of(at).api == "Produce"]
    assert [*fitting(read.spool, read.index.start, Filters(api=("alterconfigs",)))] == []
    look = Look(width=80)
    screens = [*numbers(read.spool, read.index.start, Filters(), look)]
    assert len(screens) == 1 + (len(screens) > 1)
    assert "122 exchanges" in screens[-1]
    assert "ApiVersions" in screens[-1]
    [few] = {*numbers(read.spool, read.index.start, Filters(api=("heartbeat",)), look)}
    heartbeats = sum(read.index.who_of(at).api == "Heartbeat" for at in range(122))
    assert f"{heartbeats} exchanges" in few
    assert "Produce" not in few


def test_parcels_of_other_things() -> None:
    file = new_file()
    writer = SpoolWriter(file)
    parcels = [writer.put(b"first"), writer.put(b""), writer.put(b"x" * 5000)]
    assert SpoolWalk(file).waits is False
    writer.close()
    assert [parcel.at for parcel in parcels] == sorted({parcel.at for parcel in parcels})
    for parcel, data in zip(parcels, (b"first", b"", b"x" * 5000), strict=True):
        assert (parcel.numbers, parcel.common, parcel.data, parcel.file) == (0, 0, len(data), 0)
        assert os.pread(file, parcel.data, parcel.start) == data
    found = [*SpoolWalk(file).parcels()]
    assert [(about.file, about.first_time, about.topics, about.over) for about, *_ in found] == [
        (0, None, [], False)
    ] * 3
    assert [rest for _, _, rest, _ in found] == [b"first", b"", b"x" * 5000]
    os.truncate(file, parcels[2].start + 100)
    with pytest.raises(OSError, match="truncated"):
        [*SpoolWalk(file).parcels()]
    os.close(file)
    empty = new_file()
    assert SpoolWalk(empty).waits is True
    os.pwrite(empty, b"half", 0)
    assert SpoolWalk(empty).waits is True, "the sizes are not whole"
    os.pwrite(empty, bytes(32) + b"x", 0)
    assert SpoolWalk(empty).waits is True, "the sizes are written last"
    os.close(empty)


def test_each_line_of_the_pane_of_exchanges(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def about(position: int) -> list[StyledText]:
        asked.append(position)
        return [StyledText("✗ WRONG", "bad"), StyledText("more")]

    texts = RowTexts(read, Look(), about)  # type: ignore[arg-type]
    lines = [
        " ".join("".join(piece.text for piece in cell) for cell in texts.cells(position, columns(width)))
        for position, width in ((0, 80), (0, 120), (0, 160), (57, 80))
    ]
    start, rest = "     1 00:38:35.632", "  65   21 172µs ✗ WRONG more"
    assert lines == [
        f"{start} c1   ApiVersions v3       {rest}     ",
        f"{start} c1   shop           ApiVersions v3           {rest}                          ",
        f"{start} {'127.0.0.1:50548 → 127.0.0.1:9093':43} shop           ApiVersions v3           {rest}" + " " * 27,
        "    58 00:38:39.793 c10  Produce v10           152   57  36µs ✗ WRONG more     ",
    ]
    assert asked == [0, 57], "it is remembered"
    time, api = StyledText("00:38:35.632", "dim"), StyledText("ApiVersions v3")
    said = [
        time,
        StyledText(" "),
        api,
        StyledText(" "),
        StyledText("✗ WRONG", "bad"),
        StyledText(" "),
        StyledText("more"),
    ]
    assert texts.row(1, 0) == said
    assert [piece.style for piece in texts.row(99, 0)] == ["dim"]
    monkeypatch.setattr(module, "KEPT", 2)
    asked.clear()
    texts = RowTexts(read, Look(), about)  # type: ignore[arg-type]
    for position in (57, 5, 57, 6, 5):
        texts.about(position)
    assert asked == [57, 5, 6, 5], "two are kept: those that were looked at last"


def test_halves_that_are_missing_are_a_dash() -> None:
    index = Index()
    values = {"request": -1, "response": -1, "latency": 5_000_000, "number": 3, "time": 10**18}
    made = {name: array(code, [values.get(name, 0)]).tobytes() for name, code in COLUMNS.items()}
    who = [Who(0, 12345, "c", "b", "?", 3, None)]
    index.add(Batch(made, Parcel(0, 0, 0, 0, 0, 0), 1, who, [()], []))
    texts = RowTexts(SimpleNamespace(index=index), Look(), lambda position: [])  # type: ignore[arg-type]
    cells = ["".join(piece.text for piece in cell) for cell in texts.cells(0, columns(120))]
    assert cells == ["     3", "01:46:40.000", "c12…", " " * 14, f"{'?':24}", "   –", "   –", "    –", " " * 38]
    index.columns["response"][0] = 7
    assert texts.cells(0, columns(120))[7][0].text.strip() != "–"
    index.columns["latency"][0] = -1
    assert texts.cells(0, columns(120))[7][0].text.strip() == "–"


def test_what_stands_in_a_feed_of_captures(read: Read) -> None:
    contents = ExchangeContents(read, Look(), ["a.pcap", "b.pcap"])  # type: ignore[arg-type]
    assert contents.unjudged == ""
    first = contents.about(0)
    assert (first[0].text, first[0].style) == ("✗ UNSUPPORTED_VERSION", "dim")
    assert contents.about(5) == [StyledText("orders/0 1 record")]
    assert contents.about(100) == [StyledText("✗ trailing-bytes", "bad"), StyledText("rides/0-3")]
    for position, file in ((0, "a.pcap"), (57, "a.pcap"), (58, "b.pcap")):
        looked = contents.look_at(position)
        assert (looked.position, looked.file) == (position, file)
        assert looked.exchange is not None
        assert looked.exchange.number == read.index.value("number", position)
        assert [part.name for part in looked.opened.parts] == ["request", "response"]
        assert contents.more(looked) is None
        assert contents.fuller(looked, 5) is looked
    live = SimpleNamespace(exchange=read.exchange, index=read.index, most=5)
    assert ExchangeContents(live, Look(), ["a"]).look_at(0).file == ""  # type: ignore[arg-type]


def test_the_fields_of_an_exchange_stand_in_its_bytes(read: Read) -> None:
    exchange = read.exchange(1)
    found = opened(exchange, {}, Look())
    request, response = found.parts
    assert [(one.path, one.says, one.type, one.place) for one in request.fields] == [
        ("size", "14", "INT32", ByteRange(0, 0, 4)), ("api_key", "18 = ApiVersions", "INT16", ByteRange(0, 4, 6)),
        ("api_version", "0", "INT16", ByteRange(0, 6, 8)), ("correlation_id", "2", "INT32", ByteRange(0, 8, 12)),
        ("client_id", '"shop"', "NULLABLE_STRING: length 4, then the bytes", ByteRange(0, 12, 18)),
    ]  # fmt: skip
    assert [buffer.name for buffer in found.buffers] == ["request: 18 bytes", "response: 158 bytes"]
    assert [buffer.part for buffer in found.buffers] == [0, 1]
    assert exchange.request is not None
    assert found.buffers[0].data == b"\0\0\0\x0e" + exchange.request.data
    assert all(one.place is not None and one.place.buffer == 1 for one in response.fields)
    assert (request.missing, response.missing) == ("", "")
    exchange.response, exchange.answered = None, False
    first = opened(exchange, {}, Look()).parts[1].missing
    exchange.answered = True
    second = opened(exchange, {}, Look()).parts[1].missing
    assert first != second
    assert first
    assert second
    assert SIZE == 4


def test_what_a_job_tells_comes_in_parts_that_a_pipe_takes_whole() -> None:
    for what in ("short", b"x" * (LARGEST - 40), b"x" * LARGEST, b"x" * 10_000, JobDone("problem")):
        ours, theirs = os.pipe()
        data = pickle.dumps(what)
        _tell(theirs, 7, what)
        os.close(theirs)
        heads, parts = [], []
        with os.fdopen(ours, "rb") as told:
            while head := told.read(PART.size):
                heads.append(PART.unpack(head))
                parts.append(told.read(heads[-1][2]))
        assert pickle.loads(b"".join(parts)) == what
        assert [number for number, _, _ in heads] == [7] * len(heads)
        assert [last for _, last, _ in heads] == [False] * (len(heads) - 1) + [True]
        assert [size for *_, size in heads] == [min(LARGEST, len(data) - at) for at in range(0, len(data), LARGEST)]
