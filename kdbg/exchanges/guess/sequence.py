"""The mistakes that only the order of pasted messages shows: a token out of place, a correlation id used twice."""

from __future__ import annotations

from ...protocol.findings.quirks import Sure
from ...protocol.grammars import find
from ...protocol.grammars.sasl import api as SASL_TOKEN
from ..messages.message import read
from ..mistakes import Mistake, RequestOrder
from ..mistakes.connection import SASL_AUTHENTICATE
from .hints import Guess
from .partial_header import int32

PRODUCE = 0


class Sequence:
    """Takes messages in the order in which they are pasted."""

    def __init__(self) -> None:
        self._order = RequestOrder()
        self._frames: set[bytes] = set()

    def take(self, guess: Guess, frame: bytes) -> Mistake | None:
        """Return the mistake of the next message by those before it; `frame` begins at its header.

        The same bytes once more are a message that was pasted twice. Nothing says whether the first of two requests
        with one correlation id was still in flight.
        """
        authenticate = find(SASL_AUTHENTICATE)
        if guess.api is SASL_TOKEN and authenticate is not None:
            return self._order.see_token(frame, authenticate) if guess.direction == "request" else None
        if not guess.header:
            return None
        if guess.direction == "response":
            self._order.see_response(int32(frame, 0))
            return None
        again = frame in self._frames
        self._frames.add(frame)
        answered = not again and _is_answered(guess, frame)
        found = self._order.see_request(frame, guess.api, guess.version, answered=answered)
        if found is None or found.kind != "reused-correlation-id":
            return found
        return None if again else found._replace(sure=Sure.GUESS)


def _is_answered(guess: Guess, frame: bytes) -> bool:
    """Return whether a request gets a response: all do but Produce with acks 0."""
    return guess.api.key != PRODUCE or read(guess.api, guess.version, "request", frame).body.get("acks") != 0
