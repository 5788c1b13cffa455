"""The ends of a connection, without a peer: what is sent, read, shown and closed, and when."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, cast

from kdbg.live.frames import HangUp, Hold, Out, PendingRequest, Send, Wait, pending
from kdbg.live.session import End

MIB = 1 << 20
RESET = struct.pack("ii", 1, 0)


class Transport:
    """A transport that notes what is done with it; `takes` is how much it has in its own buffer."""

    def __init__(self, sock: Any = None, *, secure: bool = False) -> None:
        self.info = {"socket": sock, "sslcontext": "tls" if secure else None}
        self.done: list[Any] = []
        self.written = b""
        self.closing, self.buffered, self.secure = False, 0, secure

    def get_extra_info(self, name: str) -> Any:
        return self.info.get(name)

    def set_write_buffer_limits(self, high: int) -> None:
        self.done.append(high)

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def is_closing(self) -> bool:
        return self.closing

    def can_write_eof(self) -> bool:
        return not self.secure

    def write(self, data: bytes) -> None:
        self.written += data

    def write_eof(self) -> None:
        self.done.append("eof")

    def pause_reading(self) -> None:
        self.done.append("pause")

    def resume_reading(self) -> None:
        self.done.append("resume")

    def close(self) -> None:
        self.closing = True
        self.done.append("close")

    def abort(self) -> None:
        self.closing = True
        self.done.append("abort")


class Owner:
    """What an end belongs to, which notes what it is told."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def buffer(self) -> memoryview:
        return memoryview(bytearray(9))

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self.told.append((name, *given[1:]))


def made(*effects: Any, sock: Any = None, secure: bool = False) -> tuple[End, Transport, Owner, list[bytes]]:
    """An end that is connected, with these effects in its queue; and what was shown."""
    shown, owner, transport = list[bytes](), Owner(), Transport(sock, secure=secure)
    end = End(cast(Any, owner), deque(effects), lambda data: shown.append(bytes(data)))
    end.connection_made(cast(asyncio.BaseTransport, transport))
    assert transport.done == [MIB if secure else 0]
    transport.done.clear()
    owner.told.clear()
    return end, transport, owner, shown


def run(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(work())


def hold(*then: Any) -> Hold:
    found = Hold(PendingRequest(None, True, None), "request", b"12345", 0.0)
    found.then = list(then) or None
    return found


def send(data: bytes) -> Send:
    return Send(data, data + b"!")


def test_what_stands_in_the_queue_is_done_up_to_what_has_to_wait() -> None:
    end, transport, owner, shown = made(
        send(b"a"), hold(send(b"b"), send(b"c")), HangUp(), hold(), send(b"d"), secure=True
    )
    end.work_off()
    assert (transport.written, shown, owner.told, len(end.out)) == (b"abc", [b"a!", b"b!", b"c!"], [("hang_up",)], 2)
    end.work_off()
    assert len(end.out) == 2
    cast(Hold, end.out[0]).then = []
    end.is_full = True
    end.work_off()
    assert transport.written == b"abc"
    end.resume_writing()
    assert owner.told[-1] == ("pump",)
    end.work_off()
    assert (transport.written, len(end.out)) == (b"abcd", 0)
    end.pause_writing()
    assert end.is_full


def test_time_passes_before_what_stands_behind_it() -> None:
    async def work() -> None:
        end, transport, owner, _ = made(Wait(0.001), send(b"a"), secure=True)
        end.work_off()
        end.work_off()
        assert transport.written == b""
        while not owner.told:
            await asyncio.sleep(0.001)
        end.work_off()
        assert (transport.written, owner.told) == (b"a", [("pump",)])
        end.out.append(Wait(60))
        end.work_off()
        end.connection_lost(None)
        assert (end.is_lost, end.is_open, owner.told[1:]) == (True, False, [("lost", None)])
        assert end._timer is None

    run(work)


def test_a_socket_gets_bytes_at_once_and_asyncio_64_kib_of_what_it_does_not_take() -> None:
    mine, theirs = socket.socketpair()
    with mine, theirs:
        mine.setblocking(False)
        end, transport, _, _ = made(send(b"small"), sock=mine)
        end.work_off()
        assert (theirs.recv(100), transport.written) == (b"small", b"")
        data = bytes(range(256)) * (4 * MIB // 256)
        end.out.append(send(data))
        end.is_full = False
        end.work_off = lambda: None  # type: ignore[method-assign]
        End._send(end, cast(Send, end.out.popleft()))
        (rest,) = end.out
        assert isinstance(rest, Send)
        assert (len(transport.written), rest.seen) == (1 << 16, b"")
        theirs.setblocking(False)
        first, transport.written = transport.written, b""
        End._send(end, send(b"none of it is taken"))
        assert transport.written == b"none of it is taken"
        got = b""
        while len(got) < 4 * MIB - len(rest.data) - (1 << 16):
            got += theirs.recv(MIB)
        assert got + first + rest.data == data


def test_an_end_that_is_closed_shows_what_the_other_sends_and_sends_nothing() -> None:
    end, transport, _, shown = made(
        send(b"a"), hold(send(b"b")), hold(), Wait(1), send(b"c"), Send(b"x", b""), secure=True
    )
    transport.closing = True
    end.work_off()
    assert (shown, transport.written, len(end.out)) == ([b"a!", b"b!", b"c!"], b"", 0)


def test_an_end_that_breaks_while_it_waits_to_be_closed_sends_nothing_more() -> None:
    held = hold()
    end, transport, _, shown = made(held, secure=True)
    end.close()
    transport.closing = True
    held.then = [send(b"a")]
    end.work_off()
    assert (shown, transport.written, transport.done, len(end.out)) == ([b"a!"], b"", [], 0)


def test_what_is_held_is_given_up_with_what_waits_after_it() -> None:
    first, second = send(b"a"), hold()
    for effects, left in (
        ((first, second, send(b"b"), hold(), Wait(1)), [first]),
        ((first,), [first]),
        ((second,), []),
    ):
        end, _, _, _ = made(*effects)
        end.give_up_held()
        assert list(end.out) == left


def test_an_end_is_read_while_that_is_wanted_and_told_of_the_end_once() -> None:
    end, transport, owner, _ = made()
    for wanted in (True, False, False, True, True):
        end.read_while(wanted)
    assert transport.done == ["pause", "resume"]
    assert (end.eof_received(), owner.told) == (True, [("ended",)])
    end.has_ended = True
    assert not end.is_done
    end.send_end()
    end.send_end()
    assert (transport.done[2:], end.is_done) == (["eof"], True)
    secure, transport, _, _ = made(secure=True)
    assert not secure.eof_received()
    secure.send_end()
    assert transport.done == ["close"]
    secure.read_while(False)
    secure.send_end()
    secure.close()
    assert transport.done == ["close"]
    nobody = End(cast(Any, Owner()), deque())
    nobody.send_end()
    nobody.work_off()
    assert (nobody.is_open, nobody.ends_singly, nobody.is_done) == (False, False, False)


class Sock:
    """A socket whose options are noted."""

    def __init__(self) -> None:
        self.options: list[Any] = []

    def fileno(self) -> int:
        return -1

    def setsockopt(self, *option: Any) -> None:
        self.options.append(option)


def test_closing_waits_for_the_queue_and_breaking_off_resets_where_nothing_waits() -> None:
    for broken, effects, buffered, done, options in (
        (False, [], 0, ["close"], 0),
        (True, [], 0, ["abort"], 1),
        (True, [], 5, ["close"], 0),
        (True, [hold()], 0, [], 0),
        (False, [hold()], 0, [], 0),
    ):
        sock = Sock()
        end, transport, _, _ = made(*effects, sock=sock)
        transport.buffered = buffered
        end.close(broken=broken)
        assert (transport.done, len(sock.options)) == (done, options)
        assert set(sock.options) <= {(socket.SOL_SOCKET, socket.SO_LINGER, RESET)}
        if effects:
            end.out.clear()
            end.work_off()
            assert transport.done == ["close"]
    end, transport, _, _ = made(send(b"a"))
    end.break_off()
    assert (transport.done, len(end.out)) == (["abort"], 0)
    end.connection_lost(OSError())
    end.break_off()
    assert transport.done == ["abort"]


def test_bytes_that_stand_in_queues_are_those_of_messages() -> None:
    out: Out = deque([send(b"abc"), Wait(1), hold(send(b"x")), HangUp()])
    assert (pending((out,)), pending((out, out)), pending(())) == (8, 16, 0)
