"""The bytes of one direction in, Kafka's length-prefixed frames out (the guide's "RequestOrResponse").

A frame is believed when its owner accepts its header. Where a header is not believable, or bytes are missing, the
framer searches on for the next frame that its owner can prove, and says how many bytes it passed over. A frame whose
middle is missing from the capture is handed over as far as it goes: its end is known, so the next one is found
without a search. A frame that claims more bytes than its message has is shortened to it where the rest turns out to be
frames of their own: so the last frame of a direction is final only when another follows it.

Memory is bounded by the largest frame that an owner accepts (`search.MAX_FRAME`), and by what all connections may hold.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Any

from ...budget import SMALL, Held
from .direction import NO_FRAME, FramedDirection
from .foreign import LONGEST_BEGINNING
from .search import HEADER, MAX_FRAME, Search, Times, size_at

SHORTEST = 8
"""A size and a correlation id: a frame that another one cuts off earlier is not handed over."""
LONG, TOO_LONG = 1 << 16, 1 << 20
"""A frame that is still not complete after so many bytes is looked into: its length may be wrong. Messages that are
longer than the second are not looked for the end of."""


class Framing(Enum):
    """Where one direction stands: a frame is due; one is searched for; the rest of a broken one is passed over."""

    SYNCED = auto()
    SEARCHING = auto()
    IGNORING = auto()
    ENDED = auto()


_SYNCED = Framing.SYNCED


class Framer:
    """A tcp.Receiver that cuts one direction into frames. `synced`: the next byte begins a frame.

    `passed` counts the bytes that belong to no frame, and were not told of yet.
    """

    __slots__ = (
        "_beginning", "_cut", "_data", "_fresh", "_held", "_holds", "_ignored", "_lazy_search", "_lazy_times",
        "_needed", "_now", "_resumed", "owner", "passed", "state",
    )  # fmt: skip

    def __init__(self, owner: FramedDirection, *, synced: bool, held: Held | None = None) -> None:
        self.owner: FramedDirection = owner
        self._held, self._holds = held or Held(), False
        self.state = Framing.SYNCED if synced else Framing.SEARCHING
        self._lazy_search: Search | None = None
        self._data = bytearray()
        self._lazy_times: Times | None = None
        self._now = 0
        self._needed = 4
        self.passed: int = 0
        self._beginning = b""
        self._ignored = 0
        self._resumed: tuple[int, ...] = ()
        self._fresh, self._cut = True, False

    @property
    def _search(self) -> Search:
        """The search for frames, made when one is needed: most connections need none."""
        if self._lazy_search is None:
            self._lazy_search = Search(self.owner)
        return self._lazy_search

    @property
    def _times(self) -> Times:
        """When the bytes at hand came, made when some wait: in most connections each frame comes in a packet."""
        if self._lazy_times is None:
            self._lazy_times = Times()
        return self._lazy_times

    @property
    def quiescent(self) -> bool:
        """Whether the next byte begins a frame, and nothing is due or left to be said of those before."""
        return self.state is Framing.SYNCED and not (self._data or self.passed) and self.owner.pairing.quiescent

    @property
    def is_synced(self) -> bool:
        """Whether the next byte begins a frame, or goes on with the one of which there is a `partial`."""
        return self.state is Framing.SYNCED and not (self.passed or self._resumed)

    @property
    def partial(self) -> bytes:
        """The beginning of a frame that is not complete."""
        return bytes(self._data)

    def data(self, payload: bytes, time: int, number: int) -> None:
        """Take the next bytes of the stream."""
        if self.state is _SYNCED and not self._data:
            if self.owner.take(payload, time, number):
                return
            payload = self._take_whole(payload, time, number)
        elif self.state is Framing.IGNORING:
            payload = payload[self._ignore(len(payload)) :]
        elif self.state is _SYNCED and self.owner.resumes(payload, len(self._resumed)):
            self._resumed += (len(self._data),)
            self._needed = 0
        if not payload:
            return
        self._now = time
        self._times.mark(len(self._data), time, number)
        self._data += payload
        if len(self._data) >= self._needed:
            self._advance()

    def _take_whole(self, payload: bytes, time: int, number: int) -> bytes:
        """Hand over the frames in front of a packet's bytes that are whole; return what follows them."""
        place = 0
        while len(payload) - place >= 4:
            size = size_at(payload, place)[0]
            end = place + 4 + size
            if not place + 4 <= end <= len(payload) or size > MAX_FRAME:
                break
            if not self.owner.take(payload[place:end], time, number):
                accepted, token = self.owner.judge(payload, place + 4, size)
                if not accepted:
                    break
                self.owner.frame(payload[place + 4 : end], (time, time), (number, number), 0, token)
            place = end
        return payload[place:]

    def gap(self, length: int, time: int, number: int) -> None:
        """Take note that `length` bytes of the stream are not in the capture."""
        self.owner.lost(length, number)
        if self.state is Framing.IGNORING:
            length -= self._ignore(length)
            if not length:
                return
        self._now = time
        if self.state is Framing.SYNCED and not self._data:
            self._lose(True)
        self._cut = True
        self._advance(final=True)
        missing = self._break_off()
        self._cut = False
        if missing >= length:
            self.state, self._ignored = Framing.IGNORING, missing
            self._ignore(length)
        else:
            self._pass(len(self._data))
            self.state = Framing.SEARCHING
            self._search.start()
        self._fresh = True

    def end(self, time: int, number: int) -> None:
        """Hand over what is left: no more bytes will come."""
        self._now = time
        if self._data:
            self._advance(final=True)
            self._break_off()
            self._pass(len(self._data))
        self._report()
        self.state = Framing.ENDED
        self.owner.end()

    def retry(self) -> None:
        """Look again at what could not be decided, as the owner knows more by now."""
        if self.state is Framing.SEARCHING:
            self._search.again(self._data)
        self._advance()

    def _ignore(self, length: int) -> int:
        """Pass over the rest of a frame that was handed over broken; return how many of `length` bytes that takes."""
        covered = min(self._ignored, length)
        self._ignored -= covered
        if not self._ignored:
            self.state = Framing.SYNCED
        return covered

    def _drop(self, length: int) -> None:
        """Forget bytes at the front: they were handed over, or passed over."""
        del self._data[:length]
        self._times.drop(length)
        self._needed = 4
        if self._resumed:
            self._resumed = tuple(place - length for place in self._resumed if place > length)
        if self._holds and len(self._data) <= SMALL:
            self._hold(0)

    def _pass(self, length: int) -> None:
        """Give up bytes that belong to no frame."""
        if length:
            self._beginning = self._beginning if self.passed else bytes(self._data[:LONGEST_BEGINNING])
            self.passed += length
            self._drop(length)
            self._search.dropped(length)
            self._fresh = False

    def _report(self) -> None:
        if self.passed:
            self.owner.skipped(self.passed, self._beginning)
            self.passed = 0

    def _advance(self, *, final: bool = False) -> None:
        """Hand over every complete frame; search where there is none. `final`: no more bytes follow these."""
        while self._data and (self._take(final) if self.state is Framing.SYNCED else self._seek(final)):
            pass

    def _take(self, final: bool) -> bool:
        """Hand over the frame in front; False where more bytes are needed."""
        data = self._data
        if len(data) < 4:
            if final:
                self._lose(True)
            return final
        size = size_at(data)[0]
        accepted, token = self._judge(0)
        if accepted is None and not final:
            self._needed = len(data) + 1
            return False
        if not (accepted or (accepted is None and len(data) == 4 + size)):
            self._lose(final)
        elif len(data) < 4 + size:
            return self._look_into(size, token, final)
        else:  # unless a packet has begun with another frame inside this one, whose message does not fill it
            divided = self._resumed and self._resumed[0] < 4 + size
            divided = divided and self.owner.extent(bytes(data[4 : 4 + size]), token) != size
            if not (divided and self._look_into(size, token, True)):
                self._hand_over(4 + size, 0, token)
        return True

    def _judge(self, place: int) -> tuple[bool | None, Any]:
        size = size_at(self._data, place)[0]
        if not 0 <= size <= MAX_FRAME:
            return False, None
        found = self.owner.judge(self._data, place + 4, size)
        return self.owner.judge_cut(self._data, place + 4, size) if found[0] is None and self._cut else found

    def _hand_over(self, end: int, missing: int, token: Any) -> None:
        """Hand over the frame that ends here."""
        times, packets = self._times.of(0, end)
        with memoryview(self._data) as view:
            frame = bytes(view[4:end])
        self._report()
        self._drop(end)
        self.owner.frame(frame, times, packets, missing, token)

    def _look_into(self, size: int, token: Any, final: bool) -> bool:
        """Wait for the rest of a frame, unless its message ends before its length says and another frame follows.

        It also ends where a packet has begun with another frame: if it reads no further, or if two packets have.
        """
        data, resumed = self._data, self._resumed
        if final or resumed or LONG <= len(data) < 4 * TOO_LONG:
            end = 4 + (self.owner.extent(bytes(data[4:TOO_LONG]), token) or len(data))
            if resumed and resumed[0] < SHORTEST:
                self._pass(resumed[0])
                return True
            if resumed and end > resumed[0]:
                end, follows = resumed[0], final or len(resumed) > 1
            else:
                follows = len(data) - end >= 4 and bool(self._judge(end)[0])
                end, follows = (resumed[0], True) if resumed and not follows else (end, follows)
            if follows:
                self._hand_over(end, 0, token)
                self.owner.wrong_length(4 + size - end)
                return True
        self._needed = min(4 + size, max(LONG, 4 * len(data)))
        if self._needed > SMALL:
            self._hold(self._needed)
        return False

    def _lose(self, final: bool) -> None:
        """Search from here, as no frame begins; the end of the one before is searched too, as it may be too long.

        Without a search where the bytes at hand are one message, but for its size or header.
        """
        if self._data and not self._cut and not self._resumed:
            size = len(self._data)
            if self.owner.misframed(self._data, *self._times.of(0, size)):
                self._drop(size)
                return
        last, surplus = self.owner.last, self.owner.surplus(self._now)
        self._resumed = ()
        begins = bool(surplus)  # whether a frame may begin in what the last one's message has no use for
        if begins and (len(self._data) >= HEADER or final):
            search = Search(self.owner)
            place = search.find(surplus + self._data, final=final)
            begins = min(place if place is not None else len(surplus), search.first) < len(surplus)
        if not begins:
            self.owner.last = NO_FRAME
            self._search.start(1 if self._data else 0)
        else:
            one = (last.last_time, last.last_packet) if last.first_packet == last.last_packet else None
            self.owner.shorten(len(surplus), *self._times.put_back(len(surplus), one))
            self._search.start()
            self._data[:0] = surplus
        self.state = Framing.SEARCHING

    def _seek(self, final: bool) -> bool:
        """Find the next frame that proves itself; False where more bytes are needed first."""
        place = self._search.find(self._data, final=final)
        if (place or (place is None and final)) and self._fresh and len(self._data) >= 4 and self._judge(0)[0]:
            place = 0
        self._pass(self._search.idle(self._data) if place is None else place)
        if place is not None:
            self.state = Framing.SYNCED
        self._needed = len(self._data) + 1
        if place is None and len(self._data) > SMALL:
            self._hold(len(self._data))
        return place is not None

    def _hold(self, size: int) -> None:
        """Say how many bytes are held, or will be before the next word on it."""
        self._holds = size > 0
        self._held.hold(self, size)

    def let_go(self) -> None:
        """Hand over the beginning of what is held, and pass over the rest; search no longer for what proves itself."""
        data = self._data
        accepted, token = self._judge(0) if self.state is Framing.SYNCED and len(data) >= 4 else (False, None)
        if accepted:
            rest = 4 + size_at(data)[0] - len(data)
            times, packets = self._times.of(0, len(data))
            frame, missing = bytes(data[4:SMALL]), 4 + size_at(data)[0] - SMALL
            self._report()
            self._drop(len(data))
            self.owner.given_up(frame, times, packets, missing, token)
            self.state, self._ignored = Framing.IGNORING, rest
        else:
            self._pass(len(data))
            self._search.start()
        self._hold(0)

    def _break_off(self) -> int:
        """Hand over what there is of a frame that is broken off; return how many bytes of it are missing."""
        if self.state is not Framing.SYNCED or len(self._data) < 4:
            return 0
        accepted, token = self._judge(0)
        if not accepted:
            return 0
        missing = int(4 + size_at(self._data)[0] - len(self._data))
        self._hand_over(len(self._data), missing, token)
        return missing
