"""Exchanges as spans, in this process: whole spans, their ids and traces, both sides of each bound."""

from __future__ import annotations

from typing import Any

import pytest

from kdbg.exchanges.messages.capture_points import UNNUMBERED, Split, Tcp, Timing
from kdbg.exchanges.messages.exchange import Exchange
from kdbg.exchanges.messages.handshake import software_in
from kdbg.exchanges.messages.known import Known
from kdbg.exchanges.messages.message import UNTIMED
from kdbg.exchanges.messages.peers import Decrypted, Peers, Process, Via
from kdbg.payloads.records.sources import Records
from kdbg.protocol.findings import Finding, Kind
from kdbg.protocol.grammars import sasl
from kdbg.protocol.wire.readings.outline import NamesThen
from kdbg.scale.signals import traces as module
from kdbg.scale.signals.attributes import Event, Link, Span, of_connection
from kdbg.scale.signals.attributes import SpanSide as Side
from kdbg.scale.signals.traces import Traces, links_of, parent_of

from ..live.test_replaying import exchange, heartbeat
from .test_attributes import PEERS, of

SECOND = 1_000_000_000


def made(**options: Any) -> Traces:
    found = Traces(**options)
    found.begin("a\tb.pcap", 7, NamesThen({}))
    return found


def spans(found: Traces, *exchanges: Exchange) -> list[Span]:
    return [span for one in exchanges for span in found.take(one)]


def beat(sent: int, came: int | None = None, number: int = 1, talk: int = 1, first_packet: int = 0) -> Exchange:
    one = heartbeat(sent, came, talk)
    one.number, one.peers = number, one.peers._replace(first_packet=first_packet)
    return one


def versions(name: str, version: int = 3) -> Exchange:
    asked = {"client_software_name": name, "client_software_version": "1"} if version >= 3 else {}
    one = exchange("ApiVersions", version, asked, sent=5)
    assert one.request is not None
    one.request.known = Known.nothing()
    if software := software_in(one.request):
        one.request.known = one.request.known.and_more("software", software)
    return one


def test_an_exchange_and_its_connection_are_these_spans() -> None:
    found, one = made(), beat(1000, 3000, number=4)
    bad = exchange("Heartbeat", 0, {"group_id": "g", "generation_id": 1, "member_id": "m"}, {"error_code": 25},
                   sent=500, came=2500)  # fmt: skip
    bad.number = 5
    assert one.request is not None
    assert one.response is not None
    assert bad.response is not None
    one.request.last_time, one.response.last_time = 1500, 3500
    first, second = spans(found, one, bad)
    trace, root = first.trace, first.parent
    assert first == Span(
        trace, first.id, root, "Heartbeat v0", Side.CLIENT, 1000, 3500, of(one),
        (Event("request sent", 1500), Event("response begun", 3000)), (), "",
    )  # fmt: skip
    assert second == Span(
        trace, second.id, root, "Heartbeat v0", Side.CLIENT, 500, 2500, of(bad),
        (Event("request sent", 500), Event("response begun", 2500)), (), "UNKNOWN_MEMBER_ID",
    )  # fmt: skip
    (connection,) = found.finish()
    sizes = {"kafka.request.size": 2 * one.request.size, "kafka.response.size": 2 * bad.response.size}
    assert connection == Span(
        trace, root, b"", "connection", Side.INTERNAL, 500, 3500,
        PEERS | sizes | {"messaging.client.id": "me", "kafka.capture": "a\\tb.pcap", "kafka.connection.part": 1,
                         "kafka.exchanges": 2, "kafka.exchanges.failed": 1},
    )  # fmt: skip
    assert list(found.finish()) == []


def test_ids_are_those_of_earlier_releases() -> None:
    """Whoever exports a capture again has the same ids, so they depend on nothing but what the capture holds."""
    first, second = spans(made(), beat(1000, number=4), beat(1000, number=5))
    ids = [one.hex() for one in (first.trace, first.parent, first.id, second.id)]
    assert ids == ["762b52310b4d773a2c39b9c7eb0a4ac3", "37c16d51dc4eece6", "24b389e224e6f631", "430ebf6e00714cdd"]


def test_a_name_is_that_of_the_api_and_a_version_where_it_has_one() -> None:
    named = [beat(1), exchange("Produce", 7, {"acks": 1, "timeout_ms": 1, "topic_data": []}), beat(1)]
    named[2].api = None
    named.append(beat(1))
    named[3].api = sasl.api
    assert [span.name for span in spans(made(), *named)] == [
        "Heartbeat v0",
        "send",
        "response of unknown API",
        "SaslToken",
    ]


def test_a_trace_has_1000_exchanges_and_lasts_300_seconds() -> None:
    bounds = module.MOST, module.LONGEST, module.CONNECTIONS, module.EVENTS, module.MOST_LINKS
    assert bounds == (1000, 300 * SECOND, 16384, 128, 128)
    found = made()
    beats = [beat(number, number=number) for number in range(1, 1002)]
    taken = spans(found, *beats)
    assert [number for number, one in enumerate(taken) if one.name == "connection"] == [1000]
    first, last = taken[1000], taken[1001]
    assert (first.attributes["kafka.exchanges"], first.links) == (1000, ())
    (second,) = found.finish()
    assert (second.trace, second.id) == (last.trace, last.parent) != (first.trace, first.id)
    assert second.links == (Link(first.trace, first.id, remote=False),)
    said = [second.attributes[name] for name in ("kafka.connection.part", "kafka.exchanges", "messaging.client.id")]
    assert said == [2, 1, "me"]
    assert (second.start, second.end) == (1001, 1001)
    for late, traces in ((300 * SECOND + 5, 1), (300 * SECOND + 6, 2)):
        found = made()
        assert len({one.trace for one in spans(found, beat(5), beat(late))}) == traces


def test_the_next_trace_of_a_connection_knows_who_the_client_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    nameless, other = beat(1), beat(1)
    nameless.client_id, other.client_id = None, "other\n"
    found = made()
    taken = spans(found, nameless, versions("lib"), versions("too-late"), other, versions("later"))
    taken += found.finish()
    about = [one.attributes for one in taken if one.name == "connection"]
    assert [(one["messaging.client.id"], one["kafka.client.software"]) for one in about] == [("me", "lib")] * 2
    assert [one["kafka.exchanges"] for one in about] == [3, 2]
    for exchanges, client, software in (
        ([nameless], None, None), ([nameless, other], "other\\n", None),
        ([versions("", 2), versions("lib")], "me", "lib"),
    ):  # fmt: skip
        found = made()
        spans(found, *exchanges)
        (root,) = found.finish()
        assert [root.attributes.get(name) for name in ("messaging.client.id", "kafka.client.software")] \
            == [client, software]  # fmt: skip


def test_the_connection_that_was_silent_for_longest_ends_where_too_many_are_open(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CONNECTIONS", 2)
    found = made()
    assert [one.name for one in spans(found, beat(1), beat(1, talk=2), beat(2))] == ["Heartbeat v0"] * 3
    ended, _ = spans(found, beat(3, talk=3))
    assert ended.attributes["kafka.connection"] == 2
    assert [one.attributes["kafka.connection"] for one in found.finish()] == [1, 3]


def test_connections_that_have_ended_wait_for_what_may_still_come() -> None:
    found, open_ = made(), {8}
    spans(found, beat(1, first_packet=8), beat(1, talk=2, first_packet=9))

    def ended(*, settled: bool) -> list[Any]:
        return [one.attributes["kafka.connection"] for one in found.ended(open_.__contains__, settled=settled)]

    assert ended(settled=False) == [], "something came since"
    spans(found, beat(2, talk=2, first_packet=9))
    assert ended(settled=False) == []
    assert ended(settled=False) == [2]
    open_.clear()
    assert ended(settled=True) == [1]
    assert list(found.finish()) == []


def test_what_has_no_time_has_no_span() -> None:
    found, untimed = made(), beat(UNTIMED)
    empty = Exchange(Peers(1, ("", 0), ("", 0)), None, 0, 1, None)
    assert spans(found, untimed, empty, beat(0)) != []
    assert found.untimed == 2
    response = beat(5, 9)
    response.request = None
    (span,) = spans(made(), response)
    assert (span.start, span.end, [one.name for one in span.events]) == (9, 9, ["response begun"])


@pytest.mark.parametrize(
    ("told", "request_times", "response_times", "lasted"),
    [
        (None, (10, 20), None, (10, 20)), (None, (10, UNTIMED), (5, 8), (10, 10)), (None, (10, 20), (30, 40), (10, 40)),
        (35, (10, UNTIMED), (UNTIMED, UNTIMED), (10, 45)), (25, (10, UNTIMED), (12, 40), (10, 40)),
    ],
)  # fmt: skip
def test_an_exchange_lasts_from_its_first_byte_to_its_last(
    told: int | None, request_times: tuple[int, int], response_times: tuple[int, int] | None, lasted: tuple[int, int]
) -> None:
    one = beat(10, 20 if response_times else None)
    one.logged_latency = told
    assert one.request is not None
    one.request.first_time, one.request.last_time = request_times
    if response_times and one.response is not None:
        one.response.first_time, one.response.last_time = response_times
    (span,) = spans(made(), one)
    assert (span.start, span.end) == lasted
    times = ("request sent", request_times[1]), ("response begun", (response_times or (UNTIMED,))[0])
    assert [(event.name, event.time) for event in span.events] == [pair for pair in times if pair[1] != UNTIMED]


def test_findings_are_events_at_the_time_of_their_half() -> None:
    one = beat(10, 30)
    one.findings = [Finding(Kind.TRAILING_BYTES, "response", "a\tb"), Finding(Kind.NO_RESPONSE, "request"),
                    Finding(Kind.NO_RESPONSE)]  # fmt: skip
    (span,) = spans(made(), one)
    assert [(event.time, event.name) for event in span.events[2:]] \
        == [(30, "finding trailing-bytes"), (10, "finding no-response"), (10, "finding no-response")]  # fmt: skip
    assert span.events[2].attributes == {
        "kafka.finding": Kind.TRAILING_BYTES.value, "kafka.finding.severity": Kind.TRAILING_BYTES.severity.value,
        "kafka.finding.side": "response", "kafka.finding.path": "a\\tb", "kafka.finding.text": one.findings[0].text,
    }  # fmt: skip
    assert one.response is not None
    one.response.first_time = UNTIMED
    assert [event.time for event in next(iter(spans(made(), one))).events if event.name.startswith("finding")] == [
        10
    ] * 3
    alone = beat(10, 30)
    alone.request, alone.findings = None, [Finding(Kind.NO_RESPONSE)]
    assert [event.time for event in spans(made(), alone)[0].events] == [30, 30]


def test_a_span_has_128_events_and_says_how_many_more_there_are() -> None:
    for more, left_out in ((126, None), (127, 1), (130, 4)):
        one = beat(10, 30)
        one.findings = [Finding(Kind.NO_RESPONSE)] * more
        (span,) = spans(made(), one)
        assert (len(span.events), span.attributes.get("kafka.events.left_out")) == (128, left_out)


def carrying(*values: bytes | None, name: str = "traceparent") -> Exchange:
    records = [{"key": None, "value": b"v", "headers": [{"key": name, "value": value}]} for value in values]
    data = [{"name": "t", "partition_data": [{"index": 0, "records": [{"records": records}]}]}]
    return exchange("Produce", 7, {"transactional_id": None, "acks": 1, "timeout_ms": 1, "topic_data": data})


def context(number: int) -> bytes:
    return b"00-%032x-%016x-01" % (number, number)


def test_records_lead_to_the_traces_in_their_headers() -> None:
    records = Records(NamesThen({}))
    two = tuple(Link(number.to_bytes(16), number.to_bytes(8)) for number in (2, 1))
    assert links_of(carrying(context(2), None, context(1), context(2)), records) == (two, 0)
    assert links_of(carrying(context(2), name="tracestate"), records) == links_of(beat(1), records) == ((), 0)
    unknown = carrying(context(1))
    unknown.api = None
    assert links_of(unknown, records) == ((), 0)
    many = [links_of(carrying(*map(context, range(1, count))), records) for count in (129, 130, 133)]
    assert [(len(links), more) for links, more in many] == [(128, 0), (128, 1), (128, 4)]
    assert [Link(b"t", b"s").remote, parent_of("00")] == [True, None]
    taken = [spans(made(**options), carrying(*map(context, range(1, 131))))[0] for options in ({}, {"links": False})]
    assert [(len(one.links), one.attributes.get("kafka.links.left_out")) for one in taken] == [(128, 2), (0, None)]


def test_a_connection_is_told_with_its_tls_its_proxy_its_processes_and_tcp() -> None:
    one = beat(1)
    tls, via = Decrypted("TLSv1.3", "AES", "b\tc", ()), Via("SOCKS5")
    one.peers = one.peers._replace(tls=tls, via=via, processes=(Process(7, "a\tb"), None))
    one.timing = Timing(Split(broker=2_000_000, behind=3), Tcp(1_500_000, 2, (3, 4), (5, 6), "broker", True))
    assert of_connection(one) == PEERS | {
        "tls.protocol.name": "tls", "tls.protocol.version": "1.3", "tls.cipher": "AES", "server.address": "b\\tc",
        "kafka.proxy": "SOCKS5", "kafka.client.pid": 7, "kafka.client.process": "a\\tb",
        "kafka.tcp.round_trip_ms": 1.5, "kafka.tcp.syns": 2, "kafka.tcp.closed": "broker", "kafka.tcp.reset": True,
        "kafka.tcp.resent.client": 3, "kafka.tcp.resent.broker": 4, "kafka.tcp.zero_windows.client": 5,
        "kafka.tcp.zero_windows.broker": 6,
    }  # fmt: skip
    assert {name: value for name, value in of(one).items() if name.endswith("_ms") or "behind" in name} \
        == {"kafka.broker_ms": 2.0, "kafka.behind": 3}  # fmt: skip
    one.peers = one.peers._replace(processes=(None, Process(8, "java")))
    assert [of_connection(one).get(f"kafka.{end}.pid") for end in ("client", "broker")] == [None, 8]


def test_an_api_without_a_key_and_a_request_without_a_number_have_none() -> None:
    one, unnumbered = beat(1), beat(1)
    one.api = sasl.api
    unnumbered.correlation_id = UNNUMBERED
    names = "kafka.api", "kafka.api_key", "kafka.api_version", "kafka.correlation_id"
    assert [of(one).get(name) for name in names] == [one.api.name, None, None, None]
    assert [of(unnumbered).get(name) for name in names] == ["Heartbeat", 12, 0, None]
