"""What captures are read from: paths, streams and live pipes, plain and compressed, whole and broken off."""

from __future__ import annotations

import gzip
import io
import os
import struct
import subprocess
import sys
import zlib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import pytest
import zstandard
from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from kdbg.capture import open_capture
from kdbg.capture.source import open_source
from kdbg.errors import CaptureError, CaptureRefused, UnknownCapture

from ..cases import for_each
from .files import ALL, ETHERNET, PACKETS, RAW, ROOT, block, enhanced, interface, little_memory, pcap, read, section

SECTION = section()


def pcapng(packets: list[bytes]) -> bytes:
    return SECTION + interface(RAW) + b"".join(enhanced(data, n) for n, data in enumerate(packets))


COMPRESSIONS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "zstd": zstandard.compress,
    "several gzip members": lambda data: b"".join(gzip.compress(data[n : n + 99]) for n in range(0, len(data), 99)),
    "several zstd frames": lambda data: zstandard.compress(data[:99]) + zstandard.compress(data[99:]),
    "gzip padded with zeros": lambda data: gzip.compress(data) + bytes(3000),
    "zstd of unknown size": lambda data: zstandard.ZstdCompressor(write_content_size=False).compress(data),
    "not compressed": lambda data: data,
}


@pytest.mark.parametrize("name", COMPRESSIONS)
@pytest.mark.parametrize("make", [pcap, pcapng])
def test_compressed_captures_are_recognised_by_their_bytes(
    name: str, make: Callable[[list[bytes]], bytes], tmp_path: Path
) -> None:
    path = tmp_path / "named.like.nothing"
    path.write_bytes(COMPRESSIONS[name](make(PACKETS)))
    with open_capture(path) as capture:
        assert [found[3] for found in capture] == ALL
        assert capture.problems == []
        assert capture.name == str(path)


@for_each("name", ["gzip", "zstd"])
@for_each("share", [0.3, 0.6, 0.9, 0.999])
def test_a_compressed_stream_that_breaks_off_gives_what_is_before(name: str, share: float) -> None:
    many = [bytes(IP(len=0) / TCP(seq=n)) + os.urandom(5000) for n in range(200)]
    packed = COMPRESSIONS[name](pcap(many))
    packets, capture = read(packed[: int(len(packed) * share)])
    assert [found[3] for found in packets] == list(range(len(packets)))
    assert len(packets) > 200 * share - 50
    (problem,) = capture.problems
    assert problem.text == f"the {name} stream is truncated, after packet {len(packets)}"


@pytest.mark.parametrize("name", ["gzip", "zstd"])
def test_a_compressed_stream_without_its_checksum_is_whole_but_reported(name: str) -> None:
    compress = gzip.compress if name == "gzip" else zstandard.ZstdCompressor(write_checksum=True).compress
    packets, capture = read(compress(pcap(PACKETS))[:-2])
    assert len(packets) == 12
    assert capture.problems[0].text == f"the {name} stream is truncated, after packet 12"


def test_a_damaged_gzip_stream_says_so() -> None:
    many = [os.urandom(1000) for _ in range(100)]
    packed = bytearray(gzip.compress(pcap(many), compresslevel=0))  # so that no damage makes another packet length
    packed[packed.index(many[50])] ^= 1
    _, capture = read(bytes(packed))
    assert 40 < capture.packets <= 100
    assert "the gzip stream is damaged" in capture.problems[-1].text


def test_garbage_behind_a_gzip_member_is_reported() -> None:
    packets, capture = read(gzip.compress(pcap(PACKETS)) + b"garbage that is no member")
    assert len(packets) == 12
    assert "the gzip stream is damaged" in capture.problems[0].text


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_what_expands_a_thousandfold_takes_little_memory(codec: str) -> None:
    packer: Any = zlib.compressobj(wbits=31) if codec == "gzip" else zstandard.ZstdCompressor().compressobj()
    data = pcap([bytes(IP(len=0) / TCP(seq=5)) + bytes(60_000)])
    packed = packer.compress(data) + b"".join(packer.compress(data[24:]) for _ in range(1000)) + packer.flush()
    with little_memory(12 << 20), open_capture(io.BytesIO(packed)) as capture:
        for _ in capture:
            pass
    assert capture.packets == 1001


def test_a_stream_that_was_handed_in_stays_open_and_a_file_is_closed(tmp_path: Path) -> None:
    stream = io.BytesIO(pcap(PACKETS))
    with open_capture(stream):
        pass
    assert not stream.closed
    path = tmp_path / "one.pcap"
    path.write_bytes(pcap(PACKETS))
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
    with open_capture(path) as capture:
        next(capture)
    after = len(os.listdir("/proc/self/fd")) if before else 0  # noqa: PTH208
    assert before == after


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "not a pcap or pcapng file (starts with 89 50 4e 47)"),
        (b"ab", "not a pcap or pcapng file (starts with 61 62)"),
        (pcap(PACKETS)[:20], "the file ends or is damaged inside its header"),
        (SECTION[:20], "the file ends or is damaged inside its header"),
        (SECTION.replace(b"\1\0\0\0", b"\7\0\0\0"), "the file ends or is damaged inside its header"),
        (b"\x0a\x0d\x0d\x0a" + bytes(100), "the file ends or is damaged inside its header"),
        (gzip.compress(b""), "is empty"),
        (gzip.compress(b"hello"), "not a pcap or pcapng file (starts with 68 65 6c 6c)"),
        (gzip.compress(pcap(PACKETS))[:8], "the gzip stream is truncated"),
        (zstandard.compress(pcap(PACKETS))[:8], "the zstd stream is truncated"),
    ],
    ids=[
        "nothing",
        "PNG",
        "two bytes",
        "pcap cut",
        "pcapng cut",
        "pcapng of another order",
        "pcapng of zeros",
        "empty gzip",
        "text in gzip",
        "gzip cut",
        "zstd cut",
    ],
)
def test_what_is_no_capture_is_refused_in_one_line(data: bytes, expected: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(UnknownCapture) as caught:
        open_capture(path)
    assert str(caught.value) == f"{path}: {expected}"


def test_what_cannot_be_opened_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(CaptureRefused, match="is a directory"):
        open_capture(tmp_path)
    with pytest.raises(CaptureRefused, match=r"missing\.pcap: no such file$"):
        open_capture(str(tmp_path / "missing.pcap"))
    with pytest.raises(CaptureRefused, match="null"):
        open_capture("a\0b")
    assert issubclass(CaptureRefused, OSError)


def test_a_file_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kdbg.capture.source.io.FileIO", refuse)  # the tests may run as root
    with pytest.raises(CaptureRefused, match="permission denied"):
        open_capture(tmp_path / "secret.pcap")


def test_a_source_that_fails_midway_gives_what_came_before() -> None:
    class Failing(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            if self.tell() >= 150:
                raise OSError(5, "Input/output error")
            return super().read1(min(size or 0, 150 - self.tell()))

    with open_capture(Failing(pcap(PACKETS))) as capture:
        assert [found[3] for found in capture] == [0, 1]
    assert [finding.text for finding in capture.problems] == ["Input/output error, after packet 2"]


def test_what_is_refused_is_closed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "capture.zst"
    path.write_bytes(zstandard.compress(pcap(PACKETS)))
    monkeypatch.setitem(sys.modules, "zstandard", None)
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(CaptureError) as caught:
        open_capture(path)
    assert len([*Path("/proc/self/fd").iterdir()]) == before, caught.value


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="no file here whose first byte cannot be read")
def test_what_cannot_be_read_from_its_first_byte_is_refused_and_closed() -> None:
    before = len([*Path("/proc/self/fd").iterdir()])
    with pytest.raises(CaptureRefused, match=r"^/proc/self/mem: input/output error$") as caught:
        open_capture("/proc/self/mem")
    assert len([*Path("/proc/self/fd").iterdir()]) == before, caught.value


def test_a_closed_stdin_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(CaptureRefused, match=r"^stdin: is closed$"):
        open_capture("-")


@pytest.mark.parametrize("compress", [bytes, gzip.compress, zstandard.compress])
def test_bytes_are_counted_as_they_are_read_once_decompressed(compress: Callable[[bytes], bytes]) -> None:
    data = pcap(PACKETS)
    opened = open_source(io.BytesIO(compress(data)))
    assert opened.feed.count == 0
    assert opened.stream.read(24) == data[:24]
    assert opened.stream.read() == data[24:]
    assert opened.feed.count == len(data)


def test_a_missing_zstandard_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    with pytest.raises(CaptureError, match="pip install zstandard"):
        open_capture(io.BytesIO(zstandard.compress(pcap(PACKETS))))


# Other processes


LISTEN = """
import sys
from kdbg.capture import open_capture
with open_capture("-") as capture:
    for found in capture:
        print(capture.name, found[0], found[3], flush=True)
print(*(finding.text for finding in capture.problems), flush=True)
"""


def python(code: str, **options: Any) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, **options)


def whole(data: bytes) -> bytes:
    return data


def flushed(compressor: Any, mode: int) -> Callable[[bytes], bytes]:
    return lambda data: compressor.compress(data) + compressor.flush(mode)


LIVE: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "plain": lambda: whole,
    "gzip": lambda: flushed(zlib.compressobj(wbits=31), zlib.Z_SYNC_FLUSH),
    "zstd": lambda: flushed(zstandard.ZstdCompressor().compressobj(), zstandard.COMPRESSOBJ_FLUSH_BLOCK),
}


@pytest.mark.parametrize("name", LIVE)
@pytest.mark.parametrize("make", [pcap, pcapng])
def test_a_live_pipe_gives_each_packet_as_it_comes(name: str, make: Callable[[list[bytes]], bytes]) -> None:
    pack = LIVE[name]()
    ends = [len(make(PACKETS[:count])) for count in range(4)]
    data = make(PACKETS)
    with python(LISTEN, stdin=subprocess.PIPE) as process:
        pipe, lines = _pipes(process)
        pipe.write(pack(data[: ends[0]]))
        pipe.flush()
        for n, (start, end) in enumerate(pairwise(ends)):
            pipe.write(pack(data[start:end]))
            pipe.flush()
            assert lines.readline().split() == [b"stdin", b"%d" % (n + 1), b"%d" % n]
        pipe.close()
        last = "" if name == "plain" else f"the {name} stream is truncated, after packet 3"
        assert lines.readline().decode().strip() == last
    assert process.returncode == 0


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    return process.stdin, process.stdout


QUIET = """
import sys, io
import kdbg.capture
assert not [name for name in sys.modules if name.startswith(("scapy", "zstandard"))]
for path in sys.argv[1:]:
    with kdbg.capture.open_capture(path) as capture:
        list(capture)
print([name for name in sys.modules if name in ("scapy", "scapy.all") or name.startswith("scapy.layers.inet")])
"""


def test_plain_captures_are_read_without_scapy_and_in_silence(tmp_path: Path) -> None:
    wrong_option = struct.pack("<HHI", 9, 2, 1)
    bad = SECTION + block(1, struct.pack("<HHI", RAW, 0, 0) + wrong_option) + enhanced(PACKETS[0], 1, 9)
    bad += block(10, b"short") + enhanced(PACKETS[0], 1)[:-9]
    files = {"good": pcap(PACKETS), "cut": pcap(PACKETS)[:-3], "bad": bad}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    paths = [str(tmp_path / name) for name in files]
    command = [sys.executable, "-c", QUIET, *paths]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"[]\n", b"")


def test_scapys_layers_say_nothing_either(tmp_path: Path) -> None:
    frames = [bytes(Ether() / IP(proto=47) / (b"\x20\0\x08\0" + bytes(40))), bytes(Ether(type=0x8847)) + bytes(30)]
    path = tmp_path / "odd.pcap"
    path.write_bytes(pcap(frames, link=ETHERNET))
    done = subprocess.run([sys.executable, "-c", QUIET, str(path)], cwd=ROOT, capture_output=True, check=True)
    assert b"scapy.layers.inet" in done.stdout
    assert b"scapy.all" not in done.stdout
    assert done.stderr == b""
