"""A capture that has grown is indexed from where its index ended, with the same result as if it was read whole."""

from __future__ import annotations

import contextlib
import os
import pickle
import zlib
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.atomic import AtomicFile
from kdbg.capture import Capture
from kdbg.capture.keylog import KeyLog
from kdbg.capture.pcap import MAGICS
from kdbg.exchanges.engine.requests import misframed_request
from kdbg.exchanges.messages.known import Known
from kdbg.exchanges.messages.serialization import Parcels
from kdbg.views.index import cache, checkpoint, writer
from kdbg.views.index.layout import Summary, Unfit

from ..cases import by_day, for_each
from ..cli.calls import CAPTURES, SHIPPED, call

OTHERS = sorted({*CAPTURES.rglob("*.pcap")} - {*SHIPPED})
PCAPS = [path for path in [*SHIPPED, *by_day(OTHERS, 4)] if path.read_bytes()[:4] in MAGICS]
QUESTIONS = (
    ("tree", ("--errors=all",)), ("json", ("--slower-than", "0.05")), ("summary", ("--topic", "nosuch")),
    ("summary", ("--limit", "7", "--api", "!fetch")),
)  # fmt: skip
CAPTURE = CAPTURES / "real-4.4.0-transactions.pcap"
TOTAL = sum(1 for _ in kdbg.read(CAPTURE))
SASL, PASSWORD = CAPTURES / "sasl-plain-raw.pcap", b"correct-horse"


@pytest.fixture
def resumes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many packets were before each place where a reading went on."""
    places: list[int] = []
    resume = Capture.resume

    def noting(self: Capture, position: dict[str, Any], *given: Any) -> None:
        places.append(position["packets"])
        resume(self, position, *given)

    monkeypatch.setattr(Capture, "resume", noting)
    return places


def grow(path: Path, data: bytes) -> None:
    """Write what a capture lacks, as tcpdump does."""
    with path.open("ab") as file:
        file.write(data[file.tell() :])


def index_of(folder: Path) -> tuple[bytes, Summary]:
    """The only index that there is."""
    (path,) = folder.iterdir()
    summary = cache.summary_of(path)
    assert summary is not None
    return path.read_bytes(), summary


def state_of(folder: Path) -> bytes:
    """The state that an index has."""
    data, summary = index_of(folder)
    assert summary.checkpoint is not None
    start, size, *_ = summary.checkpoint
    return zlib.decompress(data[start : start + size])


@for_each("capture", PCAPS, ids=[path.name for path in PCAPS])
def test_a_capture_that_grew_has_the_same_answers(
    capture: Path, tmp_path: Path, cached: Path, resumes: list[int]
) -> None:
    data, grown = capture.read_bytes(), tmp_path / capture.name
    resumes.clear()
    states = 0
    for number, cut in enumerate(
        sorted({len(data) // 2, len(data) - 1500, len(data) - 40} & {*range(4200, len(data))})
    ):
        grown.write_bytes(data[:cut])
        if call("index", grown).status:
            continue
        states += index_of(cached)[1].checkpoint is not None
        grow(grown, data)
        for form, question in (QUESTIONS[number % len(QUESTIONS)], QUESTIONS[-1]):
            asked = ("decode", grown, "-f", form, *question)
            assert call(*asked) == call(*asked, "--no-index"), (cut, question)
        call("index", "--clear")
    assert len(resumes) == states


def test_most_captures_are_read_on(tmp_path: Path, cached: Path) -> None:
    kept = 0
    for capture in (one for one in PCAPS if one.stat().st_size > 8000):
        if call("index", capture).status == 0:
            kept += index_of(cached)[1].checkpoint is not None
        call("index", "--clear")
    assert kept > 15


@pytest.mark.parametrize("form", ["pcap", "pcapng"])
def test_a_reading_goes_on_again_and_again(tmp_path: Path, cached: Path, resumes: list[int], form: str) -> None:
    capture = CAPTURE
    if form == "pcapng":
        capture = tmp_path / "whole.pcapng"
        call("export", CAPTURE, capture)
    data, grown = capture.read_bytes(), tmp_path / f"grown.{form}"
    sizes = [*range(6000, 30_000, 5000), *range(30_000, 34_000, 400), len(data)]
    for size in sizes:
        grown.touch()
        grow(grown, data[:size])
        asked = ("decode", grown, "-f", "tree", "--api", "!fetch")
        assert call(*asked) == call(*asked, "--no-index"), size
        assert len(list(cached.iterdir())) == 1, "the index of the shorter capture is gone"
    assert resumes == sorted(resumes)
    assert len(resumes) == len(sizes) - 1


def test_kdbg_index_goes_on(tmp_path: Path, cached: Path, resumes: list[int]) -> None:
    data, grown = CAPTURE.read_bytes(), tmp_path / "grown.pcap"
    grown.write_bytes(data[: len(data) // 2])
    for options in ((), ("--beside",)):
        assert call("index", grown, *options).status == 0
    grow(grown, data)
    assert call("index", grown, "--beside").out.startswith(f"{grown}: {TOTAL} exchanges · 64.1 kB · index ")
    assert len(resumes) == 1
    assert [path.name for path in tmp_path.glob(".*")] == [".grown.pcap.kdbgix"]


def test_a_capture_that_grew_and_changed_is_read_anew(tmp_path: Path, cached: Path, resumes: list[int]) -> None:
    data, grown = CAPTURE.read_bytes(), tmp_path / "grown.pcap"
    grown.write_bytes(data[: len(data) // 2])
    call("index", grown)
    grown.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    asked = ("decode", grown, "-f", "tree", "--api", "!fetch")
    assert call(*asked) == call(*asked, "--no-index")
    assert not resumes


def test_a_capture_that_grows_while_it_is_read_is_read_on_from_there(
    tmp_path: Path, cached: Path, resumes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, grown = CAPTURE.read_bytes(), tmp_path / "grown.pcap"
    grown.write_bytes(data[: len(data) // 2])
    commit = writer.IndexWriter.commit

    def growing(self: writer.IndexWriter) -> None:
        grow(grown, data)
        commit(self)

    monkeypatch.setattr(writer.IndexWriter, "commit", growing)
    call("index", grown)
    monkeypatch.setattr(writer.IndexWriter, "commit", commit)
    asked = ("decode", grown, "-f", "tree", "--api", "!fetch")
    assert call(*asked) == call(*asked, "--no-index")
    assert len(resumes) == 1


def test_a_capture_that_grows_while_its_index_is_extended_is_shown_as_far_as_that(
    tmp_path: Path, cached: Path, resumes: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    data, grown, sizes = CAPTURE.read_bytes(), tmp_path / "grown.pcap", [20_000, 40_000, 60_000]
    grown.write_bytes(data[: sizes[0]])
    call("index", grown)
    grow(grown, data[: sizes[1]])
    asked = ("decode", grown, "-f", "tree", "--api", "!fetch")
    before = call(*asked, "--no-index")
    commit = writer.IndexWriter.commit

    def growing(self: writer.IndexWriter) -> None:
        grow(grown, data[: sizes[2]])
        commit(self)

    monkeypatch.setattr(writer.IndexWriter, "commit", growing)
    assert call(*asked) == before
    monkeypatch.setattr(writer.IndexWriter, "commit", commit)
    assert call(*asked) == call(*asked, "--no-index")
    assert len(resumes) == 2


def test_a_state_has_no_bytes_of_messages(tmp_path: Path, cached: Path) -> None:
    data, grown = SASL.read_bytes(), tmp_path / "grown.pcap"
    states = []
    for size in range(data.index(PASSWORD) + len(PASSWORD), len(data), 60):
        grown.write_bytes(data[:size] + bytes(1000))  # so that the state is that after the password
        call("index", grown)
        with contextlib.suppress(AssertionError, ValueError):
            states.append(state_of(cached))
        call("index", "--clear")
    assert states
    assert not [state for state in states if PASSWORD in state]


def test_a_state_of_very_many_connections_is_not_kept(
    tmp_path: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    call("index", CAPTURE)
    assert index_of(cached)[1].checkpoint
    call("index", "--clear")
    monkeypatch.setattr(checkpoint, "MOST_CONNECTIONS", 1)
    call("index", CAPTURE)
    assert index_of(cached)[1].checkpoint is None


class Call:
    """What calls a function with arguments when it is read by pickle itself."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.called = function, given

    def __reduce__(self) -> Any:
        return self.called


HOSTILE = {
    "a function of the system": Call(os.system, "true"),
    "a function of Python": Call(eval, "1"),
    "an attribute": Call(getattr, 1, "real"),
    "what reads a pickle": Parcels({}),
    "a class that opens a file": Call(AtomicFile, "x"),
    "a method": Call(checkpoint.method, Known.nothing(), "nothing"),
    "a function of a module that is allowed": Call(misframed_request, b""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_nothing_is_made_of_a_state_but_what_is_listed(name: str) -> None:
    hostile = pickle.dumps(HOSTILE[name], 5)
    with pytest.raises(Unfit):
        checkpoint.load(zlib.compress(hostile), -1, KeyLog())
    with pytest.raises(pickle.UnpicklingError):
        checkpoint._Unpickler(hostile, -1, KeyLog()).load()
