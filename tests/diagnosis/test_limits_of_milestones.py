"""Where the rules of milestones begin: what a client does not get past, and what another rule gives the reason of."""

from __future__ import annotations

from uuid import UUID

from kdbg.analysis.diagnosis import diagnose
from kdbg.analysis.diagnosis.queries import by_ends
from kdbg.analysis.diagnosis.text import advice, sentence
from kdbg.analysis.ledgers.evidence import Occurrences
from kdbg.analysis.ledgers.flows import Sample
from kdbg.exchanges.messages.peers import Peers
from kdbg.exchanges.messages.rejection import NORMAL_STEPS, is_normal_step
from kdbg.protocol.findings import Finding, Kind, Severity
from kdbg.protocol.findings.facts import Encrypted
from kdbg.protocol.grammars import find
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.streams.tcp.paths import Closed, Path
from kdbg.streams.tls.session import Why

from ..cases import for_each
from .facts import FLOW, SECOND, START, Facts, cases, check, mark, seen, slow, unanswered

OTHER_BROKER = FLOW[:10] + (9093).to_bytes(2, "big")
PRODUCE, FETCH, JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, API_VERSIONS, CREATE_TOPICS = 0, 1, 11, 12, 13, 18, 19
SHARE_FETCH = 78
HELLO, DATA, ALERT = b"\x16\x03\x01\0\xc8\1\0\0", b"\x17\x03\x03\0\x23", b"\x15\x03\x03\0\x02\2\x30"


def attempt(facts: Facts, at: int, *, refused: bool = True, syns: int = 1, flow: bytes = FLOW) -> Path:
    """A connection that was asked for and not granted."""
    path = facts.path(flow=flow, at=at)
    path.syns, path.refused = syns, START + at if refused else None
    return path


def granted(facts: Facts, at: int, flow: bytes = FLOW) -> Path:
    path = facts.path(flow=flow, at=at)
    path.syns, path.answered = 1, START + at
    path.ways[1].bytes, path.ways[1].last_time = 9, START + at
    return path


def test_connections_that_fail_to_the_last() -> None:
    def build(case: tuple[int, bool, int, int | None, bytes]) -> Facts:
        times, refused, syns, later, flow = case
        facts = Facts()
        for number in range(times):
            attempt(facts, number * SECOND, refused=refused, syns=syns)
        if later is not None:
            granted(facts, later, flow)
        return facts

    check(
        "connection-failing", build,
        found=[(1, True, 1, None, FLOW), (1, False, 2, None, FLOW), (3, False, 1, None, FLOW),
               (3, True, 1, 9 * SECOND, OTHER_BROKER), (3, True, 1, 2 * SECOND, OTHER_BROKER)],
        not_found=[(1, False, 1, None, FLOW), (3, True, 1, 9 * SECOND, FLOW)],
    )  # fmt: skip
    (case,) = cases(build((4, True, 1, None, FLOW)), "connection-failing")
    assert (case.who.broker, case.count) == ("10.0.0.2:9092", 4)
    assert "each was refused (RST)" in sentence(case)
    (case,) = cases(build((4, False, 3, None, FLOW)), "connection-failing")
    assert "none got a reply" in sentence(case)


def test_a_name_with_two_addresses_is_tried_at_both() -> None:
    def found(later: int, port: int) -> list[Severity]:
        facts = Facts()
        attempt(facts, SECOND)
        granted(facts, SECOND + later, bytes(15) + b"\1" + bytes(15) + b"\2" + FLOW[8:10] + port.to_bytes(2, "big"))
        return [case.severity for case in cases(facts, "connection-failing")]

    assert found(SECOND - 1, 9092) == []
    assert found(SECOND, 9092) == found(0, 9093) == [Severity.ERROR]


def test_a_broker_that_was_there_and_is_gone() -> None:
    def build(case: tuple[bool, int, int | None]) -> Facts:
        before, times, after = case
        facts = Facts()
        if before:
            facts.client().heard(mark(1), FETCH, 9, "shop", 9)
        for number in range(times):
            attempt(facts, (5 + number) * SECOND)
        if after is not None:
            granted(facts, after)
        facts.last_time = START + 20 * SECOND
        return facts

    check("broker-down", build, found=[(True, 3, None)],
          not_found=[(False, 3, None), (True, 2, None), (True, 3, 15 * SECOND)])  # fmt: skip
    check("connection-failing", build, found=[(False, 3, None), (True, 2, None)], not_found=[(True, 3, None)])
    (case,) = cases(build((True, 3, None)), "broker-down")
    assert (case.who.broker, case.certainty, case.facts["seconds"]) == ("10.0.0.2:9092", "certain", 20 * SECOND)


def failing(code: int, api: int, times: int, of: int, *, past: bool, until: int = SECOND) -> Facts:
    """A client that gets an error in some of its exchanges, and goes on after the last one or does not."""
    facts = Facts()
    facts.exchanges = of
    session = facts.client()
    use = session.heard(mark(1), api, 0, "shop", 9)
    use.seen = seen(of, 0, until + SECOND if past else until)
    facts.fails(session, code, api, "orders", seen(times, until if times == 1 else 0, until))
    return facts


def test_error_codes_that_a_client_does_not_get_past() -> None:
    def build(case: tuple[int, int, int, int, bool]) -> Facts:
        code, api, times, of, past = case
        return failing(code, api, times, of, past=past, until=20 * SECOND)

    check(
        "error-response", build,
        found=[(76, FETCH, 1, 9, False), (76, FETCH, 1, 9, True), (6, PRODUCE, 3, 6, True), (6, PRODUCE, 1, 9, False),
               (27, HEARTBEAT, 6, 10, False)],
        not_found=[(6, PRODUCE, 2, 9, True), (36, CREATE_TOPICS, 1, 1, False), (25, LEAVE_GROUP, 1, 1, False),
                   (27, HEARTBEAT, 5, 5, False), (27, HEARTBEAT, 6, 10, True), (27, HEARTBEAT, 5, 10, False),
                   (14, JOIN_GROUP, 1, 1, False)],
    )  # fmt: skip
    severities = {
        (past, times): cases(build((76, FETCH, times, 9, past)), "error-response")[0].severity
        for past in (False, True) for times in (1, 5)
    }  # fmt: skip
    assert severities == {(False, 1): Severity.ERROR, (False, 5): Severity.ERROR, (True, 1): Severity.NOTE,
                          (True, 5): Severity.ERROR}  # fmt: skip


@for_each("code", [code for code in ERRORS if code])
def test_every_error_code_is_named_with_an_exchange_and_its_meaning(code: int) -> None:
    api = find(next((key for key in (PRODUCE, CREATE_TOPICS) if not is_normal_step(find(key), code)), PRODUCE))
    assert api is not None
    facts = failing(code, api.key, 9, 9, past=False, until=20 * SECOND)
    (case,) = cases(facts, "error-response") or [None]
    if code in (36, 69, 84):  # what is there, or gone, as was asked for
        assert case is None
        return
    assert case is not None
    assert case.evidence.exchanges
    assert ERRORS[code].name in sentence(case)
    assert ERRORS[code].text.split(". ")[0][1:20] in sentence(case)
    assert any(one.code for one in diagnose(facts))


def test_normal_steps_are_few() -> None:
    assert len(NORMAL_STEPS) < 6


def test_requests_without_a_response() -> None:
    def build(case: tuple[str, int, int, int | None]) -> Facts:
        closed, waited, held, answered = case
        facts = Facts()
        session = facts.client(closed=closed, closes=waited)
        session.unanswered = [unanswered(FETCH)._replace(held=held)]
        facts.last_time = START + waited
        if answered is not None:
            session.heard(mark(2, answered, answered + 5), FETCH, 9, "shop", 9)
        return facts

    check(
        "no-response", build,
        found=[("", 5 * SECOND, 0, None), ("client", SECOND, 0, None), ("broker", 1, 0, None),
               ("", 5 * SECOND + 500, 500, None), ("client", SECOND + 500, 500, None), ("broker", 1, 500, None)],
        not_found=[("", 5 * SECOND - 1, 0, None), ("client", SECOND - 1, 0, None), ("", 5 * SECOND, 1, None),
                   ("client", SECOND, 1, None), ("broker", 1, 0, 1), ("", 9 * SECOND, 0, 1)],
    )  # fmt: skip
    behind = build(("client", 2 * SECOND, 60_000_000_000, None))  # responses come in order: a join may wait that long
    (session,) = behind.sessions.values()
    session.unanswered.append(unanswered(13, number=2, at=1))
    assert cases(behind, "no-response") == []
    (case,) = cases(build(("", 9 * SECOND, 0, None)), "no-response")
    assert (case.who.client_id, case.who.broker) == ("shop", "10.0.0.2:9092")
    assert sentence(case).endswith("1 request (Fetch): the capture ends 9 s later")


def hidden(facts: Facts, path: Path, why: Why, broker_alerts: tuple[str, ...] = ()) -> None:
    """A TLS connection that was not decrypted."""
    peers = Peers(9, path.initiator, path.acceptor, path.first_packet)
    told = Encrypted("TLS 1.3", "", "", (), (), (), broker_alerts, why)
    facts.left.append((peers, Finding(Kind.NOT_DECRYPTED, facts=told)))


def test_tls_handshakes_that_fail() -> None:
    def build(case: tuple[Why, str, int, Why | None]) -> Facts:
        why, closed, last, later = case
        facts = Facts()
        path = facts.path(closed=closed)
        hidden(facts, path, why, ("protocol_version",))
        if later is not None:
            after = facts.path(at=9 * SECOND, closed="client", closes=10 * SECOND)
            hidden(facts, after, later)
        facts.last_time = START + last
        return facts

    check(
        "tls-handshake-failing", build,
        found=[(Why.REFUSED, "broker", 0, None), (Why.UNANSWERED, "", 5 * SECOND + 1, None),
               (Why.UNFINISHED, "client", 0, None), (Why.REFUSED, "broker", 0, Why.REFUSED)],
        not_found=[(Why.NO_KEYS, "broker", 0, None), (Why.UNANSWERED, "", 5 * SECOND, None),
                   (Why.REFUSED, "broker", 0, Why.NO_KEYS)],
    )  # fmt: skip
    (case,) = cases(build((Why.REFUSED, "broker", 0, None)), "tls-handshake-failing")
    assert sentence(case).endswith("failed: the broker sends TLS alert protocol_version")


def test_another_protocol_is_an_error_where_a_client_asked_for_kafka() -> None:
    def build(asked: bool) -> Facts:
        facts = Facts()
        path = facts.client().path if asked else facts.path()
        assert path is not None
        path.ways[1].head = b"SSH-2.0-"
        peers = Peers(1, path.initiator, path.acceptor, path.first_packet)
        facts.left.append((peers, Finding(Kind.NOT_KAFKA)))
        return facts

    found = {asked: cases(build(asked), "not-kafka") for asked in (False, True)}
    assert [one.severity for one in found[False]] == [Severity.NOTE]
    assert [one.severity for one in found[True]] == [Severity.ERROR]
    assert sentence(found[True][0]).endswith("the first bytes from there are 'SSH-2.0-'")


def test_captures_of_which_nothing_can_be_read() -> None:
    facts = Facts()
    (case,) = cases(facts, "not-readable")
    assert (case.severity, case.facts["what"]) == (Severity.WARNING, "no TCP connection was read")
    assert [[case.code for case in diagnose(facts, over=over)] for over in (True, False)] == [["not-readable"], []]
    hidden(facts, facts.path(closed="client"), Why.NO_KEYS)
    (case,) = cases(facts, "not-readable")
    assert (case.severity, case.count) == (Severity.WARNING, 1)
    facts.exchanges = 1
    assert [one.severity for one in cases(facts, "not-readable")] == [Severity.NOTE]
    facts.left.clear()
    assert cases(facts, "not-readable") == []


def test_a_rule_that_gives_the_reason_comes_instead() -> None:
    facts = failing(76, FETCH, 9, 9, past=False)
    assert [case.code for case in cases(facts, "error-response")] == ["error-response"]
    assert [case.code for case in diagnose(facts)] == ["codec-unsupported"]


def test_what_is_without_a_reason_follows_from_an_error_of_the_same_party() -> None:
    def found(client: str, at: int, api: int = SHARE_FETCH) -> dict[str, str]:
        facts = failing(76, FETCH, 9, 9, past=False)
        session = facts.client(client)
        session.heard(mark(50, at), api, 0, client, 9)
        facts.fails(session, 42, api, "", Occurrences([mark(50, at)]))
        return {case.code: case.because for case in diagnose(facts)}

    assert found("shop", 0) == {"codec-unsupported": "", "error-response": "codec-unsupported"}
    assert found("shop", 32 * SECOND) == {"codec-unsupported": "", "error-response": ""}
    assert found("other", 0) == {"codec-unsupported": "", "error-response": ""}
    assert found("shop", 0, API_VERSIONS) == {"codec-unsupported": "", "error-response": ""}, "it comes before records"


def test_consumers_that_never_commit() -> None:
    def build(case: tuple[int, int, int, bool]) -> Facts:
        times, first, end, commits = case
        facts = Facts()
        facts.member()
        if commits:
            facts.groups["sums"].commits = seen()
        for _ in range(times):
            session = facts.client()
            facts.polls_of(session)
            fetched = facts.reads(session, "orders", first_offset=first, with_data=seen())
            fetched.samples.add(Sample(START, end, 100, 100))
        return facts

    check("never-commits", build, found=[(3, 0, 100, False)],
          not_found=[(2, 0, 100, False), (3, 0, 99, False), (3, 100, 100, False), (3, 0, 100, True)])  # fmt: skip
    (case,) = cases(build((4, 5, 100, False)), "never-commits")
    assert (case.who.group, case.who.client_id, case.count, case.facts["offset"]) == ("sums", "shop", 4, 5)


def test_members_that_come_and_go() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        times, stay, other = case
        facts = Facts()
        for number in range(times):
            joined = seen(1, number * 20 * SECOND)
            facts.member(f"m{number}", client_id="cron", joined=joined, last_sign=joined.since + stay, left=mark(9))
        facts.member("long", client_id="worker", joined=seen(), last_sign=START + other)
        return facts

    check("short-lived-members", build, found=[(3, 15 * SECOND, 46 * SECOND)],
          not_found=[(2, 15 * SECOND, 46 * SECOND), (3, 15 * SECOND + 1, 46 * SECOND + 9),
                     (3, 15 * SECOND, 45 * SECOND)])  # fmt: skip
    (case,) = cases(build((3, SECOND, 9 * SECOND)), "short-lived-members")
    assert (case.who.client_id, case.who.group, case.facts["others"]) == ("cron", "sums", "client worker")


def test_share_groups_that_release_what_they_get() -> None:
    def build(case: tuple[int, int]) -> Facts:
        released, accepted = case
        facts = Facts()
        facts.member()
        facts.groups["sums"].released["jobs"] = seen(released)
        facts.groups["sums"].acknowledged = accepted
        return facts

    check("share-records-released", build, found=[(5, 0), (5, 4)], not_found=[(4, 0), (5, 5)])


def test_connections_that_are_reset_when_idle() -> None:
    def build(case: tuple[int, int, int, bool]) -> Facts:
        times, shortest, longest, reset = case
        facts = Facts()
        for number in range(times):
            session = facts.client(at=number * 99 * SECOND)
            assert session.path is not None
            answered, idle = session.path.start + SECOND, longest if number else shortest
            session.path.ways[1].bytes, session.path.ways[1].last_time = 9, answered
            session.path.closes.append(Closed(answered + idle, 1, reset))
        return facts

    check(
        "idle-connection-reset", build,
        found=[(3, SECOND, SECOND, True), (3, 2 * SECOND, 3 * SECOND, True)],
        not_found=[(2, SECOND, SECOND, True), (3, SECOND - 1, SECOND - 1, True), (3, SECOND, SECOND, False),
                   (3, 2 * SECOND, 3 * SECOND + 1, True)],
    )  # fmt: skip


def test_messages_that_trickle_in() -> None:
    def build(case: tuple[int, int, int, bool]) -> Facts:
        took, size, resent, requests = case
        facts = Facts()
        session = facts.client()
        assert session.path is not None
        way = session.path.ways[0 if requests else 1]
        way.bytes, way.packets, way.resent = size, 100, resent
        one = slow(5, 0, SECOND, SECOND + (0 if requests else took), api=FETCH)
        session.slow.append(one._replace(start=one.start + took) if requests else one)
        return facts

    rate = 5 << 20
    for requests in (False, True):
        check("low-bandwidth", build, found=[(5 * SECOND, rate, 0, requests), (5 * SECOND, rate, 1, requests)],
              not_found=[(5 * SECOND - 1, 9, 0, requests), (5 * SECOND, rate + 9, 0, requests),
                         (5 * SECOND, rate, 2, requests)])  # fmt: skip
        (case,) = cases(build((5 * SECOND, 9, 0, requests)), "low-bandwidth")
        assert case.facts["messages"] == ("requests" if requests else "responses")


def test_requests_that_are_sent_without_a_pause() -> None:
    def build(case: tuple[int, int, int]) -> Facts:
        api, times, lasts = case
        facts = Facts()
        facts.client().heard(mark(1), api, 9, "shop", 9).seen = seen(times, 0, lasts)
        return facts

    check(
        "repeated-requests", build, found=[(3, 30, SECOND // 2), (3, 80, 10 * SECOND), (32, 80, 4 * SECOND)],
        not_found=[(3, 29, 2 * SECOND), (3, 40, SECOND // 2 - 1), (3, 79, 10 * SECOND),
                   (32, 79, 4 * SECOND), (PRODUCE, 99, 2 * SECOND)],
    )  # fmt: skip
    (case,) = cases(build((3, 80, 2 * SECOND)), "repeated-requests")
    assert (case.facts["rate"], case.facts["api"], case.count) == (40.0, "Metadata", 80)


def test_what_a_broker_claims_of_a_batch_is_checked() -> None:
    def build(kind: Kind | None) -> str:
        facts = Facts()
        session = facts.client()
        if kind is not None:
            session.odd(kind, mark(3))
        facts.fails(session, 2, PRODUCE, "orders", seen(3))
        (case,) = cases(facts, "corrupt-batch")
        return sentence(case)

    assert "writes a record batch of topic orders that fails its CRC check" in build(Kind.CRC_MISMATCH)
    for kind in (None, Kind.TRAILING_BYTES):
        assert build(kind).endswith("although their checksums and lengths are correct")


def test_certificates_that_a_broker_rejects() -> None:
    def build(case: tuple[int, str, bytes, int, int]) -> Facts:
        times, closed, tail, length, served = case
        facts = Facts()
        for number in range(times + served):
            path = facts.path(closed=closed, closes=SECOND)
            path.ways[0].head, path.ways[1].head, path.ways[1].bytes = HELLO, HELLO, 900
            path.ways[0].tail, path.ways[1].last_time = DATA, path.start + (2 if closed == "client" else 0) * SECOND
            path.ways[1].tail, path.ways[1].tail_length = tail, length if number < times else 900
        return facts

    check(
        "tls-client-certificate-rejected", build,
        found=[(1, "broker", DATA, 52, 0), (3, "broker", DATA, 52, 0), (3, "broker", DATA, 52, 2)],
        not_found=[(1, "broker", DATA, 52, 1), (2, "client", DATA, 52, 0), (3, "client", DATA, 40, 0),
                   (3, "broker", DATA, 53, 0), (3, "broker", ALERT, 40, 0), (3, "broker", DATA, 40, 3)],
    )  # fmt: skip
    for times, certainty in ((1, "guess"), (2, "guess"), (3, "likely")):
        (case,) = cases(build((times, "broker", DATA, 52, 0)), "tls-client-certificate-rejected")
        assert case.certainty == certainty


def test_offsets_of_a_topic_that_was_made_anew() -> None:
    def found(asked: int, log_start: int, ids: int) -> tuple[str, str]:
        facts = Facts()
        session = facts.client()
        facts.fails(session, 1, FETCH, "orders", seen(2))
        facts.reads(session, "orders", errors={1: seen(2)}, out_of_range=asked, log_start=log_start)
        topic = facts.clusters.topic("orders")
        assert topic is not None
        topic.ids.update(UUID(int=1 + number) for number in range(ids))
        (case,) = cases(facts, "offset-out-of-range-data-loss")
        return sentence(case), advice(case).split()[0]

    assert ["the oldest offset is 9, 4 offsets later" in found(5, 9, ids)[0] for ids in (0, 1)] == [True, True]
    assert found(5, 9, 1)[1] == "Raise"
    for asked, start, ids, lost in ((5, 9, 2, "the topic was deleted and recreated"), (9, 5, 1, "does not have that")):
        said, first = found(asked, start, ids)
        assert lost in said
        assert first == "Check"


def test_who_is_the_client_of_a_connection_that_began_before_the_capture() -> None:
    facts = Facts()
    session = facts.client(opened=False)
    assert session.path is not None
    path = session.path
    path.initiator, path.acceptor = path.acceptor, path.initiator
    assert dict(by_ends(facts, [path])) == {("10.0.0.1", ("10.0.0.2", 9092)): [path]}
    assert dict(by_ends(Facts(), [path])) == {("10.0.0.2", ("10.0.0.1", 50000)): [path]}
