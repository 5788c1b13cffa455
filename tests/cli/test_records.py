"""`kdbg records` as its users run it: lines, formats, keys, counts, terminals, pipes, log segments."""

from __future__ import annotations

import csv
import io
import json
import os
import pty
import re
import select
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ..cases import by_day
from ..traffic import Talk
from .calls import CAPTURES, COMMAND, ENVIRONMENT, SHIPPED, Outcome, call

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
FIRST, CODECS = CAPTURES / "first-contact.pcap", CAPTURES / "codecs.pcap"
TRANSACTIONS = CAPTURES / "real-4.4.0-transactions.pcap"
LOG = CAPTURES / "real-segments-4.4.0" / "money-0" / "00000000000000000000.log"
INDEX = LOG.with_suffix(".timeindex")
HOSTILE = b"\x1b]0;owned\x07\x1b[2J\r\n\xe2\x80\xae"


def batch(*records: dict[str, Any], **header: Any) -> list[dict[str, Any]]:
    made = [{"offset": i, "timestamp": 1_700_000_000_000 + i, **record} for i, record in enumerate(records)]
    return [{"magic": 2, "base_timestamp": 1_700_000_000_000, "records": made, **header}]


def produce(entries: list[dict[str, Any]], *, base_offset: int = 0, error_code: int = 0, acks: int = 1) -> Talk:
    data = [{"name": "orders", "partition_data": [{"index": 0, "records": entries}]}]
    answer = [{"index": 0, "error_code": error_code, "base_offset": base_offset}]
    talk = Talk().ask("Produce", 8, acks=acks, timeout_ms=1000, topic_data=data)
    return talk.answer(responses=[{"name": "orders", "partition_responses": answer}]) if acks else talk


def watched(*arguments: object, columns: int = 80) -> tuple[int, str]:
    """What a terminal of that width shows, and the exit status."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, "records", *map(str, arguments)], stdout=theirs, stderr=subprocess.DEVNULL,
        env=ENVIRONMENT | {"COLUMNS": str(columns), "TERM": "xterm", "NO_COLOR": "1"},
    )  # fmt: skip
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], 30)[0]:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    return process.wait(30), shown.decode()


class TestLines:
    def test_each_copy_of_a_record_says_whose_it_is(self, cli: Cli) -> None:
        lines = cli("records", FIRST, "--key", "grace").out.splitlines()
        assert [re.sub(r" {2,}", "  ", line) for line in lines] == [
            f'2026-11-21 00:40:04.948  orders/0@1  {who}  "grace"  '
            '"{"order": 1002, "item": "compass", "quantity": 1}"  trace="000003ea", source="web"'
            for who in ("produced shop", "fetched billing-1")
        ]

    def test_outcomes_of_transactions_and_markers(self, cli: Cli) -> None:
        lines = [json.loads(line) for line in cli("records", TRANSACTIONS, "-f", "json").out.splitlines()]
        fetched = {line["offset"]: line for line in lines if line["client_id"] == "auditor"}
        assert [fetched[offset]["transaction"] for offset in range(9)] == [
            "committed", "committed", None, "aborted", "aborted", None, "committed", "committed", None,
        ]  # fmt: skip
        assert [fetched[offset]["control"] for offset in (2, 5, 8)] == ["COMMIT", "ABORT", "COMMIT"]
        assert {line["transaction"] for line in lines if line["client_id"] == "ledger"} == {"open"}
        ends = [line for line in cli("records", TRANSACTIONS).out.splitlines() if 'transaction "ledger-7"' in line]
        assert [re.findall(r"committed|aborted", line) for line in ends] == [["committed"], ["aborted"], ["committed"]]

    def test_topics_that_are_named_by_id_alone_have_their_names(self, cli: Cli) -> None:
        lines = [json.loads(line) for line in cli("records", CODECS, "-f", "json").out.splitlines()]
        by_id = [line for line in lines if "topic_id" in line]
        assert by_id
        assert {line["topic"] for line in by_id} == {
            f"parcels-{codec}" for codec in ("none", "gzip", "snappy", "lz4", "zstd")
        }

    def test_offsets_are_those_that_the_broker_answered(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"value": b"a"}, {"value": b"b"}), base_offset=41))
        assert cli("records", path, "-f", "%o %s,").out == "41 a,42 b,"

    def test_a_refused_record_says_so_and_has_no_offset(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"value": b"a"}), base_offset=-1, error_code=6))
        assert "orders/0@?" in cli("records", path).out
        assert "✗ NOT_LEADER_OR_FOLLOWER" in cli("records", path).out
        assert cli("records", path, "-f", "%o %m").out == "-1 ✗ NOT_LEADER_OR_FOLLOWER"
        assert json.loads(cli("records", path, "-f", "json").out)["error"] == "NOT_LEADER_OR_FOLLOWER"

    def test_without_an_answer_the_offset_is_unknown(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"value": b"a"}), acks=0))
        assert json.loads(cli("records", path, "-f", "json").out)["offset"] is None


class TestFormats:
    def test_letters_as_kcat_has_them(self, cli: Cli, write: Write) -> None:
        headers = [{"key": "h", "value": b"1"}, {"key": "n", "value": None}]
        path = write(produce(batch({"key": b"k", "value": b"v\nw", "headers": headers}, {"key": None, "value": None})))
        shown = cli("records", path, "-f", r"%T %t/%p@%o %k %K %s %S %h %w %n%%\t\x41\n").out
        assert shown == (
            "1700000000000 orders/0@0 k 1 v\nw 3 h=1,n=NULL produced 1%\tA\n"
            "1700000000001 orders/0@1  -1  -1  produced 1%\tA\n"
        )

    @pytest.mark.parametrize("format", ["%q", "%", r"\q", "nonsense", "yaml"])
    def test_what_is_no_format_is_refused_in_a_line(self, cli: Cli, format: str) -> None:
        outcome = cli("records", FIRST, "-f", format)
        assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)

    def test_csv_has_the_columns_of_json(self, cli: Cli) -> None:
        rows = list(csv.DictReader(io.StringIO(cli("records", CODECS, "-f", "csv").out)))
        lines = [json.loads(line) for line in cli("records", CODECS, "-f", "json").out.splitlines()]
        assert len(rows) == len(lines)
        assert set(rows[0]) <= set(lines[0])
        for row, line in zip(rows, lines, strict=True):
            assert row["topic"], row["offset"] == (line["topic"], str(line["offset"]))

    def test_what_is_no_text_is_hex(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"value": b"\xff\x00"})))
        assert cli("records", path, "-f", "%s").out == "ff00"
        assert json.loads(cli("records", path, "-f", "json").out)["value"] == {"base64": "/wA="}

    def test_the_id_of_a_schema_is_named(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"value": b"\0\0\0\0\x07\x02\x08teapot\xff"}, {"value": b"\0\0\0\0\0\0\0\x2a"})))
        first, second = (json.loads(line) for line in cli("records", path, "-f", "json").out.splitlines())
        assert (first["value_schema_id"], first["value_about"]) == (7, "schema id 7")
        assert "value_schema_id" not in second
        assert "schema id 7" in cli("records", path).out.splitlines()[0]


class TestChoosing:
    def test_keys_as_text_and_in_hex(self, cli: Cli) -> None:
        assert (
            cli("records", FIRST, "--key", "grace", "--key", "0x616461", "-f", "%k,").out
            == "ada,grace,ada,ada,grace,ada,"
        )
        assert cli("records", FIRST, "--key", "nobody").out == ""

    def test_only_records_of_the_topic_even_where_an_exchange_has_others(self, cli: Cli, write: Write) -> None:
        data = [{"name": name, "partition_data": [{"index": 0, "records": batch({"value": name.encode()})}]}
                for name in ("orders", "payments")]  # fmt: skip
        path = write(Talk().ask("Produce", 8, acks=0, timeout_ms=1000, topic_data=data))
        assert cli("records", path, "--topic", "payments", "-f", "%s,").out == "payments,"

    def test_a_limit_counts_records(self, cli: Cli) -> None:
        outcome = cli("records", FIRST, "--limit", 2, "-f", "%k,")
        assert outcome.out == "ada,grace,"
        assert cli("records", FIRST, "--limit", 0).out == ""

    def test_a_count_is_all_there_is(self, cli: Cli) -> None:
        assert cli("records", FIRST, "--count").out == "6\n"
        assert cli("records", FIRST, "--count", "--key", "grace", "-f", "csv").out == "2\n"
        assert "6 records (3 produced, 3 fetched)" in cli("records", FIRST, "--count").closing

    def test_filters_choose_exchanges(self, cli: Cli) -> None:
        assert cli("records", FIRST, "--api", "fetch", "--count").out == "3\n"
        assert cli("records", FIRST, "--client-id", "shop", "--count").out == "3\n"


class TestFiles:
    def test_records_of_a_log_segment(self, cli: Cli) -> None:
        shown = cli("records", LOG, "-f", r"%t/%p@%o %k %s %w\n", "--limit", 2).out
        assert shown == "money/0@0 from transfer 0 stored\nmoney/0@1 to  stored\n"

    def test_an_index_has_none(self, cli: Cli) -> None:
        outcome = cli("records", INDEX)
        assert (outcome.status, outcome.out) == (2, "")
        assert "a time index, which contains no records" in outcome.err

    def test_several_files_are_named_but_not_for_programs(self, cli: Cli) -> None:
        assert cli("records", FIRST, LOG).out.count("==> ") == 2
        assert cli("records", LOG, FIRST, "-f", "csv").out.count("time,timestamp") == 1

    @pytest.mark.parametrize("path", by_day(SHIPPED, 2), ids=lambda path: path.name)
    def test_status_and_findings_are_those_of_decode(self, cli: Cli, path: Path) -> None:
        ours, theirs = cli("records", path, "-f", "json"), cli("decode", path, "-f", "json")
        assert ours.status == theirs.status
        assert re.sub(r" · [\d,]+ records?( \([^)]*\))?", "", ours.closing) == theirs.closing


class TestTerminals:
    @pytest.mark.parametrize("columns", [80, 160])
    def test_no_line_is_wider_and_no_mark_is_cut(self, columns: int) -> None:
        paths = [CAPTURES / name for name in ("real-errors.pcap", "codecs.pcap", "real-4.4.0-transactions.pcap")]
        _, shown = watched(*paths, columns=columns)
        lines = shown.replace("\r\n", "\n").splitlines()
        assert max(len(line) for line in lines if not line.startswith("==> ")) <= columns
        whole = call("records", *paths, "-f", r"%m\n").out.splitlines()
        errors = [mark for marks in whole for mark in marks.split(", ") if mark.startswith("✗")]
        assert errors
        assert sum("✗" in line for line in lines) == len(errors)
        for error in errors:
            assert any(error in line for line in lines), error

    def test_long_values_are_cut_with_their_length(self, write: Write) -> None:
        _, shown = watched(write(produce(batch({"key": b"k", "value": b"x" * 5000}))))
        (line,) = (line for line in shown.replace("\r\n", "\n").splitlines() if "orders" in line)
        assert line.endswith('x"… 5,000 chars')
        assert len(line) == 80
        _, whole = watched(write(produce(batch({"value": b"x" * 5000}))), "--full")
        assert "x" * 5000 in whole

    @pytest.mark.parametrize("format", ["lines", r"%k %s %h\n", "json", "csv"])
    def test_nothing_that_was_captured_controls_a_terminal(self, write: Write, format: str) -> None:
        headers = [{"key": HOSTILE.decode(), "value": HOSTILE}]
        path = write(produce(batch({"key": HOSTILE, "value": HOSTILE, "headers": headers})))
        _, shown = watched(path, "-f", format)
        assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e]", shown)
        assert shown.replace("\r\n", "").count("\r") == 0

    def test_into_a_pipe_a_value_goes_as_it_stands(self, write: Write) -> None:
        path = write(produce(batch({"value": HOSTILE})))
        done = subprocess.run(
            [*COMMAND, "records", str(path), "-f", "%s"], capture_output=True, env=ENVIRONMENT, timeout=60
        )
        assert done.stdout == HOSTILE


def running(*arguments: object, **streams: Any) -> subprocess.Popen[bytes]:
    command = [*COMMAND, "records", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=ENVIRONMENT, **streams)


def test_a_closed_pipe_ends_quietly() -> None:
    with running(*[FIRST] * 40) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(60) == 0


def test_a_pipe_is_read_as_it_comes() -> None:
    with running("-", "-f", r"%s\n", stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(FIRST.read_bytes())
        process.stdin.flush()
        assert b"1001" in process.stdout.readline()  # the input is still open
        process.stdin.close()
        assert process.wait(60) == 0


def test_topics_and_partitions_as_filters_have_them(cli: Cli) -> None:
    assert cli("records", CODECS, "--topic", "*-gzip", "--count").out == "12\n"
    assert cli("records", CODECS, "--topic", "!*-gzip", "--partition", 0, "--count").out == "48\n"
    chosen = cli("records", FIRST, "--exchange", "12-40", "--count").out
    assert cli("records", f"{FIRST}#12-40", "--count").out == chosen != "0\n"
