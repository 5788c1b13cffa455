"""Answers from a capture, without sockets and with them: bytes of a request in, bytes of an answer out."""

from __future__ import annotations

import asyncio
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kdbg
from kdbg.errors import CaptureError, InputError
from kdbg.exchanges.messages.message import Message
from kdbg.live.embedded import RunningMock
from kdbg.live.listeners import Listening
from kdbg.live.mocking.answers import Answers
from kdbg.live.mocking.recording import Recording
from kdbg.live.mocking.responses import NEEDED
from kdbg.live.mocking.serve import Mock
from kdbg.protocol import grammars

CAPTURES = Path("captures")
REAL = ["real-4.4.0-new-group", "real-3.9.2-rebalance", "real-go", "real-javascript", "kafka-python", "aiokafka",
        "first-contact", "transactions", "real-codecs-4.4.0"]  # fmt: skip


def recording(name: str) -> Recording:
    found = Recording(1 << 28)
    with kdbg.read_capture(CAPTURES / f"{name}.pcap") as reading:
        for exchange in reading:
            found.add(exchange)
        return found.order(reading.topic_names)


def answers(name: str) -> tuple[Answers, list[str]]:
    said = list[str]()
    return Answers(recording(name), lambda host, port: (host, port), said.append), said


def asked(of: Answers, api: str, version: int, **body: Any) -> Message:
    """The answer to a request, read."""
    data = kdbg.encode(body, api=api, version=version, direction="request", header={"correlation_id": 99})
    reply = of.reply(data)
    assert reply.data is not None
    message = kdbg.decode(reply.data, api=api, version=version, direction="response")
    assert message.header is not None
    assert message.header["correlation_id"] == 99
    return message


def in_order(value: Any) -> Any:
    """A value whose lists are in an order of their own: topics come in the order in which they are asked for."""
    if isinstance(value, dict):
        return {name: in_order(inner) for name, inner in value.items()}
    return sorted(map(in_order, value), key=repr) if isinstance(value, list) else value


@pytest.mark.parametrize("name", REAL)
def test_the_recorded_client_is_told_what_it_was_told(name: str) -> None:
    of, said = answers(name)
    with kdbg.read_capture(CAPTURES / f"{name}.pcap") as reading:
        for exchange in reading:
            api = exchange.api
            assert api is not None
            assert exchange.request is not None
            if api.name in ("ApiVersions", "Fetch") or exchange.response is None:
                continue  # the first says what the mock can, the second depends on sessions
            reply = of.reply(exchange.request.data)
            told = exchange.response.message()
            assert told is not None
            assert reply.data is not None
            now = kdbg.decode(reply.data, api=api.key, version=exchange.version, direction="response")
            if api.name != "Metadata":  # its brokers may be more by then
                assert in_order(now.body) == in_order(told.body), exchange
            else:
                assert {one["name"] for one in now.body["topics"]} == {one["name"] for one in told.body["topics"]}
    assert not said


@pytest.mark.parametrize("name", REAL)
def test_whatever_is_offered_can_be_asked(name: str) -> None:
    of, said = answers(name)
    versions = asked(of, "ApiVersions", 0).body["api_keys"]
    assert versions
    with kdbg.read_capture(CAPTURES / f"{name}.pcap") as reading:
        requests = {exchange.api.key: exchange for exchange in reading if exchange.api is not None}
    from kdbg.exchanges.messages.reshape import Reshaper

    names = of.recording.names
    unrecorded = {offered["api_key"] for offered in versions} - requests.keys()
    assert unrecorded <= NEEDED.keys(), "answered without a record"
    for offered in (one for one in versions if one["api_key"] in requests):
        exchange = requests[offered["api_key"]]
        assert exchange.request is not None
        message = exchange.request.message()
        assert message is not None
        for version in range(offered["min_version"], offered["max_version"] + 1):
            shaped = Reshaper(names.get, of.recording.id_of)
            body = shaped.reshaped(message.api, "request", message.body, message.version, version)
            if version < 7 or message.api.name != "Fetch":
                answer = asked(of, message.api.name, version, **body)
                assert not [one for one in answer.findings if one.kind.breaks]
    assert not said


def test_versions_are_those_that_can_be_answered() -> None:
    of, _ = answers("real-4.4.0-new-group")
    told = {
        one["api_key"]: one["max_version"]
        for one in asked(of, "ApiVersions", 3, client_software_name="x", client_software_version="1").body["api_keys"]
    }
    assert told[grammars.api("Metadata").key] == 13
    assert grammars.api("CreateTopics").key not in told


def test_a_version_of_apiversions_that_is_not_known_is_refused_as_brokers_do() -> None:
    of, _ = answers("kafka-python")
    data = kdbg.encode({"client_software_name": "x", "client_software_version": "1"}, api="ApiVersions", version=3,
                       direction="request", header={"correlation_id": 5})  # fmt: skip
    reply = of.reply(data)
    assert reply.data is not None
    message = kdbg.decode(reply.data, api="ApiVersions", version=0, direction="response")
    assert message.body["error_code"] == 35
    assert message.body["api_keys"]


def test_what_the_capture_does_not_answer_is_refused_and_said_once() -> None:
    of, said = answers("real-4.4.0-new-group")
    body = {"topics": [{"name": "x", "num_partitions": 1, "replication_factor": 1, "assignments": [], "configs": []}]}
    for _ in range(2):
        message = asked(of, "CreateTopics", 4, timeout_ms=1, **body)
        assert message.body["topics"][0]["error_code"] == 35
    assert said == ["no recorded response for CreateTopics v4; responded with UNSUPPORTED_VERSION"]
    assert of.refused == 2


def test_a_topic_that_the_capture_does_not_have_is_unknown() -> None:
    of, _ = answers("real-4.4.0-new-group")
    found = asked(of, "Metadata", 9, topics=[{"name": "rides"}, {"name": "nowhere"}]).body["topics"]
    assert [(one["name"], one["error_code"], len(one["partitions"])) for one in found] == [
        ("rides", 0, 4), ("nowhere", 3, 0)]  # fmt: skip


def test_all_topics_are_those_of_all_answers() -> None:
    of, _ = answers("real-4.4.0-new-group")
    assert [one["name"] for one in asked(of, "Metadata", 9, topics=None).body["topics"]] == ["rides"]


def test_a_client_of_another_name_hears_its_own_words() -> None:
    of, _ = answers("real-go")
    version = max(version for key, (_, version) in of.recording.offered.items() if key == 10)
    found = asked(of, "FindCoordinator", version, key_type=0, coordinator_keys=["mine"])
    assert found.body["coordinators"][0]["key"] == "mine"


def fetched(of: Answers, offset: int, **more: Any) -> tuple[Any, float]:
    part = {"partition": 0, "fetch_offset": offset, "partition_max_bytes": 1 << 20}
    body = {"max_wait_ms": 250, "min_bytes": 1, "topics": [{"topic": "rides", "partitions": [part]}], **more}
    data = kdbg.encode(body, api="Fetch", version=12, direction="request", header={"correlation_id": 9})
    reply = of.reply(data)
    assert reply.data is not None
    return kdbg.decode(reply.data, api="Fetch", version=12, direction="response").body, reply.seconds


def test_a_fetch_is_given_the_records_at_its_offset() -> None:
    of, _ = answers("real-4.4.0-new-group")
    body, seconds = fetched(of, 0)
    (part,) = body["responses"][0]["partitions"]
    assert part["records"]
    assert seconds == 0
    assert {name: body[name] for name in ("throttle_time_ms", "error_code", "session_id")} == {
        "throttle_time_ms": 0, "error_code": 0, "session_id": 0}  # fmt: skip
    end = part["high_watermark"]
    body, seconds = fetched(of, end)
    (part,) = body["responses"][0]["partitions"]
    assert not part["records"]
    assert (part["error_code"], seconds) == (0, 0.25), "it waits as long as it may"
    body, _ = fetched(of, 0, session_id=77, session_epoch=3)
    assert (body["error_code"], body["session_id"]) == (70, 0), "no sessions are kept"


def test_acks_0_has_no_answer() -> None:
    of, _ = answers("real-4.4.0-new-group")
    part = {"index": 0, "records": [{"records": [{"key": None, "value": b"x"}]}]}
    body = {"acks": 0, "timeout_ms": 1, "topic_data": [{"name": "rides", "partition_data": [part]}]}
    reply = of.reply(kdbg.encode(body, api="Produce", version=9, direction="request", header={"correlation_id": 9}))
    assert (reply.data, reply.hang_up) == (None, False)


OF = answers("first-contact")[0]
REQUESTS = [one.request.data for one in kdbg.read_capture(CAPTURES / "first-contact.pcap") if one.request is not None]


@settings(deadline=None)
@given(st.sampled_from(REQUESTS), st.integers(0, 200), st.binary(max_size=8))
def test_damaged_requests_do_no_harm(data: bytes, place: int, damage: bytes) -> None:
    reply = OF.reply(data[:place] + damage + data[place + len(damage) :])
    assert reply.hang_up or reply.data is None or len(reply.data) >= 4


@settings(deadline=None)
@given(st.binary(max_size=60))
def test_garbage_does_no_harm(data: bytes) -> None:
    OF.reply(data)


def test_a_capture_without_answers_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no response that the mock can serve"):
        kdbg.mock(CAPTURES / "first-contact.pcap", api="create-acls")
    with pytest.raises(CaptureError, match=r"^\S+/first-contact.pcap, \S+/errors.pcap: "):
        kdbg.mock(CAPTURES / "first-contact.pcap", CAPTURES / "errors.pcap", api="create-acls")


# With sockets


def spoken(address: str, data: bytes) -> bytes:
    """What a mock says to bytes, until it hangs up or 0.5 seconds pass."""
    host, port = address.split(",")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=5) as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        found = b""
        while piece := sock.recv(1 << 16):
            found += piece
        return found


def framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


REQUEST = kdbg.encode({"topics": None}, api="Metadata", version=4, direction="request", header={"correlation_id": 7})


def test_addresses_are_those_of_the_mock(kdbg_mock: Callable[..., RunningMock]) -> None:
    mock = kdbg_mock(CAPTURES / "first-contact.pcap")
    answer = spoken(mock.address, framed(REQUEST))
    body = kdbg.decode(answer[4:], api="Metadata", version=4, direction="response").body
    assert {f"{one['host']}:{one['port']}" for one in body["brokers"]} & set(mock.address.split(","))
    assert all(one["host"] == "127.0.0.1" for one in body["brokers"])
    assert mock.answered == 1


def test_a_running_mock_says_what_was_wrong_and_what_it_had_no_answer_to(
    kdbg_mock: Callable[..., RunningMock], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each up to a bound, where clients go on for days."""
    monkeypatch.setattr("kdbg.live.embedded.MOST_PROBLEMS", 3)
    mock = kdbg.mock(CAPTURES / "real-4.4.0-new-group.pcap")
    assert (mock.address, mock.answered, mock.problems, mock.unanswered) == ("", 0, [], [])
    unknown = kdbg.encode({"topics": [], "timeout_ms": 1}, api="CreateTopics", version=4, direction="request",
                          header={"correlation_id": 8})  # fmt: skip
    with mock:
        assert "kdbg mock" in {each.name for each in threading.enumerate()}
        for _ in range(2):
            spoken(mock.address, framed(unknown))
        for _ in range(4):
            assert spoken(mock.address, b"GET / HTTP/1.1\r\n\r\n") == b""
        assert spoken(mock.address, framed(REQUEST))
    assert len(mock.problems) == 3
    assert mock.unanswered == ["no recorded response for CreateTopics v4; closed the connection"]
    assert mock.answered == 1
    assert "kdbg mock" not in {each.name for each in threading.enumerate()}


@pytest.mark.parametrize("garbage", [b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\x02\x00" + bytes(60), bytes(4),
                                     b"\x00\x00\x00\x09garbage..", b"\x7f\xff\xff\xff"])  # fmt: skip
def test_garbage_is_hung_up_on_and_others_go_on(kdbg_mock: Callable[..., RunningMock], garbage: bytes) -> None:
    mock = kdbg_mock(CAPTURES / "first-contact.pcap")
    assert spoken(mock.address, garbage) == b""
    assert spoken(mock.address, framed(REQUEST))


def test_nothing_is_left_behind() -> None:
    def held() -> int:
        return len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    for round in range(2):
        before, threads = held(), threading.active_count()
        with kdbg.mock(CAPTURES / "first-contact.pcap") as mock:
            host, port = mock.address.split(",")[0].rsplit(":", 1)
            open_ones = [socket.create_connection((host, int(port))) for _ in range(5)]
            open_ones[0].sendall(framed(REQUEST)[:9])
            assert spoken(mock.address, framed(REQUEST))
        for one in open_ones:
            one.close()
        assert threading.active_count() == threads
        assert round == 0 or held() == before


def test_tasks_end_with_the_mock() -> None:
    async def run() -> int:
        mock = Mock(recording("first-contact"), Listening())
        ((host, port),) = mock.listen([("10.0.0.1", 9092)])
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(framed(REQUEST) * 3)
        assert len(await reader.readexactly(4)) == 4
        await mock.close()
        writer.close()
        return len(asyncio.all_tasks())

    assert asyncio.run(run()) == 1


def test_an_address_that_is_taken_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(InputError, match="cannot listen on"):
        kdbg.mock(CAPTURES / "first-contact.pcap", listen=taken.getsockname()).start()
    assert "kdbg mock" not in {each.name for each in threading.enumerate()}
