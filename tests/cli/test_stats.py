"""`kdbg stats` as its users run it: the screen, tables by anything, CSV and JSON, pipes, wrong options, Ctrl-C."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdbg.analysis.stats.measures import MEASURES
from kdbg.analysis.stats.statistics import StatsTable
from kdbg.exchanges.filters.filter_set import Filters
from kdbg.ui.cli import stats_tables
from kdbg.ui.cli.completion import dimension_names, sort_names
from kdbg.ui.cli.output import Writer
from kdbg.ui.cli.runner import Runner
from kdbg.ui.cli.stats import command
from kdbg.ui.cli.stats_tables import StatsOptions, write_stats
from kdbg.views.render.style import Look

from ..cases import for_each
from ..traffic import Talk, pcap
from .calls import CAPTURES, COMMAND, ENVIRONMENT, MAIN, Outcome, call, spawn
from .terminal import on_terminal

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
ERRORS, REAL, FIRST = (CAPTURES / f"{name}.pcap" for name in ("errors", "real-errors", "first-contact"))
GOLDEN = MAIN / "tests" / "golden"


def rows(outcome: Outcome) -> list[dict[str, str]]:
    return list(csv.DictReader(outcome.out.splitlines()))


class TestTheScreen:
    @pytest.mark.parametrize(("columns", "lines"), [(80, 24), (160, 50)])
    def test_it_fits_the_terminal(self, columns: int, lines: int) -> None:
        """`KDBG_GOLDEN=1` writes what is expected anew."""
        shown = on_terminal("stats", REAL, out=True, columns=columns, rows=lines, NO_COLOR="1")
        path = GOLDEN / f"stats-{columns}.txt"
        if os.environ.get("KDBG_GOLDEN"):
            path.write_text("\n".join(shown.screen))
        assert shown.screen == path.read_text().split("\n")
        assert len(shown.screen) <= lines - 1
        assert max(map(len, shown.screen)) <= columns

    def test_in_a_pipe_nothing_is_cut(self, cli: Cli) -> None:
        outcome = cli("stats", REAL)
        assert "…" not in outcome.out
        errors = cli("stats", REAL, "--by", "error", "-f", "json").lines
        assert {row["error"] for row in errors if row["errors"]} <= set(outcome.out.split())
        assert outcome.err == ""

    @for_each("name", sorted(path.name for path in CAPTURES.glob("*.pcap*")))
    def test_of_every_capture_it_says_as_much_as_decode(self, cli: Cli, name: str) -> None:
        screen, decoded = cli("stats", CAPTURES / name), cli("decode", CAPTURES / name, "-f", "summary")
        packets, _, exchanges, unanswered, findings = decoded.closing.split(" · ")[:5]
        assert screen.status == decoded.status
        for part in (packets, exchanges):
            assert part in screen.out
        assert ("no response  " + unanswered.split()[0] in screen.out) == (unanswered != "0 missing responses")
        for part in findings.partition("(")[2].rstrip(")").split(", "):
            assert part in screen.out

    def test_colours_are_for_errors_that_are_no_normal_steps(self, cli: Cli) -> None:
        out = cli("stats", ERRORS, "--by", "error", "--color", "always").out
        assert "\x1b[1;31mNOT_LEADER_OR_FOLLOWER" in out
        assert "\x1b[90mREBALANCE_IN_PROGRESS" in out

    def test_a_capture_without_kafka(self, cli: Cli, write: Write) -> None:
        web = Talk(("10.0.0.9", 4000), ("10.0.0.8", 80)).send(b"GET / HTTP/1.1\r\n\r\n").reply(b"HTTP/1.1 200")
        assert "no exchanges\n" in cli("stats", write(web.end())).out

    def test_names_cannot_write_on_the_terminal(self, cli: Cli, write: Write) -> None:
        talk = Talk(client_id="\x1b[31mred\n").ask("Metadata", 1, topics=None).answer()
        for options in ((), ("--by", "client"), ("--by", "client", "-f", "csv")):
            out = cli("stats", write(talk), *options).out
            assert "\x1b" not in out
            assert "\\x1b[31mred\\n" in out


class TestBy:
    def test_anything_together(self, cli: Cli) -> None:
        found = cli("stats", ERRORS, "--by", "client,api,error", "--sort", "errors", "-f", "json").lines
        first = found[0]
        assert (first["client"], first["api"], first["error"]) == ("medium", "Metadata", "UNKNOWN_TOPIC_OR_PARTITION")
        assert (first["exchanges"], first["errors"]) == (5, 5)
        assert list(first) == ["client", "api", "error", *MEASURES]

    def test_an_error_is_of_its_topic_and_partition(self, cli: Cli) -> None:
        found = rows(cli("stats", ERRORS, "--by", "error,partition", "-f", "csv", "--api", "produce"))
        errors = {(row["topic"], row["partition"], row["error"]): row["errors"] for row in found}
        assert errors == {
            ("orders", "0", ""): "0", ("orders", "0", "NOT_LEADER_OR_FOLLOWER"): "1",
            ("orders", "0", "MESSAGE_TOO_LARGE"): "1", ("orders", "0", "NOT_ENOUGH_REPLICAS"): "1",
        }  # fmt: skip

    def test_the_first_rows_and_the_rest_add_up(self, cli: Cli) -> None:
        every = cli("stats", REAL, "--by", "api", "-f", "json").lines
        top = cli("stats", REAL, "--by", "api", "-f", "json", "--top", "3").lines
        assert top[:3] == every[:3]
        assert top[3]["others"] == f"({len(every) - 3} others)"
        assert sum(row["exchanges"] for row in top) == sum(row["exchanges"] for row in every) == 231
        assert "(13 others)" in cli("stats", REAL, "--by", "api", "--top", "3").out

    def test_more_rows_than_are_told_apart(
        self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr(stats_tables, "StatsTable", lambda by: StatsTable(by, most=2))
        write_stats(Runner(Filters(), Writer()), [str(FIRST)], StatsOptions(("api",)), Look())
        printed = capfd.readouterr()
        assert "(others)" in printed.out
        assert 'kdbg: 16 exchanges counted as "others": the table keeps 2 rows' in printed.err

    def test_times_and_hosts_are_written_for_programs(self, cli: Cli) -> None:
        (row,) = cli("stats", FIRST, "--by", "minute,host,broker", "-f", "json").lines
        assert (row["minute"], row["host"], row["broker"]) == ("2026-11-21T00:40:00Z", "127.0.0.1", "127.0.0.1:9092")
        assert row["first_time"].startswith("2026-11-21T00:40:04.935")
        table = cli("stats", FIRST, "--by", "minute,connection,version").out
        assert table.splitlines()[1].startswith("2026-11-21 00:40  c")

    def test_connections_of_several_files_are_told_apart(self, cli: Cli) -> None:
        found = cli("stats", FIRST, ERRORS, "--by", "connection", "-f", "json").lines
        assert {(row["file"].rpartition("/")[2], row["connection"]) for row in found} >= {
            ("first-contact.pcap", 1), ("errors.pcap", 1),
        }  # fmt: skip

    def test_cells_are_no_formulas(self, cli: Cli, write: Write) -> None:
        talk = Talk(client_id='=HYPERLINK("http://evil")').ask("Metadata", 1, topics=None).answer()
        (row,) = rows(cli("stats", write(talk), "--by", "client", "-f", "csv"))
        assert row["client"] == '\'=HYPERLINK("http://evil")'

    def test_filters_choose_what_is_counted(self, cli: Cli) -> None:
        decoded = cli("decode", FIRST, "-f", "json", "--group", "billing").lines
        (row,) = cli("stats", FIRST, "-f", "json", "--by", "file", "--group", "billing").lines
        assert row["exchanges"] == len(decoded) > 0

    def test_a_notice_says_that_exchanges_stand_in_several_rows(self, cli: Cli) -> None:
        assert "counted once for each topic and error it contains" in cli("stats", FIRST, "--by", "error,topic").err
        assert "counted once for each" not in cli("stats", FIRST, "--by", "api").err

    def test_names_of_errors_are_wrapped_and_never_cut(self) -> None:
        shown = on_terminal("stats", ERRORS, "--by", "client,api", out=True, NO_COLOR="1")
        names = set(json.loads(call("stats", ERRORS, "--by", "file", "-f", "json").out)["error_names"])
        assert names <= set(shown.terminal.replace(",", " ").split())
        lines = [line for line in shown.terminal.splitlines()[:-2] if not line.startswith("kdbg: ")]
        assert max(map(len, lines)) <= 80


class TestJson:
    def test_the_screen_as_lines(self, cli: Cli) -> None:
        found = cli("stats", ERRORS, "-f", "json").lines
        tables = {
            name: [row for row in found if row["table"] == name]
            for name in ("total", "clients", "brokers", "apis", "errors")
        }
        assert sum(map(len, tables.values())) == len(found)
        (total,) = tables["total"]
        for name in ("clients", "brokers", "apis"):
            assert sum(row["exchanges"] for row in tables[name]) == total["exchanges"] == 58
        assert total["errors"] == sum(row["errors"] for row in tables["errors"]) == 11
        assert total["steps"] == 10


class TestFiles:
    def test_several_captures_are_counted_together(self, cli: Cli) -> None:
        one, other, both = (
            cli("stats", *files, "-f", "json").lines[0] for files in ((FIRST,), (ERRORS,), (FIRST, ERRORS))
        )
        for name in ("exchanges", "connections", "request_bytes", "errors", "findings"):
            assert one[name] + other[name] == both[name]

    def test_a_folder(self, cli: Cli, tmp_path: Path) -> None:
        shutil.copy(FIRST, tmp_path)
        (tmp_path / "notes.txt").write_text("no capture")
        outcome = cli("stats", tmp_path)
        assert "31 exchanges" in outcome.out
        assert "skipped " in outcome.err

    def test_a_file_of_a_brokers_disk_is_none(self, cli: Cli) -> None:
        log = CAPTURES / "real-segments-4.4.0" / "money-0" / "00000000000000000000.log"
        outcome = cli("stats", log)
        assert (outcome.status, outcome.out) == (2, "")
        assert "not a capture; use kdbg decode" in outcome.err

    @pytest.mark.parametrize("jobs", [2, 4])
    def test_many_cores_count_the_same(
        self, jobs: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
    ) -> None:
        printed = []
        monkeypatch.setattr(stats_tables.StatisticsSink, "most", 7)
        for count in (1, jobs):
            for by in ((), ("client", "topic", "error")):
                asked = StatsOptions(by, format="json")
                status = write_stats(Runner(Filters(), Writer(), jobs=count), [str(REAL), str(ERRORS)], asked, Look())
                printed.append((capfd.readouterr(), status))
        assert printed[:2] == printed[2:]


class TestPipes:
    def test_stdin(self, cli: Cli) -> None:
        piped = spawn("stats", "-", "--by", "api", "-f", "json", stdin=ERRORS.read_bytes())
        assert piped.out == cli("stats", ERRORS, "--by", "api", "-f", "json").out

    def test_a_pipe_that_is_closed_ends_quietly(self) -> None:
        process = subprocess.Popen(
            [*COMMAND, "stats", str(REAL), "--by", "second,api"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            env=ENVIRONMENT,
        )  # fmt: skip
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert b"Traceback" not in process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=30) in (0, 1, 141)

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_ctrl_c_shows_what_was_counted_by_then(self, jobs: int) -> None:
        """A pipe that goes on: what came before stands."""
        process = subprocess.Popen(
            [*COMMAND, "stats", "-", "--by", "api", "--jobs", str(jobs)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT | {"PYTHONUNBUFFERED": "1"},
        )  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        talk = Talk()
        for _ in range(2000):
            talk.ask("Heartbeat", 0).answer()
        process.stdin.write(pcap(talk))  # more than a pipe holds: when all of it is written, much was read
        process.stdin.flush()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert process.returncode == 130
        assert b"Traceback" not in err
        assert out.splitlines()[1].startswith(b"Heartbeat")
        assert b"interrupted; the statistics cover only what was read so far" in err


@for_each(
    ("options", "problem"),
    [
        (("--by", "topics"), "unknown dimension 'topics'; did you mean topic?"),
        (("--by", "api,"), "use names separated by commas"),
        (("--by", "api", "--sort", "exchange"), "unknown sort column 'exchange'; did you mean exchanges?"),
        (("--sort", "exchanges"), "--sort requires --by"),
        (("--top", "3"), "--top requires --by"),
        (("--by", "api", "--top", "0"), "--top"),
        (("-f", "csv"), "--format csv requires --by, such as --by api"),
        (("-f", "xml"), "xml"),
        (("--api", "nothing"), "nothing"),
    ],
)
def test_wrong_options_are_said_at_once(cli: Cli, options: tuple[str, ...], problem: str) -> None:
    outcome = cli("stats", ERRORS, *options)
    assert (outcome.status, outcome.out) == (2, "")
    assert problem in outcome.err


def test_the_shell_completes_names() -> None:
    context: Any = command.make_context("stats", ["x.pcap"], resilient_parsing=True)
    context.params["by"] = ("api", "error")
    offered = [item.value for item in dimension_names(context, command.params[1], "client,to")]
    assert offered == ["client,topic"]
    assert "client" not in [item.value for item in dimension_names(context, command.params[1], "client,")]
    assert [item.value for item in sort_names(context, command.params[2], "e")] == [
        "error",
        "exchanges",
        "errors",
        "expected_errors",
    ]
