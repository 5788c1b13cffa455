"""Packets come out of runs as they went in, in the order of their connection; exchanges out of their rows likewise."""

from __future__ import annotations

import gc
import pickle
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.capture import Packet, open_capture
from kdbg.capture.packet import reverse
from kdbg.exchanges.engine.engine import Engine
from kdbg.exchanges.messages.exchange import CapturedMessage, Exchange
from kdbg.scale.spark.archive.plan import plan
from kdbg.scale.spark.stages import reading as runs
from kdbg.scale.spark.stages import tasks
from kdbg.scale.spark.stages.pairing import Pieces, exchanges
from kdbg.scale.spark.stages.reading import Part
from tests.cli.calls import SHARED, SHIPPED

from ..cases import by_day

FLOWS = [bytes([10, 0, 0, n, 10, 0, 0, 9, 200, n, 35, 132]) for n in range(3)] + [bytes(range(36))]
payloads = st.binary(max_size=50)
numbers = st.integers(0, 2**32 - 1)


@st.composite
def packets(draw: st.DrawFn) -> list[Packet]:
    made: list[Packet] = []
    for number in range(draw(st.integers(0, 60))):
        flow, payload = draw(st.sampled_from(FLOWS)), draw(payloads)
        flow = draw(st.sampled_from([flow, reverse(flow)]))
        length = len(payload) + draw(st.integers(0, 9))
        flags = draw(st.integers(0, 255))
        made.append(
            (number, draw(st.integers(-(2**63), 2**63 - 1)), flow, draw(numbers), draw(numbers), flags, payload, length)
        )
    return made


@given(packets=packets(), most=st.integers(1, 200), held=st.integers(1, 2000))
def test_packets_come_out_as_they_went_in(packets: list[Packet], most: int, held: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runs, "RUN_BYTES", most)
        patch.setattr(runs, "OPEN_BYTES", held)
        made = list(runs.runs(packets))
    assert [run.order for run in made] == list(range(len(made)))
    for flow in FLOWS:
        key = min(flow, reverse(flow))
        found = [packet for run in made if run.key == key for packet in run.unpack()]
        assert found == [packet for packet in packets if packet[2] in (flow, reverse(flow))]


def plain(half: CapturedMessage | None) -> object:
    if half is None:
        return None
    message = half.message()
    return (
        half.data, half.first_time, half.last_time, half.first_packet, half.last_packet, half.missing, half.size,
        half.api and half.api.name, message and (message.header, message.body, message.findings),
    )  # fmt: skip


def said(exchange: Exchange) -> object:
    return (
        exchange.peers, exchange.api and exchange.api.key, exchange.version, exchange.correlation_id,
        exchange.client_id, exchange.answered, exchange.findings, exchange.latency, plain(exchange.request),
        plain(exchange.response),
    )  # fmt: skip


@pytest.mark.parametrize(
    "path", by_day([*SHIPPED, *SHARED], 4), ids=lambda path: f"{path.parent.parent.name}/{path.name}"
)
def test_exchanges_come_out_as_they_went_in(path: Path, tmp_path: Path) -> None:
    session, pieces = Engine(), Pieces(str(tmp_path))
    with open_capture(path) as capture:
        wanted = list(session.run(capture.blocks()))
    for exchange in wanted:
        pieces.add(7, exchange, exchange.size)
    names = pieces.close()
    found = [each for name, _, _ in names for each in exchanges(str(tmp_path), name, session.topic_names)]
    assert {capture for capture, _ in found} <= {7}
    assert [captures for *_, captures in names] == [[7]] * len(names)
    assert list(map(said, (exchange for _, exchange in found))) == list(map(said, wanted))


def test_what_a_task_finds_is_not_searched_for_garbage_behind_each_task() -> None:
    """Spark's workers collect behind every task: what kdbg is made of was a tenth of a second each time."""
    gc.unfreeze()
    whole = plan([str(SHIPPED[0])])
    try:
        part = Part(0, whole.captures[0], whole.files[0], whole.splits[0])
        count = partial(tasks.each, tasks.count)
        list(tasks.task(count)(iter([pa.record_batch({"part": [pickle.dumps([part])]})])))
        assert gc.get_freeze_count() > 10_000
    finally:
        gc.unfreeze()
