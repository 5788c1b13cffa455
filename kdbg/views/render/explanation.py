"""Given bytes, explained: what is in each piece of them, by its likeliest guess, as hexdump, tree or JSON.

Each function takes a piece and gives text (or a line of JSON), and whether all of it could be explained. The mistake in
a message has lines of its own: what it is, where, and the bytes as they should be.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.pasted.literals import Take
from ...analysis.pasted.search import Bare
from ...exchanges.engine.foreign import recognise
from ...exchanges.guess.candidates import LARGEST, Guess, Sure, sureness
from ...exchanges.guess.infer import is_fill
from ...exchanges.guess.pieces import GuessedSpan
from ...exchanges.guess.structures import Alone, Reason
from ...exchanges.messages.message import Message, carries_secrets, grammar_of, header_grammar, read
from ...exchanges.messages.payloads import open_payloads
from ...exchanges.mistakes.search import Mistake
from ...protocol.findings import Finding
from ...protocol.findings.amounts import count
from ...protocol.findings.quirks import Sure as MistakeSure
from ...protocol.findings.text import FRAME, Origin
from ...protocol.grammars import api
from ...protocol.wire.readings.layout import walk
from ...protocol.wire.readings.outline import ALWAYS
from .columns import aligned, paragraph
from .findings import finding_line, finding_object, note
from .hex.hexdump import hexdump, plain_hexdump, size_finding
from .style import COLOUR, Look
from .tree.tree import Tree
from .values import escape, quote
from .without_values import shown_body

PER_LINE = 16
MOST = 24
"""Lines of bytes."""


INCOMPLETE = (
    "The message is too long to search it for all mistakes: kdbg tries changes in up to 60,000 fields and 1 MiB."
)


def offset_of(piece: GuessedSpan, mistake: Mistake) -> int:
    """Return the byte of a mistake, counted from the first one of the input, as `explain` counts them."""
    return piece.start + (piece.guesses[0].start if piece.guesses else 4) + mistake.start


def _corrected(mistake: Mistake, look: Look) -> bytes:
    """Return the corrected message; nothing where it may hold secrets that are not to be shown."""
    secret = carries_secrets(grammar_of(api(mistake.api), mistake.version, mistake.direction))
    return b"" if secret and not look.show_secrets else mistake.corrected


def mistake_members(piece: GuessedSpan, look: Look) -> dict[str, Any]:
    """Return the members of a piece's JSON object for its mistakes: the first, and the others if there are any."""
    objects = [
        {
            "kind": one.kind, "certainty": one.sure.value, "path": one.path, "offset": offset_of(piece, one),
            "length": one.length, "actual": one.actual, "expected": one.expected, "text": one.text,
            "corrected": _corrected(one, look) or None,
        }
        for one in piece.mistakes
    ]  # fmt: skip
    return {**({"mistake": objects[0]} if objects else {}), **({"more_mistakes": objects[1:]} if objects[1:] else {})}


def mistake_lines(piece: GuessedSpan, look: Look) -> list[str]:
    """Return the mistakes in a piece, and the corrected bytes; none where there is none."""
    if not piece.mistakes:
        return [] if piece.examined else ["", *_wrapped(INCOMPLETE, look)]
    lines = [""]
    for one in piece.mistakes:
        lines += _wrapped(f"Mistake at byte 0x{offset_of(piece, one):04x}: {escape(one.text)}.", look)
    *_, data = b"", *filter(None, (_corrected(one, look) for one in piece.mistakes))
    if not data:
        return lines
    rows = [f"{at:04x}  {data[at : at + PER_LINE].hex(' ')}" for at in range(0, len(data), PER_LINE)]
    more = [f"… {count(len(rows) - MOST, 'more line')}"] if len(rows) > MOST and not look.full else []
    return [*lines, "Corrected bytes:", *(rows if look.full else rows[:MOST]), *more]


CHOOSE = "To choose another: --api {} --version {} --{}"
HINT = "If you know the type, pass --api and --response (or --request) to decode as far as possible."
TOO_MANY = (
    f"kdbg did not compare these bytes with truncated messages or messages without a header: the limit is "
    f"{LARGEST:,} bytes."
)
FILLED = "The same byte throughout is a value such as -1 or null, or memory that a program did not write."
ALONE = {"RecordSet": "Record set", "SaslToken": "SASL token"}
REST = "the rest of a buffer"
BECAUSE = {
    Reason.CORRELATION_ID: "it is the response to the request with correlation id {correlation_id}",
    Reason.CHECKSUM: "its checksum is right",
    Reason.STRUCTURE: "magic and lengths match a record batch",
    Reason.TOKEN: "it looks like a SASL token",
}
MOST_FITS, MOST_NEAR = 12, 4
NEAR = 24.0
"""Bits: what is less likely by more is not named."""


class Explained:
    """The likeliest guess about a piece, read."""

    def __init__(self, data: bytes, piece: GuessedSpan) -> None:
        self.guess: Guess = piece.guesses[0]
        self.offset: int = piece.start
        self.length: int = piece.end - piece.start
        guess = self.guess
        self.frame: bytes = data[piece.start + guess.start : piece.start + guess.end]
        message = read(guess.api, guess.version, guess.direction, self.frame, header=guess.header)
        self.message: Message = open_payloads(message, self.frame)
        odd = size_finding(guess.size, len(self.frame)) if guess.size is not None else None
        self.findings: list[Finding] = [*([odd] if odd else []), *self.message.findings]
        near = [other for other in piece.guesses[1:] if guess.score + NEAR > other.score]
        self.others: list[Guess] = [other for other in piece.guesses[1:] if other.exact] if guess.exact else near
        self.sure: Sure = sureness(piece.guesses)
        self.clean: bool = not any(finding.kind.is_error for finding in self.findings)
        unknown = sum(finding.length for finding in self.findings if finding.kind.unread)
        self.explained: int = self.length - max(self.message.unexplained, unknown)

    @property
    def origin(self) -> Origin:
        """What the bytes of its findings are counted from: the first of the input, as those of the hexdump."""
        first = self.offset + self.guess.start
        return FRAME if first == FRAME.first else Origin(first, "input")

    @property
    def broken(self) -> Finding | None:
        """The finding that kept the message from being read to its end; None if it was read."""
        breaks = [finding for finding in self.message.findings if finding.kind.breaks]
        return breaks[-1] if breaks and self.message.unexplained else None

    def heading(self, look: Look) -> str:
        """Return the heading: what the message is, whose, how much is explained; on a terminal in lines that fit it."""
        words = [look.paint("heading", name_of(self.guess))]
        words += [self.sure.value] if self.sure is not Sure.CERTAIN else []
        header = self.message.header or {}
        if "correlation_id" in header:
            words.append(f"correlation id {header['correlation_id']}")
        if header.get("client_id") is not None:
            words.append(f"client {quote(header['client_id'], 60)}")
        size = count(self.length, "byte")
        whole, guess_cut = self.explained == self.length, self.guess.cut
        if guess_cut:
            more = None if self.guess.size is None else self.guess.size + 4  # with its size
            if more is None and self.guess.reason is Reason.STRUCTURE:
                more = int.from_bytes(self.frame[8:12], "big") + 12
            words.append(
                f"cut off after {size}" if more is None else f"cut off: {self.length:,} of {count(more, 'byte')}"
            )
        elif whole and self.guess.faults:
            words.append(f"{size} decoded, {count(self.guess.faults, 'implausible value')}")
        else:
            words.append(f"{size} decoded" if whole else f"{self.explained:,} of {size} decoded")
        problems = sum(finding.kind.is_error and not (guess_cut and finding.kind.cut) for finding in self.findings)
        if (whole or guess_cut) and problems:
            words.append(look.paint("bad", count(problems, "problem")))
        lines = words[:1]
        for word in words[1:]:
            longer = f"{lines[-1]} · {word}"
            lines[-1:] = [longer] if look.full or len(COLOUR.sub("", longer)) <= look.width else [lines[-1], word]
        return "\n".join(lines)

    def why(self) -> str:
        """Return why the bytes are taken for this message; "" where its header, or the user, says so."""
        guess, others = self.guess, len(self.others)
        if guess.mended is not None:
            wrong = guess.mended
            return (f"Probably a record batch: {wrong.path} (byte {self.offset + guess.start + wrong.start}) is "
                    f"{wrong.says:,}, and {wrong.should:,} matches magic, length and checksum.")  # fmt: skip
        if guess.reason in (Reason.HEADER, Reason.GIVEN):
            return ""
        if guess.reason in BECAUSE:
            because = BECAUSE[guess.reason].format(**(self.message.header or {}))
            doubts = f" Implausible {' and '.join(guess.doubts)}." if guess.doubts else ""
            unsure = " Its checksum covers bytes that are missing." if guess.cut else ""
            return f"Identified because {because}.{unsure}{doubts}"
        unsaid = "A response does not carry its API" if guess.header else "A body does not carry its API"
        if guess.reason is Reason.GIVEN_API:
            unsaid = f"A {guess.direction if guess.header else 'body'} does not carry its version"
        if isinstance(guess.api, Alone):
            unsaid = "The bytes carry no type information"
        if guess.cut:
            return f"{unsaid}; this layout fits the available bytes best."
        if not guess.exact:
            return f"{unsaid}, and no layout decodes these bytes without errors; this one comes closest."
        if not others:
            return f"{unsaid}; only this layout decodes all bytes."
        return f"{unsaid}; {others + 1} layouts decode all bytes; this one ranks first."

    def fits(self, look: Look) -> list[str]:
        """Return lines with the other layouts that fit, and the options that choose one; none if nothing else fits."""
        if not self.others or (self.sure is Sure.CERTAIN and not self.guess.exact):
            return []
        most = MOST_FITS if self.guess.exact else MOST_NEAR
        shown = self.others if look.full else self.others[:most]
        names = ", ".join(map(name_of, shown)) + (f", … {len(self.others) - len(shown)} more" * (shown != self.others))
        other = self.others[0]
        choose = CHOOSE.format(other.api.name, other.version, other.direction) + " --no-header" * (not other.header)
        return ["", *_wrapped(f"Also possible: {names}", look), *_wrapped(choose, look)]


def name_of(guess: Guess) -> str:
    """Return API, direction and version of a guess, or all versions that read the same: `v1–v3, v5`."""
    runs: list[list[int]] = []
    for version in sorted(guess.versions or (guess.version,)):
        if runs and runs[-1][-1] == version - 1:
            runs[-1][1:] = [version]
        else:
            runs.append([version])
    versions = ", ".join("–".join(f"v{version}" for version in run) for run in runs)
    title = guess.api.title if isinstance(guess.api, Alone) else ALONE.get(guess.api.name, "")
    if title:
        return title.format(versions=versions)
    return f"{guess.api.name} {guess.direction} {versions}" + ", body only" * (
        not guess.header and guess.reason not in (Reason.GIVEN, Reason.GIVEN_API)
    )


def hex_text(data: bytes, piece: GuessedSpan, look: Look) -> tuple[str, bool]:
    """Return the heading and the explained hexdump of a piece, and whether it was read without errors."""
    if not piece.guesses:
        return _unknown(data, piece, look), piece.empty
    found = Explained(data, piece)
    lines = [found.heading(look), *_dim(found.why(), look), "", *_dump(found, look)]
    mistake = mistake_lines(piece, look)
    return "\n".join([*lines, *mistake, *_abouts(found, look), *found.fits(look)]) + "\n", found.clean


def _dump(found: Explained, look: Look, *, tail: bool = False) -> list[str]:
    guess = found.guess
    return hexdump(
        found.frame, guess.api, guess.version, guess.direction, look, ALWAYS, size=guess.size, header=guess.header,
        offset=found.offset, tail=tail, text=None if not look.full else False,
    )  # fmt: skip


def _abouts(found: Explained, look: Look) -> list[str]:
    """Return what a user's definition says of each field, if everything is wanted and it is not shown already."""
    if look.meanings or not (look.full and found.guess.api.given):
        return []
    rows = [(path, escape(field.about)) for path, field, _ in walk(found.message.grammar) if field.about]
    return ["", *aligned(rows, look, ("name", "dim"))] if rows else []


def tree_text(data: bytes, piece: GuessedSpan, look: Look) -> tuple[str, bool]:
    """Return the heading and the fields of a piece as a tree, and whether it was read without errors.

    Where the message breaks off, the bytes around that place follow.
    """
    if not piece.guesses:
        return _unknown(data, piece, look), piece.empty
    found = Explained(data, piece)
    message, tree = found.message, Tree(look, ALWAYS)
    tree.lines += [found.heading(look), *_dim(found.why(), look)]
    body = shown_body(message, look)
    if message.header is not None:
        header = header_grammar(found.guess.api, found.guess.version, found.guess.direction)
        tree.struct(header)(message.header, f"{tree.mid}{look.paint('heading', 'header')}", tree.mid_below)
    tree.struct(message.grammar)(body, f"{tree.last}{look.paint('heading', 'body')}", tree.last_below)
    broken = found.broken
    tree.lines += [finding_line(one, look, found.origin) for one in found.findings if one is not broken]
    tree.lines += ["", *_dump(found, look, tail=True)] if broken else []
    tree.lines += mistake_lines(piece, look)
    tree.lines += [*_abouts(found, look), *found.fits(look)]
    return tree.take(), found.clean


def json_line(data: bytes, piece: GuessedSpan, look: Look) -> tuple[bytes, bool]:
    """Return a piece as one line of JSON, and whether it was read without errors."""
    from .jsonlines import dump, json_body  # and with them orjson

    inside = data[piece.start : piece.end]
    if not piece.guesses:
        known = recognise(inside)
        notes = [f"looks like {known.what}", known.advice] if known else [REST if piece.empty else "no layout fits"]
        unknown = {"api": None, "offset": piece.start, "bytes": inside, "notes": notes}
        return dump(unknown | mistake_members(piece, look)), piece.empty
    found = Explained(data, piece)
    guess, message, origin = found.guess, found.message, found.origin
    return dump({
        "api": guess.api.name, "api_key": guess.api.key if guess.api.key >= 0 else None, "version": guess.version,
        "versions": guess.versions, "direction": guess.direction, "offset": piece.start, "size": guess.size,
        "header": message.header, "body": json_body(message, look),
        "confidence": found.sure.value,
        "notes": [*filter(None, [found.why()]), *(note(one, origin) for one in found.findings)],
        "findings": [finding_object(one, origin) for one in found.findings],
        "fits": [{
            "api": one.api.name, "versions": one.versions, "direction": one.direction,
            "likelihood": float(f"{one.likelihood:.3g}"),
        } for one in found.others],
        **mistake_members(piece, look),
    }, show_secrets=look.show_secrets), found.clean  # fmt: skip


def _unknown(data: bytes, piece: GuessedSpan, look: Look) -> str:
    """Return the text for bytes that are no known message: what can be said of them, and a plain hexdump."""
    inside = data[piece.start : piece.end]
    known, size = recognise(inside), count(len(inside), "byte")
    if piece.empty:
        return look.paint("dim", f"{size} of zeros follow: {REST}") + "\n"
    if piece.mistakes:
        wrong = piece.mistakes[0]
        probably = "" if wrong.sure is MistakeSure.CERTAIN else "probably "
        message = f"{wrong.api} {wrong.direction} v{wrong.version}"
        said = [look.paint("heading", f"{size}, {probably}a {message} with a mistake")]
    elif is_fill(inside) and len(inside) == len(data):
        said = [look.paint("heading", f"{size}, all {inside[0]:02x}: not a message"), *_wrapped(FILLED, look)]
    elif known:
        said = [look.paint("heading", f"{size} that look like {known.what}"), *_wrapped(known.advice, look)]
    elif len(inside) < len(data):
        said = [look.paint("heading", f"{size} outside any message")]
    else:
        said = [look.paint("heading", f"{size} that do not match a known layout"), *_wrapped(HINT, look)]
        said += _wrapped(TOO_MANY, look) if len(inside) > LARGEST else []
    mistake = mistake_lines(piece, look)
    return "\n".join([*said, "", *plain_hexdump(inside, look, piece.start), *mistake]) + "\n"


def _wrapped(text: str, look: Look) -> list[str]:
    return paragraph(text, look.width)


def _dim(text: str, look: Look) -> Sequence[str]:
    return [look.paint("dim", line) for line in _wrapped(text, look)]


def alone(takes: Sequence[Take], bare: Bare | None) -> bool:
    """Return whether what was given is bytes and nothing else, so that nobody need be told what was taken."""
    (first, *others) = takes
    return not others and not first.cut and not first.lost and first.odd < 0 and (
        bare is None or (not bare.text[: first.start].strip() and not bare.text[first.end :].strip())
    )  # fmt: skip


def input_line(take: Take, bare: Bare, look: Look) -> str:
    """Return what was taken: where it stands, in which form, how many bytes, and what is wrong with it."""
    where = f"Taken from {bare.place(take.start)} to {bare.place(take.end)}"
    words = [where, take.form, count(len(take.data), "byte")]
    if take.cut:
        more = f", {take.more:,} more are missing" if take.more is not None else ""
        words.append(f"truncated there{more}")
    said = [look.paint("dim", " · ".join(words))]
    if take.lost:
        lost = f"✗ {count(take.lost, 'character')} U+FFFD: bytes were lost in a conversion to text; ff replaces each"
        said.append(look.paint("bad", lost))
    if take.odd >= 0:
        byte = (take.odd - 1) // 2
        odd = f"✗ an odd number of hex digits: one is missing at digit {take.odd}, byte 0x{byte:04x}; decoded as 0"
        said.append(look.paint("bad", odd))
    if take.parted >= 0:
        parted = f"! a space inside a byte, after an odd number of hex digits ({take.parted}), was ignored"
        said.append(look.paint("note", parted))
    return "\n".join(said) + "\n"
