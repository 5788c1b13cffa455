"""Both ends of a connection, without a peer: what goes through, what is read no further, how it ends."""

from __future__ import annotations

from typing import Any, cast

from kdbg.budget import SMALL
from kdbg.exchanges.messages.peers import Peers
from kdbg.live.frames import Load, PendingRequest, Send
from kdbg.live.relay import Relay
from kdbg.live.session import End, ProxySession

from .test_ends import Transport, hold, run
from .test_relay import produce, produced

MIB = 1 << 20


class Both:
    """A session whose two ends are connected, and what it tells."""

    def __init__(self, *, load: Load | None = None, broker: bool = True, room: int = 8 * MIB) -> None:
        self.taps: list[tuple[bool, bytes]] = []
        self.over: list[Any] = []
        self.done: list[ProxySession] = []
        self.made: list[ProxySession] = []
        self.session = ProxySession(
            lambda session: Relay(None),
            (cast(Any, self),),
            self.made.append,
            self.done.append,
            None,
            bytearray(room),
            load or Load(),
        )
        self.session.peers = Peers(7, ("c", 1), ("b", 2))
        self.client, self.broker = Transport(), Transport()
        self.session.client.connection_made(cast(Any, self.client))
        assert (self.client.done, self.made) == ([0, "pause"], [self.session])
        if broker:
            self.connect()

    def connect(self) -> None:
        self.session.broker.connection_made(cast(Any, self.broker))
        self.session.client.read_while(True)
        self.client.done, self.broker.done = [], []

    def tap(self, client: Any, broker: Any, from_client: bool, data: Any, time_ns: int, connection: int) -> None:
        assert (client, broker, connection) == (("c", 1), ("b", 2), 7)
        self.taps.append((from_client, bytes(data)))

    def ended(self, client: Any, broker: Any, time_ns: int, connection: int) -> None:
        self.over.append((client, broker, connection))

    def give(self, end: End, data: bytes) -> None:
        self.session._room[: len(data)] = data
        end.buffer_updated(len(data))


def test_bytes_go_through_and_are_shown_in_both_directions() -> None:
    found = Both()
    found.give(found.session.client, produce(1))
    found.give(found.session.broker, produced(1))
    assert (found.broker.written, found.client.written) == (produce(1), produced(1))
    assert found.taps == [(True, produce(1)), (False, produced(1))]


def test_who_sends_more_than_the_other_takes_is_read_no_further() -> None:
    """A mebibyte that stands in a queue is too much, one byte less is not."""
    for size, done in ((MIB - 1, []), (MIB, ["pause"])):
        found = Both()
        found.session.broker.out.append(hold())
        found.session.broker.out.append(Send(bytes(size - 5), b""))
        found.session.pump()
        assert (found.client.done, found.broker.done) == (done, [])
        found.session.broker.out.clear()
        found.session.pump()
        assert found.client.done == done + ["resume"] * len(done)
    found = Both()
    found.session.broker.pause_writing()
    found.session.pump()
    assert found.client.done == ["pause"]


def test_where_memory_is_short_little_is_read_at_once_and_nothing_of_who_has_a_queue() -> None:
    load = Load(100)
    found = Both(load=load)
    assert len(found.session.buffer()) == 8 * MIB
    found.session.broker.out.append(hold())
    found.session.pump()
    assert (found.client.done, load.total) == ([], 5)
    load.report(cast(Any, "other"), 0, 96)
    assert len(found.session.buffer()) == SMALL
    found.session.pump()
    assert found.client.done == ["pause"]
    found.session.broker.out.clear()
    found.session.pump()
    assert (found.client.done, load.total) == (["pause", "resume"], 96)


def test_messages_that_are_let_go_are_counted() -> None:
    load = Load(10_000_000)
    found = Both(load=load)
    found.session.relay.singly = True
    asked = PendingRequest(None, True, None)
    asked.data = bytes(7)
    found.session.relay._asked.append(asked)
    found.session.pump()
    assert load.total == 7
    found.session.let_go()
    assert (load.lost, load.total, asked.data) == (1, 0, None)


def test_an_end_that_sends_no_more_is_passed_on_once_all_has_gone_out() -> None:
    found = Both()
    found.session.broker.out.append(hold())
    found.session.client.eof_received()
    assert found.broker.done == []
    found.session.broker.out.clear()
    found.session.pump()
    assert (found.broker.done, found.client.done) == (["eof"], [])
    found.session.broker.eof_received()
    assert found.client.done[0] == "eof"
    assert found.client.done[-1] == found.broker.done[-1] == "close"
    found.session.client.connection_lost(None)
    assert (found.over, found.done) == ([], [])
    found.session.broker.connection_lost(None)
    found.session.broker.connection_lost(None)
    assert (found.over, found.done) == ([(("c", 1), ("b", 2), 7)], [found.session])


def test_nothing_is_closed_while_a_broker_that_has_ended_is_still_to_get_something() -> None:
    found = Both()
    found.session.broker.out.append(hold())
    found.session.broker.eof_received()
    found.session.client.eof_received()
    assert (found.client.done, found.broker.done) == (["eof"], [])
    found.session.broker.out.clear()
    found.session.pump()
    assert (found.client.done, found.broker.done) == (["eof", "close"], ["eof", "close"])


def test_a_broker_whose_client_has_gone_is_closed_once_it_has_responded() -> None:
    async def work() -> None:
        found = Both()
        found.give(found.session.client, produce(1))
        found.session.client.connection_lost(None)
        assert found.broker.done == []
        found.give(found.session.broker, produced(1))
        assert found.broker.done == ["close"]
        assert found.taps[-1] == (False, produced(1))

    run(work)


def test_a_reset_of_one_end_breaks_off_the_other() -> None:
    for error, done in ((None, "close"), (ConnectionResetError(), "abort")):
        for end, other in (("client", "broker"), ("broker", "client")):
            found = Both()
            getattr(found.session, end).connection_lost(error)
            assert getattr(found, other).done[-1] == done
            assert found.done == []
            getattr(found.session, other).connection_lost(None)
            assert found.done == [found.session]


def test_what_is_held_for_an_end_that_broke_off_is_given_up_and_what_is_due_goes_its_way() -> None:
    """A client that only closes may have sent what is still to be done, as may a broker."""
    for end, other in (("client", "broker"), ("broker", "client")):
        for error, left in ((ConnectionResetError(), 0), (None, 1)):
            found = Both()
            out = getattr(found.session, other).out
            out.append(hold())
            getattr(found.session, end).connection_lost(error)
            assert (len(out), getattr(found, other).done[-1:]) == (left, [] if left else ["abort"])


def test_a_session_that_has_ended_holds_nothing() -> None:
    load = Load(100)
    found = Both(load=load)
    found.session.broker.out.append(hold())
    found.session.pump()
    assert load.total == 5
    found.session.client.connection_lost(None)
    found.session.broker.connection_lost(None)
    assert (load.total, found.done) == (0, [found.session])


def test_a_client_that_goes_before_its_broker_is_there_ends_the_session() -> None:
    found = Both(broker=False)
    found.session.client.connection_lost(None)
    assert (found.done, len(found.over)) == ([found.session], 1)
    found = Both()
    found.session.hang_up()
    assert (found.client.done, found.broker.done) == (["close"], ["close"])
    found = Both()
    found.session.break_off()
    assert (found.client.done, found.broker.done) == (["abort"], ["abort"])
