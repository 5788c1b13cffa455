"""What users paste, in the formats of real threads: each item has its answer, whatever stands around it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.analysis.pasted.phrases import GROUPS, PHRASES, TEXTS, code_of, matches
from kdbg.protocol.grammars import named
from kdbg.protocol.grammars.errors import ERRORS
from kdbg.ui.cli import run
from kdbg.views.render.phrases import statements

from ..cases import by_day
from .items import WRAPPERS, Item, items

SHARED = Path(__file__).parents[3] / "shared" / "cases" / "pasted"
PLACE = re.compile(r"Taken from \d+:\d+ to \d+:\d+ · |  log of \w+: ")
Answer = Callable[[str], str]


@pytest.fixture
def answer(capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Answer:
    """Returns what `kdbg explain` prints of a text."""

    def explain(text: str) -> str:
        path = tmp_path / "pasted.txt"
        path.write_text(text)
        run(["explain", f"@{path}"])
        printed = capfd.readouterr()
        return printed.out + printed.err

    return explain


def test_each_item_has_its_answer(answer: Answer) -> None:
    assert {item.name: lacks for item in items() if (lacks := item.lacks(answer(item.text)))} == {}


def wrapped(answer: Answer, each: list[Item], wrap: Callable[[str], str]) -> list[str]:
    """Return the names of the items that have another answer in a wrapper; the places of bytes are others."""
    return [item.name for item in each if plain(answer(wrap(item.text))) != plain(answer(item.text))]


def plain(text: str) -> str:
    """Return an answer without its lines on the places of bytes, and without the complaint of a form."""
    lines = [line for line in text.splitlines() if not PLACE.match(line) and "accepted input" not in line]
    return "\n".join(lines)


@pytest.mark.parametrize("name", WRAPPERS)
def test_what_stands_around_an_item_changes_nothing(answer: Answer, name: str) -> None:
    each = list(items())
    chosen = each if name == "fence" else each[len(name) % 5 :: 5]
    assert wrapped(answer, chosen, WRAPPERS[name]) == []


def test_a_fence_around_a_case_of_the_shared_ones_changes_nothing(answer: Answer) -> None:
    if not SHARED.is_dir():
        pytest.skip("../shared/cases/pasted is absent")
    cases = [Item(path.stem, (), (), path.read_text().rstrip("\n")) for path in by_day(sorted(SHARED.glob("*.txt")), 4)]
    assert wrapped(answer, cases, WRAPPERS["fence"]) == []


def test_places_are_those_of_the_paste(answer: Answer) -> None:
    text = "Look:\n```\nkafka-1  | sent 0000001700030001000000020004 6b646267\n```\n"
    assert "Taken from 3:17 to " in answer(text)


def test_every_value_of_a_sentence_is_defined_by_its_phrase() -> None:
    derived = {"apart", "order", "older", "error_text"}
    for phrase in PHRASES:
        defined = set(re.findall(r"\{([a-z]+)\}", phrase.phrase))
        used = set(re.findall(r"\{(\w+)\}", f"{phrase.sentence} {phrase.advice}")) - derived
        assert defined <= GROUPS.keys(), phrase
        assert used <= defined, phrase


def test_every_phrase_is_in_an_item_or_a_case_below() -> None:
    seen = {match.phrase for part in [*(item.text for item in items()), *OTHERS] for match in matches(part)}
    assert [phrase.phrase for phrase in PHRASES if phrase not in seen] == []


OTHERS = (
    "offset: 12 position: 310 CreateTime: 1700472961112 isvalid: true keysize: -1 valuesize: 20 magic: 1",
    "offset: 13 position: 398 CreateTime: 1700472961112 isvalid: false keysize: -1 valuesize: 20 magic: 1",
    "Unexpected ApiKeys id `18`, it should be between `0` and `16` (inclusive)",
    "Error getting request for apiKey: SYNC_GROUP, apiVersion: 3, connectionId: 10.8.0.4:9092-10.8.0.5:46436-7",
    "Protocol parse failure at rd_kafka_fetch_reply_handle:3748: expected 36681250 bytes > 150 remaining bytes",
    "Protocol parse failure for Metadata v4 at 88/120 (rd_kafka_parse_Metadata:388): out of range",
    "Protocol read buffer underflow for MetadataResponse v2 at 36/40: expected 8 bytes > 4 remaining bytes",
    "sasl_ssl://b-1:9096/bootstrap: SASL authentication error: Authentication failed (after 312ms)",
    "kafka: invalid large response size 352518912 > limit 104857600",
    "InvalidReceiveError: Invalid frame length: 20971601",
    "RangeError [ERR_BUFFER_OUT_OF_BOUNDS]: Attempt to access memory outside buffer bounds",
    "corr id of response 12 does not match that of request 9",
    "expected correlation id 5 but received 3",
    "Got correlation id 7 but expected 9",
    "correlation ID didn't match, wanted 5, got 4",
    "array size 65536, only 12 bytes left",
    "slice bounds out of range [:1397966893] with capacity 4096",
    "message size 1048576 larger than 1000012",
    "minimumReadableBytes : -1291780095 (expected: >= 0)",
    "Kafka::UnknownTopicOrPartition",
    "the correlation id is 48288897",
)


def test_texts_of_clients_for_error_codes_are_of_codes_that_exist() -> None:
    for code, texts in TEXTS:
        assert code in ERRORS
        assert [code_of(f"{text.capitalize()}.") for text in texts] == [code] * len(texts)


@pytest.mark.parametrize("name", ["ApiVersion", "topic_metadata", "fetch_response", "LIST_OFFSETS", "3"])
def test_names_that_clients_have_for_apis(name: str) -> None:
    assert named(name) is not None


@pytest.mark.parametrize("text", ["Error reading field 'a': ", "corr id ", "Request", "{kpro_rsp, ", "1 2 3 ", "a.b::"])
def test_many_beginnings_of_phrases_end_soon(text: str) -> None:
    """Nothing is timed: what looks at every pair of places would not end at all."""
    statements(text * 20_000)


def test_statements_as_json(capfd: pytest.CaptureFixture[str]) -> None:
    import json

    assert run(["explain", "-f", "json", "Invalid receive (size = 1195725856 larger than 104857600)"]) == 0
    (line,) = capfd.readouterr().out.splitlines()
    facts: dict[str, Any] = json.loads(line)
    assert (facts["number"], facts["phrase"]) == (1195725856, "Java")
    assert "GET" in facts["notes"][0]
