"""A sentence for the facts of every finding and wire error: the only place that words them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import facts as of
from . import faults
from .amounts import count, plural
from .quirks import QUIRKS, Sure

BY: dict[str, str] = {Sure.CERTAIN: "by", Sure.LIKELY: "likely by", Sure.GUESS: "perhaps by"}

LZ4_WORDS = {
    "frameType_unknown": "no lz4 frame begins here",
    "headerChecksum_invalid": "the frame header's checksum is wrong",
    "contentChecksum_invalid": "the content's checksum is wrong",
    "decompressionFailed": "a block does not decompress",
}


def _size_wrong(facts: of.SizeWrong) -> str:
    odd = facts.says - facts.follow
    wrong = f"{count(odd, 'byte')} {'is' if odd == 1 else 'are'} missing" if odd > 0 else f"{-odd:,} too many"
    follow = f"{facts.follow:,} {'follows' if facts.follow == 1 else 'follow'}"
    return f"the size says {count(facts.says, 'byte')}, {follow}: {wrong}"


def _bits_set(facts: faults.BitsSet) -> str:
    *others, last = [str(bit) for bit in range(facts.bits.bit_length()) if facts.bits >> bit & 1]
    if not others:
        return f"bit {last} is set, which has no meaning and should be 0"
    return f"bits {', '.join(others)} and {last} are set, which have no meaning and should be 0"


def _trouble(facts: of.CaptureTrouble) -> str:
    return facts.problem + (f" ({facts.times:,} times)" if facts.times > 1 else "")


def _more(what: str, most: int) -> str:
    return f"more than {most >> 20:,} MiB for {what}; --max-memory allows more"


def _payload_version(facts: faults.UnknownPayloadVersion) -> str:
    return f"version {facts.version} of {facts.name}, kdbg knows {facts.lowest} to {facts.highest}"


def _answers(facts: of.Answers) -> str:
    first, *others = [f"{name} v{versions[0]}" for _, name, versions in facts.candidates]
    same = facts.candidates[0][2][1:]
    words = f"{first}{f' (or v{_listed(same)}, which look alike)' if same else ''}"
    if others:
        words += f", or {', '.join(others)}"
    sure = "likely" if facts.likely else "perhaps"
    unread = "" if facts.read else "; it is not read, for another might hold a secret"
    return f"its request was not seen; by its bytes it is {sure} the response of {words}{unread}"


def _quirk(facts: of.KnownQuirk) -> str:
    *others, last = facts.senders or ("",)
    names = f"{', '.join(others)} or {last}" if others else last
    says = QUIRKS[facts.code].says if facts.code in QUIRKS else facts.code
    return says + (f"; {BY.get(facts.sure, BY[Sure.GUESS])} {names}" if names else "")


def _listed(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted(versions)))


LOG_KEYS = "log them (`kdbg tls-keys` says how) and give the file by --tls-keys"
NOT_DECRYPTED = {
    "no-keys": f"there are no keys: {LOG_KEYS}",
    "other-keys": "its keys are not among those that were given, which are of other connections, or came too late",
    "wrong-keys": "the keys that were given for it do not open it",
    "no-handshake": "its beginning is not in the capture, and nothing else tells its keys",
    "unsupported": "kdbg does not decrypt this version or cipher suite",
    "no-library": "that needs the extra `tls`, which is not installed",
    "unanswered": "nobody answered the client's first message, as on a port without TLS",
    "refused": "the handshake was broken off",
    "unfinished": "nothing was said after the handshake",
}
"""Why a connection was not decrypted, by `tls.Why`."""


def _encrypted(facts: of.Encrypted) -> str:
    version, cipher = facts.version, facts.cipher
    said: list[str] = [
        f"{version} offered" if version and not cipher else version,
        cipher,
        f"to {facts.server_name}" if facts.server_name else "",
        f"ALPN {', '.join(facts.protocols)}" if facts.protocols else "",
        f"certificate of {', '.join(facts.names)}" if facts.names else "",
        *(f"alert {name} from the client" for name in facts.client_alerts),
        *(f"alert {name} from the broker" for name in facts.broker_alerts),
    ]
    known = ", ".join(filter(None, said)) or "TLS"
    return f"{known}; not decrypted: {NOT_DECRYPTED.get(facts.why, facts.why)}"


SENTENCES: dict[type, str | Callable[[Any], str]] = {
    of.BytesMissing: "{length} bytes from the {sender} are missing from the capture before packet {packet}",
    of.BytesUnproved: "{length} bytes from the {sender} belong to no frame that could be proved",
    of.BeforeFirst: "{length} bytes from the {sender} are the end of what was sent before the capture began",
    of.NothingWhole: "the connection was open before the capture began: its {length} bytes hold no whole message",
    of.TurnedDown: lambda facts: "the connection was refused: nothing takes connections there",
    of.NobodyThere: lambda facts: f"the connection was asked for {facts.tries} times, and nobody answered",
    of.ForeignAnswer: "{length} bytes from the {sender} are no Kafka: they look like {protocol}",
    of.SizeCoversOthers: "the length of a message from the {sender} claims {length} bytes that are other messages",
    of.BrokenOff: "the {side}'s last {length} bytes cannot be read: the connection ends, or has a gap, before them",
    of.NotHeld: lambda facts: f"its end was given up: {_more('all connections hold', facts.most)}",
    of.WaitedTooMuch: lambda facts: f"no response was seen before {_more('all connections held', facts.most)}",
    of.RequestTooLarge: "{api} v{version} of {size:,} bytes, on which brokers hang up: they take {most:,}, unless"
    " socket.request.max.bytes says another limit",
    of.RequestUnseen: "its request was not seen; {length} bytes of body cannot be read without it",
    of.Answers: _answers,
    of.RequestUnseenSoLong: "its request was not seen before {responses} more such responses; {length} bytes of body"
    " cannot be read without it",
    of.InFlightFull: "no response was seen before {requests:,} requests, or {bytes:,} bytes, were in flight",
    of.PassedOver: "no response was seen among {responses} to later requests",
    of.PassedOverMany: "no response was seen, as to {requests} other requests that were passed over",
    of.ResponsesLost: "no response was seen; bytes of the broker are missing, or could not be read",
    of.AnsweredAfter: "the response came after the one to a later request (correlation id {correlation_id}): a broker"
    " must answer in the order of the requests, so it, or what stands between, is at fault",
    of.AnsweredTooLate: "the response came after those to many later requests, when its request had been told as"
    " unanswered: a broker must answer in the order of the requests",
    of.AnsweredUnasked: "the request says acks=0, which wants no response, and got one",
    of.AnsweredUnaskedLate: "the request says acks=0, which wants no response, and got one after it had been told",
    of.Foreign: "{protocol}; not decoded",
    of.Encrypted: _encrypted,
    of.NoRequest: "nothing in its first {length} bytes is a Kafka request",
    of.SizeWrong: _size_wrong,
    faults.NoApi: "kdbg has no grammar for API key {key}; {left} bytes of body left unread",
    faults.NoVersion: "kdbg has no grammar for version {version} of {api}; {left} bytes of body left unread",
    faults.NoSide: "kdbg has no grammar for {side}s of version {version} of {api}; {left} bytes of body left unread",
    of.KnownQuirk: _quirk,
    of.KnownForm: "this is {name}",
    of.SearchLimit: lambda facts: (
        f"not searched for a mistake: kdbg searches {count(facts.most, 'message')} that are"
        f" wrong in the same way within {count(facts.seconds, 'second')}"
    ),
    faults.Leftover: lambda facts: f"{plural(facts.length, 'byte')} left over after the message was complete",
    of.EntryCut: "the file ends inside {what}: {left:,} of {size:,} bytes are there",
    of.Zeros: "{length:,} bytes of zero",
    of.NoLogEntry: "{length:,} bytes that are no batch and no message",
    of.CountWrong: "{says} lines are announced, {follow:,} follow",
    of.NoLine: "no line of a {title}",
    of.Behind: "{name} {number} behind {before}: {growing} only grow",
    of.EndsBehind: "last_offset {offset} behind {before}: transactions end one by one",
    of.FaultDone: "done by the proxy: {rule}",
    of.CaptureTrouble: _trouble,
    faults.TooFewBytes: lambda facts: f"{facts.type} wants {plural(facts.wanted, 'byte')}, {facts.left} left",
    faults.NoBoolean: "BOOLEAN is 0 or 1, here {value}",
    faults.BitsSet: _bits_set,
    faults.LongVarint: "{value} written in {size} bytes",
    faults.EndlessVarint: "{type} goes on after {size} bytes",
    faults.WideVarint: "{type} has more than {bits} bits",
    faults.NegativeLength: "{type} says a length of {length}",
    faults.NullForbidden: "{type} must not be null",
    faults.NotUtf8: "{type} is not valid UTF-8",
    faults.NoMarker: "a nullable structure begins with {null} or 1, here {value}",
    faults.LengthUnfilled: "a length of {length} that its content does not fill",
    faults.MarkMissing: "{mark!r} should stand here",
    faults.LongLengthOfLength: "a length of {size} bytes",
    faults.NoObjectId: "no object identifier begins here",
    faults.ZerosInObjectId: "a number of the object identifier begins with zeros",
    faults.TagBehind: "tag {tag} after tag {last}",
    faults.TagUnknown: "tag {tag}, {size} bytes",
    faults.TagUnfilled: "tag {tag} says {size} bytes, its value takes {taken}",
    faults.NegativeFieldLength: "an optional field says a length of {length}",
    faults.ChecksumWrong: "the {of} says {algorithm} 0x{says:08x}, its bytes give 0x{gives:08x}",
    faults.EndsInBatch: "the record set ends inside a batch",
    faults.NoEntry: "neither a batch nor a message",
    faults.NoMessageInside: "a compressed message holds something that is no message",
    faults.NestedTooDeep: "compressed messages nested more than {most} deep",
    faults.BatchUnfilled: "the records do not fill the batch",
    faults.MessageUnfilled: "the message does not fill its size",
    faults.UnknownCodec: "no codec has the number {number}",
    faults.CodecFault: lambda facts: f"{facts.codec}: {sentence(facts.fault)}",
    faults.StreamEmpty: "the stream is empty",
    faults.StreamCut: "the stream ends early",
    faults.StreamCutInHeader: "the stream ends in its header",
    faults.StreamTooShort: "the stream ends {left} bytes before the data",
    faults.TooMuchInside: "more than {most} bytes come out",
    faults.BlockCut: "a block of {size} bytes, {left} left",
    faults.BlockTooLarge: "a block claims {claims} bytes, {most} are allowed",
    faults.BlockImplausible: "a block of {size} bytes claims {claims}",
    faults.NoFrame: "no zstd frame begins {at} bytes in",
    faults.Lz4Refused: lambda facts: LZ4_WORDS.get(facts.code, facts.code),
    faults.Refused: "{reason}",
    faults.NoTelemetry: "no protobuf of OpenTelemetry: {reason}",
    faults.NoMetrics: "no metrics of OpenTelemetry",
    faults.NoToken: "no token of {mechanism} looks like this",
    faults.UnknownRecord: "{what} {number} of {topic} is not known",
    faults.UnknownControl: "control record type {number} is not known",
    faults.UnknownPayloadVersion: _payload_version,
    faults.UnknownRequest: "version {version} of API key {key} is not known",
    faults.MemorySpent: lambda facts: f"given up: {_more('what one message becomes', facts.most)}",
    faults.NothingNear: lambda facts: f"no {' or '.join(facts.names)} is near",
}
"""By the facts: a pattern over their values, or a function of them.

A pattern of findings alone may have `length`, `side` and `sender` of the finding as well.
"""


def sentence(facts: Any, **place: object) -> str:
    """Return the sentence for facts; `place` gives `length`, `side` and `sender` where facts of a finding need them."""
    words = SENTENCES[type(facts)]
    return words(facts) if callable(words) else words.format(**{**place, **facts._asdict()})
