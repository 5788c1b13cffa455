"""Memory that kdbg may take: what would take more is given up with a finding, and all around it is kept."""

from __future__ import annotations

import json
import os
import socket
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

import kdbg
from kdbg.budget import MEMORY, SMALL, Held, Memory, size_of
from kdbg.errors import InputError, WireError
from kdbg.protocol.findings import Kind
from kdbg.protocol.findings.facts import FactKind
from kdbg.protocol.wire.records.compression import compress
from kdbg.ui.cli.options import Size
from kdbg.views.render.views import VIEWS
from tests.test_findings import too_many_records
from tests.traffic import Talk, framed, header_bytes, pcap

from .cases import by_day, for_each
from .cli.traits import TRAITS

SHARED = Path(__file__).parents[2] / "shared" / "captures" / "hostile"
LIMIT = 64 << 20
"""What the commands below are told that they may take: the least that they may be told."""
RECORDS = 300_000
"""Records of a batch that take more than that."""


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = MEMORY.limit
    yield
    MEMORY.allow(before)


def decoded(path: Path, view: str, limit: int = LIMIT) -> tuple[int, bytes, str]:
    """Status, output and talk of `kdbg decode`, as `called` has them."""
    return called("decode", str(path), "-f", view, limit=limit)


def called(*arguments: str, limit: int = LIMIT) -> tuple[int, bytes, str]:
    """Status, output and talk of a command in a process that the system refuses half as much again."""
    from resource import RLIMIT_AS, setrlimit

    def less() -> None:
        setrlimit(RLIMIT_AS, (limit * 3 // 2 + (160 << 20), limit * 3 // 2 + (160 << 20)))

    command = [sys.executable, "-m", "kdbg", *arguments, "--max-memory", f"{limit >> 20}MB"]
    done = subprocess.run(command, capture_output=True, preexec_fn=less, check=False, env=os.environ)
    return done.returncode, done.stdout, done.stderr.decode()


def bombs() -> dict[str, Talk]:
    """Little input that would take much memory, by what it is made of."""
    zeros = {"attributes": 4, "records_count": 1, "records": [{"value": b"\0" * 2_000_000}]}
    deep = struct.pack(">i", 600_000) + bytes(2 * 600_000)
    return {
        "records": too_many_records(RECORDS),
        "batches": good().ask(
            "Produce", 7, acks=-1,
            topic_data=[{"name": "orders", "partition_data": [{"index": n, "records": [zeros]} for n in range(40)]}],
        ),
        "array": good().ask_bytes("Metadata", 0, deep),
        "nested": good().ask("Produce", 2, acks=-1, topic_data=[{"name": "t", "partition_data": [
            {"index": 0, "records": nested(40, 6000)}]}]),
    }  # fmt: skip


def good() -> Talk:
    return Talk(most=60_000).ask("Metadata", 1, topics=[{"name": "first"}]).answer(brokers=[])


def nested(wrappers: int, messages: int) -> list[dict[str, object]]:
    """A message set of compressed messages, each of which holds many empty ones."""
    one = {"acks": 0, "topic_data": [{"name": "t", "partition_data": [{"index": 0, "records": [{"magic": 0}]}]}]}
    inner = kdbg.encode(one, api="Produce", version=2, direction="request")[-26:] * messages
    return [{"magic": 0, "attributes": 1, "value": compress(1, inner, magic=0)}] * wrappers


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder, found = tmp_path_factory.mktemp("bombs"), {}
    for name, talk in bombs().items():
        found[name] = folder / f"{name}.pcap"
        talk.ask("Metadata", 1, topics=[{"name": "last"}]).end()
        found[name].write_bytes(pcap(talk))
    return found


@for_each("view", sorted(set(VIEWS) - {"summary"}))
@for_each("bomb", by_day(["records", "batches", "array", "nested"], 2))
def test_little_input_takes_no_more_than_it_may(bomb: str, view: str, captures: dict[str, Path]) -> None:
    status, shown, said = decoded(captures[bomb], view)
    assert "Traceback" not in said
    assert (status, b"raise --max-memory" in shown) == (1, True), said
    assert b"#1 Metadata" in shown or b'"number":1' in shown, "what stands before it is kept"
    assert b"last" in shown, "what stands behind it is kept"


@for_each("view", VIEWS)
@for_each("bomb", sorted(SHARED.glob("bomb-*")) or [None])
def test_shared_bombs(bomb: Path | None, view: str) -> None:
    if bomb is None:
        pytest.skip("../shared/captures/hostile is not here")
    status, _, said = decoded(bomb, view, 64 << 20)
    assert "Traceback" not in said
    assert status in (0, 1)


@pytest.mark.parametrize("bomb", by_day([*bombs(), *sorted(SHARED.glob("bomb-*"))], 3), ids=str)
def test_redaction_ends_and_takes_no_more_than_it_may(
    bomb: str | Path, captures: dict[str, Path], tmp_path: Path
) -> None:
    path, made = captures[bomb] if isinstance(bomb, str) else bomb, tmp_path / "shared.pcap"
    status, _, said = called("redact", str(path), str(made))
    assert "Traceback" not in said
    assert status == ("compressed batch blanked" in said), said
    before, after = ([(each.api.name, each.size, each.latency) for each in kdbg.read(str(one))] for one in (path, made))
    assert before == after
    assert b"last" not in made.read_bytes()


def test_what_fits_is_read_as_before(captures: dict[str, Path]) -> None:
    MEMORY.allow(2 << 30)
    exchange = next(each for each in kdbg.read(str(captures["records"])) if each.api.name == "Produce")
    assert Kind.MEMORY_LIMIT not in {finding.kind for finding in exchange.all_findings()}
    body = exchange.messages()[0].body
    assert len(body["topic_data"][0]["partition_data"][0]["records"][0]["records"]) == RECORDS


def frame(size: int, sent: int, correlation_id: int) -> bytes:
    """The beginning of a Produce that says `size`, of which so many bytes are sent."""
    front = header_bytes("Produce", 7, "request", {"correlation_id": correlation_id, "client_id": "kdbg"})
    front += struct.pack(">hhi", -1, -1, 1000)  # no transaction, acks=all
    return struct.pack(">i", size) + front + bytes(sent - 4 - len(front))


def test_unfinished_frames_of_many_connections_are_cut_short(tmp_path: Path) -> None:
    MEMORY.allow(64 << 20)  # of which connections may hold 16
    talks = [Talk(client=("10.0.0.1", 20_000 + n), most=60_000) for n in range(10)]
    for talk in talks:
        talk.ask("Metadata", 1).answer(brokers=[]).send(frame(50_000_000, 3_000_000, 2))
    talks.append(good())
    path = tmp_path / "unfinished.pcap"
    path.write_bytes(pcap(*talks))
    found = [*kdbg.read(str(path))]
    assert sum(each.api.name == "Metadata" for each in found) == 11, "all that is complete is there"
    produced = [each for each in found if each.api.name == "Produce"]
    assert len(produced) == 10, "and each that was begun"
    cut = [finding for each in produced for finding in each.findings if finding.kind is Kind.MEMORY_LIMIT]
    assert cut
    assert all(finding.facts == FactKind.NOT_HELD.of(16) and finding.length > 49_000_000 for finding in cut)


def test_behind_a_frame_that_was_cut_short_the_next_is_read(tmp_path: Path) -> None:
    MEMORY.allow(64 << 20)
    talk = good().send(frame(20_000_000, 20_000_004, 2))
    talk.ask("Metadata", 1, topics=[{"name": "behind"}]).end()
    path = tmp_path / "cut.pcap"
    path.write_bytes(pcap(talk))
    found = [*kdbg.read(str(path))]
    assert [each.api.name for each in found] == ["Metadata", "Produce", "Metadata"]
    assert [finding.kind for finding in found[1].findings if finding.kind is Kind.MEMORY_LIMIT] == [Kind.MEMORY_LIMIT]


def test_requests_that_wait_are_given_up_where_all_hold_too_much(tmp_path: Path) -> None:
    MEMORY.allow(64 << 20)
    talks = [Talk(client=("10.0.0.1", 20_000 + n), most=60_000) for n in range(6)]
    for talk in talks:
        for correlation_id in range(5):
            talk.send(frame(1_000_000, 1_000_004, correlation_id))
    path = tmp_path / "waiting.pcap"
    path.write_bytes(pcap(*talks))
    found = [*kdbg.read(str(path))]
    assert [each.api.name for each in found] == ["Produce"] * 30
    assert FactKind.WAITED_TOO_MUCH.of(16) in {finding.facts for each in found for finding in each.findings}


class Holder:
    def __init__(self, ledger: Held, given_up: list[Holder]) -> None:
        self.ledger, self.given_up = ledger, given_up

    def let_go(self) -> None:
        self.given_up.append(self)
        self.ledger.hold(self, 0)


def test_the_one_that_holds_most_gives_up() -> None:
    ledger, given_up = Held(10 * SMALL), list[Holder]()
    small, large, newest = (Holder(ledger, given_up) for _ in range(3))
    ledger.hold(small, 2 * SMALL)
    ledger.hold(large, 6 * SMALL)
    assert not given_up
    ledger.hold(newest, 4 * SMALL)
    assert given_up == [large]
    assert ledger.left == 4 * SMALL


def test_memory_is_taken_until_it_is_spent() -> None:
    memory = Memory(1000)
    memory.take(400)
    with pytest.raises(WireError, match="--max-memory") as refused:
        memory.take(101)
    assert refused.value.kind is Kind.MEMORY_LIMIT
    memory.take(100)
    memory.begin()
    memory.take(500)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512MB", 512 << 20), ("1.5G", 3 << 29), ("4 GiB", 4 << 30), ("128m", 128 << 20), ("100000000", 100_000_000)],
)
def test_sizes(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["64K", "64kb", "64KiB", "65536", "0.0625M"])
def test_units_are_powers_of_two_in_all_commands(text: str) -> None:
    from kdbg.ui.cli import COMMANDS, commands

    assert size_of(text, 1 << 16) == 1 << 16
    types = [
        param.type
        for name in COMMANDS
        for param in commands.get_command(None, name).params
        if param.type.name == "size"
    ]
    assert len(types) > 10
    assert {type(one) for one in types} == {Size}, "there is one parser"


@for_each("text", ["", "much", "1TB", "63MB", "-1GB", "infGB", "nan"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError, match="512MB"):
        size_of(text)


def test_the_environment_tells_it_too(tmp_path: Path) -> None:
    program = "from kdbg.budget import MEMORY; print(MEMORY.limit)"
    environment = os.environ | {"KDBG_MAX_MEMORY": "2GB"}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True, env=environment)
    assert int(done.stdout) == 2 << 30


def test_every_command_that_reads_has_the_option() -> None:
    from kdbg.ui.cli import COMMANDS, commands

    options = {
        name: {word for param in commands.get_command(None, name).params for word in param.opts} for name in COMMANDS
    }
    assert {name for name in COMMANDS if "--max-memory" in options[name]} == {
        name for name in TRAITS if TRAITS[name].reads
    }


def a_long_list(listener: socket.socket, count: int) -> None:
    """Answer one ApiVersions v0 with so many entries."""
    connection, _ = listener.accept()
    with connection:
        (size,) = struct.unpack(">i", connection.recv(4, socket.MSG_WAITALL))
        asked = connection.recv(size, socket.MSG_WAITALL)
        body = asked[4:8] + struct.pack(">hi", 0, count) + struct.pack(">hhh", 3, 0, 9) * count
        connection.sendall(framed(body))


@pytest.mark.parametrize("view", VIEWS)
def test_an_answer_to_send_that_is_too_large_is_given_up(view: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        broker = Thread(target=a_long_list, args=(listener, 1_200_000))
        broker.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        status, _, said = called("send", "apiversions", "--version", "0", "--broker", address, "-f", view)
        broker.join()
    assert "Traceback" not in said
    assert (status, " responded in " in said) == (1, True), said


def test_json_of_what_was_given_up_holds_its_bytes(captures: dict[str, Path]) -> None:
    _, shown, _ = decoded(captures["records"], "json")
    produced = next(line for line in map(json.loads, shown.splitlines()) if line["api"] == "Produce")
    batch = produced["request"]["body"]["topic_data"][0]["partition_data"][0]["records"][0]
    assert "base64" in batch["compressed_records"]
    assert "records" not in batch
