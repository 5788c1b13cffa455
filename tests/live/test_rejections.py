"""Requests with a mistake: the mock does what a broker does, and says what is wrong."""

from __future__ import annotations

import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import kdbg
from kdbg.exchanges.messages.known import Known
from kdbg.live.embedded import RunningMock
from kdbg.live.mocking.answers import Answers
from kdbg.live.mocking.rejections import header_of, read_request, rejections, text_beside

from .malformed import CLOSED, MISTAKES, PROBLEMS, SILENT, VALID, batch, end_of, produce, sent
from .test_mocking import recording

CAPTURES = Path("captures")
REAL = recording("real-4.4.0-new-group")
SHORT = 0.05
"""Seconds after which a mock that sent nothing sends nothing."""


@pytest.fixture(scope="module")
def mock() -> Iterator[RunningMock]:
    with kdbg.mock(CAPTURES / "real-4.4.0-new-group.pcap") as mock:
        yield mock


def address(mock: RunningMock) -> tuple[str, int]:
    host, port = mock.address.split(",")[0].rsplit(":", 1)
    return host, int(port)


def listed(mock: RunningMock, before: int, wanted: bool) -> bool:
    """Whether something was added to the problems; what is wanted may come when the connection has ended."""
    end = time.monotonic() + 5
    while wanted and len(mock.problems) == before and time.monotonic() < end:
        time.sleep(0.01)
    return len(mock.problems) > before


def test_the_mock_does_what_a_broker_does_with_each_mistake(mock: RunningMock) -> None:
    wrong = []
    for one in MISTAKES:
        before = len(mock.problems)
        found = end_of(one.data, sent(address(mock), one.data, SHORT if one.end == SILENT else 5))
        if (found, listed(mock, before, one.name not in VALID)) != (one.end, one.name not in VALID):
            wrong.append((one.name, found, mock.problems[before:]))
    assert wrong == []


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (produce(batch(last=2)), "the last offset delta of the batch is 2, expected 1; a broker responds with INVALID"),
        (produce(batch(base=5)), "the base offset of the batch is 5, expected 0; a broker responds with INVALID"),
        (produce(batch(), acks=2), "acks is 2, expected -1, 0 or 1; a broker responds with INVALID_REQUIRED_ACKS"),
        (produce(batch(crc=lambda rest, before: 0)), "a broker responds with CORRUPT_MESSAGE"),
        (produce(batch(), version=99), "the broker does not support the API, or its version; a broker closes"),
        (produce(batch(), end=b"\0\0\0"), "3 trailing bytes after the last field; a broker accepts it"),
    ],
)  # fmt: skip
def test_a_problem_says_what_is_wrong_and_what_a_broker_does(mock: RunningMock, data: bytes, words: str) -> None:
    before = len(mock.problems)
    sent(address(mock), data, 5)
    (line,) = mock.problems[before:]
    assert line.startswith("Produce v")
    assert "client mistaken, correlation id 7" in line
    assert words in line


@pytest.mark.parametrize("line", PROBLEMS.strip().splitlines(), ids=lambda line: line.partition(" ")[0])
def test_the_line_of_a_problem(line: str) -> None:
    name, _, text = line.partition(" | ")
    data = next(one.data for one in MISTAKES if one.name == name)
    told = list[str]()
    of = Answers(REAL, lambda host, port: (host, port), tell=told.append)
    of.reply(data[4:])
    text = re.sub("^P ", f"Produce v{data[7]} (C): ", text).replace("; R ", "; a broker responds with ")
    assert told == [text.replace("(C)", "(client mistaken, correlation id 7)")]
    assert of.rejected == 1


def test_what_is_no_text_of_a_finding_says_what_was_meant() -> None:
    """A finding says what the bytes are; the finder of mistakes may say more of that, and of nothing else."""
    wrong, seen = [], 0
    for one in MISTAKES:
        header = header_of(one.data[4:])
        request = read_request(one.data[4:], header, Known.nothing({})) if header is not None else None
        if request is None or one.data[4:6] == b"\0\x12":
            continue
        texts = {text for found in request.message.findings for text in (found.text, text_beside(found))}
        for each in rejections(request.message):
            seen += each.finding
            if each.finding is not (each.text in texts):
                wrong.append((one.name, each))
    assert wrong == []
    assert seen > 10


def test_one_wrong_partition_leaves_the_other_as_it_is(mock: RunningMock) -> None:
    data = next(one.data for one in MISTAKES if one.name == "two-partitions-one-wrong")
    response = sent(address(mock), data, 5)
    assert isinstance(response, bytes)
    (topic,) = kdbg.decode(response, api="Produce", version=9, direction="response").body["responses"]
    parts = {part["index"]: part for part in topic["partition_responses"]}
    assert (parts[0]["error_code"], parts[1]["error_code"]) == (0, 2)
    assert parts[1] | {"index": 1} == parts[1]
    assert (parts[1]["base_offset"], parts[1]["log_append_time_ms"], parts[1]["log_start_offset"]) == (-1, -1, -1)


def test_others_are_served_while_one_is_wrong(mock: RunningMock) -> None:
    assert sent(address(mock), b"GET / HTTP/1.1\r\n\r\n", 5) == CLOSED
    assert end_of(produce(batch()), sent(address(mock), produce(batch()), 5)) == 0


def test_the_exchanges_of_a_mock_can_be_had(kdbg_mock: Callable[..., RunningMock]) -> None:
    mock = kdbg_mock(CAPTURES / "real-4.4.0-new-group.pcap")
    for data in (produce(batch()), produce(batch(), acks=2)):
        sent(address(mock), data, 5)
    found = mock.exchanges(api="produce")
    assert [exchange.errors and exchange.errors[0].name for exchange in found] == [[], "INVALID_REQUIRED_ACKS"]
    with kdbg.read_capture(io.BytesIO(mock.capture), api="produce") as reading:
        assert [exchange.request and exchange.request.data for exchange in reading] == [
            exchange.request and exchange.request.data for exchange in found]  # fmt: skip
    mock.close()
    assert (mock.answered, mock.not_recorded, len(mock.problems)) == (2, [], 1)
