"""Real messages decoded by kdbg's compiled reading, by construct, by kio and by kafka-python, records included.

"construct" interprets the same grammar written in construct's own classes (stock.py); "our nodes" is kdbg's construct
reading, whose nodes are leaner than those.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import kdbg
from kdbg.exchanges.messages.exchange import CapturedMessage
from kdbg.exchanges.messages.message import grammar_of, header_grammar
from kdbg.protocol.wire.readings.compiled import message_reader

from .measure import microseconds
from .results import Cell, Column, Table
from .stock import parser

WANTED = {
    (0, "request"): "Produce request", (1, "response"): "Fetch response", (3, "response"): "Metadata response",
    (18, "response"): "ApiVersions response",
}  # fmt: skip
OTHERS = ("construct", "our nodes", "kio", "kafka-python")


def report(captures: Mapping[str, Path]) -> list[Table]:
    """The table for the largest clean message of a few kinds in each capture."""
    table = Table("decoders", "message", (
        Column("bytes", "count"), Column("compiled", "µs"),
        *(column for other in OTHERS for column in (Column(other, "µs"), Column(f"× {other}", "×", 1))),
    ))  # fmt: skip
    for kind, path in captures.items():
        for name, half in _largest(path):
            table.add(f"{name} v{half.version}, {kind}", *_row(half))
    return [table]


def _largest(capture: Path) -> Iterator[tuple[str, CapturedMessage]]:
    largest: dict[tuple[int, str], CapturedMessage] = {}
    for exchange in islice(kdbg.read(capture, api=("produce", "fetch", "metadata", "api-versions")), 2000):
        for half in (exchange.request, exchange.response):
            message = half.message() if half is not None else None
            if half is None or message is None or message.findings or half.missing:
                continue
            key = message.api.key, half.direction
            if key in WANTED and (key not in largest or half.size > largest[key].size):
                largest[key] = half
    for key, name in WANTED.items():
        if key in largest:
            yield name, largest[key]


def _row(half: CapturedMessage) -> list[Cell]:
    assert half.api is not None
    head = header_grammar(half.api, half.version, half.direction)
    body = grammar_of(half.api, half.version, half.direction)
    compiled, data = message_reader(head, body), half.data

    def interpreted() -> None:
        stream = io.BytesIO(data)
        head._parse(stream, None, "")
        body._parse(stream, None, "")

    stream = io.BytesIO(data)
    head._parse(stream, None, "")
    rest, plain = data[stream.tell() :], parser(head, body)
    assert plain.parse(data).body
    ours = microseconds(lambda: compiled(data, 0))
    cells: list[Cell] = [len(data), ours]
    for other in (lambda: plain.parse(data), interpreted, _kio(half, rest), _kafka_python(half, rest)):
        theirs = None if other is None else microseconds(other)
        cells += [theirs, None if theirs is None else theirs / ours]
    return cells


def _kio(half: CapturedMessage, body: bytes) -> Callable[[], object] | None:
    try:
        import importlib

        from kio.records.readers import read_batch
        from kio.serial import entity_reader
    except ImportError:
        return None
    names = {
        0: ("produce", "ProduceRequest"), 1: ("fetch", "FetchResponse"), 3: ("metadata", "MetadataResponse"),
        18: ("api_versions", "ApiVersionsResponse"),
    }  # fmt: skip
    assert half.api is not None
    module, name = names[half.api.key]
    try:
        entity = getattr(importlib.import_module(f"kio.schema.{module}.v{half.version}.{half.direction}"), name)
    except ImportError:  # a version that it does not know
        return None
    read = entity_reader(entity)

    def run() -> None:
        message, _ = read(body, 0)
        for records in _record_sets(message, ("topic_data", "partition_data"), ("responses", "partitions")):
            start = 0
            while start < len(records):
                _, size = read_batch(records, start)
                start += size

    return run


def _kafka_python(half: CapturedMessage, body: bytes) -> Callable[[], object] | None:
    try:
        from kafka.protocol.consumer import FetchResponse
        from kafka.protocol.metadata import ApiVersionsResponse, MetadataResponse
        from kafka.protocol.producer import ProduceRequest
        from kafka.record import MemoryRecords
    except ImportError:
        return None
    assert half.api is not None
    messages = {0: ProduceRequest, 1: FetchResponse, 3: MetadataResponse, 18: ApiVersionsResponse}
    try:
        message = messages[half.api.key][half.version]
    except ValueError:  # a version that it does not know
        return None

    def run() -> None:
        value = message.decode(body, header=False)
        for records in _record_sets(value, ("topic_data", "partition_data"), ("responses", "partitions")):
            found = MemoryRecords(bytes(records))
            while found.has_next():
                batch = found.next_batch()
                batch.validate_crc()
                list(batch)

    return run


def _record_sets(message: Any, *paths: tuple[str, str]) -> Iterable[Any]:
    for outer, inner in paths:
        for topic in getattr(message, outer, None) or ():
            for partition in getattr(topic, inner, None) or ():
                if partition.records:
                    yield partition.records
