"""What each field means, where it is asked for: `explain -v`, `--explain-fields`, and definitions that are given."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from kdbg.protocol.grammars import api
from kdbg.protocol.grammars.payloads.producer_snapshot import producer_snapshot
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.readings.layout import walk

from .calls import CAPTURES, Outcome

Cli = Callable[..., Outcome]
REQUEST = ["00000017", "0003", "0001", "00000002", "0004", "6b646267", "00000001", "0003", "666f6f"]
BODY = "".join(REQUEST[6:])
NAME = next(field.about for path, field, _ in walk(api("Metadata").at("request", 1)) if path == "topics[].name")
BELOW = re.compile(rf"\nname +{re.escape(NAME)}\n")
MADE = Path(__file__).parents[1] / "definitions" / "made"


@pytest.mark.parametrize("word", ["-v", "--verbose", "--explain-fields"])
def test_explain_says_it_below_the_hexdump(word: str, cli: Cli) -> None:
    plain, told = cli("explain", *REQUEST), cli("explain", word, *REQUEST)
    assert told.out.startswith(plain.out + "\n")
    assert BELOW.search(told.out)
    assert told.status == plain.status == 0


def test_explain_says_it_in_the_tree(cli: Cli) -> None:
    told = cli("explain", "--verbose", "-f", "tree", *REQUEST).out
    assert f'name  "foo"  # {NAME}\n' in told
    assert "api_key  3  Metadata  # " in told


def test_v_with_a_number_is_the_version_of_an_api(cli: Cli) -> None:
    told = cli("explain", "--api", "metadata", "-v", "1", "--request", "--no-header", BODY)
    assert told.out.startswith("Metadata request v1 · 9 bytes decoded\n")
    assert not BELOW.search(told.out)
    told = cli("explain", "--api", "metadata", "-v", "1", "--request", "--no-header", BODY, "-v")
    assert BELOW.search(told.out)


@pytest.mark.parametrize("format", ["tree", "hex"])
def test_decode_says_it_where_it_is_asked_for(format: str, cli: Cli) -> None:
    words = ["decode", CAPTURES / "first-contact.pcap", "-f", format, "--api", "Metadata", "--limit", "1"]
    plain, told = cli(*words), cli(*words, "--explain-fields")
    wanted = "  # " if format == "tree" else "\nname "
    assert wanted in told.out
    assert wanted not in plain.out
    assert told.err == plain.err


@pytest.mark.parametrize("format", ["summary", "json"])
def test_other_views_have_no_room_for_it(format: str, cli: Cli) -> None:
    words = ["decode", CAPTURES / "first-contact.pcap", "-f", format, "--limit", "3"]
    assert cli(*words, "--explain-fields") == cli(*words)


def unwrapped(text: str) -> str:
    """The text with each meaning on one line."""
    return re.sub(r"\n {8,}", " ", text)


@pytest.mark.parametrize("format", ["tree", "hex"])
def test_files_of_a_brokers_disk_too(format: str, cli: Cli) -> None:
    segments = CAPTURES / "real-segments-4.4.0"
    words = "-f", format, "--explain-fields"
    log = unwrapped(cli("decode", segments / "money-0" / "00000000000000000000.log", *words).out)
    assert next(field for field in record_format.batch.fields if field.name == "base_offset").about in log
    snapshot = segments / "money-0" / "00000000000000000008.snapshot"
    told = unwrapped(cli("decode", snapshot, *words).out)
    assert next(field for field in producer_snapshot.at(1).fields if field.name == "producer_entries").about in told


@pytest.mark.parametrize("format", ["tree", "hex"])
def test_what_a_definition_says_of_its_fields(format: str, cli: Cli) -> None:
    data = cli("encode", "lamp", "-v", "0", "--size", "--definitions", MADE, "--header", "{}").out
    told = cli("explain", "-v", data.strip(), "--definitions", MADE, "-f", format).out
    assert told.count("The topic that hears of it") == 1
    assert "How long to try" in told
