"""Lines of JSON made straight from bytes say, to the byte, what those made of values say."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import kdbg
from kdbg.views.render.json_source import JsonView
from kdbg.views.render.jsonlines import json_line
from kdbg.views.render.style import Look

from ..cases import for_each
from ..traffic import Talk, pcap

CAPTURES = Path(__file__).resolve().parents[2] / "captures"
SHARED = sorted(  # a bomb takes gigabytes until there is a budget for a message
    path for path in (CAPTURES.parent.parent / "shared" / "captures").rglob("*.pcap*") if "bomb" not in path.name
)


@for_each("path", [*sorted(CAPTURES.glob("*.pcap*")), *SHARED], by=lambda path: path.name[0])
def test_every_exchange_is_the_same_line_by_bytes_and_by_values(path: Path) -> None:
    topics: dict[UUID, str] = {}
    view = JsonView(Look(), topics)
    for exchange in kdbg.read(path):
        for half in (exchange.request, exchange.response):
            topics |= half.known.topics if half is not None and half.known is not None else {}
        assert view(exchange) == json_line(exchange, topics)


def test_an_error_in_an_array_inside_an_array_is_seen_by_bytes(tmp_path: Path) -> None:
    path = tmp_path / "one.pcap"
    partitions = [{"index": index, "error_code": 6 * (index == 2)} for index in range(4)]
    body = {"responses": [{"name": "t", "partition_responses": partitions}]}
    path.write_bytes(pcap(Talk().ask("Produce", 3, acks=1).answer(**body)))
    (exchange,) = kdbg.read(path)
    line = JsonView(Look(), {})(exchange)
    assert exchange.response is not None
    assert exchange.response.sound, "not read by its bytes"
    assert b'"errors":[{"code":6,"name":"NOT_LEADER_OR_FOLLOWER","topic":"t","partition":2}]' in line
