"""Bytes of which little or nothing is known go in; what they may be comes out, the likeliest first.

A request is known by its header. Nothing in a response says what it answers: every layout that reads it to its last
byte is a guess, and messages/score.py says which of them makes the most sense. Record sets and SASL tokens that stand
alone are known too. No I/O.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ...errors import Truncated
from ...protocol.grammars import find
from ...protocol.wire import Api
from ...protocol.wire.language import Direction
from ...protocol.wire.nodes import WireStruct
from ..engine.foreign import looks_like
from ..engine.requests import RequestHeader, read_header
from ..engine.search import MAX_FRAME
from ..messages.message import explain, forms, grammar_of, header_grammar, read, readings
from ..messages.score import number, rarity
from ..messages.secrets import has_records
from ..messages.weigh import weigh
from .candidates import (
    CUT,
    LARGEST,
    SMALLEST,
    UNREAD,
    Candidate,
    Extent,
    Guess,
    Hints,
    messages,
    says_cut,
    subject,
    weigh_all,
    weigh_candidate,
)
from .structures import Reason, known_headerless, signed

MOST_LEFT = 16
"""A layout that leaves no more bytes than this unread is worth a guess where none reads them all."""
SMALL = 1 << 16
"""Bytes that are few enough to be read slowly by every layout."""
UNSIZED, STRAY, OTHER_FORM = 16.0, 24.0, 12.0
"""Bits for a message that has no size, whose size ends among the bytes, that is laid out in another form than its
version's own."""


SENSE, LITTLE = 5.0, 16.0
"""Bits for each byte, and beside these, that a message makes sense with."""
PROVED = 16.0
"""Bits that a key, a version and a client id are worth which are all known."""
ZEROS = 8.0
"""Bits for zeros after a message, however many."""
MOST_ASKED, LONGEST_CLIENT_ID = 1 << 24, 255
"""Requests of a connection, and bytes of a client id, that are likely."""
Asked = Mapping[int, tuple[Api, int]]
"""Requests seen before, by their correlation id: (api, version)."""
Layout = tuple[Api, int, Direction]
"""What lays bytes out: an API in a version and a direction."""
Reading = tuple[tuple[WireStruct, WireStruct], Any, int]
"""What a layout makes of bytes: the grammars and values of header and body, and where it ended."""
NOTHING, NOBODY = Hints(), dict[int, tuple[Api, int]]()


def infer(data: bytes, told: Hints = NOTHING, asked: Asked = NOBODY) -> list[Guess]:
    """Return guesses what the bytes begin with, likeliest first; none where nothing fits.

    `told` is what the user said of the bytes; if nothing, bytes that look like another protocol, or are all the same,
    get no guess. `asked` are the requests seen before.
    """
    if told.nothing and (looks_like(data) or is_fill(data)):
        return []
    if not told.header:
        place = Extent(0, len(data), None, 0.0)
        found = _joined(_fits(data, place, messages(told), told))
    else:
        found = [] if told.api or told.direction else _alone(data, told)
        if not any(_settled(guess, data) for guess in found) and told.direction != "response":
            found += list(_requests(data, told))
        plain = [guess for guess in found if guess.plain]
        if plain:
            return _ranked(plain, told)
        if not any(_settled(guess, data) and guess.api.key for guess in found) and told.direction != "request":
            found += (_answers(data, asked) if told.nothing else []) or _responses(data, told)
    suits = len(data) <= LARGEST and (len(data) >= SMALLEST or not told.nothing)
    asked_for = told.direction != "request" and (told.api is None or told.cut)
    if suits and asked_for and not any(_settled(guess, data) for guess in found):
        more = weigh_all(data, list(places(data, cut=told.cut)) if told.header else [place], told)
        same = {(one.api, one.direction, one.start, one.header) for one in more}  # what weighs goes before what reads
        found = [
            one
            for one in found
            if (one.api, one.direction, one.start, one.header) not in same or one.reason is Reason.HEADER
        ] + more
    if not found and told.api is not None:  # what the user asked for though none fits: the further it reads, the better
        for here in places(data) if told.header else [Extent(0, len(data), None, 0.0)]:
            for layout in messages(told):
                reached = explain(*layout, data[here.start : here.end], header=told.header)[1].end
                cost = UNREAD + 8.0 * (here.end - here.start - reached)
                found.append(_guess(here, layout, cost, Reason.FURTHEST, header=told.header))
    found = [_proved(data, guess) if guess.reason is Reason.WHOLE else guess for guess in found]
    return _ranked([guess for guess in found if guess.exact or told.api or not _is_nonsense(guess, told)], told)


def is_fill(data: bytes) -> bool:
    """Return whether bytes are one byte over and over, as of memory that nobody wrote.

    A few zeros may be a message: a response with correlation id 0 and without an error.
    """
    return len(data) > (1 if any(data[:1]) else 16) and data.count(data[:1]) == len(data)


def _settled(guess: Guess, data: bytes) -> bool:
    """Return whether a guess makes so much sense that nothing else need be tried."""
    if guess.reason is Reason.WHOLE:
        return guess.exact and not guess.faults and guess.score <= SENSE * len(data) + LITTLE
    if guess.reason is Reason.HEADER:
        return guess.exact
    return guess.reason not in (Reason.LEFT_OVER, Reason.CUT) and not (guess.reason is Reason.STRUCTURE and guess.cut)


def _proved(data: bytes, guess: Guess) -> Guess:
    """Return a guess that was weighed, as not exact where what it holds is not sound: a record set's checksum."""
    if not guess.exact or not has_records(grammar_of(guess.api, guess.version, guess.direction)):
        return guess
    message = read(guess.api, guess.version, guess.direction, data[guess.start : guess.end], header=guess.header)
    return replace(guess, exact=not any(finding.kind.is_error for finding in message.findings))


def _ranked(found: list[Guess], told: Hints) -> list[Guess]:
    """Return the guesses sorted by score, each with its likelihood."""
    if told.api is not None:
        reason = Reason.GIVEN_API if told.version is None else Reason.GIVEN
        found = [guess if guess.reason is Reason.HEADER else replace(guess, reason=reason) for guess in found]
    for place, guess in enumerate(found):
        if not (guess.reason is Reason.HEADER and guess.exact):
            found[place] = replace(guess, score=guess.score + 24.0 * guess.faults)  # for what no peer would write
    found = sorted(found, key=lambda guess: (guess.score, -guess.version))
    weights = [2.0 ** max(found[0].score - guess.score, -1000.0) for guess in found]
    return [replace(guess, likelihood=weight / sum(weights)) for guess, weight in zip(found, weights, strict=True)]


def _is_nonsense(guess: Guess, told: Hints) -> bool:
    """Return whether a response takes so many bits that the bare bytes would be the better explanation."""
    if guess.reason is Reason.CUT and guess.size is None and not told.cut:
        return guess.score > UNREAD + SENSE * (guess.end - guess.start)
    return guess.direction == "response" and guess.score > UNREAD + 8.0 * (guess.end - guess.start)


def places(data: bytes, *, cut: bool = False) -> Iterator[Extent]:
    """Yield where a message may stand: after its size, and from the first byte on; `cut`: more bytes followed."""
    size, length = signed(data, 0), len(data) - 4
    if 4 <= size <= MAX_FRAME and length >= 4:
        end, count = frame_run(data)
        chained = count > 1 and end == len(data)
        odd = 0.0
        if cut and size > length:
            odd = number(size) / 2
        elif size != length and not chained:
            left, spare = data[4 + size :], 8.0 * max(length - size, 0)
            odd = STRAY + number(size) + (spare if any(left) else min(spare, ZEROS))  # the rest of a buffer is zeros
        yield Extent(4, min(4 + size, len(data)), size, odd)
    yield Extent(0, len(data), None, UNSIZED + UNREAD * (size == length))


def frame_run(data: bytes, start: int = 0) -> tuple[int, int]:
    """Return where the run of complete frames that begins at `start` ends, and how many they are."""
    end, count = start, 0
    while 4 <= signed(data, end) <= len(data) - end - 4:
        end, count = end + 4 + signed(data, end), count + 1
    return end, count


def _requests(data: bytes, told: Hints) -> Iterator[Guess]:
    """Yield guesses for requests, by their header; the body is read to see whether it ends where it should."""
    for place in places(data, cut=told.cut):
        size = place.end - place.start if place.size is None else place.size
        accepted, head = read_header(data[: place.end], place.start, size)
        if head is None and (accepted is None if place.size is not None else ends_in_client_id(data, place.start)):
            key, version = signed(data, place.start) >> 16, signed(data, place.start) & 0xFFFF
            api = find(key) if key else None
            if api is not None and api.reads("request", version):  # cut off inside its header
                head = RequestHeader(api, version, signed(data, place.start + 4), None, True)
        if head is None or (told.api is not None and told.api.key != head.api.key):
            continue
        layout: Layout = head.api, head.version if told.version is None else told.version, "request"
        fits = [guess for guess, _ in _fits(data, place, [layout], told)] if head.known else []
        client = names_client(head) or head.api.key != 0
        plain = names_client(head) and head.known and head.api.key != 0
        for guess in fits:
            proof = (PROVED + 2 * UNREAD / 3 * (guess.reason is Reason.LEFT_OVER)) * names_client(head)
            yield replace(guess, reason=Reason.HEADER, client=client, plain=plain, score=guess.score - proof)
        if not fits:
            yield replace(_broken(data, place, layout, head, told), plain=plain)


def _broken(data: bytes, place: Extent, layout: Layout, head: RequestHeader, told: Hints) -> Guess:
    """Return the guess for a request that breaks off: a likely one if the bytes end before the message does.

    The first half of a response's correlation id is often the key of Produce, so that needs more than a header.
    """
    frame = data[place.start : place.end]
    client, cut = names_client(head), says_cut(frame, place, told)
    begun = place.size is None and head.client_id is None and ends_in_client_id(data, place.start)
    nodes = header_grammar(*layout), grammar_of(*layout)
    most = place.score + rarity(head.api) + UNREAD + CUT + 12.0 * len(frame)
    guess = weigh_candidate(data, place, Candidate(*layout, True, nodes, rarity(head.api)), told, most)
    if guess is not None and (head.client_id or (guess.cut and (cut or begun))):
        weak = guess.cut and not head.client_id and place.size is None and not begun
        bits = 12.0 * weak - PROVED * (begun or client)
        bits += 40.0 * (not client and head.api.key == 0)  # half of a correlation id is often 0
        bits -= 2 * UNREAD / 3 * (guess.reason is Reason.LEFT_OVER)
        return replace(guess, score=guess.score + bits, reason=Reason.HEADER, exact=False, client=client)
    inspection = explain(*layout, frame)[1]
    cut = cut and isinstance(inspection.broken, Truncated)
    doubt = (3.0 if client or head.api.key else 8.0) * len(frame)
    if not cut:
        doubt += UNREAD / (3 if client else 1) + 8.0 * (len(frame) - inspection.end)
        doubt += (UNREAD + 4.0 * len(frame)) * (not head.client_id or head.api.key == 0)
    guess = _guess(place, layout, doubt, Reason.HEADER)
    return replace(guess, cut=cut, faults=int(head.known or cut), client=client)


def _answers(data: bytes, asked: Asked) -> list[Guess]:
    """Return the likeliest response to a request seen before with the same correlation id; none if there is none."""
    for place in places(data):
        correlation_id = signed(data, place.start)
        if correlation_id in asked:
            found = infer(data[: place.end], Hints(*asked[correlation_id], "response"))
            return [replace(guess, reason=Reason.CORRELATION_ID) for guess in found[:1]]
    return []


def _responses(data: bytes, told: Hints) -> list[Guess]:
    """Return responses that fit to the last byte; if there are none, those that leave few bytes or have odd values."""
    found: list[Guess] = []
    for slowly in (False, True)[: 1 + (len(data) <= SMALL)]:
        for place in places(data):
            found += _joined(_fits(data, place, messages(told, ("response",)), told, slowly=slowly))
        if exact := [guess for guess in found if guess.exact]:
            return exact
    return found


def _guess(place: Extent, layout: Layout, score: float, reason: Reason, *, header: bool = True) -> Guess:
    """Return a guess that is not exact."""
    api, version, direction = layout
    return Guess(
        api, version, direction, place.start, place.end, place.score + rarity(api) + score, reason, place.size,
        header, False, (version,),
    )  # fmt: skip


def _fits(
    data: bytes, place: Extent, tried: Iterable[Layout], told: Hints, *, slowly: bool = False
) -> Iterator[tuple[Guess, Any]]:
    """Yield (guess, what was read) for each message whose layout reads the bytes, or nearly all of them.

    `slowly` accepts values that no peer should write: a checksum that is wrong, a null where none may be.
    """
    frame = data[place.start : place.end]
    ends = {len(frame), *range(max(len(frame), 2 * MOST_LEFT + 1) - MOST_LEFT, len(frame))}
    for layout in tried:
        if len(frame) <= SMALL and not any(form.end(frame) in ends for form in forms(*layout, told.header, False)):
            continue  # as most do, so that few readers are compiled
        for nodes, value, end in _readings(layout, frame, told.header, slowly):
            if end in ends:
                bits = OTHER_FORM * (nodes[1] is not grammar_of(*layout)) + UNREAD * slowly
                candidate = Candidate(*layout, told.header, nodes, bits + rarity(layout[0]))
                guess = weigh_candidate(data, place, candidate, told, math.inf)
                if guess is None or guess.cut:  # it can be read, though not by what weighs it
                    left = len(frame) - end
                    bits += 8.0 * end + 2 * UNREAD + (UNREAD + 8.0 * left) * (left > 0)
                    reason = Reason.LEFT_OVER if left else Reason.WHOLE
                    guess = replace(_guess(place, layout, bits, reason, header=told.header), faults=2)
                    guess = replace(guess, exact=not left and place.size in (None, len(frame)))
                yield replace(guess, exact=guess.exact and not slowly), value
                break


def _readings(layout: Layout, frame: bytes, header: bool, slowly: bool) -> Iterator[Reading]:
    """Yield what the forms of a layout make of bytes."""
    if not slowly:
        for form, head, body, end in readings(forms(*layout, header, False), frame):
            if form.admits(body):
                yield (form.header, form.grammar), (head, body), end
        return
    grammar, inspection = explain(*layout, frame, header=header)
    if inspection.broken is None and inspection.end == len(frame):
        front = forms(*layout, header, False)[0].header
        yield (front, grammar), (inspection.header, inspection.value), inspection.end


def _joined(fits: Iterable[tuple[Guess, Any]]) -> list[Guess]:
    """Return the guesses, with versions of one API that read the same as one guess, the newest."""
    groups: list[tuple[Guess, Any]] = []
    for guess, value in fits:
        last, same = groups[-1] if groups else (guess, NOTHING)
        if same == value and subject(last) == subject(guess) and last.start == guess.start:
            groups.pop()
            guess = replace(guess, versions=last.versions + guess.versions)
        groups.append((guess, value))
    return [guess for guess, _ in groups]


def _alone(data: bytes, told: Hints) -> list[Guess]:
    """Return the guess for a record set or a SASL token without a header, with or without a size in front."""
    for place in places(data):
        found = known_headerless(data[place.start : place.end]) if place.score <= UNSIZED else None
        if found is not None:
            exact = not found.cut and found.mended is None
            guess = _guess(place, (found.api, 0, "request"), 0.0, found.reason, header=False)
            guess = replace(guess, exact=exact, cut=found.cut, mended=found.mended, doubts=found.doubts)
            if found.cut:
                frame = data[guess.start : guess.end]
                weight = weigh([grammar_of(guess.api, 0, "request")], frame, 0, math.inf)
                bits = weight.bits if weight is not None else 8.0 * len(frame)
                bits += CUT * (not told.cut) - PROVED
                guess = replace(guess, score=bits, faults=min(len(guess.doubts), 1))
            return [guess]
    return []


def names_client(head: RequestHeader) -> bool:
    """Return whether a header has a client id that a user may have chosen."""
    return head.client_id is not None and len(head.client_id) > 1 and head.client_id.isprintable()


def ends_in_client_id(data: bytes, start: int) -> bool:
    """Return whether bytes may be a request's header up to some byte of its client id, which is text as far as it goes.

    The correlation id has to be one that clients come to: it is all that tells a header from a response's beginning.
    """
    length, text = data[start + 8 : start + 10], data[start + 10 :]
    if len(data) - start < 10 or not 0 <= signed(data, start + 4) < MOST_ASKED:
        return False
    return len(text) < int.from_bytes(length, "big") <= LONGEST_CLIENT_ID and all(32 <= byte < 127 for byte in text)
