"""Why bytes are taken for a message."""

from __future__ import annotations

from enum import Enum, auto


class Reason(Enum):
    """What a guess rests on."""

    HEADER = auto()
    """The header of a request says so."""
    CORRELATION_ID = auto()
    """A request seen before has the response's correlation id."""
    CHECKSUM = auto()
    """It is a record set, whose checksum is right."""
    STRUCTURE = auto()
    """It is a record batch by its lengths and its magic, though its checksum does not prove it."""
    TOKEN = auto()
    """It has the form of a SASL token."""
    TOLD = auto()
    """The user said so."""
    TOLD_API = auto()
    """The user said so, but for the version."""
    WHOLE = auto()
    """A layout reads it to the last byte."""
    CUT = auto()
    """A layout reads it as far as it goes."""
    LEFT_OVER = auto()
    """A layout leaves a few bytes over."""
    FURTHEST = auto()
    """No layout gets further."""
