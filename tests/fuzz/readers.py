"""What is run with an input: kdbg's own ways in, as commands go, down to what they print."""

from __future__ import annotations

import io
import struct
import tempfile
from contextlib import redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from typing import Any

import kdbg
from kdbg.analysis.diagnosis import diagnose
from kdbg.analysis.diagnosis.stories import subjects, tell
from kdbg.analysis.diagnosis.stories.text import event_object
from kdbg.analysis.diagnosis.text import case_object
from kdbg.analysis.ledgers import Ledgers
from kdbg.analysis.pasted.search import find
from kdbg.capture import open_capture
from kdbg.capture.keylog import KeyLog, Secrets
from kdbg.capture.packet import reverse
from kdbg.errors import GrammarError, WireError
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.filters.where.expression import Expression
from kdbg.exchanges.messages.message import read as read_message
from kdbg.exchanges.messages.message import read_slowly
from kdbg.exchanges.messages.payloads import open_payloads
from kdbg.exchanges.multipoint.annotate import PlacedEngine
from kdbg.exchanges.multipoint.common import PacketMatcher
from kdbg.exchanges.multipoint.merge import Merger
from kdbg.protocol.definitions import declare, read
from kdbg.protocol.grammars.records import FetchedRecords
from kdbg.protocol.wire.language.types import At
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import UNREADABLE, reader
from kdbg.protocol.wire.readings.measure import end_of
from kdbg.protocol.wire.records.compression import CODECS, decompress
from kdbg.protocol.wire.records.sets import crc32c
from kdbg.scale.signals.metrics import Metrics, text
from kdbg.scale.signals.sinks import line
from kdbg.scale.signals.traces import Traces
from kdbg.ui.cli import commands
from kdbg.views.render.diagnosis import CaseView
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS

from ..capture.files import pcap
from ..grammars.subjects import MESSAGES, PAYLOADS
from ..grammars.test_generated_readings import READINGS
from . import seeds

SMALL_SETS = 4 << 20
"""Plain bytes that a set of records may have where nothing but its codec is tried."""
FETCHED = FetchedRecords.at(At(0, False), nullable=True)


def capture(data: bytes) -> None:
    """Read a capture file to its last packet."""
    with open_capture(io.BytesIO(data)) as found:
        for _ in found.blocks():
            pass
        [problem.text for problem in found.problems]


def places(data: bytes) -> None:
    """Read a capture as two places would have recorded it, each without some of its packets, and merge them."""
    with open_capture(io.BytesIO(data)) as found:
        packets = [packet for block in found.blocks() for packet in block]
    near = [packet for packet in packets if packet[0] % 5]
    far = [(number, time + 1000, *rest) for number, time, *rest in packets if number % 7]
    comparison = PacketMatcher(2)
    comparison.take(0, near)
    comparison.take(1, far)  # type: ignore[arg-type]
    for together in comparison.together():
        merger = Merger(together.feeds([iter([(near, far)[at]]) for at in together.captures]))  # type: ignore[list-item]
        for chunk in PlacedEngine(merger, ("a", "b")).chunks(merger.blocks()):
            for exchange in chunk:
                exchange.all_findings()


def diagnosed(data: bytes) -> None:
    """Keep ledgers of what a capture holds, say what is wrong in it, and tell all stories."""
    engine = Engine()
    ledgers = Ledgers(engine.names_then)
    with open_capture(io.BytesIO(data)) as found:
        for block in found.blocks():
            ledgers.packets(block)
            ledgers.take(engine.receive_all(block))
            ledgers.left_over(engine.findings)
        ledgers.take(engine.close())
    cases = diagnose(ledgers)
    for case in cases:
        case_object(case)
    list(CaseView(Look(), "").lines(cases))
    for kind, subject in subjects(ledgers):
        for event in tell(ledgers, kind, subject.name) or ():
            event_object(kind, subject.name, event)


def signals(data: bytes) -> None:
    """Make spans and metrics of what a capture holds."""
    engine, traces, metrics = Engine(), Traces(), Metrics()
    with open_capture(io.BytesIO(data)) as found:
        traces.begin("made", 0, engine.names_then)
        metrics.begin(engine.names_then, lambda first_packet: True)
        for exchanges in engine.chunks(found.blocks()):
            line([span for exchange in exchanges for span in traces.take(exchange)], {})
            metrics.take(exchanges)
        line(traces.finish(), {})
    text(metrics)


def packets(data: bytes) -> None:
    """Read packets of a link type, down to the streams of their connections, and what is said there."""
    link = seeds.LINKS[data[0] % len(seeds.LINKS)] if data else 1
    with open_capture(io.BytesIO(pcap(list(seeds.parts(data[1:])), link=link))) as found:
        engine = Engine()
        for exchange in engine.run(found.blocks()):
            exchange.all_findings()
        [str(finding) for _, finding in engine.findings]


FLOW = bytes([10, 0, 0, 1, 10, 0, 0, 2]) + struct.pack(">HH", 51514, 9092)


def connection(data: bytes) -> None:
    """Take the packets of one connection: each says who speaks, TCP's flags, and how far from what is due it stands."""
    engine, due = Engine(), [1000, 5000]
    exchanges = []
    for number, step in enumerate(seeds.parts(data), 1):
        if len(step) < 2:
            continue
        side, flags, payload = step[0] >> 7, step[0] & 0x1F, step[2:]
        seq = due[side] + int.from_bytes(step[1:2], signed=True) * (1 + step[1] % 7)
        flow = reverse(FLOW) if side else FLOW
        packet = (number, number * 1_000_000, flow, seq & 0xFFFFFFFF, due[1 - side] & 0xFFFFFFFF, flags, payload,
                  len(payload) + (step[0] >> 5 & 1) * 40)  # fmt: skip
        exchanges += engine.receive(packet)
        due[side] = seq + len(payload) + bool(flags & 3)
    exchanges += engine.close()
    for exchange in exchanges:
        for finding in exchange.all_findings():
            str(finding)
    [str(finding) for _, finding in engine.findings]


def views(data: bytes) -> None:
    """Show what a capture holds in every view, count it, and make rows of it."""
    for name in VIEWS:
        with open_capture(io.BytesIO(data)) as capture:
            engine = Engine()
            shown = VIEWS[name].exchange(Look(width=100, full=True, meanings=True), engine.names_then)
            for exchange in engine.run(capture.blocks()):
                engine.names_then.at(exchange.names)
                shown(exchange)
    with _file(data) as name:
        _command("stats", name)
        _command("records", name)
    with suppress(ImportError), kdbg.read_capture(io.BytesIO(data)) as found:
        found.to_arrow("exchanges")


def redacted(data: bytes) -> None:
    """Write a capture that can be shared, with all that can be replaced."""
    from kdbg.ui.cli.redaction import Redaction
    from kdbg.views.redact.substitutes import Substitutes

    with _file(data) as name, redirect_stderr(io.StringIO()):
        Redaction(Substitutes("seed", names=True, addresses=True)).run(name, f"{name}.out")


def _command(*words: str) -> None:
    """Run a command of kdbg's; what it prints is thrown away."""
    with io.TextIOWrapper(io.BytesIO(), write_through=True) as out, redirect_stdout(out), redirect_stderr(out):
        commands.get_command(None, words[0]).main(list(words[1:]), standalone_mode=False)


class _file:
    """A file with these bytes, in a folder of its own."""

    def __init__(self, data: bytes) -> None:
        self.data, self.folder = data, tempfile.TemporaryDirectory(prefix="kdbg-fuzz-")

    def __enter__(self) -> str:
        path = Path(self.folder.name) / "one.pcap"
        path.write_bytes(self.data)
        return str(path)

    def __exit__(self, *error: object) -> None:
        self.folder.cleanup()


@cache
def readings(number: int) -> list[tuple[str, Any, Any]]:
    """The generated readings of a message, each with the plain one that it must agree with."""
    subject = MESSAGES[number]
    return [
        (name, fast, pair.plain(subject)) for name, pair in READINGS.items() if (fast := pair.fast(subject)) is not None
    ]


def message(data: bytes) -> None:
    """Read a message in every way there is; the generated readings say what the plain ones say, or refuse it."""
    subject, body = _subject(MESSAGES, data)
    if subject is None:
        return
    asked = subject.api, subject.version, subject.direction
    found = read_slowly(*asked, body)
    for finding in found.findings:
        str(finding)
    open_payloads(read_message(*asked, body), body)
    with suppress(*UNREADABLE, WireError):
        end_of(subject.grammar, body, 0)
    for name, fast, plain in readings(MESSAGES.index(subject)):
        try:
            said = fast(body)
        except UNREADABLE:
            continue
        assert said == plain(body), f"{name} says something else than the plain reading"


def payload(data: bytes) -> None:
    """Read a payload, as it is chosen by its bytes and as the one that it was made for."""
    subject, body = _subject(PAYLOADS, data)
    if subject is None:
        return
    for grammar in (subject.grammar, subject.payload.choose(body).grammar):
        for finding in inspect(grammar, body).findings:
            str(finding)
        with suppress(*UNREADABLE, WireError):
            reader(grammar)(body, 0)


def _subject(subjects: list[Any], data: bytes) -> tuple[Any, bytes]:
    """Return what the first two bytes stand for, and the rest."""
    return (subjects[int.from_bytes(data[:2], "big") % len(subjects)], data[2:]) if len(data) >= 2 else (None, b"")


def record_set(data: bytes) -> None:
    """Read a record set, as it is and with a checksum that is right."""
    for body in (data, _checked(data)):
        sized = struct.pack(">i", len(body)) + body
        for finding in inspect(FETCHED, sized).findings:
            str(finding)
        with suppress(*UNREADABLE, WireError):
            reader(FETCHED)(sized, 0)


def _checked(data: bytes) -> bytes:
    """Return the bytes as one batch whose length and checksum are right."""
    if len(data) < 61:
        return data
    rest = data[21:]
    return data[:8] + struct.pack(">i", len(data) - 12) + data[12:16] + b"\2" + struct.pack(">I", crc32c(rest)) + rest


def compressed(data: bytes) -> None:
    """Undo a codec, which the first byte names."""
    if data:
        with suppress(WireError):
            decompress(data[0] % (len(CODECS) + 1), data[1:], magic=data[0] >> 6, limit=SMALL_SETS)


def definition(data: bytes) -> None:
    """Read a message definition, and bytes by what it says."""
    text = data.decode("utf-8", "replace")
    found = read(text, "Fuzzed.json")
    declaration = declare(found)
    for version in list(found.valid.closed())[:4]:
        try:
            grammar: Any = declaration.at(version)
        except GrammarError:
            continue
        inspect(grammar, bytes(range(64)))
        with suppress(*UNREADABLE, WireError):
            reader(grammar)(bytes(64), 0)


def pasted(data: bytes) -> None:
    """Find the bytes in a text and explain them, as `kdbg explain` does."""
    text = data.decode("utf-8", "replace")
    for take in find(text):
        explained(take.data)
    with _file(data) as name:
        _command("explain", f"@{name}")


def explained(data: bytes) -> None:
    """Say what bytes are, in all views."""
    if data:
        for piece in kdbg.explain(data):
            for view in ("hex", "tree", "json"):
                piece.text(view)


@cache
def secrets() -> KeyLog:
    """The secrets of all recorded sessions."""
    keys = KeyLog()
    for path in (*seeds.CAPTURES.rglob("*.keys"), *seeds.SHARED.rglob("captures/**/*.keys")):
        keys.take(path.read_bytes())
    return keys


def tls(data: bytes) -> None:
    """Take the steps of a connection, whose secrets are known."""
    engine = Engine(keys=secrets())
    due = [1000, 5000]
    exchanges = engine.receive((1, 1, FLOW, 999, 0, 2, b"", 0))
    for number, step in enumerate(seeds.parts(data), 2):
        side, payload = (step[0] >> 7 if step else 0), step[1:]
        flow = reverse(FLOW) if side else FLOW
        exchanges += engine.receive(
            (number, number * 1000, flow, due[side], due[1 - side], 0x10, payload, len(payload))
        )
        due[side] += len(payload)
    for exchange in exchanges + engine.close():
        exchange.all_findings()
    [str(finding) for _, finding in engine.findings]


def key_log(data: bytes) -> None:
    """Read a key log in pieces, as it grows."""
    found = Secrets()
    for start in range(0, len(data), 1000):
        found.take(data[start : start + 1000])
    found.flush()
    found.find(data[:32])


@cache
def asked() -> list[Any]:
    """Exchanges that an expression is asked about."""
    from kdbg.capture import open_capture as opened

    found: list[Any] = []
    for name in ("errors.pcap", "transactions.pcap", "real-4.4.0-share-group.pcap"):
        with opened(seeds.CAPTURES / name) as file:
            found += list(Engine().run(file.blocks()))[::9]
    return found[:30]


def log(data: bytes) -> None:
    """Read a log that tells of exchanges, and show these."""
    with kdbg.read(io.BytesIO(data)) as found:
        for exchange in found:
            for view in ("tree", "summary", "json"):
                exchange.text(view)


def where(data: bytes) -> None:
    """Check an expression, and ask exchanges."""
    fits = Expression(data.decode("utf-8", "replace")).check({})
    for exchange in asked():
        fits(exchange)


def segment(data: bytes) -> None:
    """Read a file of a broker's disk, whose name stands in front of it; show its entries."""
    name, _, body = data.partition(b"\0")
    stream = io.BytesIO(body)
    stream.name = name.decode("utf-8", "replace")[:200]
    for entry in kdbg.read_log(stream):
        for view in ("tree", "summary", "hex", "json"):
            entry.text(view)


def value(data: bytes) -> None:
    """Read a key or value by a reader, which the first byte stands for, with its schema if it wants one."""
    from kdbg.payloads.schemas import ForTopic, TopicSchemas
    from kdbg.payloads.values.chosen import Choice, ReaderChoice, unasked
    from kdbg.payloads.values.readers import READERS
    from kdbg.payloads.values.value import ValueContext

    from ..values.test_readers import ORDER, PARCEL, PROTO

    of = {schema.type: schema for schema in (ORDER, PARCEL, PROTO)}
    name = list(READERS)[(data[0] if data else 0) % len(READERS)]
    schema = READERS[name].schema
    given = TopicSchemas([ForTopic("*", "value", of[schema])] if schema else [])
    for read_bytes in (ReaderChoice([Choice("value", name)], given), unasked):
        read_bytes(data[1:], ValueContext("value", "orders"))
