"""What both ends of a conversation have in common: the words of complaint, and the last frame, until it is proved."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from ...protocol.wire.language.api import Direction
from ..messages.exchange import CapturedMessage, Exchange, GivenUp
from . import engine_findings
from .misframed import Misframed
from .pairing import Pairing
from .requests import excess, excess_of
from .search import Buffer

HOLD = 50_000_000
"""Nanoseconds after its last byte, a frame is final, though no other has come behind it."""
Depth: TypeAlias = Literal["shallow", "whole"]
"""How far messages are read: see `CapturedMessage.message`."""
NO_FRAME = CapturedMessage(b"", (0, 0), (0, 0), "request")


class FramedDirection:
    """One of both ends, as far as they are alike.

    `last` is final once a frame stands behind it, or nothing can: until then bytes may be taken from its end. It is
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

    @property
    def quiescent(self) -> bool:
        return self.pairing.quiescent

    def surplus(self, time: int) -> bytes:
        half = self.last
        if half.api is None or half.missing or time - half.last_time > HOLD:
            return b""
        length = excess(half.api, half.version, half.direction, half.data)
        return half.data[len(half.data) - length :]

    def shorten(self, length: int, time: int, number: int) -> None:
        half = self.last
        half.data = half.data[: len(half.data) - length]
        half.last_time, half.last_packet = time, number
        self.wrong_length(length)
        self.last = NO_FRAME

    def proved(self) -> None:
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
        message = last.message(shallow=depth == "shallow") if not last.missing else None
        if message is not None and message.findings and excess_of(message):
            last.forget()
            self._odd = last
            return False
        self.last = NO_FRAME
        return True

    def given_up(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        self._half = GivenUp
        self.frame(data, times, packets, missing, token)
        self._half = CapturedMessage

    def judge_cut(self, data: Buffer, start: int, size: int) -> tuple[bool | None, Any]:
        """Judge a frame of which no more bytes are to be had, as `framing.Owner` has it."""
        return None, None

    def misframed(self, data: Buffer, times: tuple[int, int], packets: tuple[int, int]) -> bool:
        """Take one message whose size or header is written wrong, as `framing.Owner` has it."""
        found = self._misframed(data)
        if found is not None:
            self.frame(found.frame, times, packets, 0, found.header)
            if self._exchange is not None and found.finding is not None:
                self._exchange.findings.append(found.finding)
        return found is not None

    def _misframed(self, data: Buffer) -> Misframed | None:
        """Return the message that is meant by these bytes; None where none is."""
        raise NotImplementedError

    def frame(self, data: bytes, times: tuple[int, int], packets: tuple[int, int], missing: int, token: Any) -> None:
        """Take one frame, as `framing.Owner` has it."""
        raise NotImplementedError

    def wrong_length(self, excess: int) -> None:
        exchange = self._exchange
        found = exchange.findings if exchange is not None else self.pairing.findings
        half = (exchange.request if self.direction == "request" else exchange.response) if exchange else None
        if half is not None:
            half.excess = excess
        found.append(engine_findings.wrong_length(self.direction, excess))

    def skipped(self, length: int, beginning: bytes) -> None:
        complain = engine_findings.before_first if self._midstream and not self._heard else engine_findings.skipped
        self.pairing.findings.append(complain(self.direction, length))

    @property
    def _heard(self) -> bool:
        """Whether there has been a frame."""
        raise NotImplementedError

    def lost(self, length: int, number: int) -> None:
        self._midstream = False
        self.pairing.findings.append(engine_findings.gap(self.direction, length, number))

    def end(self) -> None:
        self.last = NO_FRAME
        self.pairing.end()
