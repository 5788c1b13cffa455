"""Where messages stand in the streams of their connections: found by their bytes, once these have come in order.

`Expected` are the messages of a capture with what stands in their place, by connection and direction. `Locator` takes
the packets of the same capture and finds each message; `Places` then says what stands at any position of a stream.
The bytes themselves lie in a file that the caller gives: memory holds some numbers per message.

Of frames that are no messages as much of their beginnings stays as says where the next frame is due: where a frame is
broken, it depends on its length, its API and its ids how many of the bytes after it are passed over, and whether the
frames beside it prove themselves. These are numbers, and stay where they are small ones: never more than three bytes
in a row that could be text.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left, bisect_right, insort
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, NamedTuple, TypeAlias

from ...exchanges.messages.exchange import CapturedMessage
from ...streams.tcp.connection import Connection
from ...streams.tcp.stream import Receiver, Stream
from .substitutes import blank

SIZE, IDS, CLIENT = 4, 8, 12
"""Where the parts of a front end, and a request's client id begins."""
LONGEST = 14
"""Bytes of a request up to its client id, with the length of that; a response has `IDS` alone."""
LARGEST = 0x07
"""The first byte of the largest size that is believed (`engine.search.MAX_FRAME`)."""
MOST = 1 << 62
"""More bytes than a stream has."""
SMALL = frozenset({0x00, 0xFF})
"""First bytes of small numbers."""
Direction: TypeAlias = tuple[int, bool]
"""A connection, named by its first packet, and whether its initiator sent the bytes."""
UNREAD = b"\xff"
"""What stands between messages: a size of -1 is none, for kdbg and for Wireshark, which go on after it."""


Front: TypeAlias = tuple[int, bytes]
"""The position of a front, and the bytes that stand there afterwards."""


class Fronts:
    """Finds the fronts in one direction, whose bytes it is fed in order with the places of messages in them.

    In front of the first message there are none: there it is not even sure where a frame begins.

    `requests`: it is the client's; positions are those of the stream.
    """

    def __init__(self, *, requests: bool) -> None:
        self._requests, self._longest = requests, LONGEST if requests else IDS
        self._messages: list[tuple[int, int, int]] = []
        self._front = bytearray()
        self._due: int | None = None
        self._claimed = 0
        self._seen: int | None = None

    def message(self, start: int, end: int, missing: int) -> None:
        """Take note of a message with its size, of which so many bytes after its end are missing."""
        insort(self._messages, (start, end, missing))

    def feed(self, start: int, data: bytes | bytearray) -> Iterator[Front]:
        """Take the next bytes, in which all messages that begin are known; yield what stays of them.

        Where bytes are missing in front of these, the next frame is due here, if no message claims more.
        """
        end = start + len(data)
        if start != self._seen:
            yield from self.close()
            self._due = max(start, self._claimed) if self._claimed else None
        self._seen = end
        while (stop := self._stop(end)) is not None and self._due is not None:
            begun, wanted = self._due + len(self._front), min(self._due + self._longest, stop)
            self._front += data[begun - start : min(wanted, end) - start]
            if wanted > end:
                return
            yield from self.close()

    def close(self) -> Iterator[Front]:
        """Yield what stays of the front at hand, of which no more comes."""
        front, due = bytes(self._front), self._due
        self._front.clear()
        self._due = None
        if due is None or len(front) < SIZE or front[0] > LARGEST:
            return
        self._due = due + SIZE + int.from_bytes(front[:SIZE])
        yield due, self._written(front)

    def _stop(self, end: int) -> int | None:
        """Pass over messages where a frame is due; return where the next begins after that, None where none is due.

        `end` is that of the bytes at hand, after which nothing is known. If none is due, one is after a message.
        """
        while self._messages and self._messages[0][0] < end:
            first, last, missing = self._messages[0]
            if self._due is not None and first > self._due:
                return first
            del self._messages[0]
            self._due, self._claimed = last, last + missing
        return None if self._due is None or self._due >= end else MOST

    def _written(self, front: bytes) -> bytes:
        """Return what stands in place of a front: numbers that are not small become other large ones."""
        ids = SIZE
        if self._requests:
            if len(front) < IDS or front[SIZE] or front[SIZE + 2]:
                return front[:SIZE]
            ids = IDS
        made, behind = bytearray(front), ids + 4
        is_small = len(front) >= behind and front[ids] in SMALL
        if not is_small:
            made[ids:behind] = blank(len(front[ids:behind]))
        if is_small and len(front) > CLIENT and front[CLIENT] not in (*SMALL, 1):
            made[CLIENT:] = blank(len(front) - CLIENT)
        return bytes(made)


class MessagePlace(NamedTuple):
    """A message by its first and its last packet, and where its bytes and those in their place lie in the file."""

    first: int
    last: int
    kept: int
    length: int
    missing: int
    """Bytes at its end that the capture lacks."""


class Expected:
    """The messages of a capture; `file` takes their bytes, and those in their place."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.messages: dict[Direction, list[MessagePlace]] = defaultdict(list)
        self.asking: dict[int, bool] = {}
        """By the first packet of a connection: whether its initiator sends the requests."""
        self._end = 0

    def add(self, direction: Direction, half: CapturedMessage, replaced: bytes) -> None:
        """Keep what stands in place of a message, of the same length."""
        length = len(half.data)
        self.file.seek(self._end)
        self.file.write(half.data + replaced)
        self.messages[direction].append(
            MessagePlace(half.first_packet, half.last_packet, self._end, length, half.missing)
        )
        self.asking[direction[0]] = direction[1] == (half.direction == "request")
        self._end += 2 * length

    def bytes_of(self, message: MessagePlace) -> bytes:
        """Return the message as it was captured."""
        self.file.seek(message.kept)
        return self.file.read(message.length)


class Places:
    """What stands in one direction: messages from their positions on, in order once `settle` was called.

    `unread` is called with bytes that are in no message.
    """

    def __init__(self, file: BinaryIO, unread: Callable[[bytes], None]) -> None:
        self._file, self._unread = file, unread
        self._starts, self._ends, self._kept, self._sizes = array("Q"), array("Q"), array("Q"), array("Q")
        self._fronts, self._texts = array("Q"), list[bytes]()

    def put(self, fronts: Iterable[Front]) -> None:
        """Note what stands in front of frames that are no messages; they come in order."""
        for start, data in fronts:
            self._fronts.append(start)
            self._texts.append(data)

    def add(self, start: int, message: MessagePlace) -> None:
        """Note that a message begins at this position, after its size."""
        self._starts.append(start)
        self._ends.append(start + message.length)
        self._kept.append(message.kept + message.length)
        self._sizes.append(message.length + message.missing)

    def settle(self) -> None:
        """Put the messages in the order of their positions."""
        order = sorted(range(len(self._starts)), key=self._starts.__getitem__)
        for name in ("_starts", "_ends", "_kept", "_sizes"):
            values = getattr(self, name)
            setattr(self, name, array("Q", [values[i] for i in order]))

    def replaced(self, start: int, data: bytes) -> bytes:
        """Return what stands in place of the bytes from a position on: sizes of messages, their bytes, else blanks.

        Sizes are those that were read: another copy of the segment may hold anything there.
        """
        end = start + len(data)
        whole = bisect_left(self._starts, start + SIZE)
        if whole < len(self._starts) and (self._starts[whole], self._ends[whole]) == (start + SIZE, end):
            self._file.seek(self._kept[whole])
            return self._sizes[whole].to_bytes(SIZE) + self._file.read(end - start - SIZE)
        made, done = bytearray(UNREAD * len(data)), start
        place = max(bisect_right(self._starts, start) - 1, 0)
        while place < len(self._starts) and self._starts[place] - SIZE < end:
            first, last = self._starts[place], self._ends[place]
            low, high = max(first - SIZE, start), min(first, end)
            if low < high:
                size = self._sizes[place].to_bytes(SIZE)
                made[low - start : high - start] = size[low - first + SIZE : high - first + SIZE]
            low, high = max(first, start), min(last, end)
            if low < high:
                self._file.seek(self._kept[place] + low - first)
                made[low - start : high - start] = self._file.read(high - low)
            if first - SIZE > done:
                self._unread(data[done - start : first - SIZE - start])
            done = max(done, last)
            place += 1
        if done < end:
            self._unread(data[done - start :])
        place = max(bisect_right(self._fronts, start) - 1, 0)
        while place < len(self._fronts) and self._fronts[place] < end:
            low = self._fronts[place] - start
            high = min(low + len(self._texts[place]), len(made))
            if high > max(low, 0):
                made[max(low, 0) : high] = self._texts[place][max(-low, 0) : high - low]
            place += 1
        return bytes(made)


class RedactDirection(Receiver):
    """A tcp.Receiver that finds the messages of one direction; it holds bytes while a message has begun in them."""

    def __init__(
        self, stream: Stream, expected: Expected, places: Places, fronts: Fronts | None, messages: list[MessagePlace]
    ) -> None:
        self._stream, self._expected, self._places, self._fronts = stream, expected, places, fronts
        self._ending: dict[int, list[MessagePlace]] = defaultdict(list)
        for message in messages:
            self._ending[message.last].append(message)
        self._begun = Counter(message.first for message in messages)
        self._pieces: deque[tuple[int, int]] = deque()
        """Of bytes that came together the position of the first, and their packet."""
        self._data, self._start = bytearray(), 0
        self._due: int | None = None
        self._cursor = 0
        """Position after the last message that was found."""

    def data(self, payload: bytes, time: int, number: int) -> None:
        start = self._position()
        self._due = start + len(payload)
        if not self._data:
            self._start = start
        self._pieces.append((start, number))
        self._data += payload
        for message in self._ending.pop(number, ()) if number in self._ending else ():
            self._find(message)
        while self._pieces and not self._begun[self._pieces[0][1]]:  # no message that is still to be found
            self._pieces.popleft()
        self._forget(self._pieces[0][0] - self._start if self._pieces else len(self._data))

    def gap(self, length: int, time: int, number: int) -> None:
        self._due = self._position() + length
        self._let_all_go()

    def end(self, time: int, number: int) -> None:
        self._let_all_go()
        if self._fronts is not None:
            self._places.put(self._fronts.close())

    def _position(self) -> int:
        """Return the position of the next byte."""
        return self._due if self._due is not None else self._stream.first or 0

    def _find(self, message: MessagePlace) -> None:
        """Find a message in the bytes at hand, and note its place."""
        begun = next((start for start, number in self._pieces if number == message.first), None)
        self._begun[message.first] -= 1
        if begun is None:
            return
        data = self._expected.bytes_of(message)
        for start in (max(begun, self._cursor), begun):
            place = self._data.find(data, start + SIZE - self._start)
            if place >= 0:
                self._places.add(self._start + place, message)
                self._cursor = self._start + place + message.length
                if self._fronts is not None:
                    self._fronts.message(self._start + place - SIZE, self._cursor, message.missing)
                return

    def _let_all_go(self) -> None:
        """Forget all bytes: what follows them is not here."""
        self._pieces.clear()
        self._forget(len(self._data))

    def _forget(self, length: int) -> None:
        """Forget bytes in front, in which all messages were found; of the frames that are none the fronts stay."""
        if length and self._fronts is not None:
            self._places.put(self._fronts.feed(self._start, self._data[:length]))
        del self._data[:length]
        self._start += length


class Locator:
    """Says who takes the bytes of a connection: the `accept` of a tcp.Table. `places` is what was found.

    `unread` is called with bytes that are in no message, when they are replaced.
    """

    def __init__(self, expected: Expected, unread: Callable[[bytes], None]) -> None:
        self._expected, self._unread = expected, unread
        self.places: dict[Direction, Places] = {}

    def accept(self, connection: Connection) -> tuple[Receiver, Receiver]:
        """Return the receivers of both directions; one without messages needs none."""
        sides = []
        for sent, stream in ((True, connection.sent), (False, connection.answered)):
            direction = connection.first_packet, sent
            places = self.places[direction] = Places(self._expected.file, self._unread)
            asking = self._expected.asking.get(connection.first_packet)
            fronts = None if asking is None else Fronts(requests=asking == sent)
            messages = self._expected.messages.pop(direction, [])
            sides.append(RedactDirection(stream, self._expected, places, fronts, messages))
        return sides[0], sides[1]

    def settle(self) -> None:
        """Put all places in order, once all packets were taken."""
        for places in self.places.values():
            places.settle()
