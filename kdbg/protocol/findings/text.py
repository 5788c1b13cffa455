"""Findings and wire errors as a person reads them: the only place that words their facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from . import facts as of
from . import faults
from .amounts import count, filled, times
from .facts import Facts, InPayload, MessageMistake, PlainFact, Stopped
from .faults import PlainFault, ValueFact
from .quirks import PREFIXES, QUIRKS, FindingSubject, Sure, mistake_sentence

if TYPE_CHECKING:
    from .faults import Fault


def _size_wrong(facts: of.SizeWrong) -> str:
    odd = facts.says - facts.follow
    wrong = f"{count(odd, 'byte')} {'is' if odd == 1 else 'are'} missing" if odd > 0 else f"{-odd:,} too many"
    follow = f"{facts.follow:,} {'follows' if facts.follow == 1 else 'follow'}"
    return f"the size field declares {count(facts.says, 'byte')}, but {follow}: {wrong}"


def _bits_set(facts: faults.BitsSet) -> str:
    *others, last = [str(bit) for bit in range(facts.bits.bit_length()) if facts.bits >> bit & 1]
    if not others:
        return f"reserved bit {last} is set"
    return f"reserved bits {', '.join(others)} and {last} are set"


def _answers(facts: of.Answers) -> str:
    first, *others = [f"{name} v{versions[0]}" for _, name, versions in facts.candidates]
    same = ", ".join(map(str, sorted(facts.candidates[0][2][1:])))
    words = f"{first}{f' (or v{same}, which have the same layout)' if same else ''}"
    if others:
        words += f", or {', '.join(others)}"
    sure = "probably" if facts.likely else "possibly"
    unread = "" if facts.read else "; not decoded, because another match could expose a secret"
    return f"the request is not in the capture; the layout {sure} matches a response to {words}{unread}"


def _quirk(facts: of.KnownQuirk) -> str:
    *others, last = facts.senders or ("",)
    names = f"{', '.join(others)} or {last}" if others else last
    says = QUIRKS[facts.code].says if facts.code in QUIRKS else facts.code
    return says + (f"; {PREFIXES.get(facts.sure, PREFIXES[Sure.GUESS])}by {names}" if names else "")


NOT_DECRYPTED = {
    "no-keys": "no keys (log them as kdbg tls-keys shows, then use --tls-keys)",
    "other-keys": "the key log has no keys for this connection, or they were logged too late",
    "wrong-keys": "the keys for this connection do not decrypt it",
    "no-handshake": "the TLS handshake is not in the capture",
    "unsupported": "kdbg does not decrypt this version or cipher suite",
    "no-library": "the tls extra is missing (pip install 'kdbg-kafka[tls]')",
    "unanswered": "no reply to the ClientHello (probably a plaintext listener)",
    "refused": "the TLS handshake failed",
    "unfinished": "no application data after the handshake",
    "not-in-memory": "its keys are not in the memory of the process (it was closed, or its keys were replaced)",
}
"""Why a connection was not decrypted, by `tls.Why`."""


def _encrypted(facts: of.Encrypted) -> str:
    version, cipher = facts.version, facts.cipher
    said: list[str] = [
        f"{version} offered" if version and not cipher else version,
        cipher,
        f"server name {facts.server_name}" if facts.server_name else "",
        f"ALPN {', '.join(facts.protocols)}" if facts.protocols else "",
        f"certificate of {', '.join(facts.names)}" if facts.names else "",
        *(f"alert {name} from the client" for name in facts.client_alerts),
        *(f"alert {name} from the broker" for name in facts.broker_alerts),
    ]
    known = ", ".join(filter(None, said)) or "TLS"
    return f"{known}; not decrypted: {NOT_DECRYPTED.get(facts.why, facts.why)}"


SENTENCES: dict[type, str | Callable[[Any], str]] = {
    of.NoConnection: lambda facts: (
        "connection refused: nothing listens on that address and port"
        if facts.refused
        else f"no reply to {count(facts.tries, 'connection attempt')} (SYN)"
    ),
    of.Answers: _answers,
    of.Encrypted: _encrypted,
    of.SizeWrong: _size_wrong,
    of.KnownQuirk: _quirk,
    of.CaptureTrouble: lambda facts: facts.problem + (f" ({times(facts.times)})" if facts.times > 1 else ""),
    faults.TooFewBytes: "{type} needs {wanted:byte}, only {left:,} left",
    faults.BitsSet: _bits_set,
    faults.NegativeLength: "{type} has the invalid length {length}",
    faults.CodecFault: lambda facts: f"{facts.codec}: {sentence(facts.fault)}",
    faults.NothingNear: lambda facts: f"unknown format: no {' or '.join(facts.names)} field nearby",
}
"""By the facts: a pattern over their values, or a function of them.

A pattern of findings alone may have `length`, `side` and `sender` of the finding as well.
"""


def sentence(facts: Any, **place: object) -> str:
    """Return the sentence for facts; `place` gives `length`, `side` and `sender` where facts of a finding need them."""
    if isinstance(facts, (PlainFact, PlainFault)):
        return filled(facts.value, place)
    if isinstance(facts, ValueFact):
        return filled(facts.kind.value, {**place, **dict(facts.values)})
    words = SENTENCES[type(facts)]
    return words(facts) if callable(words) else filled(words, {**place, **facts._asdict()})


class Origin(NamedTuple):
    """What bytes are counted from: the place of a message's header (or of the first byte given), and in what."""

    first: int
    of: str


FRAME: Final = Origin(4, "frame")
"""From the first byte of the size, as hexdumps of frames count."""
DATA: Final = Origin(0, "data")
"""From the first byte given, where that begins no frame: a piece of a file, or what a program decodes."""
BUFFER: Final = Origin(0, "decompressed bytes")
SENDERS = {"request": "client", "response": "broker", "": "peer"}


def origin_of(finding: FindingSubject) -> Origin:
    """Return what the bytes of a finding are counted from: those of a request or response are bytes of its frame."""
    return FRAME if finding.side else DATA


def text_of(finding: FindingSubject, origin: Origin | None = None) -> str:
    """Return the text of a finding; name the field and byte where reading stopped, or where a payload is meant."""
    facts, origin = finding.facts, origin or origin_of(finding)
    if isinstance(facts, Stopped):
        return stopped(finding.path, facts.at, facts.fault, origin if finding.start is not None else BUFFER)
    payload = isinstance(facts, InPayload) and isinstance(facts.fault, Stopped)
    if finding.start is not None and (payload or isinstance(facts, MessageMistake)):
        return beside(finding) + at_byte(finding.start, origin)
    return beside(finding) if isinstance(facts, (InPayload, MessageMistake)) else _text(finding)


def beside(finding: FindingSubject) -> str:
    """Return the text of a finding to show beside its bytes: with the field, if there is one, and without the byte."""
    facts, path = finding.facts, finding.path
    if isinstance(facts, Stopped):
        return f"{path or 'message'}: {sentence(facts.fault)}"
    if isinstance(facts, InPayload):
        fault: Facts = facts.fault
        said = sentence(fault.fault if isinstance(fault, Stopped) else fault)
        whole = "message: " if facts.whole and isinstance(fault, Stopped) else ""
        return f"{path}: {f'invalid {facts.name}: ' if facts.name else ''}{whole}{said}"
    if isinstance(facts, MessageMistake):
        return mistake_sentence(**facts._asdict(), path=path or "the message", direction=finding.side)
    return f"{path}: {_text(finding)}" if path else _text(finding)


def stopped(path: str, start: int, fault: Fault, origin: Origin = DATA) -> str:
    """Return the text for what ended the reading of a message: field, fault and byte."""
    return f"{path or 'message'}: {sentence(fault)}{at_byte(start, origin)}"


def at_byte(start: int, origin: Origin) -> str:
    """Return the place of a byte as the end of a sentence, decimal and as hexdumps have it."""
    byte = origin.first + start
    return f" (byte {byte} of the {origin.of}, 0x{byte:04x})"


def _text(finding: FindingSubject) -> str:
    if finding.facts is None:
        return str(finding.kind.explanation)
    side = finding.side
    return sentence(finding.facts, length=finding.length, side=side, sender=SENDERS[side])
