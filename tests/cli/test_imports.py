"""What each command imports, and how it ends: start-up and exit are what every call pays.

Heavy are the packages that kdbg itself imports anywhere, but for click; some rooms of kdbg; a few modules of Python's.
A command may import those that its row of the table allows. A new command needs a row.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Collection
from functools import cache
from typing import NamedTuple

import pytest

from kdbg.ui.cli import COMMANDS

from ..cases import for_each
from ..test_packages import FILES, imports
from .calls import CAPTURES

REPORT = """if True:
    import json, sys
    before = set(sys.modules)
    from kdbg.ui.cli import run
    done = [(run(arguments), sorted(set(sys.modules) - before)) for arguments in json.loads(sys.argv[1])]
    print(json.dumps(done), file=sys.stderr)
"""
ROOMS = {
    "kdbg.live.client",
    "kdbg.protocol.definitions",
    "kdbg.views.report",
    "kdbg.scale.query",
    "kdbg.payloads.segments",
    "kdbg.scale.spark",
    "kdbg.views.tables",
}
OF_PYTHON = {"asyncio", "multiprocessing", "sqlite3", "ssl"}
MESSAGES = {"construct", "fastcrc"}
CODECS = {"cramjam", "lz4", "zstandard"}
ARROW = {"pyarrow", "numpy", "asyncio", "multiprocessing", "ssl"}
"""pyarrow brings the others."""
ARCHIVES = {
    *MESSAGES,
    *ARROW,
    "deltalake",
    "orjson",
    "pandas",
    "pyspark",
    "kdbg.protocol.definitions",
    "kdbg.scale.spark",
    "kdbg.views.tables",
}
SENDING = {"opentelemetry", "requests", "google", "asyncio", "multiprocessing", "ssl"}
"""requests and the SDK bring the others."""
QUESTIONS = {*MESSAGES, *ARROW, "duckdb", "orjson", "pandas", "rich", "kdbg.scale.query", "kdbg.views.tables"}
"""pyarrow looks for pandas."""
PAGE = {*QUESTIONS, "jinja2", "markupsafe", "kdbg.views.report"}
TLS = CAPTURES / "tls" / "real-tls-1.2.pcap"
CAPTURE, SEGMENTS = CAPTURES / "first-contact.pcap", CAPTURES / "real-segments-4.4.0"
LOG = SEGMENTS / "money-0" / "00000000000000000000.log"
REQUEST = "000300010000000200046b6462670000000100 03666f6f"


class Row(NamedTuple):
    """A call of a command, and the heavy modules that it may import."""

    command: str
    arguments: tuple[object, ...]
    allowed: Collection[str] = ()
    status: int = 0
    stdin: bytes = b""


TABLE = [
    Row("decode", (CAPTURE, "-f", "summary"), MESSAGES),
    Row("decode", (CAPTURE, "-f", "tree"), MESSAGES),
    Row("decode", (CAPTURE, "-f", "summary", "--where", 'api == "Fetch"'), {*MESSAGES, "cel_expr_python", "google"}),
    Row("decode", (CAPTURE, "-f", "hex"), MESSAGES),
    Row("decode", (CAPTURE, "-f", "json"), {*MESSAGES, "orjson"}),
    Row("decode", (CAPTURE, "--topic", "orders", "--color", "always"), {*MESSAGES, "rich"}),
    Row("decode", (CAPTURES / "real-codecs-4.4.0.pcap", "-f", "tree"), {*MESSAGES, *CODECS}),
    Row("decode", (LOG,), {*MESSAGES, "orjson", "kdbg.payloads.segments"}),
    Row("watch", ("-i", "nowhere"), MESSAGES, status=2),
    Row("records", (CAPTURE,), {*MESSAGES, "orjson", "kdbg.payloads.segments"}),
    Row("records", (CAPTURE, "-f", "%k %s\\n", "--count"), {*MESSAGES, "orjson", "kdbg.payloads.segments"}),
    Row("diff", (CAPTURE, CAPTURE), {*MESSAGES, "orjson", "rich"}),
    Row("diff", (f"{CAPTURE}#1", f"{CAPTURE}#2"), {*MESSAGES, "orjson", "rich"}),
    Row("diagnose", (CAPTURE,), {*MESSAGES, "orjson"}),
    Row("readiness", (CAPTURE,), {*MESSAGES, "orjson"}),
    Row("lint", (CAPTURE,), {*MESSAGES, "orjson"}),
    Row("story", (CAPTURE,), {*MESSAGES, "orjson"}),
    Row("story", (CAPTURE, "--client", "shop"), {*MESSAGES, "orjson"}),
    Row("stats", (CAPTURE,), MESSAGES),
    Row("stats", (CAPTURE, "--by", "topic,error"), MESSAGES),
    Row("stats", (CAPTURE, "--by", "api", "-f", "json"), {*MESSAGES, "orjson"}),
    Row("explain", (REQUEST,), MESSAGES),
    Row("explain", (REQUEST, "-f", "json"), {*MESSAGES, "orjson"}),
    Row("explain", (REQUEST[:-2], "--api", "metadata"), MESSAGES, status=1),
    Row("explain", ("trailing-bytes",), {"construct"}),
    Row("explain", (f"@{LOG}",), {"construct", "fastcrc", "kdbg.payloads.segments"}, status=2),
    Row("send", ("metadata", "--broker", "127.0.0.1:1"), {*MESSAGES, "asyncio", "ssl", "kdbg.live.client"}, status=1),
    Row("proxy", ("-b", "127.0.0.1:1", "-l", "203.0.113.1:1"),
        {*MESSAGES, "asyncio", "ssl", "orjson", "kdbg.live.client"}, status=2),
    Row("replay", (CAPTURE, "-b", "127.0.0.1:1"),
        {*MESSAGES, "asyncio", "ssl", "orjson", "kdbg.live.client"}, status=1),
    Row("mock", (CAPTURE, "-l", "203.0.113.1:1"), {*MESSAGES, "asyncio", "ssl", "kdbg.live.client"}, status=2),
    Row("encode", ("metadata", "--version", 1, "--body", '{"topics": null}'), {*MESSAGES, "orjson"}),
    Row("encode", ("-",), {*MESSAGES, "orjson"}, stdin=b'{"request": null, "response": null}\n'),
    Row("index", ("--list",), {"construct"}),
    Row("grammar", ("metadata", "--version", 4), {"construct", "orjson", "kdbg.protocol.definitions"}),
    Row("grammar", ("fetch", "--diff", 3, 4), {"construct", "orjson", "kdbg.protocol.definitions"}),
    Row("errors", ("6",), {"construct", "orjson"}),
    Row("apis", (), {"construct", "orjson"}),
    Row("coverage", (), {"construct", "orjson"}),
    Row("wireshark", ("--print",), {"construct"}),
    Row("pipeline", (CAPTURES / "nothing.pcap", "--out", "nowhere"), ARCHIVES, status=2),
    Row("tables", ("compact", CAPTURES), ARCHIVES, status=2),
    Row("query", ("nowhere", "--ask", "lag", "--show-sql"), {"kdbg.views.tables"}),
    Row("query", (CAPTURE, "SELECT COUNT(*) FROM exchanges"), QUESTIONS),
    Row("query", (CAPTURES, "SELECT 1", "--master", "local[1]"), ARCHIVES, status=2),
    Row("export", (CAPTURE, os.devnull, "--api", "fetch"), MESSAGES),
    Row("export", (CAPTURE, "--otlp", os.devnull), {*MESSAGES, "orjson", "kdbg.payloads.segments"}),
    Row("export", (CAPTURE, "--otlp", "http://127.0.0.1:1"),
        {*MESSAGES, *SENDING, "orjson", "kdbg.payloads.segments"}, status=2),
    Row("stats", (CAPTURE, "-f", "prometheus"), {*MESSAGES, *CODECS, "prometheus_client", "ssl"}),
    Row("redact", (CAPTURE, os.devnull), {*MESSAGES, *CODECS, "xxhash"}),
    Row("report", (CAPTURE, "-o", "-"), PAGE),
    Row("browse", (CAPTURE,), status=2),
    Row("guide", ("speed",)),
    Row("guide", ("speed", "--color", "always"), {"rich"}),
    Row("completion", ("bash",)),
    Row("tls-keys", ()),
    Row("decode", (TLS, "--tls-keys", TLS.with_suffix(".keys"), "-f", "summary"), {*MESSAGES, *CODECS, "cryptography"}),
]  # fmt: skip


SHOWN_IN_HELP = {"query": {"kdbg.views.tables"}, "send": {"construct", "kdbg.live.client"}}
"""The questions that are ready, without Spark; the APIs with options of their own, made of what sends them."""


@cache
def heavy() -> frozenset[str]:
    """The modules that are looked for."""
    packages = {name.partition(".")[0] for path in FILES for name in imports(path)}
    return frozenset(packages - sys.stdlib_module_names - {"kdbg", "click"} | ROOMS | OF_PYTHON)


def imported(*rows: Row) -> list[set[str]]:
    """The heavy modules that are there after each of these calls, made one after the other in one process."""
    calls = json.dumps([[row.command, *map(str, row.arguments)] for row in rows])
    done = subprocess.run([sys.executable, "-c", REPORT, calls], input=rows[0].stdin, capture_output=True, check=True)
    found = json.loads(done.stderr.decode().splitlines()[-1])
    assert [status for status, _ in found] == [row.status for row in rows], done.stderr.decode()
    return [
        {part for name in modules for part in (name.partition(".")[0], ".".join(name.split(".")[:2]))} & heavy()
        for _, modules in found
    ]


def test_every_command_has_a_row() -> None:
    assert {row.command for row in TABLE} == set(COMMANDS)


def test_what_is_heavy_is_found() -> None:
    assert heavy() >= {"construct", "orjson", "pyarrow", "pyspark", "rich", "scapy"}


def chains() -> list[list[Row]]:
    """Rows each of which may import all that those before it may: none hides what a later one imports too much."""
    found: list[list[Row]] = []
    for row in sorted(TABLE, key=lambda row: len(row.allowed)):
        fitting = [rows for rows in found if rows[-1].stdin == row.stdin and set(rows[-1].allowed) <= set(row.allowed)]
        if fitting:
            max(fitting, key=lambda rows: len(rows[-1].allowed)).append(row)
        else:
            found.append([row])
    return found


@for_each("rows", chains(), ids=lambda rows: ", ".join(row.command for row in rows))
def test_commands_import_what_they_need(rows: list[Row]) -> None:
    for row, modules in zip(rows, imported(*rows), strict=True):
        assert modules <= set(row.allowed), row


def test_the_help_of_a_command_imports_nothing_heavy() -> None:
    helps = {name: Row(name, ("--help",)) for name in COMMANDS}
    for name, shown in SHOWN_IN_HELP.items():
        assert imported(helps.pop(name))[-1] <= shown
    assert imported(*helps.values())[-1] == set()


@pytest.mark.parametrize("option", ["--help", "--version"])
def test_help_and_version_need_click_alone(option: str) -> None:
    assert imported(Row(option, ())) == [set()]


def test_colours_need_rich() -> None:
    assert "rich" in imported(Row("decode", (CAPTURE, "--color", "always")))[-1]


def test_the_library_is_imported_when_it_is_used() -> None:
    program = "import sys, kdbg; assert 'construct' not in sys.modules; kdbg.decode; assert 'construct' in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_the_end_of_a_call_does_not_go_through_all_objects() -> None:
    """Frozen objects are left out of the collections with which Python ends."""
    ending = "import atexit, gc; atexit.register(lambda: print(gc.get_freeze_count() > len(gc.get_objects())))"
    done = subprocess.run(
        [sys.executable, "-c", f"{ending}\nfrom kdbg.ui.cli import main; main()", "errors", "6"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.endswith("True\n")
