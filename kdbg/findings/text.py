"""The sentences of findings and wire errors, made from their facts: the only place that words them.

Whoever reads a message passes facts on; only what shows something to a person comes here. Nothing takes a sentence
apart again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from . import facts as of
from .facts import Facts

if TYPE_CHECKING:
    from .finding import Finding

SENDERS = {"request": "client", "response": "broker", "": "peer"}


def text_of(finding: Finding) -> str:
    """What a finding says, with field and byte where reading stopped or a payload is meant."""
    facts = finding.facts
    if isinstance(facts, of.Stopped):
        return f"{finding.path or 'message'}: {problem_of(facts.fault)}{_at(facts.at)}"
    if isinstance(facts, of.InPayload):
        return f"{beside(finding)}{_at(finding.start) if isinstance(facts.fault, of.Stopped) else ''}"
    return finding.kind.explanation if facts is None else _sentence(facts, finding)


def beside(finding: Finding) -> str:
    """The same to stand beside the bytes: the field in front, and no byte."""
    facts = finding.facts
    if isinstance(facts, of.InPayload):
        none = f"no {facts.name}: " if facts.name else ""
        fault, whole = facts.fault, "message: " if facts.whole else ""
        said = f"{whole}{problem_of(fault.fault)}" if isinstance(fault, of.Stopped) else _sentence(fault, finding)
        return f"{finding.path}: {none}{said}"
    if isinstance(facts, of.Stopped):
        return f"{finding.path or 'message'}: {problem_of(facts.fault)}"
    return f"{finding.path}: {text_of(finding)}" if finding.path else text_of(finding)


def problem_of(facts: Facts) -> str:
    """What is wrong, without its place: facts that need no finding around them."""
    return _sentence(facts, None)


def _at(place: int | None) -> str:
    return "" if place is None else f" at byte {place} (0x{place:04x})"


def _sentence(facts: Facts, finding: Finding | None) -> str:
    words = SENTENCES[type(facts)]
    if callable(words):
        return words(facts)
    if finding is None:
        return words.format(**facts._asdict())
    sender = SENDERS[finding.side]
    return words.format(**facts._asdict(), length=finding.length, side=finding.side, sender=sender)


def count(number: int, noun: str) -> str:
    """So many of something."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _size_wrong(facts: of.SizeWrong) -> str:
    odd = facts.says - facts.follow
    wrong = f"{count(odd, 'byte')} {'is' if odd == 1 else 'are'} missing" if odd > 0 else f"{-odd:,} too many"
    follow = f"{facts.follow:,} {'follows' if facts.follow == 1 else 'follow'}"
    return f"the size says {count(facts.says, 'byte')}, {follow}: {wrong}"


def _leftover(facts: of.Leftover) -> str:
    return f"{facts.length} byte{'s' * (facts.length != 1)} left over after the message was complete"


def _too_few(facts: of.TooFewBytes) -> str:
    return f"{facts.type} wants {facts.wanted} byte{'s' * (facts.wanted != 1)}, {facts.left} left"


def _trouble(facts: of.CaptureTrouble) -> str:
    return facts.problem + (f" ({facts.times:,} times)" if facts.times > 1 else "")


SENTENCES: dict[type, str | Callable[[Any], str]] = {
    of.BytesMissing: "{length} bytes from the {sender} are missing from the capture before packet {packet}",
    of.BytesUnproved: "{length} bytes from the {sender} belong to no frame that could be proved",
    of.SizeCoversOthers: "the length of a message from the {sender} claims {length} bytes that are other messages",
    of.BrokenOff: "the {side}'s last {length} bytes cannot be read: the connection ends, or has a gap, before them",
    of.RequestUnseen: "its request was not seen; {length} bytes of body cannot be read without it",
    of.Foreign: "{protocol}; not decoded",
    of.NoRequest: "nothing in its first {length} bytes is a Kafka request",
    of.SizeWrong: _size_wrong,
    of.NoApi: "kdbg has no grammar for API key {key}; {length} bytes of body left unread",
    of.NoVersion: "kdbg has no grammar for version {version} of {api}; {length} bytes of body left unread",
    of.NoSide: "kdbg has no grammar for {side}s of version {version} of {api}; {length} bytes of body left unread",
    of.KnownForm: "this is {name}",
    of.Leftover: _leftover,
    of.Prose: "{problem}",
    of.TooFewBytes: _too_few,
    of.NoBoolean: "BOOLEAN is 0 or 1, here {value}",
    of.LongVarint: "{value} written in {length} bytes",
    of.NullForbidden: "{type} must not be null",
    of.NotUtf8: "{type} is not valid UTF-8",
    of.TagBehind: "tag {tag} after tag {last}",
    of.TagUnknown: "tag {tag}, {length} bytes",
    of.ChecksumWrong: "the {of} says {algorithm} 0x{says:08x}, its bytes give 0x{gives:08x}",
    of.EndsInBatch: "the record set ends inside a batch",
    of.NoEntry: "neither a batch nor a message",
    of.EntryCut: "the file ends inside {what}: {left:,} of {size:,} bytes are there",
    of.Zeros: "{length:,} bytes of zero",
    of.NoLogEntry: "{length:,} bytes that are no batch and no message",
    of.CountWrong: "{says} lines are announced, {follow:,} follow",
    of.NoLine: "no line of a {title}",
    of.Behind: "{name} {number} behind {before}: {growing} only grow",
    of.EndsBehind: "last_offset {offset} behind {before}: transactions end one by one",
    of.CaptureTrouble: _trouble,
}
"""By the facts, a pattern over their values and `length`, `side` and `sender` of the finding; or what makes it."""
