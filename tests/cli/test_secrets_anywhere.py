"""No view of any command shows a secret of damaged captures, and of KRaft logs that stand outside their folder."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import cast
from uuid import UUID

import pytest

from kdbg.protocol.grammars.payloads import payload
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.records import build_set
from kdbg.protocol.wire.records.sets import RecordFormat
from kdbg.views.render.record_views import FORMATS as RECORD_FORMATS
from kdbg.views.render.style import Look
from kdbg.views.render.views import VIEWS
from kdbg.views.tables.columns import TABLES

from ..cases import by_day
from ..traffic import Talk
from .calls import MAIN, Outcome
from .screens import browsed, watch
from .test_secrets_hidden import SECRET, WORD, leaks
from .traits import TRAITS

Cli = Callable[..., Outcome]
HOSTILE = MAIN.parent / "shared" / "captures" / "hostile"
REPRODUCERS = sorted([*HOSTILE.glob("secret-leak-*"), *HOSTILE.glob("0000*.log"), *HOSTILE.glob("kraft-log*")])
"""Their secret is that of test_secrets_hidden."""
CODECS = (0, 1, 2, 3, 4)
FORMAT: RecordFormat = record_format


def value(kind: str, **fields: object) -> bytes:
    numbers = {"UserScramCredentialRecord": 11, "ConfigRecord": 4, "TopicRecord": 2}
    return build(payload(kind).framed(0), {"frame_version": 1, "api_key": numbers[kind]} | fields)


def kraft(codec: int = 0, *, setting: str = "ssl.keystore.password") -> bytes:
    """A batch of the KRaft log with a user's keys and a setting."""
    keys = {"salt": SECRET, "stored_key": SECRET, "server_key": SECRET}
    records = [
        {"value": value("UserScramCredentialRecord", name="alice", mechanism=1, iterations=4096, **keys)},
        {"value": value("ConfigRecord", resource_type=4, resource_name="1", name=setting, value=WORD)},
    ]
    return build_set([{"attributes": codec, "records": records}], FORMAT, "")


LOGS = {
    **{f"codec {codec}": kraft(codec) for codec in CODECS},
    "a name that a bit made another": kraft(setting="ssl.keystore.passw/rd"),
    "a passphrase": kraft(setting="connect.key.passphrase"),
    "after a batch of another topic": build_set([{"records": [{"key": b"k", "value": b"v"}]}], FORMAT, "") + kraft(),
    "cut": kraft()[:-9],
    "cut in front": kraft()[30:] + kraft(),
    **{f"a wrong byte {at} of codec {codec}": kraft(codec)[:at] + b"\xa5" + kraft(codec)[at + 1 :]
       for codec in CODECS for at in (22, 60, 63, 66, 67, 68, 70, 75, 100)},
}  # fmt: skip


def calls(path: Path, out: Path) -> Iterator[tuple[object, ...]]:
    """Every command that shows what is in a file, in all of its views."""
    for name in VIEWS:
        yield "decode", path, "-f", name, "--full"
        yield "decode", path, "-f", name
        if VIEWS[name].explained is not None and path.suffix != ".pcap":
            yield "explain", path.read_bytes().hex(" "), "-f", name
    for form in (*RECORD_FORMATS, "%k %s %h\n"):
        yield "records", path, "-f", form
    if path.suffix == ".pcap":
        yield "stats", path
        yield "stats", path, "-f", "csv", "--by", "topic"
        yield "stats", path, "-f", "prometheus"
        yield "export", path, "--otlp", "-"
        yield "diff", path, path, "--all"
        for name in ("diagnose", "story", "readiness", "lint"):
            yield name, path
        yield "report", path, "-o", out / "report.html", "--force"
        yield "redact", path, out / "shared.pcap"
        yield "export", path, out / "part.pcap"
        for table in TABLES:
            yield "query", path, f"SELECT * FROM {table}", "-f", "json"


def shown(cli: Cli, path: Path, tmp_path: Path, *, damaged: bool = False) -> list[tuple[object, ...]]:
    """The calls that leak; those of a file that is damaged where it begins may be refused."""
    found = []
    for call in calls(path, tmp_path):
        outcome = cli(*call)
        assert outcome.status != 2 or call[0] == "report" or damaged, call
        text = outcome.out + outcome.err
        if call[0] == "redact" and outcome.status != 2:
            text += (tmp_path / "shared.pcap").read_bytes().decode("latin-1")
        if call[0] == "report" and outcome.status != 2:
            text += (tmp_path / "report.html").read_text()
        if leaks(text):
            found.append(call)
    if path.suffix == ".pcap":
        found += [("browse",)] if leaks(browsed(path, Look(full=True, width=400))) else []
        found += [("watch", name) for name in VIEWS if leaks(watched(path, name))]
    return found


def watched(path: Path, view: str) -> str:
    """What `kdbg watch` and `kdbg proxy` print of packets."""
    with io.TextIOWrapper(io.BytesIO(), write_through=True) as out, redirect_stdout(out):
        watch(path, view, Look(full=True, width=400))
        return cast(io.BytesIO, out.buffer).getvalue().decode()


def test_every_command_that_shows_bytes_is_called() -> None:
    """`watch`, `browse` and `proxy` are shown, see `shown`; `send` is in tests/cli/test_secrets_hidden."""
    called = {*calls(MAIN / "captures" / "errors.pcap", Path()), *calls(MAIN / "LICENSE", Path())}
    assert {str(call[0]) for call in called} == {name for name in TRAITS if TRAITS[name].shows}


@pytest.mark.parametrize("path", by_day(REPRODUCERS or [None], 3), ids=lambda path: path.name if path else "absent")
def test_reproducers_leak_nothing(cli: Cli, tmp_path: Path, path: Path | None) -> None:
    if path is None:
        pytest.skip(f"{HOSTILE} is absent: it stands beside the project")
    assert shown(cli, path, tmp_path) == []


@pytest.mark.parametrize("name", by_day([*LOGS], 2))
def test_a_log_of_kraft_elsewhere_leaks_nothing(cli: Cli, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    for path in (tmp_path / "copied.log", folder / f"{7:020}.log"):
        path.write_bytes(LOGS[name])
        assert shown(cli, path, tmp_path, damaged="wrong byte" in name or "in front" in name) == []


def test_they_are_shown_when_asked_for(cli: Cli, tmp_path: Path) -> None:
    path = tmp_path / "copied.log"
    path.write_bytes(LOGS["codec 2"])
    for name in ("tree", "hex", "json"):
        assert leaks(cli("decode", path, "-f", name, "--full", "--show-secrets").out)


def test_a_log_of_another_topic_is_shown_elsewhere(cli: Cli, tmp_path: Path) -> None:
    records = [{"value": b"\0\0\0\0\5word"}, {"key": b"k", "value": b"\1word"}, {"value": b"plain"}]
    path = tmp_path / "copied.log"
    path.write_bytes(build_set([{"records": records}], FORMAT, ""))
    out = cli("decode", path, "-f", "json").out
    assert "hidden" not in out
    assert "plain" in out


def test_hexdumps_of_a_kraft_log_are_explained_without_its_secrets(cli: Cli) -> None:
    for name in ("tree", "hex", "json"):
        outcome = cli("explain", kraft().hex(" "), "-f", name)
        assert leaks(outcome.out + outcome.err) == []
    assert leaks(cli("explain", kraft().hex(" "), "--show-secrets").out)


FETCHES = {11: ("topic", "__cluster_metadata"), 13: ("topic_id", UUID(int=1))}
"""Versions of Fetch that name topics, and that give their ids."""


@pytest.mark.parametrize("name", ["tree", "hex", "json", "records"])
@pytest.mark.parametrize("version", FETCHES)
def test_a_broken_fetch_of_the_kraft_log_shows_nothing_of_it(
    cli: Cli, write: Callable[..., Path], tmp_path: Path, version: int, name: str
) -> None:
    partition = {"partition_index": 0, "records": [{"attributes": 0, "records": [{"value": value(
        "ConfigRecord", resource_type=4, resource_name="1", name="ssl.keystore.password", value=WORD)}]}]}  # fmt: skip
    field, topic = FETCHES[version]
    said = topic.encode() if isinstance(topic, str) else topic.bytes
    response = {"responses": [{field: topic, "partitions": [partition]}]}
    talk = Talk().ask("Fetch", version, topics=[{field: topic, "partitions": []}]).answer(**response)
    whole = write(talk).read_bytes()
    start = whole.index(said, whole.index(said) + 1)
    path = tmp_path / "broken.pcap"
    after = start + len(said)
    faults = [(at, wrong) for at in range(start, after) for wrong in (0, 0x55)]
    faults += [(at, wrong) for at in range(after, start + 120, 3) for wrong in (0, 1, 0xFF)]
    for at, wrong in by_day(faults, 8):
        path.write_bytes(whole[:at] + bytes([wrong]) + whole[at + 1 :])
        outcome = cli("records", path) if name == "records" else cli("decode", path, "-f", name, "--full")
        assert not leaks(outcome.out + outcome.err), (at - start, wrong)
