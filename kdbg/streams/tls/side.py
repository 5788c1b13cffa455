"""One direction of a TLS connection: records in, the plain bytes that they hold out, with their packets and times.

Records are counted, for each opens under its own number. Where some are missing, the number is searched for: as many
as could have been lost are tried, and no more than the session allows for the whole connection.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, TypeAlias

from kdbg.streams.tcp.stream import NOBODY, Event, Receiver
from kdbg.streams.tls.cutter import Cutter
from kdbg.streams.tls.hello import HandshakeReassembly, hello
from kdbg.streams.tls.record import ALERT, CHANGE_CIPHER_SPEC, DATA, HANDSHAKE, HEAD, Record, SealedRecord

if TYPE_CHECKING:
    from kdbg.streams.tls.openers import Opener, Plain
    from kdbg.streams.tls.session import TlsConnection

UPDATES = 2
"""Updates of the key that may be missed in a gap."""
NEARBY = 8
"""Numbers tried for a record that does not open though none before it is missing."""
SMALLEST = 17
"""Bytes of a record's body that are not plain, at the least: more records than that says cannot be missing."""
SAMPLED = 12
"""Records of which secrets are looked for: of the first after a handshake, some are the handshake's own."""
LARGEST_SAMPLE = 1 << 18
Found: TypeAlias = "tuple[int, Opener, int]"
"""The place of a key after the one in use, the key, and a record's number under it."""


class TlsDirection:
    """A tcp.Receiver. `receiver` takes the plain bytes. `sealed`: what follows is encrypted; `over`: nothing does."""

    def __init__(self, session: TlsConnection) -> None:
        self._session = session
        self.receiver: Receiver = NOBODY
        self.messages: HandshakeReassembly = HandshakeReassembly()
        self.sealed: bool = False
        self.over: bool = False
        self.held: int = 0
        """How many bytes wait."""
        self._sound = self._all_kinds = False
        self._cutter = Cutter(self)
        self.openers: list[Opener] = []
        """What opens its records, one after the other."""
        self._number = 0
        self.waiting: list[Event] | None = None
        """What waits for secrets, None for nothing."""
        self._sample: list[SealedRecord] = []

    def attach(self, receiver: Receiver) -> None:
        """Say who takes the plain bytes."""
        self.receiver = receiver

    def ignore(self) -> None:
        """Hold nothing, and take nothing any more."""
        self.release()
        self._cutter.stop()
        self.receiver, self.over = NOBODY, True

    def data(self, payload: bytes, time: int, number: int) -> None:
        if not self._wait((payload, time, number), len(payload)):
            if not self._session.decided:
                self._session.seen(len(payload))
            self._cutter.data(payload, time, number)

    def gap(self, length: int, time: int, number: int) -> None:
        if not self._wait((length, time, number), 0):
            self._cutter.gap(length, time, number)

    def end(self, time: int, number: int) -> None:
        if self._wait((None, time, number), 0):
            return
        self._cutter.end(time, number)
        self.over = True
        receiver, self.receiver = self.receiver, NOBODY
        receiver.end(time, number)
        self._session.ended(self)

    def go_on(self) -> None:
        """Take up the record that waited; it may wait again."""
        if not self.over:
            self._cutter.go_on()

    def use(self, openers: list[Opener], *, at_once: bool) -> None:
        """Open records by these, one after the other; `at_once`, or from the change of the cipher on.

        Where a change of the cipher begins it, records of all kinds are encrypted, else (TLS 1.3) those of data alone.
        """
        self.openers = openers if at_once or not self.sealed else [*self.openers[:1], *openers]
        self._all_kinds = not at_once
        if at_once:
            self.sealed, self._number = True, 0

    def use_from(self, opener: Opener, number: int) -> None:
        """Open records by this from one in the middle of the connection on, whose number this is."""
        self.openers, self.sealed, self._all_kinds = [opener], True, True
        self._number = number

    def sample(self) -> list[SealedRecord]:
        """Return the first encrypted records of those that wait."""
        if len(self._sample) < SAMPLED and self.waiting is not None:
            data = self._cutter.peek()
            for what, _, _ in self.waiting:
                if not isinstance(what, bytes) or len(data) > LARGEST_SAMPLE:
                    break
                data += what
            self._sample = list(islice(_sealed(data), SAMPLED))
        return self._sample

    def shorten(self) -> None:
        """Keep no more than a sample of what waits: the rest counts as a gap."""
        self.sample()
        if self.waiting:
            length = sum(len(what) if isinstance(what, bytes) else what or 0 for what, _, _ in self.waiting)
            _, time, number = self.waiting[0]
            self.waiting = [(length, time, number), *(last for last in self.waiting[-1:] if last[0] is None)]
            self._session.budget.left += self.held - self._cutter.held
            self.held = self._cutter.held

    def finish(self) -> None:
        """Open what follows by the next key that is known; a Finished that comes later, of a client that was asked who
        it is, changes none."""
        if len(self.openers) > 1:
            del self.openers[0]
            self.messages.again()
            self._number = 0

    def update(self) -> None:
        """Open what follows by the key that follows from the one in use."""
        following = self.openers[0].following() if self.openers else None
        if following is not None:
            self.openers = [following]
            self.messages.again()
            self._number = 0

    def seal(self, *, all_kinds: bool) -> None:
        """Take note that what follows is encrypted, with the last of the keys that are known; `all_kinds`: the rest of
        the handshake too."""
        if self.sealed and len(self.openers) > 1:
            del self.openers[0]
        self.messages.again()
        self.sealed, self._number = True, 0
        self._all_kinds |= all_kinds

    def record(self, record: Record) -> bool:
        """Take a record; False if it must wait."""
        if self.over:
            return True
        if record.kind == CHANGE_CIPHER_SPEC:
            self._session.change_cipher(self)
            return True
        if record.kind != DATA and not (self.sealed and self._all_kinds):
            self._take(record, (record.kind, record.body))
            return True
        verdict = self._session.encrypted(self, record)
        if verdict is None:
            self.waiting, self.held = [], self._cutter.held
            self._session.budget.left -= self.held
            return False
        if verdict:
            self._open(record)
        return True

    def proves(self, record: Record, passed: int) -> bool:
        """Return whether a record after a gap can be opened, and go on with its number; what was missed is a gap."""
        if self.over:
            return False
        if not self.openers and record.kind == DATA and record.chained and self._session.is_late:
            return True
        if not self.openers:  # a client says hello twice where the server asks it to
            if record.kind != HANDSHAKE or not record.body or hello(record.body[0], record.body[4:]) is None:
                return False
            self.messages.again()
            return True
        found = self._search(record, passed // (HEAD + SMALLEST) + 1)
        if found is None:
            return False
        place, opener, number = found
        missed = number if place or not self.sealed else number - self._number
        self._go_to(found)
        if missed > 0 and (length := passed - missed * (HEAD + opener.overhead)) > 0:
            self.receiver.gap(length, *record.marks[0][1:])
        return True

    def lost(self, length: int, time: int, number: int) -> None:
        """Take note that the last bytes of the direction are in no record."""
        if self.openers and self.sealed:
            self.receiver.gap(length, time, number)

    def _open(self, record: Record) -> None:
        plain = self.openers[0].open(self._number, record.kind, record.version, record.body)
        if plain is None and (found := self._search(record, NEARBY)) is not None:
            self._go_to(found)
            plain = self.openers[0].open(self._number, record.kind, record.version, record.body)
        if plain is None:
            self.broken(len(record.body), *record.marks[0][1:])
            self._session.failed()
            return
        self._number += 1
        if not self._sound:
            self._sound = True
            self._session.opened()
        self._take(record, plain)

    def _take(self, record: Record, plain: Plain) -> None:
        """Take what was in a record; give its data on, each byte with the packet that brought it."""
        (kind, data), marks = plain, record.marks
        if kind == HANDSHAKE:
            for message, body in self.messages.take(data):
                self._session.message(self, message, body)
        elif kind == ALERT:
            self._session.alert(self, data)
        if kind != DATA or not data:
            return
        if len(marks) == 1:
            self.receiver.data(data, *marks[0][1:])
            return
        front, start = HEAD + self.openers[0].skip, 0
        for (_, time, number), following in zip(marks, [*(place for place, _, _ in marks[1:]), 1 << 62], strict=True):
            end = min(max(following - front, start), len(data))
            if end > start:
                self.receiver.data(data[start:end], time, number)
            start = end

    def broken(self, length: int, time: int, number: int) -> None:
        """Pass over a record with a body of `length` bytes, which count as a gap where they held plain ones."""
        self.messages.lost()
        if self.sealed and self.openers and self._sound:
            self._number += 1
            if (plain := length - self.openers[0].overhead) > 0:
                self.receiver.gap(plain, time, number)

    def _go_to(self, found: Found) -> None:
        """Go on with another key, or another number."""
        place, opener, number = found
        if place or not self.sealed:
            self.messages.again()
        self.openers = [opener, *self.openers[place + 1 :]]
        self._number, self.sealed = number, True

    def _search(self, record: Record, most: int) -> Found | None:
        """Return which key opens a record, its place after the one in use, and under which number; None for none.

        Up to `most` records may be missing before it.
        """
        for place, opener in enumerate(self._following()):
            first = self._number if self._sound and not place else 0
            for number in range(first, first + most + 1):
                if self._session.tries <= 0:
                    return None
                self._session.tries -= 1
                if opener.open(number, record.kind, record.version, record.body) is not None:
                    return place, opener, number
        return None

    def _following(self) -> Iterator[Opener]:
        """Yield the keys that may be in use by now."""
        yield from self.openers
        opener: Opener | None = self.openers[-1] if self.openers else None
        for _ in range(UPDATES):
            opener = opener.following() if opener is not None else None
            if opener is not None:
                yield opener

    def _wait(self, event: Event, length: int) -> bool:
        """Let something wait after what does; return False where nothing waits."""
        if self.waiting is None:
            return False
        self.waiting.append(event)
        self.held += length
        self._session.budget.left -= length
        self._session.waits()
        return True

    def release(self) -> list[Event]:
        """Return what waited; nothing does any more."""
        waited, self.waiting = self.waiting or [], None
        self._session.budget.left += self.held
        self.held = 0
        return waited


def _sealed(data: bytes) -> Iterator[SealedRecord]:
    """Yield the whole records at the front of some bytes."""
    place = 0
    while len(data) >= place + HEAD:
        end = place + HEAD + int.from_bytes(data[place + 3 : place + HEAD], "big")
        if end > len(data):
            return
        yield SealedRecord(data[place], data[place + 1 : place + 3], data[place + HEAD : end])
        place = end
