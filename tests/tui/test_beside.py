"""What works beside the screen: processes that read and answer, the thread that opens, the terminal, rows of tables."""

from __future__ import annotations

import io
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kdbg
from kdbg.errors import InputError
from kdbg.ui.tui import feed as feeding
from kdbg.ui.tui.app import COPIES, json_of, send_command
from kdbg.ui.tui.contents import MORE, Beside, Looked, Original, TableRows
from kdbg.ui.tui.feed import BEHIND, Causes, ExchangeFeed, JobDone, Note, Progress
from kdbg.ui.tui.fields import LONGEST, ByteRange, MessageFields, OpenedExchange, opened
from kdbg.ui.tui.index import Parcel
from kdbg.ui.tui.pane import StyledText
from kdbg.ui.tui.table import Opening
from kdbg.ui.tui.terminal import Output, is_hung_up
from kdbg.views.render.style import Look

from .driving import CAPTURES, told, wait

ERRORS = CAPTURES / "errors.pcap"


def reading(spool: int, tell: Callable[[Any], None]) -> None:
    tell(Progress(1, 2))
    tell(Causes(3, ({"cause": "x"},), True))
    os.write(1, b"this must not reach the terminal")
    for number in range(1001):
        tell(Note(f"note {number}"))
    tell(Note(f"{os.nice(0)} {signal.getsignal(signal.SIGINT) is signal.SIG_IGN} {os.getppid()}"))
    raise ValueError("a bad file")


def counting(spool: int, start: Any, *given: Any) -> Iterator[Any]:
    yield given
    yield b"x" * 5000
    if given == ("wait",):
        time.sleep(600)
    if given:
        raise ValueError(*given)


def test_a_reader_and_jobs_tell_what_they_find(monkeypatch: Any) -> None:
    monkeypatch.setattr(feeding, "MOST_NOTES", 1003)
    niceness = os.nice(0)
    found = ExchangeFeed(reading, {"count": counting})
    try:
        found.listen()
        threads = found._threads[:]
        found.listen()
        assert found._threads == threads, "it listens already"
        wait(lambda: found.over)
        assert (found.progress, found.causes, found.updates) == (
            Progress(1, 2),
            {3: Causes(3, ({"cause": "x"},), True)},
            1,
        )
        assert (found.notes[:2], len(found.notes)) == (["note 0", "note 1"], 1003)
        assert found.notes[1001:] == [f"{min(niceness + BEHIND, 19)} True {found._keeper}",
                                      "reading ended: ValueError: a bad file"]  # fmt: skip
        assert told(found, "count") == [(), b"x" * 5000]
        heard: list[Any] = []
        found.ask("count", "wait", hear=heard.append)
        wait(lambda: len(heard) == 2)
        other: list[Any] = []
        found.ask("count", "no", hear=other.append)
        wait(lambda: len(other) == 3)
        assert (heard, other) == ([("wait",), b"x" * 5000], [("no",), b"x" * 5000, JobDone("no")])
        found.ask("count", "wait", hear=heard.append)
        wait(lambda: len(heard) == 4)
        found.stop("count")
        nameless: list[Any] = []
        found.ask("none such", hear=nameless.append)
        wait(lambda: nameless)
        assert (nameless, len(heard)) == ([JobDone("'none such'")], 4)
    finally:
        found.close()
    assert not any(thread.is_alive() for thread in threads)


def test_a_keeper_ends_with_all_that_it_started() -> None:
    def reads(spool: int, tell: Callable[[Any], None]) -> None:
        tell(Note(str(os.getpid())))
        time.sleep(600)

    def works(spool: int, start: Any) -> Iterator[int]:
        yield os.getpid()
        time.sleep(600)

    found = ExchangeFeed(reads, {"work": works})
    found.listen()
    heard: list[int] = []
    found.ask("work", hear=heard.append)
    wait(lambda: heard and found.notes)
    assert found.over is False
    found.close()
    assert found.over
    assert [Path(f"/proc/{process}").exists() for process in (int(found.notes[0]), *heard, found._keeper)] == [
        False
    ] * 3


def test_the_exchange_that_was_wanted_last_is_opened() -> None:
    began, go, ended = threading.Semaphore(0), threading.Semaphore(0), threading.Semaphore(0)
    seen: list[Any] = []

    def look_at(position: int) -> Any:
        began.release()
        assert go.acquire(timeout=20)
        if position in (2, 3):
            raise InputError("forgotten") if position == 2 else OSError("cut")
        return position

    def shown(what: Any) -> None:
        seen.append(what)
        ended.release()

    opening = Opening(SimpleNamespace(look_at=look_at), shown)  # type: ignore[arg-type]
    for wanted in (1, 2, 3):
        opening.want(wanted)
        assert began.acquire(timeout=20)
        if wanted == 1:
            opening.want(9)
            opening.want(8)
            go.release()
            assert ended.acquire(timeout=20)
            assert began.acquire(timeout=20)
        go.release()
    assert ended.acquire(timeout=20)
    opening.want(5)
    assert began.acquire(timeout=20)
    opening.want(6)
    opening.close()
    go.release()
    opening._thread.join(20)
    assert (seen, opening._thread.is_alive()) == ([1, 8, 5], False)


class Gone(io.StringIO):
    """A terminal that takes nothing."""

    def write(self, text: str) -> int:
        raise OSError(5, "Input/output error")

    def flush(self) -> None:
        raise OSError(5, "Input/output error")

    def fileno(self) -> int:
        return 7

    def close(self) -> None:
        pass


def test_a_terminal_that_is_gone_is_hung_up() -> None:
    ours, theirs = os.openpty()
    before = is_hung_up(theirs)
    os.close(ours)
    assert (before, is_hung_up(theirs)) == (False, True)
    os.close(theirs)
    gone = Output(Gone())
    gone.write("text")
    gone.flush()
    assert gone.fileno() == 7
    kept = io.StringIO()
    Output(kept).write("text")
    assert kept.getvalue() == "text"


def test_rows_of_tables_are_exchanges() -> None:
    columns = {"errors": [["A\n", "B", "A\n"], None], "notes": [["order: odd", "null"], []], "topics": [["t"], []],
               "groups": [["g"], None], "number": [1, 2], "client_id": ["c", None]}  # fmt: skip
    asked: list[int] = []

    def data(parcel: Parcel) -> bytes:
        asked.append(parcel.start)
        return pickle.dumps(columns)

    parcels = SimpleNamespace(place=lambda at: (Parcel(0, at // 2, 0, 0, 0, 0), at % 2))
    about = {"exchanges": {"number": ("INT", "which")}, "acls": {}}
    rows = TableRows(SimpleNamespace(index=parcels, data=data), Look(), about)  # type: ignore[arg-type]
    assert [rows.row(at)["number"] for at in (0, 1, 2)] == [1, 2, 1]
    assert rows.about(0) == [StyledText("✗ A\\n", "bad"), StyledText("✗ B", "bad"), StyledText("! order", "note"),
                             StyledText("! null", "note"), StyledText("t g")]  # fmt: skip
    assert (rows.about(1), asked) == ([], [0, 1])
    for at in range(4, 66, 2):
        rows.row(at)
    assert rows._columns.cache_info().currsize == 32
    rows.row(2)
    assert (asked.count(0), asked.count(1)) == (1, 2), "what was not looked at for longest was forgotten"
    looked = rows.look_at(1)
    assert (looked.position, looked.exchange, looked.file, rows.more(looked)) == (1, None, "", (rows.row(1),))
    (part,) = looked.opened.parts
    assert (part.name, part.missing) == ("exchange", MORE)
    assert [(one.path, one.says, one.type, one.means, one.place) for one in part.fields] \
        == [("number", "2", "INT", "which", None)]  # fmt: skip
    acls = [{"number": 7}, {"number": 8, "host": "h"}]
    fuller = rows.fuller(looked, Beside({"acls": acls, "exchanges": acls[:1]}, {"acls": 3}))
    assert fuller.opened.parts[0] is part
    assert [(one.name, one.missing, one.notes) for one in fuller.opened.parts[1:]] == [
        ("acls", "5 rows", ["the first 2 of 5; use kdbg query for all"]), ("exchanges", "1 row", []),
    ]  # fmt: skip
    assert [one.path for one in fuller.opened.parts[1].fields] == ["[0].number", "[1].number", "[1].host"]
    last = rows.fuller(fuller, Original(missing="no file\n"))
    assert [(one.name, one.missing) for one in (last.opened.parts[0], last.opened.parts[-1])] \
        == [("exchange", ""), ("bytes", "not in tables; no file\\n")]  # fmt: skip
    assert len(last.opened.parts) == 4


def test_what_is_too_long_to_be_looked_at_has_a_size_alone() -> None:
    one = next(iter(kdbg.read(ERRORS)))
    assert one.request is not None
    assert one.response is not None
    for more, fields in ((0, 3), (1, 1)):
        one.request.data, one.request.api = bytes(LONGEST + more), None
        found = opened(one, {}, Look())
        assert [len(part.fields) for part in found.parts][:1] == [fields]
        assert found.parts[0].missing == "too long to show here; use kdbg decode" * more
        assert found.buffers[0].data[:4] == (LONGEST + more).to_bytes(4)
        assert found.parts[0].fields[0].place == ByteRange(0, 0, 4)
    one.request, one.response, one.answered = None, None, False
    assert [part.missing for part in opened(one, {}, Look()).parts] == ["not in the capture", "none expected (acks=0)"]
    one.answered = True
    assert [part.missing for part in opened(one, {}, Look()).parts] == ["not in the capture"] * 2
    assert send_command(Looked(0, one, OpenedExchange([MessageFields("request")], []), {}, "a"), [], Look()) is None


def test_an_exchange_is_copied_as_json_with_what_is_shown() -> None:
    (one,) = kdbg.read(ERRORS, exchange=6)
    looked = Looked(5, one, opened(one, {}, Look()), {})
    texts = [json_of(looked, [], Look(hide_values=hide)) for hide in (False, True)]
    assert texts[0] != texts[1]
    assert [(text or "")[-1] for text in texts] == ["}", "}"]
    assert {name: made.__name__ for name, (_, made) in COPIES.items()} \
        == {"hex": "hex_of", "json": "json_of", "send": "send_command"}  # fmt: skip
