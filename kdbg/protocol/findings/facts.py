"""The facts of findings: numbers and names, from which text.py makes the sentences.

A class stands for one sentence (text.py). What a finding says of itself (side, path, start, length) is not
repeated here. Those about bytes that do not follow their grammar stand in faults.py, for wire errors have them too.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from .faults import Fault

# Of a connection: what is missing, or belongs to nobody


class BytesMissing(NamedTuple):
    """Bytes of one direction are not in the capture; `packet` is the number of the first one behind them."""

    packet: int


class BytesUnproved(NamedTuple):
    """Bytes of one direction belong to no frame that proves itself."""


class BeforeFirst(NamedTuple):
    """Bytes stand in front of the first whole message of a connection that was open before the capture began."""


class NothingWhole(NamedTuple):
    """Of a connection that was open before the capture began, the capture has no whole message."""


class TurnedDown(NamedTuple):
    """A connection was refused: asked for so often, at `time`, and turned down at `until`, nanoseconds since 1970."""

    tries: int
    time: int
    until: int


class NobodyThere(NamedTuple):
    """A connection was asked for so often, from `time` to `until`, nanoseconds since 1970, without any answer."""

    tries: int
    time: int
    until: int


class ForeignAnswer(NamedTuple):
    """What one side says from its first byte on is another protocol."""

    protocol: str


class SizeCoversOthers(NamedTuple):
    """The size of a message covers bytes that are messages themselves."""


class BrokenOff(NamedTuple):
    """The end of a message is not in the capture, or was never sent."""


class NotHeld(NamedTuple):
    """The end of a message was not kept: all connections together may hold `most` bytes until they are complete."""

    most: int


class WaitedTooMuch(NamedTuple):
    """A response is waited for no longer: all connections together may hold `most` bytes."""

    most: int


class RequestTooLarge(NamedTuple):
    """A request of `size` bytes got no answer: brokers hang up on more than `most` unless they are configured to."""

    api: str
    version: int
    size: int
    most: int


class RequestUnseen(NamedTuple):
    """The request of a response is not in the capture."""


class Answers(NamedTuple):
    """The request of a response is not in the capture; by its bytes it answers the first of `candidates`.

    Each is (API key, name, versions that read the same, the likeliest first). `likely`: the first is far ahead of the
    next. `read`: it was read as such; otherwise that might show a secret of another.
    """

    candidates: tuple[tuple[int, str, tuple[int, ...]], ...]
    likely: bool
    read: bool


class RequestUnseenSoLong(NamedTuple):
    """The request of a response is not in the capture, and `responses` of that sort were waiting for theirs."""

    responses: int


class InFlightFull(NamedTuple):
    """A response is waited for no longer: so many requests, or bytes of them, may be in flight on a connection."""

    requests: int
    bytes: int


class PassedOver(NamedTuple):
    """A response is waited for no longer: so many came that answer later requests."""

    responses: int


class PassedOverMany(NamedTuple):
    """A response is waited for no longer: more requests than so many were passed over by responses to later ones."""

    requests: int


class ResponsesLost(NamedTuple):
    """A response is waited for no longer: bytes of the broker are missing from the capture, or could not be read."""


class AnsweredAfter(NamedTuple):
    """A response came after the one to a later request, with this correlation id."""

    correlation_id: int


class AnsweredTooLate(NamedTuple):
    """A response came when its request had been told as unanswered."""


class AnsweredUnasked(NamedTuple):
    """A response came to a request that wants none (acks=0)."""


class AnsweredUnaskedLate(NamedTuple):
    """The same, when its request had been told."""


class Foreign(NamedTuple):
    """A connection speaks another protocol."""

    protocol: str


class Encrypted(NamedTuple):
    """A connection speaks TLS and was not decrypted.

    Version and cipher suite by their names, "" if they are not known; the name that the client asked for; protocols by
    ALPN; names in the broker's certificate; alerts that either end sent; `why` as tls.Why.
    """

    version: str
    cipher: str
    server_name: str
    protocols: tuple[str, ...]
    names: tuple[str, ...]
    client_alerts: tuple[str, ...]
    broker_alerts: tuple[str, ...]
    why: str


class NoRequest(NamedTuple):
    """No request of Kafka stands at the beginning of a connection."""


# Of a message


class SizeWrong(NamedTuple):
    """The size in front of a message says `says` bytes, and `follow` follow."""

    says: int
    follow: int


class KnownForm(NamedTuple):
    """The layout is not this version's, but another one that is known."""

    name: str


class KnownQuirk(NamedTuple):
    """A known quirk of peers: its code (quirks.py), who wrote it, and how sure that is (`quirks.Sure`)."""

    code: str
    senders: tuple[str, ...]
    sure: str


class MessageMistake(NamedTuple):
    """A mistake of the program that wrote a message: a kind of `mistakes.MISTAKES`, and what fills its sentence.

    `version` is that of the message. `sure` is how sure it is, as `quirks.Sure`.
    """

    kind: str
    api: str
    version: int
    actual: str
    expected: str
    sure: str


class SearchLimit(NamedTuple):
    """A message is not searched for a mistake: `most` messages like it were within `seconds`."""

    most: int
    seconds: int


class Stopped(NamedTuple):
    """Reading could not go on, at byte `at` of the buffer that was read."""

    at: int
    fault: Fault


class InPayload(NamedTuple):
    """Something is odd in a payload.

    `name` is what the payload should have been, where it is not that at all; "" otherwise. `whole` is true where it is
    in no field of the payload.
    """

    name: str
    fault: Fault | Stopped | KnownForm | KnownQuirk
    whole: bool


# Of files of a broker's disk


class EntryCut(NamedTuple):
    """The file ends inside `what`, after `left` of its `size` bytes."""

    what: str
    left: int
    size: int


class Zeros(NamedTuple):
    """Bytes of zero stand where something should."""


class NoLogEntry(NamedTuple):
    """Bytes of a log are neither a batch nor a message."""


class CountWrong(NamedTuple):
    """A file announces `says` lines, and `follow` follow."""

    says: str
    follow: int


class NoLine(NamedTuple):
    """A line is none of a file of this kind."""

    title: str


class Behind(NamedTuple):
    """A number in a file is not greater than the one before it; `growing` are what only grows."""

    name: str
    number: int
    before: int
    growing: str


class EndsBehind(NamedTuple):
    """A transaction ends in front of the one before it."""

    offset: int
    before: int


# Of the proxy


class FaultDone(NamedTuple):
    """The proxy applied a rule to an exchange: the rule as it was written."""

    rule: str


# Of a capture


class CaptureTrouble(NamedTuple):
    """A capture is damaged: what the reader of the file said, and how often."""

    problem: str
    times: int = 1


Facts: TypeAlias = (
    Fault | BytesMissing | BytesUnproved | BeforeFirst | NothingWhole | TurnedDown | NobodyThere | ForeignAnswer
    | SizeCoversOthers | BrokenOff | NotHeld | WaitedTooMuch | RequestTooLarge | RequestUnseen | Answers
    | RequestUnseenSoLong | InFlightFull | PassedOver | PassedOverMany | ResponsesLost | AnsweredAfter | AnsweredTooLate
    | AnsweredUnasked | AnsweredUnaskedLate | Foreign | Encrypted | NoRequest | SizeWrong | KnownForm | KnownQuirk
    | MessageMistake | SearchLimit
    | Stopped | InPayload | EntryCut | Zeros | NoLogEntry | CountWrong | NoLine | Behind | EndsBehind | FaultDone
    | CaptureTrouble
)  # fmt: skip
