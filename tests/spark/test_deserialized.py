"""`kdbg pipeline --registry` and the like: workers deserialize keys and values as `kdbg records` does."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import kdbg.spark
from kdbg.errors import InputError
from kdbg.scale.spark.commit import Output
from kdbg.scale.spark.source import READERS, SourceOptions
from kdbg.ui.cli.options import NAMES
from tests.cli.calls import Outcome, call
from tests.cli.test_records import batch, produce
from tests.cli.test_records_read import AVRO, FRAME, ORDER, SHOWN
from tests.traffic import pcap

pytestmark = pytest.mark.usefixtures("here")
SQL = 'SELECT key_text, value_text, key_problem, value_problem FROM records ORDER BY capture, "offset"'
UNKNOWN = b"\0\0\0\0\x09\xff"
RECORDS = (
    {"key": b"\0\0\0\x2a", "value": FRAME + AVRO}, {"key": b"\0\0\0\x2b", "value": FRAME + b"\xff"},
    {"key": b"no", "value": UNKNOWN}, {"key": None, "value": None},
)  # fmt: skip


@pytest.fixture
def captures(tmp_path: Path) -> list[Path]:
    """Two captures, so that several tasks read them."""
    paths = [tmp_path / f"{name}.pcap" for name in ("one", "two")]
    for number, path in enumerate(paths):
        path.write_bytes(pcap(produce(batch(*RECORDS), base_offset=100 * number)))
    return paths


@contextmanager
def schema_registry(asked: Counter[str], user: str) -> Iterator[str]:
    """A registry with one schema, for one user; `asked` counts the requests by path."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.partition("?")[0]
            asked[path] += 1
            known = path == "/schemas/ids/7" and self.headers["Authorization"] == user
            said = {"schema": json.dumps(ORDER)} if known else {"error_code": 40403, "message": "Schema not found"}
            data = json.dumps(said).encode()
            self.send_response(200 if known else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Answer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def rows(*arguments: object) -> list[dict[str, Any]]:
    done = call("query", *arguments, SQL, "--format", "json")
    assert done.status == 0, done.err
    return done.lines


def pipeline(captures: list[Path], out: Path, *options: object) -> Outcome:
    done = call("pipeline", *captures, "--out", out, "--master", "local[2]", *options, "--fail-on", "never")
    assert done.status == 0, done.err
    return done


def in_a_cell(line: dict[str, Any], part: str) -> str | None:
    """What a cell has for a key or a value that `kdbg records` prints as JSON."""
    if line[part] is None or f"{part}_problem" in line:
        return None
    return line[part] if isinstance(line[part], str) else json.dumps(line[part], separators=(",", ":"))


def test_tables_have_what_records_prints(captures: list[Path], tmp_path: Path) -> None:
    asked, out = Counter[str](), tmp_path / "tables"
    config = tmp_path / "registry.properties"
    config.write_text("basic.auth.user.info=me:secret\n")
    with schema_registry(asked, "Basic bWU6c2VjcmV0") as host:
        options = ("--registry", f"http://{host}", "--registry-config", config, "--key-as", "int32")
        pipeline(captures, out, "--registry", f"http://me:secret@{host}", "--key-as", "int32")
        of_workers = Counter(asked)
        printed = [
            tuple(in_a_cell(line, part) for part in ("key", "value"))
            for line in call("records", *captures, *options, "--format", "json").lines
        ]
        of_captures = rows(*captures, *options)
    found = rows(out)
    assert found == of_captures
    assert sorted(map(str, ((row["key_text"], row["value_text"]) for row in found))) == sorted(map(str, printed))
    assert [(row["key_text"], row["value_text"]) for row in found[:1]] == [("42", SHOWN)]
    problems = [row["value_problem"] for row in found[:4]]
    assert problems[0] is problems[3] is None
    assert problems[1].startswith("schema id 7: ")
    assert problems[2].startswith("schema id 9: the Schema Registry returned an error: ")
    assert found[2]["key_problem"].startswith("not int32: ")
    assert 1 <= of_workers["/schemas/ids/7"] <= 2, "each worker process asks once"
    [(_, entry)] = Output(str(out)).entries()
    assert entry["options"]["registry"] == f"http://{host}"
    assert "secret" not in json.dumps(entry)


def test_schemas_of_files_go_to_the_workers(captures: list[Path], tmp_path: Path) -> None:
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "7.avsc").write_text(json.dumps(ORDER))
    pipeline(captures, tmp_path / "tables", "--registry", folder)
    found = rows(tmp_path / "tables")
    assert found[0]["value_text"] == SHOWN
    assert f"is not in {folder}" in found[2]["value_problem"]
    [(_, entry)] = Output(str(tmp_path / "tables")).entries()
    assert entry["options"]["registry"] == str(folder)


def test_a_dataframe_has_what_tables_have(captures: list[Path], tmp_path: Path, spark: Any) -> None:
    paths = [str(path) for path in captures]
    with schema_registry(Counter(), "Basic bWU6c2VjcmV0") as host:
        place = f"http://me:secret@{host}"
        frame = kdbg.spark.records(spark, paths, registry=place, key_as=["int32"]).orderBy("capture", "offset")
        found = frame.select("key_text", "value_text", "key_problem", "value_problem").collect()
        pipeline(captures, tmp_path / "tables", "--registry", place, "--key-as", "int32")
    assert [row.asDict() for row in found] == rows(tmp_path / "tables")
    assert READERS.keys() == set(NAMES), "the options of the command line"
    with pytest.raises(InputError, match="unknown format 'jsn'; did you mean json"):
        SourceOptions.of({"path": paths[0], "value": "orders=string, jsn"})


def test_without_a_reader_the_columns_are_null(captures: list[Path], tmp_path: Path) -> None:
    pipeline(captures, tmp_path / "tables", "--values")
    assert all(value is None for row in rows(tmp_path / "tables") for value in row.values())


def test_hidden_values_are_not_shown_as_text(captures: list[Path], tmp_path: Path) -> None:
    pipeline(captures, tmp_path / "tables", "--key-as", "int32", "--value", "string")
    everything = "SELECT * FROM records"
    shown = call("query", tmp_path / "tables", everything, "--format", "json")
    assert [line["key_text"] for line in shown.lines][:2] == ["42", "43"]
    for how in ((), ("--master", "local[2]")):
        hidden = call("query", tmp_path / "tables", everything, "--format", "json", "--hide-values", *how)
        assert hidden.status == 0, hidden.err
        assert "42" not in [line["key_text"] for line in hidden.lines]
        assert "problem" not in json.dumps([v for line in hidden.lines for v in line.values() if isinstance(v, str)])
        assert {line["value_problem"] for line in hidden.lines} == {None}


def test_tables_are_not_deserialized_again(captures: list[Path], tmp_path: Path) -> None:
    pipeline(captures, tmp_path / "tables")
    done = call("query", tmp_path / "tables", SQL, "--value", "string")
    assert (done.status, done.err.count("\n")) == (2, 1)
    assert "records of tables are deserialized by kdbg pipeline" in done.err
