"""What fuzzing starts from: pieces of the captures, messages of every grammar, texts; small, so that much is tried."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import orjson
import zstandard

from kdbg.capture.frames import Dissectors, Frame, Frames
from kdbg.errors import KdbgError

from ..capture.files import ETHERNET, enhanced, interface, pcap, section
from ..grammars.subjects import MESSAGES, PAYLOADS, SUBJECTS, full, variants

TOP = Path(__file__).resolve().parents[2]
CAPTURES, SHARED = TOP / "captures", TOP.parent / "shared"
LINKS = (1, 101, 113, 276, 0, 12, 108, 228, 229, 105, 127, 119, 163, 192, 9, 50, 147, 65535)
"""Link types by the byte that a target takes for one: kdbg's own, then scapy's and unknown ones."""
SMALL = 3000
"""Bytes that a piece of a capture may have."""


def captures() -> list[Path]:
    """The captures of the project, and those beside it, without those that are made to take gigabytes."""
    found = [*CAPTURES.rglob("*.pcap*"), *(SHARED / "captures").rglob("*.pcap")]
    return sorted(path for path in found if "bomb" not in path.name and path.stat().st_size < 1 << 20)


@cache
def frames(path: Path) -> list[Frame]:
    """The packets of a capture."""
    with Frames(path) as found:
        return list(found)


def pieces(most: int = SMALL) -> Iterator[list[Frame]]:
    """Some packets of each capture that stand together: its beginning, and from its middle."""
    for path in captures():
        try:
            whole = frames(path)
        except KdbgError:
            continue
        for start in {0, len(whole) // 2}:
            size, end = 0, start
            while end < len(whole) and size < most:
                size, end = size + len(whole[end].data), end + 1
            if start < end:
                yield whole[start:end]


def pcaps(most: int = SMALL) -> Iterator[bytes]:
    """Pieces as pcap files."""
    for piece in pieces(most):
        yield pcap([frame.data for frame in piece], link=piece[0].link)


def pcapngs() -> Iterator[bytes]:
    """Pieces as pcapng files, in either order of bytes."""
    for number, piece in enumerate(pieces()):
        order = "<>"[number % 2]
        blocks = (enhanced(frame.data, frame.time // 1000, 0, order) for frame in piece)
        yield section(order) + interface(piece[0].link, order) + b"".join(blocks)


def gzipped() -> Iterator[bytes]:
    return map(gzip.compress, pcaps())


def zstandards() -> Iterator[bytes]:
    return map(zstandard.compress, pcaps())


def parted(parts: Iterable[bytes]) -> bytes:
    """Parts behind their lengths, as `parts` takes them apart."""
    return b"".join(struct.pack(">H", min(len(part), 0xFFFF)) + part[:0xFFFF] for part in parts)


def parts(data: bytes) -> Iterator[bytes]:
    """The parts of an input; the last has what there is."""
    at = 0
    while at + 2 <= len(data):
        (size,) = struct.unpack_from(">H", data, at)
        yield data[at + 2 : at + 2 + size]
        at += 2 + size


def packets() -> Iterator[bytes]:
    """A byte that stands for the link type, then packets: of captures, and tunnels and fragments by scapy."""
    for piece in pieces():
        yield bytes([LINKS.index(piece[0].link)]) + parted(frame.data for frame in piece)
    from ..capture.test_fragments import IN_PIECES
    from ..capture.test_links import LINK_LAYERS, TUNNELS, ip4, tcp

    for cut in IN_PIECES.values():
        yield bytes([LINKS.index(101)]) + parted(cut(512))
    for tunnel in TUNNELS.values():
        yield bytes([LINKS.index(ETHERNET)]) + parted([bytes(tunnel)])
    for link, layer in LINK_LAYERS.values():
        if link in LINKS:
            packet = ip4() / tcp() if layer is None else layer / ip4() / tcp()
            yield bytes([LINKS.index(link)]) + parted([bytes(packet)])


def talks() -> Iterator[bytes]:
    """The steps of a connection: flags of TCP and who speaks in a byte, how far off in another, then what is said."""
    for path in captures():
        try:
            found = list(steps(path))
        except KdbgError:
            continue
        for start in {0, len(found) // 2}:
            yield parted(found[start : start + 24])[: 2 * SMALL]


def steps(path: Path) -> Iterator[bytes]:
    """The steps of the first connection in a capture that says anything."""
    own, dissectors = None, Dissectors()
    for frame in frames(path):
        packet = dissectors.packet(frame)
        if packet is None or (own is None and not packet[6]):
            continue
        own = own or packet[2]
        ends = {packet[2][-4:-2], packet[2][-2:]}
        if ends == {own[-4:-2], own[-2:]}:
            yield bytes([(packet[2] != own) << 7 | packet[5] & 0x1F, 0]) + packet[6][:1200]


def messages() -> Iterator[bytes]:
    """Two bytes that stand for an API, a version and a side, then a message of it with everything in it."""
    for number, subject in enumerate(MESSAGES):
        yield struct.pack(">H", number) + subject.whole(full(subject))


def payloads() -> Iterator[bytes]:
    """As `messages`, of payloads."""
    for number, subject in enumerate(PAYLOADS):
        yield struct.pack(">H", number) + subject.whole(full(subject))


def whole_messages() -> Iterator[bytes]:
    """Messages as somebody may have them: behind their sizes, or without."""
    for number, subject in enumerate(SUBJECTS[::7]):
        for value in list(variants(subject))[:2]:
            data = subject.whole(value)[:SMALL]
            yield (struct.pack(">i", len(data)) + data) if number % 2 else data


def texts() -> Iterator[bytes]:
    """What people pasted, and messages in each form that they are written in."""
    from ..pasted.forms import FORMS

    for path in sorted((SHARED / "cases" / "pasted").glob("*.txt")):
        if path.stat().st_size < SMALL:
            yield path.read_bytes()
    data = next(whole_messages())[:200]
    for form in FORMS.values():
        yield f"2026-11-22 12:00:00 INFO sent {form(data)} to broker 1".encode()
    yield b"Received 369295616 bytes: invalid receive (size = 1213486160 larger than 104857600)"


def record_sets() -> Iterator[bytes]:
    """Batches and messages of every format and codec."""
    from kdbg.protocol.grammars.records import record_format
    from kdbg.protocol.wire.records import build_set

    headers = [{"key": "trace", "value": b"1"}]
    for codec in range(5):
        records = [{"key": b"k", "value": b"value %d" % n, "headers": headers} for n in range(3)]
        yield build_set([{"magic": 2, "attributes": codec, "records": records}], record_format, "")
        for magic in (0, 1):
            yield build_set([{"magic": magic, "key": b"k", "value": b"v" * 40}], record_format, "")
    for path in (CAPTURES / "real-segments-4.4.0").rglob("*.log"):
        yield path.read_bytes()[:SMALL]


def compressed() -> Iterator[bytes]:
    """A byte that names the codec and the format around it, then compressed bytes."""
    from kdbg.protocol.wire.records.compression import CODECS, compress

    for magic in (0, 1, 2):
        for codec in CODECS:
            for plain in (b"", b"abc", b"kafka " * 400):
                yield bytes([magic << 6 | codec]) + compress(codec, plain, magic=magic)


def definitions() -> Iterator[bytes]:
    """Message definitions."""
    for path in (TOP / "tests" / "definitions" / "made").glob("*.json"):
        yield path.read_bytes()
    with gzip.open(TOP / "tests" / "facts" / "definitions.jsonl.gz") as file:
        for line in file:
            text = orjson.dumps(orjson.loads(line)[2])
            if len(text) < 2000:
                yield text


def tls() -> Iterator[bytes]:
    """Steps of connections that speak TLS: a byte for who speaks, and what is said."""
    for path in captures():
        if path.parent.name == "tls":
            found = [step[:1] + step[2:] for step in steps(path)]
            yield parted(found[:24])[: 2 * SMALL]
            yield parted(found[:8])


def key_logs() -> Iterator[bytes]:
    for path in CAPTURES.rglob("*.keys"):
        lines = path.read_bytes().splitlines(keepends=True)
        for start in range(0, len(lines), 12):
            yield b"".join(lines[start : start + 6])
    yield b"RSA Session-ID:" + b"ab" * 32 + b" Master-Key:" + b"cd" * 48 + b"\n"


def expressions() -> Iterator[bytes]:
    """What `--where` is given in the tests, sound and hostile."""
    from ..filters.where.test_expressions import RESULTS
    from ..filters.where.test_refused import HOSTILE

    yield from (text.encode() for text in RESULTS)
    yield from (text.encode() for text in HOSTILE.values() if len(text) < 1000)


def segments() -> Iterator[bytes]:
    """A name, a zero, and the file."""
    folder = CAPTURES / "real-segments-4.4.0"
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield str(path.relative_to(folder)).encode() + b"\0" + path.read_bytes()[:SMALL]
    for data in record_sets():
        yield b"orders-3/00000000000000000000.log\0" + data


def values() -> Iterator[bytes]:
    """A byte that stands for a reader, and what it reads."""
    from kdbg.payloads.values.readers import READERS

    from ..values.test_readers import GOOD

    names = list(READERS)
    yield from (bytes([names.index(name)]) + data for name, data, _, _ in GOOD)


def preambles() -> Iterator[bytes]:
    """Words with a proxy in turns, as `tls` has them, and a request behind them."""
    from ..engine.test_preambles import CASES, kafka
    from ..traffic import Talk

    packets = [segment.data[40:] for segment in kafka(Talk()).segments]
    asked = [bytes([number % 2 << 7]) + data for number, data in enumerate(data for data in packets if data)]
    for case in CASES.values():
        turns = [bytes([number % 2 << 7]) + turn for number, turn in enumerate(case.turns)]
        yield parted([*turns, *asked])


def logs() -> Iterator[bytes]:
    """Some lines of recorded logs."""
    for path in sorted((TOP / "tests" / "logs" / "recorded").glob("*.log")):
        lines = path.read_bytes().splitlines(keepends=True)
        for start in range(0, min(len(lines), 2000), 50):
            yield b"".join(lines[start : start + 20])
