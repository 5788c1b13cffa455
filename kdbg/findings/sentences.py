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
    "frameType_unknown": "expected an LZ4 frame here",
    "headerChecksum_invalid": "the frame header's checksum is wrong",
    "contentChecksum_invalid": "the content's checksum is wrong",
    "decompressionFailed": "a block does not decompress",
}


def _size_wrong(facts: of.SizeWrong) -> str:
    odd = facts.says - facts.follow
    wrong = f"{count(odd, 'byte')} {'is' if odd == 1 else 'are'} missing" if odd > 0 else f"{-odd:,} too many"
    follow = f"{facts.follow:,} {'follows' if facts.follow == 1 else 'follow'}"
    return f"the size field says {count(facts.says, 'byte')}, but {follow}: {wrong}"


def _bits_set(facts: faults.BitsSet) -> str:
    *others, last = [str(bit) for bit in range(facts.bits.bit_length()) if facts.bits >> bit & 1]
    if not others:
        return f"reserved bit {last} is set"
    return f"reserved bits {', '.join(others)} and {last} are set"


def _trouble(facts: of.CaptureTrouble) -> str:
    return facts.problem + (f" ({facts.times:,} times)" if facts.times > 1 else "")


def _more(what: str, most: int) -> str:
    return f"more than {most >> 20:,} MiB of {what}; raise the limit with --max-memory"


def _payload_version(facts: faults.UnknownPayloadVersion) -> str:
    return f"unsupported version {facts.version} of {facts.name} (kdbg supports {facts.lowest} to {facts.highest})"


def _answers(facts: of.Answers) -> str:
    first, *others = [f"{name} v{versions[0]}" for _, name, versions in facts.candidates]
    same = facts.candidates[0][2][1:]
    words = f"{first}{f' (or v{_listed(same)}, which have the same layout)' if same else ''}"
    if others:
        words += f", or {', '.join(others)}"
    sure = "probably" if facts.likely else "possibly"
    unread = "" if facts.read else "; not decoded, because another match could expose a secret"
    return f"the request is not in the capture; the layout {sure} matches a response to {words}{unread}"


def _quirk(facts: of.KnownQuirk) -> str:
    *others, last = facts.senders or ("",)
    names = f"{', '.join(others)} or {last}" if others else last
    says = QUIRKS[facts.code].says if facts.code in QUIRKS else facts.code
    return says + (f"; {BY.get(facts.sure, BY[Sure.GUESS])} {names}" if names else "")


def _listed(versions: tuple[int, ...]) -> str:
    return ", ".join(map(str, sorted(versions)))


LOG_KEYS = "log them (see `kdbg tls-keys`) and pass the file with --tls-keys"
NOT_DECRYPTED = {
    "no-keys": f"there are no keys: {LOG_KEYS}",
    "other-keys": "the key log has no keys for this connection, or they were logged too late",
    "wrong-keys": "the keys for this connection do not decrypt it",
    "no-handshake": "the TLS handshake is not in the capture",
    "unsupported": "kdbg does not decrypt this version or cipher suite",
    "no-library": "install the extra first: pip install 'kdbg-kafka[tls]'",
    "unanswered": "no reply to the ClientHello, typical of a plaintext listener",
    "refused": "the TLS handshake failed",
    "unfinished": "no application data after the handshake",
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
    of.TurnedDown: lambda facts: "connection refused: nothing listens on that address and port",
    of.NobodyThere: lambda facts: f"no reply to {facts.tries} connection attempts (SYN)",
    of.ForeignAnswer: "{length} bytes from the {sender} are no Kafka: they look like {protocol}",
    of.SizeCoversOthers: "the length of a message from the {sender} claims {length} bytes that are other messages",
    of.BrokenOff: "the {side}'s last {length} bytes cannot be read: the connection ends, or has a gap, before them",
    of.NotHeld: lambda facts: (
        f"the end of the message was dropped: {_more('incomplete messages on all connections', facts.most)}"
    ),
    of.WaitedTooMuch: lambda facts: (
        f"no response before memory ran out: {_more('pending data on all connections', facts.most)}"
    ),
    of.RequestTooLarge: (
        "{api} v{version} request of {size:,} bytes got no response: brokers close the connection "
        "above socket.request.max.bytes (default {most:,})"
    ),
    of.RequestUnseen: "its request was not seen; {length} bytes of body cannot be read without it",
    of.Answers: _answers,
    of.RequestUnseenSoLong: (
        "the request is not in the capture (gave up after {responses:,} more responses without "
        "a request); {length:,} body bytes cannot be decoded"
    ),
    of.InFlightFull: "no response before the in-flight limit was reached ({requests:,} requests or {bytes:,} bytes)",
    of.PassedOver: "no response, although {responses:,} later requests got theirs",
    of.PassedOverMany: "no response; more than {requests:,} requests were overtaken by responses to later ones",
    of.ResponsesLost: "no response found: bytes from the broker are missing or could not be decoded",
    of.AnsweredAfter: (
        "responses out of order: this one arrived after the response to a later request (correlation "
        "id {correlation_id}); a broker or proxy violates the protocol"
    ),
    of.AnsweredTooLate: (
        "response arrived too late to be paired: many later requests were answered first, and this "
        "request is already listed as unanswered"
    ),
    of.AnsweredUnasked: "unexpected response to a Produce with acks=0 (acks=0 expects none)",
    of.AnsweredUnaskedLate: "unexpected response to a Produce with acks=0, received after the exchange was shown",
    of.Foreign: "{protocol}; not decoded",
    of.Encrypted: _encrypted,
    of.NoRequest: "nothing in its first {length} bytes is a Kafka request",
    of.SizeWrong: _size_wrong,
    faults.NoApi: "unknown API key {key}; {left:,} body bytes not decoded",
    faults.NoVersion: "unknown version {version} of {api}; {left:,} body bytes not decoded",
    faults.NoSide: "no {side} layout for {api} v{version}; {left:,} body bytes not decoded",
    of.KnownQuirk: _quirk,
    of.KnownForm: "decoded as {name}",
    of.SearchLimit: lambda facts: (
        f"not searched for a mistake: kdbg searches {count(facts.most, 'message')} that are"
        f" wrong in the same way within {count(facts.seconds, 'second')}"
    ),
    faults.Leftover: lambda facts: f"{plural(facts.length, 'trailing byte')} after the last field",
    of.EntryCut: "the file ends in the middle of {what}: {left:,} of {size:,} bytes present",
    of.Zeros: "{length:,} zero bytes (preallocated or damaged)",
    of.NoLogEntry: "{length:,} bytes are neither a record batch nor a message",
    of.CountWrong: "the file declares {says} lines but has {follow:,}",
    of.NoLine: "not a valid line of a {title}",
    of.Behind: "{name} {number} follows {before}, but {growing} must increase",
    of.EndsBehind: "last_offset {offset} follows {before}, but transactions must end in offset order",
    of.FaultDone: "kdbg proxy applied the fault rule: {rule}",
    of.CaptureTrouble: _trouble,
    faults.TooFewBytes: lambda facts: f"{facts.type} needs {plural(facts.wanted, 'byte')}, only {facts.left} left",
    faults.NoBoolean: "BOOLEAN must be 0 or 1, found {value}",
    faults.BitsSet: _bits_set,
    faults.LongVarint: "{value} is encoded in {size} bytes, more than necessary",
    faults.EndlessVarint: "{type} does not end within {size} bytes",
    faults.WideVarint: "{type} has more than {bits} bits",
    faults.NegativeLength: "{type} has the invalid length {length}",
    faults.NullForbidden: "{type} must not be null",
    faults.NotUtf8: "{type} is not valid UTF-8",
    faults.NoMarker: "a nullable structure must start with {null} (null) or 1, found {value}",
    faults.LengthUnfilled: "the length says {length}, but the content is shorter",
    faults.MarkMissing: "expected {mark!r} here",
    faults.LongLengthOfLength: "the DER length field itself takes {size} bytes, too many",
    faults.NoObjectId: "expected an object identifier here",
    faults.ZerosInObjectId: "an object identifier component has leading zeros",
    faults.TagBehind: "tag {tag} follows tag {last}; tags must be unique and ascending",
    faults.TagUnknown: "tag {tag}, {size} bytes",
    faults.TagUnfilled: "tag {tag} declares {size} bytes, but its value takes {taken}",
    faults.NegativeFieldLength: "an optional field has the invalid length {length}",
    faults.ChecksumWrong: "{of}: stored {algorithm} 0x{says:08x}, computed 0x{gives:08x}",
    faults.EndsInBatch: "the record set ends in the middle of a batch",
    faults.NoEntry: "not a record batch or message",
    faults.NoMessageInside: "a compressed message does not contain messages",
    faults.NestedTooDeep: "compressed messages nested more than {most} deep",
    faults.BatchUnfilled: "the records end before the batch does",
    faults.MessageUnfilled: "the message ends before its size does",
    faults.UnknownCodec: "unknown compression codec {number}",
    faults.CodecFault: lambda facts: f"{facts.codec}: {sentence(facts.fault)}",
    faults.StreamEmpty: "the stream is empty",
    faults.StreamCut: "the compressed stream is cut short",
    faults.StreamCutInHeader: "the compressed stream ends in its header",
    faults.StreamTooShort: "{left} bytes follow the end of the compressed stream",
    faults.TooMuchInside: "decompresses to more than {most:,} bytes",
    faults.BlockCut: "a block needs {size:,} bytes, only {left:,} left",
    faults.BlockTooLarge: "a block declares {claims:,} decompressed bytes (limit {most:,})",
    faults.BlockImplausible: "a block of {size:,} bytes cannot decompress to {claims:,}",
    faults.NoFrame: "expected a zstd frame at byte {at}",
    faults.Lz4Refused: lambda facts: LZ4_WORDS.get(facts.code, facts.code),
    faults.Refused: "{reason}",
    faults.NoTelemetry: "not OpenTelemetry protobuf: {reason}",
    faults.NoMetrics: "not OpenTelemetry metrics",
    faults.NoToken: "not a valid {mechanism} token",
    faults.UnknownRecord: "unknown {what} {number} of {topic}",
    faults.UnknownControl: "unknown control record type {number}",
    faults.UnknownPayloadVersion: _payload_version,
    faults.UnknownRequest: "unknown version {version} of API key {key}",
    faults.MemorySpent: lambda facts: f"not decoded further: {_more('decoded data in one message', facts.most)}",
    faults.NothingNear: lambda facts: f"cannot tell the format: no {' or '.join(facts.names)} field nearby",
}
"""By the facts: a pattern over their values, or a function of them.

A pattern of findings alone may have `length`, `side` and `sender` of the finding as well.
"""


def sentence(facts: Any, **place: object) -> str:
    """Return the sentence for facts; `place` gives `length`, `side` and `sender` where facts of a finding need them."""
    words = SENTENCES[type(facts)]
    return words(facts) if callable(words) else words.format(**{**place, **facts._asdict()})
