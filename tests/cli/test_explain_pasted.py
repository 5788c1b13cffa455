"""What people really pasted, as `kdbg explain` answers it: ../shared/cases/pasted, with an answer to each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

CASES = Path(__file__).parents[3] / "shared" / "cases" / "pasted"
ANSWERS: dict[str, tuple[str, ...]] = {
    "01": ("ApiVersions request v3", 'client "adminclient-1"', "bytes decoded", "no tagged fields"),
    "03": ("Fetch response v0, body only", "cut off after 377 bytes", '"crawled_items"'),
    "05": ("items of topics in Metadata response v0", "a guess", '"test3"', "LEADER_NOT_AVAILABLE"),
    "07": ("ConsumerProtocolAssignment v1", '"test-writer-0"', "bytes decoded"),
    "09": ("369295617", "TLS (handshake", "security.protocol"),
    "11": ("1213486156", "an HTTP response", "subtract", "8082 is the usual port of a REST proxy"),
    "13": ("-1291780095", "b3 01 00 01", "not a size, because it is negative", "inside a TLS stream"),
    "15": ("20971589", "20 MiB + 69", "A possible size"),
    "17": ("00 00 ff ff", "read as an array's count", "another layout than the writer uses"),
    "19": ("Record batch", "126 of 464,235 bytes", "19796", "567"),
    "21": ("Metadata response v0", "a guess", "correlation id 542", "3 elements", "cut off"),
    "25": ("an LZ4 frame", "7 characters U+FFFD"),
    "27": ("Produce request v0", "correlation id 4", '"mytopic"', '"Hello!"', "77 bytes decoded"),
    "29": ("OffsetCommitValue v4", "2217128", "24 bytes decoded"),
    "31": ("Message set of magic 0", "cut off", "23"),
    "33": ("ApiVersions response v3", "bytes decoded", "18 = ApiVersions"),
    "35": ("Produce request v7", "cut off", '"topic-a"', "123 bytes of records"),
    "37": ("Metadata request v9", 'client "rdkafka"', "in 4 bytes instead of 1"),
    "39": ("ApiVersions request v3", "COMPACT_STRING", "00 06 74 65", "the body is missing"),
    "41": ("ApiVersions request v3", 'client "adminclient-2"', "56 bytes decoded"),
    "43": ("ApiVersions request v3", 'client "console-producer"', '"3.7.2"'),
    "45": ("ApiVersions response v3", "an odd number of hex digits"),
    "47": ("Message of magic 0, without offset and size", '"hi"', "null"),
    "49": ("Record batch", "80 of 94 bytes", "Implausible base_timestamp", "records_count"),
    "51": ("1666657", "00 19 6e 61", 'a STRING of 25 bytes that begins with "na"', "another layout"),
    "53": ("842019120", '"2010"', "read as a length", "inside a string"),
    "55": ("SyncGroup v3 request", "group_instance_id", "SyncGroupRequestAssignment"),
    "59": ("Produce v8 · correlation id 6 · 2.42 ms", '"customerOrders"', "127.0.0.1:61040"),
    "61": ("36681250", "02 2f b6 22", "only 150 bytes left", "broker.version.fallback"),
    "63": ("ApiVersions request v3", 'client "consumer-sub-000', "66 bytes decoded"),
    "65": ("ApiVersions request v4", "12 of 39 bytes", "1870644833"),
    "67": ("Records of a batch", "01 02 03 04", "05 06 07"),
    "69": ("-1431655766", "a fill pattern", "aa aa aa aa"),
    "71": ("Metadata response v0", '"localhost"', "9092", '"test"', "bytes decoded"),
    "73": ("FindCoordinator response v0", '"localhost"', "9092"),
    "75": ("Metadata request v0", 'client "pykafka"', "bytes decoded"),
    "77": ("Metadata request v0", '"test_topic"', "bytes decoded"),
    "79": ("ApiVersions request v3", "without its API key and version", "apache-kafka-java"),
}
"""What an answer must say, by the number of its case. Two are left out: a log without bytes, the end of a response."""
NOT_YET = {"23", "57"}


@pytest.fixture(scope="module", autouse=True)
def cases() -> None:
    if not CASES.is_dir():
        pytest.skip("../shared/cases/pasted is not here")


def test_each_case_has_an_answer() -> None:
    assert {path.stem for path in CASES.glob("*.txt")} == ANSWERS.keys() | NOT_YET


@pytest.mark.parametrize("number", ANSWERS)
def test_what_was_pasted_is_explained(explain: Any, number: str) -> None:
    status, text = explain(f"@{CASES / number}.txt")
    said = " ".join(text.split())
    assert status in (0, 1)
    assert [words for words in ANSWERS[number] if words not in said] == []


@pytest.mark.parametrize("number", sorted(NOT_YET))
def test_what_is_not_understood_is_not_claimed(explain: Any, number: str) -> None:
    text = explain(f"@{CASES / number}.txt")[1]
    assert "bytes decoded" not in text
    assert "request v" not in text
