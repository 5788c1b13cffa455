"""The lines around an exchange."""

from __future__ import annotations

import io

import kdbg
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.peers import endpoint
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.findings.facts import FactKind
from kdbg.views.render.exchange_header import Headings, findings_of
from kdbg.views.render.findings import finding_line
from kdbg.views.render.style import Look
from kdbg.views.render.values import latency, moment

from ..cases import for_each
from ..traffic import Talk, framed, pcap


def exchanges(talk: Talk) -> list[Exchange]:
    return list(kdbg.read(io.BytesIO(pcap(talk))))


@for_each(
    ("nanoseconds", "shown"),
    [
        (None, "–"), (0, "0 µs"), (1, "0.001 µs"), (999_499, "999 µs"), (1_000_000, "1 ms"), (1_234_567, "1.23 ms"),
        (999_999, "1 ms"), (999_600_000, "1 s"), (1_500_000_000, "1.5 s"), (-2_000_000, "-2 ms"),
        (3_600_000_000_000, "3,600 s"), (999_500, "1 ms"), (999_499_999, "999 ms"), (999_500_000, "1 s"),
        (10**18, "1,000,000,000 s"),
    ],
)  # fmt: skip
def test_latency_in_the_unit_that_suits_it(nanoseconds: int | None, shown: str) -> None:
    assert latency(nanoseconds) == shown


def test_a_moment_and_an_endpoint() -> None:
    assert moment(1_795_264_200_000_001_999) == "2026-11-21 12:30:00.000001"
    assert endpoint(("10.0.0.1", 9092)) == "10.0.0.1:9092"
    assert endpoint(("::1", 9092)) == "[::1]:9092"


def test_a_title_says_what_who_and_how_long() -> None:
    (exchange,) = exchanges(Talk(("fe80::1", 4000), ("fe80::2", 9092), client_id="me").ask("Metadata", 1).answer())
    assert Headings(Look()).title(exchange).decode().splitlines() == [
        "#1 Metadata v1 · correlation id 1 · 1 ms",
        'client "me" · [fe80::1]:4000 → [fe80::2]:9092 · connection c1',
    ]


def test_titles_of_what_is_only_half_there() -> None:
    headings = Headings(Look(), response="└── ")
    alone, orphan = exchanges(Talk(client_id=None).ask("Metadata", 1).answer().reply(framed(b"\0\0\0\0abcde")))
    assert b"client" not in headings.title(alone)
    assert headings.title(orphan).decode().startswith("#2 Response · correlation id 0\n")
    assert headings.half(orphan.request, orphan, "request") == b"request  not in the capture\n"
    assert headings.half(orphan.response, orphan, "response") == (
        "└── response  13 bytes  2026-11-21 12:30:00.004000 UTC  packet 5\n".encode()
    )


def test_a_request_that_wants_no_answer() -> None:
    (exchange, _) = exchanges(Talk().ask("Produce", 3, acks=0, topic_data=[]).ask("Metadata", 1).end())
    assert Headings(Look()).half(None, exchange, "response") == b"response  none expected (acks=0)\n"


def test_a_long_client_id_is_shortened_for_a_terminal_only() -> None:
    (exchange,) = exchanges(Talk(client_id="c" * 150).ask("Metadata", 1).answer())
    assert b"c" * 150 in Headings(Look()).title(exchange)
    assert '"… 94 more characters ·' in Headings(Look(full=False)).title(exchange).decode()


def test_a_name_is_no_template() -> None:
    (exchange,) = exchanges(Talk(client_id="100%d").ask("Metadata", 1).answer())
    assert b'client "100%d"' in Headings(Look()).title(exchange)


@for_each("kind", Kind)
def test_a_finding_has_the_mark_of_its_weight(kind: str) -> None:
    mark, style = ("!", "note") if kind.severity != "error" else ("✗", "bad")
    assert (
        finding_line(Finding(kind, facts=FactKind.FOREIGN.of("a\x1bb")), Look())
        == rf"{mark} {kind}: a\x1bb; not decoded"
    )
    look = Look("STANDARD")
    assert finding_line(Finding(kind), look) == look.paint(style, f"{mark} {kind}: {kind.explanation}")


def test_where_the_end_is_missing_it_is_not_said_again() -> None:
    talk = Talk(most=20).ask("Metadata", 1, topics=[{"name": "a" * 50}]).answer()
    del talk.segments[4]
    (exchange,) = (found for found in exchanges(talk) if found.request is not None)
    half = exchange.request
    assert half is not None
    message = half.message()
    assert message is not None
    assert [finding.kind for finding in message.findings] == ["truncated"]
    assert findings_of(half, message) == []
    assert "truncated" in [finding.kind for finding in exchange.findings]
