"""An index is used for the capture that it was made of, and for no other; whatever is in the cache, output is right."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.views.index import cache, reader, writer
from kdbg.views.index.layout import MAGIC, TRAILER

from ..cli.calls import CAPTURES, COMMAND, ENVIRONMENT, Outcome, call

ERRORS = CAPTURES / "errors.pcap"
SASL, PASSWORD = CAPTURES / "sasl-plain-raw.pcap", b"correct-horse"
QUESTION = ("-f", "summary", "--errors")


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return Path(shutil.copy(ERRORS, tmp_path / "errors.pcap"))


@pytest.fixture
def uses(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The captures that were read with an index."""
    used: list[str] = []
    matching = reader.IndexedCapture.matching

    def noting(self: reader.IndexedCapture, *given: Any, **named: Any) -> reader.Matching:
        used.append(self.name)
        return matching(self, *given, **named)

    monkeypatch.setattr(reader.IndexedCapture, "matching", noting)
    return used


def ask(capture: Path) -> Outcome:
    """The answer to a question, which must be that without an index."""
    found = call("decode", capture, *QUESTION)
    assert found == call("decode", capture, *QUESTION, "--no-index")
    return found


def indexed(capture: Path, folder: Path) -> Path:
    """Write the index of a capture."""
    before = set(folder.iterdir()) if folder.is_dir() else set()
    assert call("index", capture).status == 0
    (path,) = set(folder.iterdir()) - before
    return path


def test_a_complete_reading_writes_an_index_for_the_user_alone(capture: Path, cached: Path, uses: list[str]) -> None:
    ask(capture)
    (path,) = cached.iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert cached.stat().st_mode & 0o777 == 0o700
    assert not uses
    ask(capture)
    assert uses == [str(capture)]


@pytest.mark.parametrize("option", ["--limit=1", "--exchange=2", "--port=9092", "--no-index", "--latency"])
def test_other_readings_write_none(capture: Path, cached: Path, option: str) -> None:
    call("decode", capture, option)
    assert not cached.exists() or not list(cached.iterdir())


def test_an_expression_alone_is_asked_without_an_index(capture: Path, cached: Path, uses: list[str]) -> None:
    indexed(capture, cached)
    call("decode", capture, "--where", "latency_ms > 0.1")
    assert not uses
    call("decode", capture, "--where", "latency_ms > 0.1", "--api", "fetch")
    assert uses


def test_records_are_read_with_it_unless_they_are_limited(capture: Path, cached: Path, uses: list[str]) -> None:
    indexed(capture, cached)
    call("records", capture, "--api", "produce", "--limit", "1")
    assert not uses
    call("records", capture, "--api", "produce")
    assert uses


@pytest.mark.parametrize(
    ("asked", "used"),
    [
        (("stats", "--errors"), True), (("stats",), False), (("stats", "--errors", "--latency"), False),
        (("story", "--api", "fetch"), False), (("diagnose", "--errors"), False),
    ],
)  # fmt: skip
def test_other_commands_use_one_and_write_none(
    capture: Path, cached: Path, uses: list[str], asked: tuple[str, ...], used: bool
) -> None:
    command, *options = asked
    call(command, capture, *options)
    assert not cached.exists()
    indexed(capture, cached)
    call(command, capture, *options)
    assert bool(uses) is used


def test_two_exchanges_are_compared_with_it(capture: Path, cached: Path, uses: list[str]) -> None:
    indexed(capture, cached)
    call("diff", f"{capture}#3", f"{capture}#5")
    assert uses == [str(capture)] * 2


def test_small_captures_get_none(capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kdbg.ui.cli.runner.INDEXED", capture.stat().st_size + 1)
    call("decode", capture, "-f", "summary")
    assert not cached.exists()


def test_the_environment_disables_it(capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ENVIRONMENT, "KDBG_NO_INDEX", "1")
    call("decode", capture, "-f", "summary")
    assert not cached.exists()


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda data: data[:at] + bytes([data[at] ^ 1]) + data[at:][1:]


def of_another_version(data: bytes) -> bytes:
    start, size, _ = TRAILER.unpack(data[-TRAILER.size :])
    summary = json.loads(data[start : start + size])
    summary[0][0] += "x"
    changed = data[:start] + json.dumps(summary).encode()
    return changed + TRAILER.pack(start, len(changed) - start, zlib.crc32(changed))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "magic": flipped(3),
    "a block": flipped(len(MAGIC) + 20),
    "the summary": lambda data: flipped(TRAILER.unpack(data[-TRAILER.size :])[0] + 30)(data),
    "the trailer": lambda data: data[:-1] + bytes([data[-1] ^ 1]),
    "cut": lambda data: data[: len(data) // 2],
    "longer": lambda data: data + b"x",
    "another version": of_another_version,
    "random": lambda data: os.urandom(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_what_is_damaged_is_not_used_and_written_anew(
    capture: Path, cached: Path, uses: list[str], damage: str
) -> None:
    path = indexed(capture, cached)
    whole = path.read_bytes()
    path.write_bytes(DAMAGE[damage](whole))
    ask(capture)
    assert not uses
    ask(capture)
    assert uses


def test_what_others_can_read_is_not_used(capture: Path, cached: Path, uses: list[str]) -> None:
    path = indexed(capture, cached)
    path.chmod(0o644)
    ask(capture)
    assert not uses


def test_what_belongs_to_another_user_is_not_used(
    capture: Path, cached: Path, uses: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(capture, cached)
    monkeypatch.setattr(cache.os, "geteuid", lambda: os.getuid() + 1)
    ask(capture)
    assert not uses


def test_a_link_is_not_followed(capture: Path, cached: Path, uses: list[str]) -> None:
    path = indexed(capture, cached)
    other = path.rename(cached.parent / "elsewhere")
    path.symlink_to(other)
    ask(capture)
    assert not uses


def test_the_index_of_another_capture_is_not_used(capture: Path, cached: Path, uses: list[str], tmp_path: Path) -> None:
    other = Path(shutil.copy(CAPTURES / "first-contact.pcap", tmp_path / "other.pcap"))
    path = indexed(capture, cached)
    shutil.copy(indexed(other, cached), path)
    ask(capture)
    assert not uses


def test_a_capture_that_changed_is_read_anew(capture: Path, cached: Path, uses: list[str]) -> None:
    indexed(capture, cached)
    data = capture.read_bytes()
    times = capture.stat().st_atime_ns, capture.stat().st_mtime_ns
    capture.write_bytes(data.replace(b"shop", b"SHOP"))
    os.utime(capture, ns=times)
    ask(capture)
    assert not uses, "it changed at its beginning, and has the same size and time"


def test_a_capture_that_changes_while_it_is_read_gets_none(
    capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = writer.IndexWriter.commit

    def changing(self: writer.IndexWriter) -> None:
        capture.write_bytes(bytes(24) + capture.read_bytes())
        commit(self)

    monkeypatch.setattr(writer.IndexWriter, "commit", changing)
    outcome = call("index", capture)
    assert (outcome.status, outcome.out) == (2, "")
    assert "the capture changed while it was read" in outcome.err
    assert not list(cached.iterdir())


def test_a_copy_under_another_name_has_the_same_index(capture: Path, cached: Path, uses: list[str]) -> None:
    indexed(capture, cached)
    ask(capture.rename(capture.with_name("renamed.pcap")))
    assert uses


def test_compressed_captures_and_pipes_get_none(capture: Path, cached: Path) -> None:
    packed = capture.with_suffix(".pcap.gz")
    packed.write_bytes(gzip.compress(capture.read_bytes()))
    ask(packed)
    ask(packed)
    assert "it is compressed" in call("index", packed).err
    assert not cached.exists() or not list(cached.iterdir())


def test_decrypted_captures_get_none(cached: Path) -> None:
    tls = CAPTURES / "tls" / "real-tls-1.2.pcap"
    call("decode", tls, "-f", "summary", "--tls-keys", tls.with_suffix(".keys"))
    assert not cached.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_does_no_harm_to_users(capture: Path, cached: Path) -> None:
    cached.parent.mkdir(parents=True)
    cached.parent.chmod(0o500)
    ask(capture)


def test_a_cache_that_cannot_be_made_does_no_harm(capture: Path, cached: Path) -> None:
    cached.parent.parent.mkdir(parents=True)
    cached.parent.write_bytes(b"a file where the folder should be")
    ask(capture)
    assert call("index", capture).status == 2


def test_a_full_disk_leaves_no_index_and_the_whole_output(
    capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = call("decode", capture, "-f", "summary", "--no-index")

    write = writer.IndexWriter._write
    for written in range(4):
        left = [written]

        def full(self: writer.IndexWriter, data: bytes, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise OSError(28, "No space left on device")
            write(self, data)

        monkeypatch.setattr(writer.IndexWriter, "_write", full)
        assert call("decode", capture, "-f", "summary") == plain
        assert not list(cached.iterdir())


def test_the_folder_is_bounded_and_what_was_not_used_for_longest_goes(
    capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = indexed(capture, cached)
    os.utime(first, (1, 1))
    leftover = cached / f".x{cache.SUFFIX}"
    leftover.write_bytes(b"")
    os.utime(leftover, (1, 1))
    second = indexed(CAPTURES / "first-contact.pcap", cached)
    assert sorted(cached.iterdir()) == sorted([first, second]), "what was never completed is gone"
    monkeypatch.setattr(cache, "MOST_KEPT", second.stat().st_size + 10)
    os.utime(second, (2, 2))
    call("decode", capture, *QUESTION)  # uses the first one
    cache.clean_up()
    assert first.exists() is (first.stat().st_size <= cache.MOST_KEPT if first.exists() else False)
    assert not second.exists()


def test_an_index_beside_the_capture_is_used(capture: Path, cached: Path, uses: list[str]) -> None:
    assert call("index", capture, "--beside").status == 0
    assert not list(cached.iterdir())
    ask(capture)
    assert uses
    assert [path.name for path in sorted(capture.parent.glob(".*"))] == [".errors.pcap.kdbgix"]


def test_the_cache_is_listed_and_cleared(capture: Path, cached: Path) -> None:
    path = indexed(capture, cached)
    assert call("index", "--list").out.splitlines()[0].startswith(str(path))
    assert "58 exchanges" in call("index", "--list").out
    assert call("index", "--clear").out.startswith(f"removed {path}")
    assert not list(cached.iterdir())


def test_processes_that_write_the_same_index_at_once_do_no_harm(capture: Path, cached: Path) -> None:
    runs = [
        subprocess.Popen([*COMMAND, "index", str(capture)], env=ENVIRONMENT, stdout=subprocess.DEVNULL)
        for _ in range(3)
    ]
    assert [run.wait(timeout=60) for run in runs] == [0, 0, 0]
    assert len(list(cached.iterdir())) == 1
    ask(capture)


def test_a_capture_that_became_shorter_while_it_is_asked_is_an_error(
    capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    indexed(capture, cached)
    chunks = reader.Matching.chunks

    def cut(self: reader.Matching, blocks: object) -> object:
        os.truncate(capture, 1000)
        return chunks(self, ())

    monkeypatch.setattr(reader.Matching, "chunks", cut)
    outcome = call("decode", capture, *QUESTION)
    assert outcome.status == 2
    assert "became shorter while it was read" in outcome.err


def test_an_index_holds_no_bytes_of_messages(cached: Path) -> None:
    path = indexed(SASL, cached)
    stored = [path.read_bytes()]
    found = cache.load(path)
    assert found is not None
    file, summary = found
    for block in summary.blocks:
        start = block.start
        for size in block.sizes:
            stored.append(zlib.decompress(os.pread(file, size, start)))
            start += size
    os.close(file)
    assert PASSWORD in SASL.read_bytes()
    assert not [part for part in stored if PASSWORD in part]


@pytest.mark.parametrize(
    ("jobs", "question", "written"),
    [("2", (), False), ("2", ("--errors",), True), ("auto", ("--errors",), True), ("auto", (), False), ("1", (), True)],
)
def test_what_several_processes_read_gets_no_index(
    capture: Path, cached: Path, monkeypatch: pytest.MonkeyPatch, jobs: str, question: tuple[str, ...], written: bool
) -> None:
    monkeypatch.setattr("kdbg.ui.cli.inputs.LARGE", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda process: {0, 1}, raising=False)
    asked = ("decode", capture, *question, "--jobs", jobs)
    plain = call(*asked, "--no-index")
    assert call(*asked) == plain
    assert cached.exists() is written
    assert call(*asked) == plain, "with the index"


@pytest.mark.parametrize("jobs", ["1", "2", "auto"])
def test_a_question_is_read_with_the_index_whatever_the_jobs(
    capture: Path, cached: Path, uses: list[str], monkeypatch: pytest.MonkeyPatch, jobs: str
) -> None:
    indexed(capture, cached)
    monkeypatch.setattr("kdbg.ui.cli.inputs.LARGE", 1)
    call("decode", capture, "--jobs", jobs)
    assert not uses
    call("decode", capture, *QUESTION, "--jobs", jobs)
    assert uses
