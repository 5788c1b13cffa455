"""The facts of findings: numbers and names, from which text.py makes the sentences.

A class stands for one sentence (text.py). What a finding says of itself (side, path, start, length) is not
repeated here. Those about bytes that do not follow their grammar stand in faults.py, for wire errors have them too.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, TypeAlias

from .faults import Fault, Sentence


class PlainFact(Enum):
    """A fact that its sentence says in full: what text.py takes words from, as its value."""

    BYTES_UNPROVED = "{length:byte} from the {sender} skipped: no Kafka frame recognised"
    BEFORE_FIRST = "{length:byte} from the {sender} skipped: the tail of a message sent before the capture"
    NOTHING_WHOLE = "no complete message in {length:byte}: the connection is older than the capture"
    SIZE_COVERS_OTHERS = "a size field from the {sender} is wrong: its {length:byte} include other messages"
    BROKEN_OFF = "incomplete {side}: the capture lacks its last {length:byte} (connection closed, or gap)"
    REQUEST_UNSEEN = "the request is not in the capture; {length:body byte} not decoded without it"
    RESPONSES_LOST = "no response found: bytes from the broker are missing or could not be decoded"
    ANSWERED_TOO_LATE = "response too late to be paired: its request is already shown without a response"
    ANSWERED_UNASKED = "unexpected response to a Produce with acks=0 (acks=0 expects none)"
    ANSWERED_UNASKED_LATE = "unexpected response to a Produce with acks=0, received after the exchange was shown"
    NO_REQUEST = "no Kafka request in the first {length:byte}"
    ZEROS = "{length:zero byte} (preallocated or damaged)"
    NO_LOG_ENTRY = "{length:byte} skipped: not a record batch or message"


class FactKind(Sentence):
    """A fact with numbers and names."""

    BYTES_MISSING = "the capture lacks {length:byte} from the {sender}, before packet {value}"
    FOREIGN_ANSWER = "{value} from the {sender} ({length:byte}), not Kafka"
    FOREIGN = "{value}; not decoded"
    NOT_HELD = "end of the message dropped: over {value:,} MiB of incomplete messages; raise --max-memory"
    WAITED_TOO_MUCH = "no response before memory ran out: over {value:,} MiB of pending data; raise --max-memory"
    REQUEST_UNSEEN = "no request in the capture (limit: {value:waiting response}); {length:body byte} not decoded"
    PASSED_OVER = "no response, although {value:later request} got theirs"
    PASSED_OVER_MANY = "no response: more than {value:request} overtaken by responses to later requests"
    ANSWERED_AFTER = "the response to a later request (correlation id {value}) arrived before this one"
    NO_LINE = "not a valid line of a {value}"
    FAULT_DONE = "kdbg proxy applied the fault rule: {value}"
    REQUEST_TOO_LARGE = "{api} v{version} of {size:byte} exceeds socket.request.max.bytes (default {most:,})"
    IN_FLIGHT_FULL = "no response before the in-flight limit ({requests:request} or {bytes:byte})"
    KNOWN_FORM = "decoded as {value}"
    SEARCH_LIMIT = "not searched for mistakes: the limit is {most:similar message} in {seconds:second}"
    ENTRY_CUT = "the file ends in the middle of {what}: {left:,} of {size:byte} present"
    COUNT_WRONG = "the file has {follow:line}, but declares {says}"
    BEHIND = "{name} {number} follows {before}, but {growing} must increase"
    ENDS_BEHIND = "last_offset {offset} follows {before}, but transactions must end in offset order"


# Of a connection: what is missing, or belongs to no exchange


class NoConnection(NamedTuple):
    """A connection was asked for so often, from `time` to `until`, nanoseconds since 1970; `refused`, or no reply."""

    tries: int
    time: int
    until: int
    refused: bool


class Answers(NamedTuple):
    """The request of a response is not in the capture; by its bytes it answers the first of `candidates`.

    Each is (API key, name, versions that read the same, the likeliest first). `likely`: the first is far ahead of the
    next. `read`: it was read as such; otherwise that might show a secret of another.
    """

    candidates: tuple[tuple[int, str, tuple[int, ...]], ...]
    likely: bool
    read: bool


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


# Of a message


class SizeWrong(NamedTuple):
    """The size in front of a message says `says` bytes, and `follow` follow."""

    says: int
    follow: int


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
    fault: Fault | Stopped | KnownQuirk
    whole: bool


class CaptureTrouble(NamedTuple):
    """A capture is damaged: what the reader of the file said, and how often."""

    problem: str
    times: int = 1


Facts: TypeAlias = (
    PlainFact | Fault | NoConnection | Answers | Encrypted | SizeWrong | KnownQuirk
    | MessageMistake | Stopped | InPayload | CaptureTrouble
)  # fmt: skip
