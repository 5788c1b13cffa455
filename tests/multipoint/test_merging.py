"""Captures of two places are one: each exchange once, with the times of both, and the clocks put right."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.views.reading import Merged, grouped

from .sites import CAPTURES, MILLISECOND, Seen, Way, pcap, places, written

REAL = ("real-2.8.2.pcap", "real-4.4.0-transactions.pcap", "errors.pcap", "pipelined-acks0.pcap")


def merged(*files: Path, merge: bool | None = None) -> Merged:
    """What these files are together."""
    [found] = grouped([str(file) for file in files], merge)
    assert isinstance(found, Merged)
    return found


def exchanges(found: Merged) -> list[Exchange]:
    with found:
        return [exchange for chunk in found.engine().chunks(found.blocks()) for exchange in chunk]


def said(exchange: Exchange) -> tuple[Any, ...]:
    """What an exchange says, whenever that was."""
    request, response = exchange.request, exchange.response
    api = exchange.api.name if exchange.api is not None else None
    kinds = tuple(sorted(str(finding.kind) for finding in exchange.all_findings()))
    return (
        api, exchange.version, exchange.correlation_id, exchange.client_id, request and request.data,
        response and response.data, kinds,
    )  # fmt: skip


def plain(capture: str) -> Counter[tuple[Any, ...]]:
    return Counter(said(exchange) for exchange in kdbg.read(CAPTURES / capture))


def all_said(found: Sequence[Exchange]) -> Counter[tuple[Any, ...]]:
    return Counter(map(said, found))


@pytest.mark.parametrize("capture", REAL)
@pytest.mark.parametrize("turned", [False, True], ids=["client first", "broker first"])
def test_each_exchange_is_there_once_with_the_times_of_both(capture: str, turned: bool, tmp_path: Path) -> None:
    ahead = 3_723_000_000_123
    near, far = written(tmp_path, places(capture, Way(ahead=ahead)))
    files = (far, near) if turned else (near, far)
    together = merged(*files)
    assert together.files[0] == str(near), "its name tells nothing: the order of times does"
    found = exchanges(together)
    assert all_said(found) == plain(capture)
    answered = 0
    for exchange in found:
        assert exchange.capture_points is not None
        assert [place.file for place in exchange.capture_points.seen] == [str(near), str(far)]
        if exchange.response is None or exchange.request is None:
            continue
        answered += 1
        assert exchange.capture_points.network == 3 * MILLISECOND
        assert exchange.capture_points.broker is not None
        assert exchange.latency == exchange.capture_points.broker + 3 * MILLISECOND
        assert exchange.capture_points.ahead is not None
        assert exchange.capture_points.ahead.low <= ahead <= exchange.capture_points.ahead.high
        there, back = exchange.capture_points.there, exchange.capture_points.back
        assert there is not None
        assert back is not None
        assert there.low <= MILLISECOND <= there.high
        assert back.low <= 2 * MILLISECOND <= back.high
        assert there.low >= 0
        assert back.low >= 0
    assert answered > 20


@pytest.mark.parametrize("drift", [80e-6, -80e-6])
def test_clocks_that_drift_are_followed(drift: float, tmp_path: Path) -> None:
    way = Way(there=400_000, back=300_000, jitter=200_000, ahead=-7_000_000_000, drift=drift, stretched=2000)
    near, far = written(tmp_path, places("errors.pcap", way))
    together = merged(near, far)
    found = exchanges(together)
    assert all_said(found) == plain("errors.pcap")
    start = min(exchange.time for exchange in found)
    whole = max(exchange.time for exchange in found) - start
    assert whole * abs(drift) > 10 * MILLISECOND, "they drift by more than messages are under way"
    for exchange in found:
        assert exchange.capture_points is not None
        if exchange.latency is not None:
            bounds = exchange.capture_points.ahead
            assert bounds is not None
            true = way.ahead + (exchange.time - start) * drift
            assert bounds.low - MILLISECOND <= true <= bounds.high + MILLISECOND


def test_a_clock_that_is_set_is_noticed(tmp_path: Path) -> None:
    near, far = places("errors.pcap", Way(ahead=5 * MILLISECOND))
    half = len(far) // 2
    stepped = far[:half] + [one._replace(time=one.time + 400 * MILLISECOND) for one in far[half:]]
    together = merged(*written(tmp_path, (near, stepped)))
    found = exchanges(together)
    assert all_said(found) == plain("errors.pcap")
    assert len(together.merger.offsets[0, 1].steps) == 1
    last = found[-1].capture_points
    assert last is not None
    assert last.ahead is not None
    assert last.ahead.low <= 405 * MILLISECOND <= last.ahead.high


@settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(
    capture=st.sampled_from(REAL), seed=st.integers(0, 1 << 20), share=st.floats(0, 0.4),
    way=st.builds(
        Way, there=st.integers(1000, 40 * MILLISECOND), back=st.integers(1000, 40 * MILLISECOND),
        jitter=st.integers(0, MILLISECOND), ahead=st.integers(-(10**15), 10**15), drift=st.just(0.0),
        stretched=st.just(200),
    ),
)  # fmt: skip
def test_what_one_place_lost_the_other_has(capture: str, seed: int, share: float, way: Way) -> None:
    chance = random.Random(seed)
    lost = [chance.choice("cb") if chance.random() < share else "" for _ in range(1000)]
    near, far = places(
        capture, way, client=lambda number: lost[number] == "c", broker=lambda number: lost[number] == "b", seed=seed
    )
    with tempfile.TemporaryDirectory() as folder:
        found = exchanges(merged(*written(Path(folder), (near, far)), merge=True))
    assert all_said(found) == plain(capture)
    for exchange in found:
        if exchange.capture_points is not None and exchange.capture_points.ahead is not None:
            bounds = exchange.capture_points.ahead
            assert bounds.low <= way.ahead <= bounds.high or bounds.low > bounds.high


def test_bytes_that_one_capture_cut_off_come_from_the_other(tmp_path: Path) -> None:
    near, far = places("real-2.8.2.pcap")
    (tmp_path / "cut.pcap").write_bytes(pcap(near, snaplen=90))
    (tmp_path / "whole.pcap").write_bytes(pcap(far))
    found = exchanges(merged(tmp_path / "cut.pcap", tmp_path / "whole.pcap"))
    assert all_said(found) == plain("real-2.8.2.pcap")


def test_exchanges_that_one_place_alone_has_are_there_too(tmp_path: Path) -> None:
    near, far = places("real-2.8.2.pcap")
    late = near[len(near) // 2 :]
    found = exchanges(merged(*written(tmp_path, (late, far))))
    assert all_said(found) == plain("real-2.8.2.pcap")
    seen = Counter(len(exchange.capture_points.seen) for exchange in found if exchange.capture_points is not None)
    assert seen[1] > 10
    assert seen[2] > 10


def test_three_places_stand_in_their_order(tmp_path: Path) -> None:
    near, middle = places("errors.pcap", Way(there=MILLISECOND, back=MILLISECOND, ahead=10**10))
    _, far = places("errors.pcap", Way(there=5 * MILLISECOND, back=5 * MILLISECOND, ahead=-(10**11)))
    for name, seen in (("far", far), ("middle", middle), ("near", near)):
        (tmp_path / name).write_bytes(pcap(seen))
    found = exchanges(merged(tmp_path / "middle", tmp_path / "far", tmp_path / "near"))
    assert all_said(found) == plain("errors.pcap")
    for exchange in found:
        assert exchange.capture_points is not None
        assert [Path(place.file).name for place in exchange.capture_points.seen] == ["near", "middle", "far"]
        if exchange.latency is not None:
            assert exchange.capture_points.network == 6 * MILLISECOND


def test_translated_addresses_are_told_to_be_likely(tmp_path: Path) -> None:
    near, far = places("real-2.8.2.pcap", Way(ahead=10**9))
    moved = [one._replace(data=_translated(one.data)) for one in far]
    found = exchanges(merged(*written(tmp_path, (near, moved))))
    assert all_said(found) == plain("real-2.8.2.pcap")
    for exchange in found:
        assert exchange.capture_points is not None
        assert not exchange.capture_points.certain
        assert exchange.peers.client[0] == "127.0.0.1"
        assert exchange.capture_points.seen[1].client.startswith("10.9.8.7:2")
        assert len(exchange.capture_points.seen) == 2


def _translated(data: bytes) -> bytes:
    """A packet of Ethernet and IPv4 with another client: its address, its port."""
    asks = data[34:36] > data[36:38]
    at, port = (26, 34) if asks else (30, 36)
    changed = bytearray(data)
    changed[at : at + 4] = bytes([10, 9, 8, 7])
    changed[port : port + 2] = (20_000 + int.from_bytes(data[port : port + 2], "big") % 10_000).to_bytes(2, "big")
    return bytes(changed)


@pytest.mark.parametrize("merge", [None, False])
def test_files_of_one_place_stay_apart(merge: bool | None, tmp_path: Path) -> None:
    near, far = places("real-2.8.2.pcap")
    first, second = tmp_path / "first.pcap", tmp_path / "second.pcap"
    first.write_bytes(pcap(near[: len(near) // 2]))
    second.write_bytes(pcap(near[len(near) // 2 :]))
    assert grouped([str(first), str(second)], merge) == [str(first), str(second)], "a rotation"
    copy = tmp_path / "copy.pcap"
    copy.write_bytes(pcap(one._replace(time=one.time + 10**9) for one in near))
    whole, _ = written(tmp_path, (near, far))
    assert grouped([str(whole), str(copy)], merge) == [str(whole), str(copy)], "the same recording twice"
    others = [str(CAPTURES / "errors.pcap"), str(CAPTURES / "codecs.pcap")]
    assert grouped(others, merge) == others, "other connections"
    assert grouped([str(whole)] * 2, merge) == [str(whole)] * 2


def test_others_keep_their_place(tmp_path: Path) -> None:
    near, far = map(str, written(tmp_path, places("real-2.8.2.pcap")))
    other = str(CAPTURES / "errors.pcap")
    first, second = grouped([other, far, near], None)
    assert first == other
    assert isinstance(second, Merged)
    assert second.files == (near, far)
    second.close()


def test_a_rotation_of_one_place_meets_the_other(tmp_path: Path) -> None:
    near, far = places("real-2.8.2.pcap", Way(ahead=10**9))
    parts: list[tuple[str, list[Seen]]] = [("client-0", near[: len(near) // 2]), ("client-1", near[len(near) // 2 :])]
    for name, seen in (*parts, ("broker", far)):
        (tmp_path / name).write_bytes(pcap(seen))
    found = exchanges(merged(tmp_path / "client-0", tmp_path / "client-1", tmp_path / "broker"))
    assert all_said(found) == plain("real-2.8.2.pcap")


def test_merging_what_has_nothing_in_common_is_refused() -> None:
    with pytest.raises(kdbg.InputError, match="no connection in common"):
        grouped([str(CAPTURES / "errors.pcap"), str(CAPTURES / "codecs.pcap")], True)
