"""The garbage collector has nothing to do while captures are decoded, and is let run seldom."""

from __future__ import annotations

import gc
import io
from collections.abc import Iterator

import pytest

from kdbg.capture import open_capture
from kdbg.collector import SELDOM, seldom_collected
from kdbg.exchanges.engine.engine import Engine
from tests.traffic import Talk, pcap


def talks(count: int) -> bytes:
    return pcap(*(Talk(("10.0.0.1", 40_000 + n)).ask("Metadata", 1, topics=[]).answer().end() for n in range(count)))


@pytest.fixture
def by_hand() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("by_hand")
def test_decoding_leaves_no_garbage() -> None:
    """However many connections came and went, there is no more to find than after few."""

    def garbage(data: bytes) -> int:
        engine = Engine()
        with open_capture(io.BytesIO(data)) as capture:
            for exchange in engine.run(capture.blocks()):
                exchange.all_findings(shallow=True)
        return gc.collect()

    few, many = talks(2), talks(60)
    garbage(few)
    assert garbage(many) <= garbage(few)


def test_the_thresholds_are_those_of_before_when_it_is_over() -> None:
    before = gc.get_threshold()
    with pytest.raises(ZeroDivisionError), seldom_collected():
        assert gc.get_threshold() == SELDOM != before
        raise ZeroDivisionError
    assert gc.get_threshold() == before
