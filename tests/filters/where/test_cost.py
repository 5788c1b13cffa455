"""What is decided on the header reads no message, and what is not reads only those that it must."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.exchanges.messages import exchange as room

pytest.importorskip("cel_expr_python", reason="the extra where is not installed")
ERRORS = Path(kdbg.__file__).resolve().parents[1] / "captures" / "errors.pcap"
HEADERS = [
    'api == "Fetch"',
    'api in ["Fetch", "Produce"] || api_key > 30 || api_version == 4',
    'latency_ms > 100 && client_id.startsWith("b")',
    'connection.id == 2 && client != broker && address == "127.0.0.1"',
    "number > 3 && correlation_id == 5 && packet > 10 && 20 in packets",
    "size > 100 && request_size > 50 && response_size > 10",
    "request.size > 10 && request.packets[0] > 5 && response.time > 0.0",
    "response == null || null != request",
    'time > timestamp("2026-01-01T00:00:00Z")',
]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The messages of which more than the header is read."""
    read: list[Any] = []
    for name in ("message", "facts"):
        real = getattr(room.CapturedMessage, name)

        def noted(self: Any, real: Any = real, **named: Any) -> Any:
            read.append(self)
            return real(self, **named)

        monkeypatch.setattr(room.CapturedMessage, name, noted)
    return read


def asked(read: list[Any], **filters: Any) -> set[str]:
    """Ask all exchanges; return the APIs of the messages that were read for it."""
    exchanges = list(kdbg.read(ERRORS))
    check = Filters(**filters).check({})
    assert check is not None
    read.clear()
    for exchange in exchanges:
        check(exchange)
    return {half.api.name for half in read if half.api is not None}


@pytest.mark.parametrize("expression", HEADERS)
def test_headers_alone(read: list[Any], expression: str) -> None:
    assert asked(read, where=expression) == set()


@pytest.mark.parametrize(
    "expression",
    [
        'api == "Fetch" && response.throttle_time_ms > 0',
        'response.throttle_time_ms > 0 && api == "Fetch"',
        'response.throttle_time_ms > 0 && request.size > 1 && (errors.exists(e, e.code == 6) && api == "Fetch")',
        'api != "Fetch" || response.throttle_time_ms > 0',
        'response.throttle_time_ms > 0 || api != "Fetch"',
    ],
)
def test_bodies_of_what_the_header_does_not_decide(read: list[Any], expression: str) -> None:
    assert asked(read, where=expression) == {"Fetch"}


def test_other_filters_come_first_where_they_are_cheaper(read: list[Any]) -> None:
    assert asked(read, where="response.throttle_time_ms > 0", api="fetch") == {"Fetch"}
    assert asked(read, topic="orders", where='api == "Fetch"') == {"Fetch"}


def test_how_much_is_read_depends_on_the_expression() -> None:
    from kdbg.exchanges.filters.table import FILTERS

    expression = FILTERS["where"].expression
    assert expression is not None
    assert (expression("request.size > 1").bodies, expression("request.acks == 1").bodies) == (False, True)
