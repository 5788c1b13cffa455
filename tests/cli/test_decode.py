"""`kdbg decode` as its users run it: views, filters, counts, several files, pipes, terminals."""

from __future__ import annotations

import os
import re
import select
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.protocol.findings.amounts import count

from ..cases import by_day, for_each
from ..traffic import PCAP_HEADER, Talk, record
from .calls import CAPTURES, COMMAND, ENVIRONMENT, FORMATS, SHIPPED, Outcome, spawn

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
ERRORS, FIRST, TRANSACTIONS = (CAPTURES / f"{name}.pcap" for name in ("errors", "first-contact", "transactions"))
README = (CAPTURES / "README.md").read_text()


class TestCounts:
    """The closing line, on stderr, adds up; stdout holds data alone."""

    @pytest.mark.parametrize("path", by_day(SHIPPED, 3), ids=lambda path: path.name)
    def test_every_view_of_a_capture_counts_the_same(self, cli: Cli, path: Path) -> None:
        outcomes = {name: cli("decode", path, "-f", name) for name in FORMATS}
        exchanges = len(outcomes["json"].lines)
        packets = re.search(rf"\| {re.escape(path.name)} \| ([\d,]+) \|", README)
        assert packets is not None, "captures/README.md does not list it"
        for name, outcome in outcomes.items():
            shown = {
                "tree": len(re.findall(r"^#\d+ ", outcome.out, re.MULTILINE)),
                "hex": len(re.findall(r"^#\d+ ", outcome.out, re.MULTILINE)),
                "summary": outcome.out.count("\n") - 1,
                "json": exchanges,
            }
            assert shown[name] == exchanges, name
            assert outcome.closing.startswith(f"{packets[1]} packets · "), name
            assert f" · {exchanges} exchanges · " in outcome.closing, name
            assert outcome.status == outcomes["json"].status
            assert "kdbg:" not in outcome.out
        assert outcomes["tree"].closing == outcomes["json"].closing == outcomes["hex"].closing

    def test_findings_are_counted_by_kind_and_add_up(self, cli: Cli) -> None:
        outcome = cli("decode", ERRORS, "-f", "json")
        notes = [note.partition(":")[0] for line in outcome.lines for note in line["notes"]]
        counted = dict(re.findall(r"([a-z-]+) (\d+)(?=[,)])", outcome.closing))
        kinds = {kind: str(notes.count(kind)) for kind in notes if kind != "no-response"} | {"connection-refused": "1"}
        assert counted == kinds
        assert count(notes.count("no-response"), "missing response") in outcome.closing
        assert f"{sum(map(int, kinds.values()))} findings" in outcome.closing

    def test_one_of_a_thing_is_no_plural(self, cli: Cli, write: Write) -> None:
        outcome = cli("decode", write(Talk().ask("Metadata", 1, topics=None).answer()), "-f", "json")
        assert outcome.closing == "4 packets · 1 connection · 1 exchange · 0 missing responses · 0 findings"

    def test_connections_that_are_not_kafka_are_counted_and_named(self, cli: Cli, write: Write) -> None:
        web = (
            Talk(("10.0.0.9", 4000), ("10.0.0.8", 80)).send(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n").reply(b"HTTP/1.1 200")
        )
        outcome = cli("decode", write(Talk().ask("Metadata", 1, topics=None).answer(), web.end()), "-f", "json")
        assert outcome.closing.endswith("1 connection not decoded")
        assert len(outcome.lines) == 1


CONDITIONS: list[tuple[Path, list[str], Callable[[Any], bool]]] = [
    (FIRST, ["--api", "fetch"], lambda line: line["api"] == "Fetch"),
    (FIRST, ["--api", "FETCH"], lambda line: line["api"] == "Fetch"),
    (FIRST, ["--api", "1"], lambda line: line["api"] == "Fetch"),
    (FIRST, ["--api", "send", "--api", "offset-commit"], lambda line: line["api"] in ("Produce", "OffsetCommit")),
    (FIRST, ["--client-id", "shop"], lambda line: line["client_id"] == "shop"),
    (FIRST, ["--group", "billing"], lambda line: '"group_id": "billing"' in str(line).replace("'", '"')),
    (FIRST, ["--connection", "2"], lambda line: line["connection"]["id"] == 2),
    (FIRST, ["--connection", "1", "--connection", "3"], lambda line: line["connection"]["id"] in (1, 3)),
    (FIRST, ["--slower-than", "2.1"], lambda line: (line["latency_ms"] or 0) > 2.1),
    (FIRST, ["--api", "Produce", "--connection", "2"], lambda line: both(line) == ("Produce", 2)),
    (ERRORS, ["--port", "9093"], lambda line: line["connection"]["broker"].endswith(":9093")),
    (ERRORS, ["--port", "9093", "--port", "9094"], lambda line: line["connection"]["broker"][-4:] in ("9093", "9094")),
]  # fmt: skip


class TestFilters:
    @pytest.mark.parametrize(("path", "options", "wanted"), CONDITIONS, ids=[" ".join(row[1]) for row in CONDITIONS])
    def test_a_filter_shows_what_fits_and_counts_the_rest(
        self, cli: Cli, path: Path, options: list[str], wanted: Callable[[Any], bool]
    ) -> None:
        everything = cli("decode", path, "-f", "json").lines
        outcome = cli("decode", path, "-f", "json", *options)
        expected = [line for line in everything if wanted(line)]
        assert 0 < len(expected) < len(everything), "the filter must have something to choose"
        assert bodies(outcome.lines) == bodies(expected)
        if "--port" not in options:
            assert f" · {len(everything)} exchanges · {len(expected)} shown · " in outcome.closing

    def test_a_topic_is_known_by_its_name_even_where_only_its_id_is_written(self, cli: Cli) -> None:
        path = CAPTURES / "codecs.pcap"
        apis = [
            (line["api"], line["api_version"])
            for line in cli("decode", path, "-f", "json", "--topic", "parcels-gzip").lines
        ]
        assert ("Produce", 10) in apis
        assert ("Fetch", 16) in apis
        assert cli("decode", path, "-f", "json", "--topic", "no-such").lines == []

    def test_errors_are_codes_and_findings(self, cli: Cli) -> None:
        everything = cli("decode", ERRORS, "-f", "json").lines
        shown = cli("decode", ERRORS, "-f", "json", "--errors=all").lines
        wrong = [line for line in everything if line["notes"] or codes(line["response"])]
        assert 0 < len(wrong) < len(everything)
        assert bodies(shown) == bodies(wrong)

    @pytest.mark.parametrize("seconds", [False, True])
    def test_since_and_until_take_moments_inclusive(self, cli: Cli, seconds: bool) -> None:
        everything = cli("decode", FIRST, "-f", "json").lines
        times = [line["request"]["time"] for line in everything]
        first, last = times[5], times[9]
        words = [f"{moment:.6f}" if seconds else clock(moment, "%Y-%m-%dT%H:%M:%S") for moment in (first, last)]
        outcome = cli("decode", FIRST, "-f", "json", "--since", words[0], "--until", words[1])
        assert bodies(outcome.lines) == bodies(
            [line for line in everything if first <= line["request"]["time"] <= last]
        )

    def test_a_time_of_day_is_that_of_the_captures_first_day(self, cli: Cli, write: Write) -> None:
        talk = Talk(at=11 * 3_600_000 + 1_799_990).ask("Metadata", 1, topics=[]).answer()
        talk.at += 500
        path = write(talk.ask("Metadata", 1, topics=None).answer().ask("Heartbeat", 0).answer())
        times = [line["request"]["time"] % 86400 for line in cli("decode", path, "-f", "json").lines]
        assert times == pytest.approx([86399.992, 0.494, 0.496], abs=1e-6)
        assert len(cli("decode", path, "-f", "json", "--since", "23:59:59.992").lines) == 3
        assert len(cli("decode", path, "-f", "json", "--since", "23:59:59.993").lines) == 2
        assert len(cli("decode", path, "-f", "json", "--until", "23:59:59.992").lines) == 1
        assert len(cli("decode", path, "-f", "json", "--until", "01:59:59.992+02:00").lines) == 1
        assert len(cli("decode", path, "-f", "json", "--until", "01:59:59.991+02:00").lines) == 0
        assert len(cli("decode", path, "-f", "json", "--since", "2026-11-22").lines) == 2
        assert len(cli("decode", path, "-f", "json", "--since", "2026-11-22T00:00:00.496Z").lines) == 1

    @for_each("value", ["nan", "inf", "-1", "1e300", "25:00", "tomorrow", "", "2026-13-01"])
    def test_what_is_no_time_is_refused_in_a_line(self, cli: Cli, value: str) -> None:
        outcome = cli("decode", FIRST, "--since", value)
        assert (outcome.status, outcome.out) == (2, "")
        assert outcome.err.startswith("kdbg: invalid value for '--since': ")
        assert outcome.err.count("\n") == 1
        assert cli("decode", FIRST, "--slower-than", "nan").status == 2

    def test_a_limit_counts_what_is_shown_over_all_files(self, cli: Cli) -> None:
        outcome = cli("decode", FIRST, TRANSACTIONS, ERRORS, "-f", "json", "--limit", "40", "--api", "ApiVersions")
        assert len(outcome.lines) == 40
        single = cli("decode", FIRST, "-f", "json", "--limit", "3")
        assert [line["correlation_id"] for line in single.lines] == [1, 2, 3]
        assert " · 3 exchanges · 0 missing responses" in single.closing
        assert single.closing.startswith("11 packets · 1 connection ·"), "none that came behind them"
        assert cli("decode", FIRST, "-f", "summary", "--limit", "0").out.count("\n") == 1

    def test_an_unknown_api_is_refused_before_anything_is_read(self, cli: Cli) -> None:
        outcome = cli("decode", "no-such.pcap", "--api", "fetsh")
        assert outcome == (2, "", "kdbg: unknown API 'fetsh'; did you mean Fetch or ListOffsets?\n")


def both(line: Any) -> tuple[str, int]:
    return line["api"], line["connection"]["id"]


def bodies(lines: list[Any]) -> list[Any]:
    """What is the same whether or not connections were left out: all but the numbers of connections and exchanges."""
    return [{**line, "connection": line["connection"]["client"], "number": 0} for line in lines]


def codes(value: Any) -> list[int]:
    """Error codes that are not zero, anywhere in a body."""
    if isinstance(value, dict):
        own = [item for key, item in value.items() if key == "error_code" and item]
        return own + [code for item in value.values() for code in codes(item)]
    return [code for item in value for code in codes(item)] if isinstance(value, list) else []


def clock(seconds: float, form: str) -> str:
    return time.strftime(form, time.gmtime(seconds)) + f"{seconds % 1:.6f}"[1:]


class TestSeveralFiles:
    def test_each_stands_under_its_name(self, cli: Cli) -> None:
        for name in ("tree", "summary", "hex"):
            out = cli("decode", FIRST, ERRORS, "-f", name).out
            assert [line for line in out.splitlines() if line.startswith("==>")] == [
                f"==> {FIRST} <==",
                f"==> {ERRORS} <==",
            ]
        assert "==>" not in cli("decode", FIRST, "-f", "tree").out

    def test_json_has_no_headings(self, cli: Cli) -> None:
        both = cli("decode", FIRST, ERRORS, "-f", "json")
        assert both.lines == cli("decode", FIRST, "-f", "json").lines + cli("decode", ERRORS, "-f", "json").lines
        assert both.closing.startswith("315 packets · 14 connections · 89 exchanges")


class TestPipes:
    @pytest.mark.parametrize("format", FORMATS)
    def test_a_pipe_is_read_like_a_file(self, cli: Cli, format: str) -> None:
        piped = spawn("decode", "-", "-f", format, stdin=FIRST.read_bytes())
        assert (piped.status, piped.out, piped.err) == cli("decode", FIRST, "-f", format)

    def test_exchanges_are_shown_as_they_complete(self) -> None:
        with Live("-f", "json") as live:
            talk = Talk().ask("Metadata", 1, topics=[]).answer()
            live.write(talk)
            assert b'"correlation_id":1' in live.line()
            live.write(talk.ask("Heartbeat", 0).answer())
            assert b'"correlation_id":2' in live.line()
            assert live.end() == (0, b"")

    def test_an_odd_answer_is_shown_without_another_packet(self) -> None:
        """Its last byte could be the next message's first: that is waited for, but not for long."""
        body = kdbg.encode({}, api="Metadata", version=1, direction="response")
        with Live("-f", "json") as live:
            live.write(Talk().ask("Metadata", 1, topics=[]).answer_bytes(body + b"\0"))
            assert b'"kind":"trailing-bytes"' in live.line()
            assert live.end()[0] == 1

    def test_a_limit_is_kept_while_the_pipe_stays_open(self) -> None:
        with Live("-f", "json", "--limit", "1") as live:
            live.write(Talk().ask("Metadata", 1, topics=[]).answer())
            assert b'"correlation_id":1' in live.line()
            assert live.process.wait(timeout=30) == 0

    def test_a_named_pipe_is_live_too(self, tmp_path: Path) -> None:
        path = tmp_path / "pipe"
        os.mkfifo(path)
        process = subprocess.Popen(
            [*COMMAND, "decode", path, "-f", "json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        talk = Talk().ask("Metadata", 1, topics=[]).answer()
        with process, path.open("wb", buffering=0) as pipe:
            pipe.write(PCAP_HEADER + b"".join(map(record, talk.segments)))
            assert process.stdout is not None
            assert b'"correlation_id":1' in process.stdout.readline()


class Live:
    """`kdbg decode -` at the end of a pipe that this test writes."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, "decode", "-", *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=ENVIRONMENT, bufsize=0,
        )  # fmt: skip
        self.written = 0
        self._send(PCAP_HEADER)

    def __enter__(self) -> Live:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.communicate()

    def _send(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    def write(self, talk: Talk) -> None:
        """The packets of the connection that were not written yet."""
        self._send(b"".join(map(record, talk.segments[self.written :])))
        self.written = len(talk.segments)

    def line(self) -> bytes:
        """The next line of output; fails after a long while without one."""
        assert self.process.stdout is not None
        ready, _, _ = select.select([self.process.stdout], [], [], 60)
        assert ready, "nothing came"
        return self.process.stdout.readline()

    def end(self) -> tuple[int, bytes]:
        """Close the pipe: the status, and what else was printed."""
        out, _ = self.process.communicate(timeout=60)
        return self.process.returncode, out


class TestTerminal:
    """What a person at a terminal sees: colours, its width, long things shortened."""

    def test_long_arrays_and_values_are_shortened_with_how_much_is_missing(self, write: Write) -> None:
        topics = [{"name": f"topic-{i}-{'x' * 100}"} for i in range(30)]
        path = write(Talk(most=9000).ask("Metadata", 1, topics=topics).answer())
        shown = terminal("decode", path, columns=100, NO_COLOR="1")
        assert "… 18 more" in shown
        assert re.search(r'name "topic-0-x{68}"… 32 more characters', shown)
        assert max(map(len, shown.splitlines())) <= 130
        whole = terminal("decode", path, "--full", NO_COLOR="1")
        assert "more" not in whole
        assert all(topic["name"] in whole for topic in topics)

    def test_colour_is_for_terminals(self, cli: Cli) -> None:
        assert "\x1b[" in terminal("decode", FIRST, "--limit", "1")
        assert "\x1b[" not in terminal("decode", FIRST, "--limit", "1", NO_COLOR="1")
        assert "\x1b[" not in terminal("decode", FIRST, "--limit", "1", "--color", "never")
        assert "\x1b[" in terminal("decode", FIRST, "--limit", "1", "--color", "always", NO_COLOR="1")
        assert "\x1b[" not in cli("decode", FIRST, "--limit", "1").out
        assert "\x1b[" in cli("decode", FIRST, "--limit", "1", "--color", "always").out

    def test_colour_adds_nothing_but_colour(self, cli: Cli) -> None:
        for format in ("tree", "summary", "hex"):
            plain = cli("decode", ERRORS, "-f", format).out
            coloured = cli("decode", ERRORS, "-f", format, "--color", "always").out
            assert plain != coloured
            assert re.sub(r" *$", "", re.sub(r"\x1b\[[\d;]*m", "", coloured), flags=re.MULTILINE) == plain

    def test_a_summary_fits_the_terminal(self) -> None:
        for columns in (80, 100):
            lines = terminal("decode", ERRORS, "-f", "summary", columns=columns, NO_COLOR="1").splitlines()
            assert columns - 10 < max(map(len, lines)) <= columns
        whole = terminal("decode", ERRORS, "-f", "summary", "--full", NO_COLOR="1").splitlines()
        assert max(map(len, whole)) > 100
        assert not any("…" in line[59:] for line in whole)


def terminal(*arguments: object, columns: int = 80, **environment: str) -> str:
    """What `kdbg` prints on a terminal of so many columns."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, (24).to_bytes(2, "little") + columns.to_bytes(2, "little") + bytes(4))
    process = subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.DEVNULL,
        env=ENVIRONMENT | {"TERM": "xterm-256color"} | environment,
    )  # fmt: skip
    os.close(theirs)
    data = b"".join(read_all(ours))
    os.close(ours)
    assert process.wait(timeout=60) in (0, 1)
    return data.decode().replace("\r\n", "\n")


def read_all(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except OSError:  # the other end is closed
            return
        if not piece:
            return
        yield piece
