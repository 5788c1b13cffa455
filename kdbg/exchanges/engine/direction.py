"""What both ends of a conversation have in common: the words of complaint, and the last frame, until it is proved."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ...protocol.findings import Finding, Kind
from ...protocol.findings.facts import FactKind, PlainFact
from ...protocol.wire.language import Direction
from ..messages.exchange import CapturedMessage, Exchange, GivenUp
from ..messages.message import read
from .pairing import Pairing
from .requests import excess_of, extent, misframed_request, misframed_response
from .search import Buffer, Seeker

HOLD = 50_000_000
"""Nanoseconds after its last byte, a frame is final, though no other has come after it."""
Depth: TypeAlias = Literal["shallow", "whole"]
"""How far messages are read: see `CapturedMessage.message`."""
NO_FRAME = CapturedMessage(b"", (0, 0), (0, 0), "request")


class FramedDirection(Seeker):
    """One of both ends, as far as they are alike: who takes the frames that a `Framer` cuts out of its bytes.

    `token` is whatever `judge` wants `frame` to have.
    `last` is final once a frame follows it, or nothing can: until then bytes may be taken from its end. It is
    `NO_FRAME` where there is none that is not final. `midstream`: the connection is older than the capture, and nothing
    is known to be missing since.
    """

    __slots__ = ("_exchange", "_half", "_midstream", "_odd", "last", "pairing")
    direction: Direction

    def __init__(self, pairing: Pairing, *, midstream: bool = False) -> None:
        self.pairing, self._midstream = pairing, midstream
        self.last = NO_FRAME
        self._odd = NO_FRAME
        self._half: type[CapturedMessage] = CapturedMessage
        self._exchange: Exchange | None = None

    def take(self, payload: bytes, time: int, number: int) -> bool:
        """Take a payload that is one frame, and one of those that need no closer look; return False for any other."""
        raise NotImplementedError

    def resumes(self, payload: bytes, count: int) -> bool:
        """Return whether a packet begins with the frame that is due, as `count` before did, though one wants bytes."""
        raise NotImplementedError

    def extent(self, data: bytes, token: Any) -> int | None:
        """Return how many bytes the message takes that begins here; None where it does not end within them."""
        return extent(token.api, token.version, self.direction, data) if token is not None else None

    def surplus(self, time: int) -> bytes:
        """Return the bytes at the end of `last` that its message has no use for, if it is not final at this time."""
        half = self.last
        if half.api is None or half.missing or time - half.last_time > HOLD:
            return b""
        length = excess_of(read(half.api, half.version, half.direction, half.data, shallow=True))
        return half.data[len(half.data) - length :]

    def shorten(self, length: int, time: int, number: int) -> None:
        """Take so many bytes from the end of `last`, which ends with this packet then, and is final."""
        half = self.last
        half.data = half.data[: len(half.data) - length]
        half.last_time, half.last_packet = time, number
        self.wrong_length(length)
        self.last = NO_FRAME

    def forget(self, exchange: Exchange) -> None:
        """Let go of this exchange, if it is that of the last frame."""
        if self._exchange is exchange:
            self._exchange = None

    def prove_by_reading(self, depth: Depth) -> bool:
        """Return whether `last` is final, as its message has a use for all its bytes; `depth` is how far it is read."""
        last = self.last
        if last is self._odd:
            return last is NO_FRAME
        if depth == "shallow" and last.facts() is not None and not last.noted:
            self.last = NO_FRAME
            return True
        message = last.message(shallow=depth == "shallow") if not last.missing else None
        if message is not None and message.findings and excess_of(message):
            last.forget()
            self._odd = last
            return False
        self.last = NO_FRAME
        return True

    def given_up(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        """Take one frame as `frame` does, whose last `missing` bytes were not kept, to save memory."""
        self._half = GivenUp
        self.frame(data, times, packets, missing, token)
        self._half = CapturedMessage

    def judge_cut(self, data: Buffer, start: int, size: int) -> tuple[bool | None, Any]:
        """Return the same as `judge` for a frame of which no more bytes are to be had."""
        return None, None

    def misframed(self, data: Buffer, times: tuple[int, int], packets: tuple[int, int]) -> bool:
        """Take bytes as one message whose size or header is written wrong; return False where they are none."""
        pairing = self.pairing
        if self.direction == "request":
            found = None if pairing.tokens else misframed_request(data, token=bool(pairing.handshake))
        else:
            found = misframed_response(data, pairing.in_flight[0]) if pairing.in_flight else None
        if found is not None:
            self.frame(found.frame, times, packets, 0, found.header)
            if self._exchange is not None and found.finding is not None:
                self._exchange.findings.append(found.finding)
        return found is not None

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        """Take one frame without its length; the last `missing` bytes of it cannot be had."""
        raise NotImplementedError

    def wrong_length(self, excess: int) -> None:
        """Take note that the length of the frame handed over last was `excess` too large; those bytes were left out."""
        exchange = self._exchange
        found = exchange.findings if exchange is not None else self.pairing.findings
        half = (exchange.request if self.direction == "request" else exchange.response) if exchange else None
        if half is not None:
            half.excess = excess
        found.append(Finding(Kind.INVALID_LENGTH, self.direction, length=excess, facts=PlainFact.SIZE_COVERS_OTHERS))

    def skipped(self, length: int, beginning: bytes) -> None:
        """Take note that `length` bytes belong to no frame; `beginning` are the first of them."""
        if self._midstream and not self._heard:
            found = Finding(Kind.MIDSTREAM, self.direction, length=length, facts=PlainFact.BEFORE_FIRST)
        else:
            found = Finding(Kind.UNDECODED_BYTES, self.direction, length=length, facts=PlainFact.BYTES_UNPROVED)
        self.pairing.findings.append(found)

    @property
    def _heard(self) -> bool:
        """Whether there has been a frame."""
        return self.pairing.latest is not None if self.direction == "request" else self.pairing.answered > 0

    def lost(self, length: int, number: int) -> None:
        """Take note that `length` bytes are missing from the capture before packet `number`."""
        self._midstream = False
        facts = FactKind.BYTES_MISSING.of(number)
        self.pairing.findings.append(Finding(Kind.TCP_GAP, self.direction, length=length, facts=facts))

    def end(self) -> None:
        """Take note that this direction has ended."""
        self.last = NO_FRAME
        self.pairing.end()
