"""The states of a connection, what changes them, and how: the tables by which the rest of the engine goes.

A connection is classified first. If it speaks Kafka, each of its directions is framed, and its messages are paired:

    packets ──► Classification ──KAFKA──► two of Framing ──frames──► Pairing ──► exchanges
                      ├──TLS──► decrypted, and classified anew
                      ├──PROXIED──► what follows is classified anew
                      └──FOREIGN──► let go

What is in no table cannot happen, whatever the packets hold: `next_state` raises KeyError for it, which is a bug of the
engine and never of the traffic.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import TypeAlias, TypeVar

State = TypeVar("State", bound=Enum)
Event = TypeVar("Event", bound=Enum)
Transitions: TypeAlias = Mapping[State, Mapping[Event, State]]


class Classification(Enum):
    """What is known of a connection: nothing yet, with no, one or both of its directions ended; or what it speaks."""

    UNKNOWN = auto()
    HALF_ENDED = auto()
    ENDED = auto()
    KAFKA = auto()
    TLS = auto()
    PROXIED = auto()
    FOREIGN = auto()


class Sign(Enum):
    """What classifies a connection: a direction ends, a request shows, TLS or words with a proxy, or nothing will."""

    END = auto()
    REQUEST = auto()
    TLS = auto()
    PREAMBLE = auto()
    NO_REQUEST = auto()


class Framing(Enum):
    """Where one direction stands: a frame is due; one is searched for; the rest of a broken one is passed over."""

    SYNCED = auto()
    SEARCHING = auto()
    IGNORING = auto()
    ENDED = auto()


class DirectionEvent(Enum):
    """What happens to one direction."""

    NO_FRAME = auto()
    """No frame begins where one is due."""
    FOUND = auto()
    """A frame proves itself after other bytes."""
    BROKEN_OFF = auto()
    """A frame is handed over without its end, which is still to come or to be missed."""
    PASSED_OVER = auto()
    """That end is behind us."""
    HOLE = auto()
    """Bytes are missing, and it is not known where in a frame the next ones are."""
    END = auto()


CLASSIFIED: Mapping[Sign, Classification] = {
    Sign.REQUEST: Classification.KAFKA,
    Sign.TLS: Classification.TLS,
    Sign.PREAMBLE: Classification.PROXIED,
    Sign.NO_REQUEST: Classification.FOREIGN,
}
"""What a connection is by a sign, however many of its directions have ended."""
CLASSIFICATION: Transitions[Classification, Sign] = {
    Classification.UNKNOWN: {Sign.END: Classification.HALF_ENDED, **CLASSIFIED},
    Classification.HALF_ENDED: {Sign.END: Classification.ENDED, **CLASSIFIED},
    Classification.ENDED: CLASSIFIED,
    Classification.KAFKA: {},
    Classification.TLS: {},
    Classification.PROXIED: {},
    Classification.FOREIGN: {},
}
FRAMING: Transitions[Framing, DirectionEvent] = {
    Framing.SYNCED: {
        DirectionEvent.NO_FRAME: Framing.SEARCHING,
        DirectionEvent.BROKEN_OFF: Framing.IGNORING,
        DirectionEvent.HOLE: Framing.SEARCHING,
        DirectionEvent.END: Framing.ENDED,
    },
    Framing.SEARCHING: {
        DirectionEvent.FOUND: Framing.SYNCED,
        DirectionEvent.HOLE: Framing.SEARCHING,
        DirectionEvent.END: Framing.ENDED,
    },
    Framing.IGNORING: {
        DirectionEvent.PASSED_OVER: Framing.SYNCED,
        DirectionEvent.END: Framing.ENDED,
    },
    Framing.ENDED: {},
}


def next_state(table: Transitions[State, Event], state: State, event: Event) -> State:
    """Return the state that follows; raise KeyError where the table has none."""
    return table[state][event]
