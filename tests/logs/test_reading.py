"""What one line of each dialect says, all of it: lines of releases old and new, and lines that leave something out."""

from __future__ import annotations

import json
from typing import Any

from kdbg.analysis.logs.clients import on_one_line
from kdbg.analysis.logs.dialect import LineFacts, end_of
from kdbg.analysis.logs.java import fields_of
from kdbg.analysis.logs.lines import DIALECTS, line_facts
from kdbg.protocol import grammars
from kdbg.protocol.wire import Api

from ..cases import for_each

NOON = 1_795_348_800_000_000_000
"""2026-11-22 12:00:00 UTC."""
STAMP = "2026-11-22 12:00:00,250 DEBUG "
TIME = NOON + 250_000_000
librdkafka, java, kafka_python, kafkajs, sarama, broker = DIALECTS.values()


def api(name: str) -> Api:
    return grammars.api(name)


def completed(**other: object) -> str:
    """A line of a broker's request log."""
    header = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7, "clientId": "shop"}
    told = {
        "requestHeader": header, "request": {"topics": None}, "response": {"controllerId": 1},
        "connection": "10.0.0.2:9092-10.0.0.1:50000-3", "totalTimeMs": 2.4,
    } | other  # fmt: skip
    return f"{STAMP}Completed request:{json.dumps({name: value for name, value in told.items() if value != ''})}"


BOTH = LineFacts(
    "both", api("Metadata"), 12, 7, "shop", "10.0.0.2:9092-10.0.0.1:50000-3", ("10.0.0.1", 50_000), ("10.0.0.2", 9092),
    fields=({"topics": None}, {"controllerId": 1}), latency=2_400_000, time=TIME,
)  # fmt: skip


def test_the_brokers_request_log() -> None:
    header = {"requestApiKey": 3, "requestApiVersion": 12, "correlationId": 7}
    assert broker.read(completed()) == BOTH
    assert broker.read(completed(totalTimeMs=0)) == BOTH._replace(latency=0)
    assert (
        broker.read(completed(totalTimeMs=-1)) == broker.read(completed(totalTimeMs="2")) == BOTH._replace(latency=None)
    )
    assert (
        broker.read(completed(totalTimeMs=1e12))
        == broker.read(completed(totalTimeMs=""))
        == BOTH._replace(latency=None)
    )
    assert broker.read(completed(totalTimeMs=1e12 - 1)) == BOTH._replace(latency=round((1e12 - 1) * 1e6))
    assert broker.read(completed(requestHeader=header)) == BOTH._replace(client_id=None)
    assert broker.read(completed(request="", response=[])) == BOTH._replace(fields=({}, {}))
    for connection, name in (("elsewhere", "elsewhere"), (5, ""), ("", "")):
        assert broker.read(completed(connection=connection)) == BOTH._replace(
            connection=name, client=("", 0), broker=("", 0)
        )
    for key, version, number in ((999, 1, 1), (None, 1, 1), (3, None, 1), (3, 1, None), ("3", 1, 1), (3, 1, 1 << 31)):
        line = completed(requestHeader={"requestApiKey": key, "requestApiVersion": version, "correlationId": number})
        assert broker.read(line) is None
    assert broker.read(completed(requestHeader="x")) is None
    assert broker.read(completed().replace(":{", ": {", 1)) == BOTH
    assert broker.read(completed().replace(":{", ":  {", 1)) is None
    assert broker.read(completed()[:-1]) is broker.read("Completed request:") is broker.read("{") is None
    assert broker.read(completed().removeprefix(STAMP)) == BOTH._replace(time=-1)
    assert broker.read(completed()[len(STAMP) + 1 :]) == BOTH._replace(time=-1)


OLD = (
    STAMP + "Completed request:RequestHeader(apiKey=METADATA, apiVersion=5, clientId=shop, correlationId=7) -- "
    "{topics=[a]},response:{controller_id=1} from connection 10.0.0.2:9092-10.0.0.1:50000;totalTime:2.4,x"
)
OLDER = (
    STAMP + "Completed request:{api_key=3,api_version=2,correlation_id=8,client_id=till} -- "
    "{topics=[a]},response:{controller_id=1} from connection 10.0.0.2:9092-10.0.0.1:50000-1-2;totalTime:3"
)


def test_the_request_log_of_old_brokers() -> None:
    connection = "10.0.0.2:9092-10.0.0.1:50000"
    first = BOTH._replace(version=5, connection=connection, fields=({"topics": ["a"]}, {"controller_id": 1}))
    second = first._replace(
        version=2, correlation_id=8, client_id="till", connection=f"{connection}-1-2", latency=3_000_000
    )
    assert (broker.read(OLD), broker.read(OLDER)) == (first, second)
    assert broker.read(OLD.replace("},response", "}, response")) == first
    assert broker.read(OLD.replace("response:", "response=")) == first
    assert broker.read(OLD.replace(",response:{controller_id=1}", "")) == first._replace(fields=({"topics": ["a"]}, {}))
    assert broker.read(OLD.replace("METADATA", "NONSENSE")) is broker.read(OLD.partition(" from")[0]) is None
    assert broker.read(OLDER.replace("api_key=3", "api_key=999")) is None


SENT = (
    STAMP
    + "[Producer clientId=shop] Sending METADATA request with header RequestHeader(apiKey=METADATA, apiVersion=12, "
    "clientId=shop, correlationId=2, headerVersion=2) and timeout 30000 to node 1: MetadataRequestData(topics=null)"
)
RECEIVED = (
    STAMP + "[Producer clientId=shop] Received METADATA response from node -1 for request with header RequestHeader("
    "apiKey=METADATA, apiVersion=12, clientId=shop, correlationId=2, headerVersion=2): "
    "MetadataResponseData(controllerId=1)"
)
REQUEST = LineFacts("request", api("Metadata"), 12, 2, "shop", "shop node 1", fields=({"topics": None}, {}), time=TIME)


def test_the_java_client() -> None:
    assert java.read(SENT) == REQUEST
    assert java.read(RECEIVED) == REQUEST._replace(
        half="response", connection="shop node -1", fields=({}, {"controllerId": 1})
    )
    assert java.read(SENT.replace("apiKey=METADATA", "apiKey=NONSENSE")) is java.read("nothing") is None
    old = (
        STAMP
        + "[Producer clientId=shop, transactionalId=t] Sending METADATA {topics=null} with correlation id 2 to node 1"
    )
    assert java.read(old) == REQUEST._replace(version=None)
    assert java.read(old.replace("Sending", "Using older server API v5 to send")) == REQUEST._replace(version=5)
    assert java.read(old.replace("METADATA", "NONSENSE")) is None
    assert java.read("Sending METADATA {topics=null} with correlation id 2 to node 1") == REQUEST._replace(
        version=None, client_id=None, connection="None node 1", time=-1
    )
    answered = (
        STAMP + "[Producer clientId=shop] Completed receipt from node 1 for METADATA with correlation id 2, "
        "received {controller_id=1}"
    )
    assert java.read(answered) == REQUEST._replace(half="response", version=None, fields=({}, {"controller_id": 1}))


def test_records_of_a_produce_request_are_told_by_their_sizes() -> None:
    assert fields_of("{acks=-1,partitionSizes=[a-b-0=76,c-1=5,a-b-2=1]}", 0) == {
        "acks": -1,
        "topicData": [
            {"name": "a-b", "partitionData": [{"index": 0}, {"index": 2}]},
            {"name": "c", "partitionData": [{"index": 1}]},
        ],
    }  # fmt: skip
    assert fields_of("{partitionSizes=[none,-1=5,a-x=5]}", 0) == {"topicData": []}
    assert fields_of("x {acks=1, partitionSizes=5}", 2) == {"acks": 1}


PYTHON = (
    STAMP + "kafka.net.connection <KafkaConnection node_id=1 host=[127.0.0.1:9092<-52966] broker_version=4.0 (x)> "
    "Request 2: MetadataRequest(version=7, topics=[])"
)
PYTHON_2 = (
    STAMP + "<BrokerConnection client_id=shop, node_id=0 host=kafka:9092 <connected> [IPv4]> "
    "Response 3 (24.25 ms): MetadataResponse_v1(controller_id=1)"
)


def test_kafka_python() -> None:
    connection = "node_id=1 host=[127.0.0.1:9092<-52966] "
    first = LineFacts(
        "request", api("Metadata"), 7, 2, None, connection, ("", 52_966), ("127.0.0.1", 9092),
        fields=({"topics": []}, {}), time=TIME,
    )  # fmt: skip
    second = LineFacts(
        "response", api("Metadata"), 1, 3, "shop", "node_id=0 host=kafka:9092 ", ("", 0), ("kafka", 9092),
        fields=({}, {"controller_id": 1}), latency=24_250_000, time=TIME,
    )  # fmt: skip
    assert (kafka_python.read(PYTHON), kafka_python.read(PYTHON_2)) == (first, second)
    assert kafka_python.read(PYTHON.replace("version=7, ", "")) == first._replace(version=None)
    assert kafka_python.read(PYTHON.replace("version=7", "version=x")) == first._replace(version=None)
    about = "nobody knows"
    assert kafka_python.read(
        f"<KafkaConnection {about}> Request 2: MetadataRequest(version=7, topics=[])"
    ) == first._replace(connection=about, client=("", 0), broker=("", 0), time=-1)
    assert kafka_python.read(PYTHON.replace("Metadata", "Nonsense")) is kafka_python.read("nothing") is None


def kafkajs_line(**other: object) -> str:
    told = {
        "level": "DEBUG", "timestamp": "2026-11-22T12:00:00.250Z", "logger": "kafkajs",
        "message": "[Connection] Request Metadata(key: 3, version: 6)", "broker": "127.0.0.1:9092", "clientId": "js",
        "correlationId": 0, "size": 16,
    } | other  # fmt: skip
    return json.dumps({name: value for name, value in told.items() if value is not None})


def test_kafkajs() -> None:
    first = LineFacts(
        "request", api("Metadata"), 6, 0, "js", "js 127.0.0.1:9092", broker=("127.0.0.1", 9092), sizes=(16, None),
        time=TIME, zoned=True,
    )  # fmt: skip
    response: dict[str, Any] = {
        "message": "[Connection] Response Metadata(key: 3, version: 6)",
        "data": {"controllerId": 1},
    }
    second = first._replace(half="response", sizes=(None, 20), fields=({}, {"controllerId": 1}))
    assert (kafkajs.read(kafkajs_line()), kafkajs.read("web | " + kafkajs_line(**response))) == (first, second)
    assert kafkajs.read(kafkajs_line(size=None)) == first._replace(sizes=(None, None))
    assert kafkajs.read(kafkajs_line(**response, size=None)) == second._replace(sizes=(None, None))
    assert kafkajs.read(kafkajs_line(data=[1])) == first
    assert kafkajs.read(STAMP + kafkajs_line(timestamp=None)) == first._replace(zoned=False)
    assert kafkajs.read(kafkajs_line(broker=None, clientId=None)) == first._replace(
        broker=("", 0), client_id=None, connection="None "
    )
    for wrong in (
        kafkajs_line(correlationId=None), kafkajs_line(correlationId="0"), kafkajs_line(message=None), "{}", "",
        kafkajs_line(message="[Connection] Request Metadata(key: 999, version: 6)"), kafkajs_line()[:-1], "nothing",
    ):  # fmt: skip
        assert kafkajs.read(wrong) is None


def test_objects_of_kafkajs_over_several_lines_become_one_line() -> None:
    told = json.loads(kafkajs_line())
    several = json.dumps(told, indent=2)
    text = f"before\nweb | {several}\nafter {{\n  no: json\n}}\n{several}\n"
    once = on_one_line(text)
    empty = [""] * several.count("\n")
    assert once.split("\n") == [
        "before", "web | " + json.dumps(told), *empty, "after {", "  no: json", "}", json.dumps(told), *empty, "",
    ]  # fmt: skip
    assert on_one_line(several + several[:-1]) == json.dumps(told) + "\n" * several.count("\n") + several[:-1]
    other = several.replace("kafkajs", "other")
    assert on_one_line(other) == other
    long = json.dumps({"logger": "kafkajs", "text": "x" * (1 << 14)}, indent=1)
    assert on_one_line(long) == long
    fits = json.dumps({"logger": "kafkajs", "text": "x" * 16_300}, indent=1)
    assert on_one_line(fits) != fits
    nested = '{\n "kafkajs": {\n  "a": 1\n }\n}\n'
    assert on_one_line(nested) == '{"kafkajs": {"a": 1}}\n\n\n\n\n'


def test_librdkafka() -> None:
    front = "%7|1795348800.250|SEND|shop#producer-1| [thrd:x]: "
    line = front + "10.0.0.2:9092/1: Sent ApiVersionRequest (v3, 65 bytes @ 0, CorrId 1)"
    first = LineFacts(
        "request", api("ApiVersions"), 3, 1, "shop", "shop#producer-1 10.0.0.2:9092/1", broker=("10.0.0.2", 9092),
        sizes=(65, None), time=TIME, zoned=True,
    )  # fmt: skip
    answered = front + "10.0.0.2:9092/1: Received ApiVersionResponse (v3, 730 bytes, CorrId 1, rtt 7.64ms)"
    assert librdkafka.read(line) == first
    assert librdkafka.read(answered) == first._replace(half="response", sizes=(None, 738), latency=7_640_000)
    assert librdkafka.read(line.replace("10.0.0.2:9092/1", "GroupCoordinator")) == first._replace(
        connection="shop#producer-1 GroupCoordinator", broker=("", 0)
    )
    assert librdkafka.read(
        f"{STAMP}SEND [ a b #consumer-2] x:9092/1: Sent ApiVersionRequest (v3, 65 bytes, CorrId 1)"
    ) == (
        first._replace(
            client_id="a b", connection=" a b #consumer-2 x:9092/1", broker=("x", 9092), time=TIME, zoned=False
        )
    )


def test_sarama() -> None:
    front, stamp = "[sarama] 2026/11/22 12:00:00.250000 client/", TIME
    metadata = LineFacts("request", api("Metadata"), connection="b:9092", broker=("b", 9092), time=stamp)
    assert sarama.read(front + "metadata fetching metadata for all topics from broker b:9092") == metadata
    assert sarama.read(front + "metadata fetching metadata for [a b.c] from broker b:9092") == metadata._replace(
        fields=({"topics": [{"name": "a"}, {"name": "b.c"}]}, {})
    )
    coordinator = metadata._replace(api=api("FindCoordinator"), fields=({"key": "g 5", "coordinatorKeys": ["g 5"]}, {}))
    for words in ("", "consumergroup "):
        assert sarama.read(f"{front}coordinator requesting coordinator for {words}g 5 from b:9092") == coordinator
    assert sarama.read(front) is None


def test_ends_of_connections() -> None:
    assert [end_of(text) for text in ("h:1", "SASL_SSL://h:9092", "[::1]:65535", "::1:5", ":5")] == [
        ("h", 1), ("h", 9092), ("::1", 65_535), ("::1", 5), ("", 5),
    ]  # fmt: skip
    for text in ("", "h", "h:", "h:0", "h:65536", "h:x", "h:-1", "h:٣", "9092"):
        assert end_of(text) == ("", 0)


LINES = {
    "librdkafka": "x: Sent ApiVersionRequest (v3, 65 bytes @ 0, CorrId 1)", "java": SENT, "kafka-python": PYTHON,
    "kafkajs": kafkajs_line(), "broker": OLD,
    "sarama": "client/metadata fetching metadata for all topics from broker b:9092",
}  # fmt: skip


@for_each("name", DIALECTS)
def test_each_dialect_is_known_by_its_marks(name: str) -> None:
    line = LINES[name]
    assert line_facts(line.encode()) == (DIALECTS[name], DIALECTS[name].read(line))
    assert line_facts(b"\xff" + line.encode()) is not None
    assert line_facts(b"nothing with CorrId 5") is None
