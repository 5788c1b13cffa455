"""Keys and values that `kdbg records` reads: --value, --key-as, --schema, --registry, as a user gives them."""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from ..traffic import Talk
from .calls import Outcome
from .test_records import LOG, batch, produce

Cli = Callable[..., Outcome]
Write = Callable[..., Path]
ORDER = {
    "type": "record",
    "name": "Order",
    "fields": [{"name": "id", "type": "int"}, {"name": "item", "type": "string"}],
}
AVRO, SHOWN = b"\x0e\x0cteapot", '{"id":7,"item":"teapot"}'
PROTO = 'syntax = "proto3"; package shop; message Order { int32 id = 1; string item = 2; }'
PROTOBUF = b"\x08\x07\x12\x06teapot"
FRAME = b"\0\0\0\0\x07"


@pytest.fixture
def schema(tmp_path: Path) -> Path:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    return path


def test_numbers_and_texts(cli: Cli, write: Write) -> None:
    path = write(produce(batch({"key": struct.pack(">i", 42), "value": struct.pack(">d", 0.5)})))
    assert cli("records", path, "--key-as", "int32", "--value", "float64", "-f", "%k %s").out == "42 0.5"
    assert cli("records", path, "--key-as", "int32", "--key", "42", "--count").out == "1\n"
    assert cli("records", path, "--key-as", "int32", "--key", "0x0000002A", "--count").out == "1\n"
    line = json.loads(cli("records", path, "--key-as", "int32", "--value", "parcels=int8", "-f", "json").out)
    assert (line["key"], line["value"]) == (42, {"base64": "P+AAAAAAAAA="})


def test_a_schema_in_a_file(cli: Cli, write: Write, schema: Path) -> None:
    path = write(produce(batch({"value": AVRO}, {"value": FRAME + AVRO}, {"value": b"\xff\xff"})))
    outcome = cli("records", path, "--schema", f"orders={schema}", "-f", r"%s\n")
    assert outcome.out.splitlines()[:2] == [SHOWN, SHOWN]
    good, framed, bad = (
        json.loads(line) for line in cli("records", path, "--schema", schema, "-f", "json").out.splitlines()
    )
    assert (good["value"], good["value_about"]) == (json.loads(SHOWN), "avro Order")
    assert framed["value_about"] == "avro Order, schema id 7"
    assert bad["value"] == {"base64": "//8="}
    assert bad["value_problem"].startswith("not avro: ")
    assert "not avro: " in cli("records", path, "--schema", schema).out.splitlines()[2]
    assert cli("records", path, "--schema", f"parcels={schema}", "--limit", 1, "-f", "%s").out == AVRO.decode()


def test_a_schema_for_keys(cli: Cli, write: Write, schema: Path) -> None:
    path = write(produce(batch({"key": AVRO, "value": AVRO})))
    assert cli("records", path, "--schema", f"orders-key={schema}", "-f", "%k %s").out == f"{SHOWN} {AVRO.decode()}"


def test_protobuf_files_that_import_others(cli: Cli, write: Write, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "order.proto").write_text(PROTO)
    main = tmp_path / "basket.proto"
    main.write_text('syntax = "proto3"; import "shop/order.proto"; message Basket { repeated shop.Order orders = 1; }')
    path = write(produce(batch({"value": b"\x0a" + bytes([len(PROTOBUF)]) + PROTOBUF})))
    assert cli("records", path, "--schema", main, "-f", "%s").out == f'{{"orders":[{SHOWN}]}}'
    assert cli("records", path, "--schema", f"orders={main}:Basket", "-f", "%s").out == f'{{"orders":[{SHOWN}]}}'


class TestRegistryInFiles:
    def test_what_a_registry_lists(self, cli: Cli, write: Write, tmp_path: Path) -> None:
        basket = {
            "type": "record",
            "name": "Basket",
            "fields": [{"name": "orders", "type": {"type": "array", "items": "Order"}}],
        }
        (tmp_path / "all.json").write_text(json.dumps([
            {"subject": "order", "version": 1, "id": 3, "schema": json.dumps(ORDER)},
            {"subject": "basket", "version": 1, "id": 7, "schemaType": "AVRO", "schema": json.dumps(basket),
             "references": [{"name": "Order", "subject": "order", "version": 1}]},
        ]))  # fmt: skip
        path = write(produce(batch({"value": FRAME + b"\x02" + AVRO + b"\0"}, {"value": b"\0\0\0\0\x08\xff"})))
        for place in (tmp_path, tmp_path / "all.json"):
            shown = cli("records", path, "--registry", place, "-f", r"%s\n").out.splitlines()
            assert shown == [f'{{"orders":[{SHOWN}]}}', "0000000008ff"]
        assert f"schema id 8: is not in {tmp_path}" in cli("records", path, "--registry", tmp_path).out

    @pytest.mark.parametrize("name", ["7.avsc", "7.json"])
    def test_schemas_whose_names_are_ids(self, cli: Cli, write: Write, tmp_path: Path, name: str) -> None:
        said = ORDER if name.endswith("avsc") else {"schema": json.dumps(ORDER)}
        (tmp_path / "registry").mkdir()
        (tmp_path / "registry" / name).write_text(json.dumps(said))
        path = write(produce(batch({"value": FRAME + AVRO})))
        shown = cli("records", path, "--registry", tmp_path / "registry", "--value", "avro", "-f", "%s").out
        assert shown == SHOWN


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--value", "avor"], "unknown format 'avor'; did you mean avro?"),
        (["--value", "avro"], "avro needs a schema; use --schema TOPIC=FILE, or --registry URL|DIR"),
        (["--schema", "nowhere.avsc"], "nowhere.avsc: cannot be read: No such file or directory"),
        (["--schema", "README.md"], "README.md: unknown schema file type '.md'"),
        (["--registry", "nowhere"], "nowhere: not a file, folder or URL"),
        (["--registry-config", "x"], "--registry-config requires --registry URL"),
    ],
)
def test_what_cannot_be_is_refused_in_a_line(cli: Cli, write: Write, options: list[str], said: str) -> None:
    outcome = cli("records", write(produce(batch({"value": b"a"}))), *options)
    assert (outcome.status, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"kdbg: {said}")


def test_a_registry_that_cannot_be_reached_is_a_line_beside_the_bytes(cli: Cli, write: Write) -> None:
    path = write(produce(batch({"value": FRAME + AVRO}, {"value": b"\0\0\0\0\x08" + AVRO})))
    lines = cli("records", path, "--registry", "http://127.0.0.1:1").out.splitlines()
    assert len(lines) == 2
    assert all("the Schema Registry is not available: " in line for line in lines)


def test_what_must_be_installed_is_said(cli: Cli, write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgpack", None)
    outcome = cli("records", write(produce(batch({"value": b"a"}))), "--value", "msgpack")
    assert outcome.status == 2
    assert "msgpack needs the package msgpack; pip install 'kdbg-kafka[schemas]'" in outcome.err


def test_without_options_nothing_of_it_is_imported(write: Write) -> None:
    import subprocess

    path = write(produce(batch({"value": FRAME + AVRO})))
    code = "import sys; from kdbg.ui.cli import run; run(['records', sys.argv[1]]); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, env=dict(os.environ))
    assert not {"fastavro", "google.protobuf", "jsonschema", "msgpack", "confluent_kafka"} & set(done.stdout.split())


class TestDecode:
    """Trees and hexdumps of `kdbg decode` read keys and values by the same options."""

    def test_a_tree(self, cli: Cli, write: Write, schema: Path) -> None:
        path = write(produce(batch({"key": b"\0\0\0\x2a", "value": AVRO}, {"value": b"\xff\xff"})))
        lines = cli("decode", path, "--schema", f"orders={schema}", "--key-as", "int32").out.splitlines()
        keys, values = ([line for line in lines if f"── {name}" in line] for name in ("key", "value"))
        assert [line.partition("key")[2].strip() for line in keys] == ["42", "null"]
        assert values[0].endswith(f"value  {SHOWN}  avro Order")
        assert "2 bytes  ff ff  not avro: " in values[1]

    @pytest.mark.parametrize("codec", [0, 1])
    def test_a_hexdump(self, cli: Cli, write: Write, schema: Path, codec: int) -> None:
        path = write(produce(batch({"key": b"\0\0\0\x2a", "value": AVRO}, attributes=codec)))
        lines = cli("decode", path, "-f", "hex", "--schema", schema, "--key-as", "int32").out.splitlines()
        (key,) = (line for line in lines if "].key " in line)
        (value,) = (line for line in lines if "].value " in line)
        assert "  42  " in key
        assert f"{SHOWN}  avro Order" in value

    def test_a_log_segment(self, cli: Cli, schema: Path) -> None:
        for view in ("tree", "hex"):
            assert "not avro: " in cli("decode", LOG, "-f", view, "--schema", f"money={schema}").out
            assert "not avro: " not in cli("decode", LOG, "-f", view, "--schema", f"parcels={schema}").out

    def test_without_options_nothing_changes(self, cli: Cli, write: Write) -> None:
        path = write(produce(batch({"key": b"k", "value": AVRO})))
        for view in ("tree", "hex"):
            plain = cli("decode", path, "-f", view).out
            read = cli("decode", path, "-f", view, "--value", "parcels=hex").out
            assert read == plain

    @pytest.mark.parametrize("view", ["json", "summary"])
    def test_other_views_refuse(self, cli: Cli, write: Write, view: str) -> None:
        outcome = cli("decode", write(produce(batch({"value": b"a"}))), "-f", view, "--value", "hex")
        assert (outcome.status, outcome.out) == (2, "")
        assert f"values cannot be deserialized with --format {view}; use kdbg records" in outcome.err


@pytest.mark.parametrize("options", [(), ("--value", "string"), ("-f", "json"), ("-f", "csv"), ("-f", "%s %k"),
                                     ("-f", "json", "--value", "base64")])  # fmt: skip
def test_what_may_be_a_secret_is_read_by_nobody(cli: Cli, write: Write, options: tuple[str, ...]) -> None:
    """The log of KRaft has credentials: of its records what cannot be read is hidden, whatever reads it."""
    data = [
        {"name": "__cluster_metadata", "partition_data": [{"index": 0, "records": batch({"value": b"hunter2:" * 8})}]}
    ]
    path = write(Talk().ask("Produce", 8, acks=0, timeout_ms=1000, topic_data=data))
    shown = cli("records", path, *options).out
    assert ('{"redacted":64,"hidden":64}' if "json" in options else "<64 bytes redacted>") in shown
    assert not any(part in shown for part in ("hunter2", b"hunter2".hex(), "aHVudGVyMj", b"unt".hex(" ")))
    assert "hunter2" in cli("records", path, "--show-secrets").out
