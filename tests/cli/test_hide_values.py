"""`--hide-values`: what users put into records is shown by its length alone, in every view of every command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.records import build_set
from kdbg.ui.cli import COMMANDS, commands
from kdbg.ui.cli.output import without_values
from kdbg.views.render.record_views import FORMATS
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS

from ..traffic import Talk
from .calls import Outcome
from .screens import browsed, watch
from .test_secrets_hidden import SECRET, leaks
from .traits import TRAITS

Cli = Callable[..., Outcome]
KEY, VALUE, HEADER, NAME = (bytes([letter]) + SECRET for letter in b"kvhn")
RECORD = {"key": KEY, "value": VALUE, "headers": [{"key": NAME.decode(), "value": HEADER}]}
BATCHES = [{"attributes": codec, "records": [RECORD]} for codec in (0, 1, 4)]
MESSAGE = {"magic": 1, "key": KEY, "value": VALUE}
OLD = [MESSAGE, {"magic": 1, "attributes": 1, "records": [MESSAGE]}]
LOOKS: tuple[tuple[str, ...], ...] = ((), ("--full",), ("--explain-fields",), ("--color", "always"))


def produced(batches: list[dict[str, object]], version: int, topic: str = "orders") -> Talk:
    data = [{"name": topic, "partition_data": [{"index": 0, "records": batches}]}]
    return Talk().ask("Produce", version, acks=-1, timeout_ms=1, topic_data=data).answer()


def calls(captures: list[Path], log: Path) -> Iterator[tuple[object, ...]]:
    for path in (*captures, log):
        for name in VIEWS:
            for look in LOOKS:
                yield "decode", path, "-f", name, *look
        for form in (*FORMATS, "%k %K %s %S %h %t\n"):
            yield "records", path, "-f", form
        yield "records", path, "--value", "string"
    for form in ("table", "json"):
        yield "diff", f"{captures[0]}#1", f"{captures[1]}#1", "--format", form, "--full"
    for name, view in VIEWS.items():
        if view.explained is not None:
            yield "explain", log.read_bytes().hex(), "-f", name
            yield "explain", log.read_bytes()[:-7].hex(), "-f", name


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "orders-0" / f"{0:020}.log"
    path.parent.mkdir()
    path.write_bytes(build_set(BATCHES, record_format, ""))
    return path


def test_values_are_shown_by_their_lengths(cli: Cli, write: Callable[..., Path], log: Path) -> None:
    talks = produced(BATCHES, 7), produced(OLD, 2), produced(BATCHES, 7, "__cluster_metadata")
    captures = [write(talk, name=f"{i}.pcap") for i, talk in enumerate(talks)]
    cut = captures[0].with_name("cut.pcap")
    cut.write_bytes(captures[0].read_bytes()[:-60])
    damaged = captures[0].with_name("damaged.pcap")
    data = captures[0].read_bytes()
    at = data.index(VALUE) - 2
    damaged.write_bytes(data[:at] + b"\x7f" + data[at + 1 :])
    shown = 0
    for call in calls([*captures, cut, damaged], log):
        hidden, plain = cli(*call, "--hide-values"), cli(*call)
        assert hidden.status in (0, 1), (call, hidden.err)
        assert leaks(hidden.out + hidden.err) == [], call
        assert "\\x00\\x00\\x00" not in hidden.out, call
        shown += bool(leaks(plain.out))
    assert shown > 30, "the test must be able to find them"


def test_lengths_are_shown_and_filters_still_read_values(cli: Cli, write: Callable[..., Path]) -> None:
    path = write(produced(BATCHES[:1], 7))
    assert f"<{len(VALUE)} bytes redacted>" in cli("decode", path, "--hide-values").out
    assert '{"redacted":65,"hidden":65}' in cli("decode", path, "-f", "json", "--hide-values").out
    assert f"<{len(VALUE)} bytes redacted>" in cli("records", path, "--hide-values").out
    assert cli("records", path, "--key", KEY.decode(), "--hide-values", "--count").out == "1\n"
    value = "request.topic_data[0].partition_data[0].records[0].records[0].value"
    for asked, found in (("contains", 1), ("startsWith", 0)):
        outcome = cli("decode", path, "--hide-values", "-f", "json", "--where", f"{value}.{asked}('hunter2')")
        assert len(outcome.lines) == found, outcome.err
        assert leaks(outcome.out) == []


def test_secrets_cannot_be_shown_beside_hidden_values(cli: Cli, write: Callable[..., Path]) -> None:
    outcome = cli("decode", write(produced(BATCHES, 7)), "--hide-values", "--show-secrets")
    assert outcome.status == 2
    assert "use either --show-secrets or --hide-values, not both" in outcome.err


def test_every_command_that_shows_records_has_the_option() -> None:
    assert TRAITS.keys() == COMMANDS.keys()
    context = commands.make_context("kdbg", ["--help"], resilient_parsing=True)
    for name in COMMANDS:
        command = commands.get_command(context, name)
        assert command is not None
        options = {option for parameter in command.params for option in parameter.opts}
        assert ("--hide-values" in options) is TRAITS[name].values, name


def test_commands_without_the_option_show_no_values(cli: Cli, write: Callable[..., Path], tmp_path: Path) -> None:
    path, page = write(produced(BATCHES, 7)), tmp_path / "report.html"
    for call in (
        ("diagnose", path), ("story", path), ("story", path, "--topic", "orders"), ("readiness", path),
        ("stats", path), ("stats", path, "--by", "topic", "-f", "csv"), ("report", path, "-o", page),
        ("stats", path, "-f", "prometheus"), ("export", path, "--otlp", "-"),
        ("export", path, tmp_path / "part.pcap"), ("redact", path, tmp_path / "shared.pcap"),
    ):  # fmt: skip
        outcome = cli(*call)
        assert outcome.status in (0, 1), outcome.err
        assert leaks(outcome.out + outcome.err) == [], call
    assert leaks(page.read_text()) == leaks((tmp_path / "shared.pcap").read_bytes()) == []


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_queries_show_what_records_hold_by_length(cli: Cli, write: Callable[..., Path], form: str) -> None:
    call = "query", write(produced(BATCHES, 7)), "SELECT * FROM records", "-f", form, "--full"
    hidden = cli(*call, "--hide-values")
    assert leaks(cli(*call).out)
    assert leaks(hidden.out) == []
    assert str(len(VALUE)) in hidden.out
    describe = cli("query", call[1], "DESCRIBE records", "--hide-values")
    assert "headers" in describe.out


def test_stored_tables_are_asked_without_values() -> None:
    import pyarrow as pa

    from kdbg.scale.query.database import Database
    from kdbg.views.tables.arrow import DUCKDB_TABLES

    row = dict.fromkeys(DUCKDB_TABLES["records"].names) | {"key": KEY, "value": VALUE, "value_size": len(VALUE)}
    schema = DUCKDB_TABLES["records"].append(pa.field("date", pa.date32()))
    for hide in (False, True):
        database = Database(hide=hide)
        database.show("records", pa.Table.from_pylist([row], schema))
        (found,) = database.answer("SELECT key, value, value_size FROM records").rows
        assert found == ((None, None) if hide else (KEY, VALUE)) + (len(VALUE),)
        database.close()


@pytest.mark.parametrize("hide", [False, True])
def test_screens_show_what_records_hold_by_length(
    write: Callable[..., Path], capfdbinary: pytest.CaptureFixture[bytes], hide: bool
) -> None:
    path = write(produced(BATCHES, 7), produced(OLD, 2))
    look = without_values(Look(full=True, width=400), hide)
    for form in VIEWS:
        watch(path, form, look)
    assert bool(leaks(capfdbinary.readouterr().out)) is not hide
    assert bool(leaks(browsed(path, look))) is not hide
