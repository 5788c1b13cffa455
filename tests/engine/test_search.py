"""The search for a frame that proves itself: every place once, none held up by another, little held back."""

from __future__ import annotations

import re

import pytest

from kdbg.exchanges.engine.search import HEADER, MAX_PENDING, Buffer, Search


class Letters:
    """Frames of this seeker are a length and capital letters; one in small letters is none; "?" waits for a "!"."""

    keep = HEADER
    looks = 0

    def judge(self, data: Buffer, start: int, size: int) -> tuple[bool | None, None]:
        return (None if start >= len(data) else data[start : start + 1].isupper()), None

    def search(self, data: Buffer, start: int) -> int | None:
        self.looks += 1
        found = re.compile(rb"\0\0[^a-zA-Z].").search(data, start)
        return found.start() if found and found.end() < len(data) else None

    def prove(self, data: Buffer, start: int, end: int, final: bool = False) -> bool | None:
        body = bytes(data[start:end])
        if body.startswith(b"?"):
            return True if data[end : end + 1] == b"!" else False if data[end : end + 1] or final else None
        return body.isalpha() and body.isupper()


@pytest.fixture
def search() -> Search:
    return Search(Letters())


def frame(body: bytes, size: int | None = None) -> bytes:
    return (len(body) if size is None else size).to_bytes(4, "big") + body


def test_the_first_frame_that_proves_itself_is_found(search: Search) -> None:
    assert search.find(b"rubbish" + frame(b"small") + frame(b"LARGE")) == 7 + 9


def test_nothing_is_found_in_nothing(search: Search) -> None:
    assert search.find(b"") is None
    assert search.find(b"rubbish " * 9) is None
    assert search.idle(b"rubbish " * 9) == 72 - HEADER


def test_a_frame_that_is_not_complete_is_waited_for(search: Search) -> None:
    data = b"rubbish" + frame(b"LAR", 5)
    assert search.find(data) is None
    assert search.idle(data) <= 7
    assert search.find(data + b"GE") == 7


def test_a_frame_that_is_not_complete_holds_up_no_other(search: Search) -> None:
    data = frame(b"LAR", 4000) + b"      " + frame(b"LARGE")
    assert search.find(data) == 13


def test_what_will_not_come_is_not_waited_for(search: Search) -> None:
    assert search.find(frame(b"LAR", 5), final=True) is None
    assert search.first > 9


def test_what_waited_for_the_bytes_behind_it_is_asked_again_where_none_follow(search: Search) -> None:
    data = frame(b"?")
    assert search.find(data) is None
    assert isinstance(search.seeker, Letters)
    search.seeker.prove = lambda data, start, end, final=False: final or None  # type: ignore[method-assign]
    assert search.find(data, final=True) == 0


def test_a_frame_may_be_proved_by_what_follows_it(search: Search) -> None:
    data = frame(b"?")
    assert search.find(data) is None
    assert search.find(data + b"!") == 0
    search.start()
    assert search.find(data) is None
    assert search.find(data + b"-") is None
    assert search.first > len(data)


def test_dropped_bytes_move_the_places(search: Search) -> None:
    data = b"rubbish" + frame(b"LAR", 5)
    search.find(data)
    search.dropped(7)
    assert search.first == 0
    assert search.find(data[7:] + b"GE") == 0


def test_every_place_is_looked_at_once(search: Search) -> None:
    data = b""
    for _ in range(100):
        data += b"rubbish\0\0\0\x02small " * 3
        search.find(data)
    assert isinstance(search.seeker, Letters)
    assert search.seeker.looks == 100 * (3 * 2 + 1), "two places in each word, and the end"


def test_places_that_wait_are_few_and_those_that_end_soon(search: Search) -> None:
    data = b"".join(frame(b"A", 60_000 - n) + b" " * 20 for n in range(2 * MAX_PENDING))
    data += frame(b"LAR", 5)
    assert search.find(data) is None
    assert search.find(data + b"GE") == len(data) - 7


def test_what_is_kept_can_be_looked_at_again(search: Search) -> None:
    data = b"rubbish" + frame(b"small")
    assert search.find(data) is None
    assert isinstance(search.seeker, Letters)
    search.seeker.prove = lambda *_: True  # type: ignore[method-assign]
    assert search.find(data) is None
    search.again(data)
    assert search.find(data) == 7
