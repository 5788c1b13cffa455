"""`kdbg decode` on files of a broker's disk, as a user runs it: all views, filters, damage, pipes, the closing line."""

from __future__ import annotations

import base64
import gzip
import json
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from kdbg.errors import BuildError
from kdbg.exchanges.messages.reshape import rebuild
from kdbg.protocol.grammars.payloads import payload
from kdbg.protocol.grammars.records import record_format
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.records import build_set

from ..cases import for_each
from ..segments.made import TIME, batch, flipped, message
from .calls import CAPTURES, COMMAND, ENVIRONMENT, FORMATS, Outcome, spawn
from .terminal import on_terminal

Cli = Callable[..., Outcome]
DISK = CAPTURES / "real-segments-4.4.0"
MONEY = DISK / "money-0" / f"{0:020}.log"
LOGS = sorted([*DISK.glob("*/*.log"), *DISK.glob("*/*.checkpoint")])
REST = sorted({path for path in DISK.glob("*/*") if path.is_file()} - set(LOGS))


@pytest.fixture
def segment(tmp_path: Path) -> Callable[[bytes], Path]:
    """Writes a segment of topic orders."""

    def write(data: bytes, name: str = f"{0:020}.log") -> Path:
        path = tmp_path / "orders-3" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    return write


class TestViews:
    def test_a_summary_has_a_line_for_each_batch(self, cli: Cli) -> None:
        status, out, err = cli("decode", MONEY, "-f", "summary")
        assert (status, err) == (0, "5 batches · 8 records · 453 bytes · 0 findings\n")
        assert out.splitlines() == [
            "       at offsets       time                v codec  recs  size details",
            "        0 0–1           2026-11-21 03:23:39 2 none      2    99 txn p0/0/0 e0",
            "       99 2             2026-11-21 03:23:39 2 none      1    78 COMMIT p0/0/-1 e0",
            "      177 3–4           2026-11-21 03:23:39 2 none      2    99 txn p0/0/2 e0",
            "      276 5             2026-11-21 03:23:39 2 none      1    78 ABORT p0/0/-1 e0",
            "      354 6–7           2026-11-21 03:23:39 2 none      2    99 txn p0/0/4 e0",
        ]

    @pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
    def test_lines_of_a_summary_fit_the_terminal_and_are_whole_in_a_pipe(self, cli: Cli, path: Path) -> None:
        shown = on_terminal("decode", path, "-f", "summary", out=True).screen
        assert 70 < max(map(len, shown[:-3])) <= 80
        assert "…" not in cli("decode", path, "-f", "summary").out, "nothing is cut in a pipe"

    def test_a_tree_shows_batches_as_in_a_message(self, cli: Cli) -> None:
        out = cli("decode", MONEY).out
        assert out.startswith("#1 money-0 · byte 0 · 99 bytes  batch\n├── base_offset  0\n")
        assert "control: ABORT" in out
        assert '├── key    "from"\n    │   └── value  "transfer 0"' in out

    def test_a_hexdump_counts_places_in_the_file(self, cli: Cli) -> None:
        out = cli("decode", MONEY, "-f", "hex").out
        shown = [line for line in out.splitlines() if line[:4].strip() and line[4:6] == "  "]
        data = bytes.fromhex("".join(line[6:29] for line in shown))
        assert data == MONEY.read_bytes()
        places = [int(line[:4], 16) for line in shown]
        assert (places[0], places) == (0, sorted(places))

    @pytest.mark.parametrize("path", LOGS, ids=lambda path: path.parent.name)
    def test_json_is_lossless(self, cli: Cli, path: Path) -> None:
        """The batches build the same bytes again, what was opened in them included."""
        lines = cli("decode", path, "-f", "json").lines
        assert b"".join(built(line) for line in lines) == path.read_bytes()
        assert [line["position"] for line in lines] == [
            sum(line["size"] for line in lines[:i]) for i in range(len(lines))
        ]
        topic, _, partition = path.parent.name.rpartition("-")
        assert {(line["file"], line["kind"], line["topic"], line["partition"]) for line in lines} == {
            (str(path), "log", topic, int(partition))
        }

    def test_records_of_internal_topics_are_opened(self, cli: Cli) -> None:
        out = cli("decode", DISK / "__consumer_offsets-1" / f"{0:020}.log").out
        assert "key  GroupMetadataKey, 11 bytes" in out
        assert 'group  "billing"' in out
        assert "SnapshotHeaderRecord" in cli("decode", *DISK.glob("*/*.checkpoint")).out

    @for_each("format", FORMATS)
    @pytest.mark.parametrize("path", REST, ids=lambda path: path.name)
    def test_what_lies_beside_a_log(self, cli: Cli, path: Path, format: str) -> None:
        status, out, err = cli("decode", path, "-f", format)
        assert (status, bool(out)) == (0, True)
        assert "entr" in err
        assert err.endswith(" · 0 findings\n")

    def test_an_index_line_has_the_offset_first(self, cli: Cli, segment: Any) -> None:
        path = segment(struct.pack(">ii", 7, 4096), f"{1000:020}.index")
        assert cli("decode", path).out == "        0  offset 1007  relative_offset 7  position 4096\n"
        (line,) = cli("decode", path, "-f", "json").lines
        assert (line["offset"], line["entry"]) == (1007, {"relative_offset": 7, "position": 4096})

    def test_old_formats(self, cli: Cli, segment: Any) -> None:
        inner = [{"magic": 1, "offset": i, "timestamp": TIME, "value": b"x"} for i in range(3)]
        path = segment(message(0, 0) + message(3, 1, attributes=1, records=inner, value=None))
        out = cli("decode", path, "-f", "summary").out
        assert "0             –                   0 none      1" in out
        assert "1–3           2023-11-14 22:13:20 1 gzip      3" in out
        assert "message" in cli("decode", path).out
        assert b"".join(built(line) for line in cli("decode", path, "-f", "json").lines) == path.read_bytes()


def built(line: dict[str, Any]) -> bytes:
    """The bytes that a line of JSON stands for."""
    if "zeros" in line:
        return bytes(line["zeros"])
    return build_set([rebuild(line["batch"])], record_format, "")


def test_a_batch_with_an_unknown_field_builds_nothing(cli: Cli) -> None:
    """The way back checks what it is given."""
    line = cli("decode", MONEY, "-f", "json").lines[0]
    with pytest.raises(BuildError, match="surprise"):
        built(line | {"batch": line["batch"] | {"surprise": 1}})


class TestDamage:
    @pytest.mark.parametrize("format", FORMATS)
    def test_the_good_batches_around_it_are_shown(self, cli: Cli, segment: Any, format: str) -> None:
        path = segment(batch(0) + b"\xff garbage \xff" + batch(2) + flipped(batch(4), 70) + batch(6)[:40])
        status, out, err = cli("decode", path, "-f", format)
        assert status == 1
        assert (
            err == "3 batches · 6 records · 336 bytes · 3 findings (crc-mismatch 1, truncated 1, undecoded-bytes 1)\n"
        )
        assert "undecoded-bytes" in out
        assert ("stored CRC-32C" if format == "hex" else "crc-mismatch") in out

    def test_a_half_written_batch_says_what_is_missing(self, cli: Cli, segment: Any) -> None:
        outcome = cli("decode", segment(batch(0) + batch(2, size=500)[:100]))
        assert outcome.status == 1
        assert "✗ truncated: the file ends in the middle of an entry: 100 of 1,079 bytes present" in outcome.out

    def test_zeros_at_the_end_are_counted_and_not_shown(self, cli: Cli, segment: Any) -> None:
        path = segment(batch(0) + bytes(1000))
        status, out, err = cli("decode", path)
        assert (status, err) == (0, "1 batch · 2 records · 1,095 bytes · 1,000 of them zero · 0 findings\n")
        assert "#2" not in out
        assert b"".join(built(line) for line in cli("decode", path, "-f", "json").lines) == path.read_bytes()

    def test_order(self, cli: Cli, segment: Any) -> None:
        status, out, err = cli("decode", segment(batch(4) + batch(0)))
        assert (status, "✗ out-of-order: offset 0 follows 5, but offsets must increase" in out) == (1, True)
        assert err.endswith("1 finding (out-of-order 1)\n")

    def test_an_empty_segment(self, cli: Cli, segment: Any) -> None:
        assert cli("decode", segment(b"")) == (0, "", "empty · 0 findings\n")

    def test_hostile_text_is_escaped(self, cli: Cli, segment: Any) -> None:
        path = segment(b"0\n1\n\x1b[31mred 0 1\n", "replication-offset-checkpoint")
        for format in FORMATS:
            assert "\x1b" not in cli("decode", path, "-f", format).out


class TestSecrets:
    """The KRaft log has SCRAM credentials: hidden in every view, whether or not their batch can be read."""

    SECRETS = (b"SALT-SALT", b"STORED-KEY", b"SERVER-KEY")

    @pytest.fixture(params=["sound", "gzip", "wrong bit", "garbage", "half"])
    def path(self, request: pytest.FixtureRequest, tmp_path: Path) -> Path:
        record = payload("UserScramCredentialRecord").framed(0)
        salt, stored, server = self.SECRETS
        fields = {"frame_version": 1, "api_key": 11, "name": "alice", "mechanism": 1, "salt": salt}
        value = build(record, fields | {"stored_key": stored, "server_key": server, "iterations": 4096})
        attributes = 1 if request.param == "gzip" else 0
        entry = build_set([{"attributes": attributes, "records": [{"value": value}]}], record_format, "")
        data = {
            "wrong bit": flipped(entry, 61), "garbage": b"\xff" * 20 + value + batch(5), "half": entry[:-2],
        }  # fmt: skip
        path = tmp_path / "__cluster_metadata-0" / f"{0:020}.log"
        path.parent.mkdir()
        path.write_bytes(data.get(request.param, entry))
        return path

    @pytest.mark.parametrize("format", FORMATS)
    def test_they_are_hidden(self, cli: Cli, path: Path, format: str) -> None:
        out = cli("decode", path, "-f", format).out
        for secret in self.SECRETS:
            for form in (secret.decode(), secret.hex(" "), secret.hex()[:12], base64.b64encode(secret[:6]).decode()):
                assert form not in out
        data = path.read_bytes()
        places = [data.find(secret) for secret in self.SECRETS]
        for place in places if min(places) >= 0 else ():
            for start in range(3):  # base64 of bytes around it
                assert base64.b64encode(data[place + start : place + start + 6]).decode() not in out

    @pytest.mark.parametrize("format", ["hex", "json"])
    def test_they_are_shown_when_asked_for(self, cli: Cli, path: Path, format: str) -> None:
        word = {"hex": "redacted", "json": "hidden"}[format]
        assert word in cli("decode", path, "-f", format).out
        assert word not in cli("decode", path, "-f", format, "--show-secrets").out


class TestFilters:
    def test_limit(self, cli: Cli) -> None:
        assert [line["position"] for line in cli("decode", MONEY, "-f", "json", "--limit", 2).lines] == [0, 99]
        assert cli("decode", MONEY, "--limit", 0).out == ""

    @pytest.mark.parametrize(
        ("options", "offsets"),
        [
            (("--since", (TIME + 3) / 1000), [2, 4]),
            (("--until", (TIME + 3) / 1000), [0, 2]),
            (("--since", "22:13:20.004"), [4]),
            (("--since", TIME / 1000 + 60), []),
        ],
    )
    def test_times_are_those_of_the_records(
        self, cli: Cli, segment: Any, options: tuple[object, ...], offsets: list[int]
    ) -> None:
        path = segment(batch(0) + batch(2) + batch(4))
        lines = cli("decode", path, "-f", "json", *options).lines
        assert [line["batch"]["base_offset"] for line in lines] == offsets

    def test_topic_is_that_of_the_folder(self, cli: Cli) -> None:
        both = cli("decode", *LOGS, "-f", "json", "--topic", "money").lines
        assert {line["topic"] for line in both} == {"money"}

    def test_errors(self, cli: Cli, segment: Any) -> None:
        path = segment(batch(0) + flipped(batch(2), 70) + batch(4))
        (line,) = cli("decode", path, "-f", "json", "--errors").lines
        assert line["position"] == len(batch(0))

    @pytest.mark.parametrize(
        ("path", "options", "named"),
        [
            (
                MONEY,
                ("--client-id", "x", "--port", 9092),
                "--client-id, --port cannot filter a log segment; omit --client-id, --port",
            ),
            (
                MONEY,
                ("--api", "produce", "--slower-than", 5),
                "--api, --slower-than cannot filter a log segment; omit --api, --slower-than",
            ),
            (REST[-1], ("--since", 0), "--since cannot filter a "),
        ],
    )
    def test_filters_that_make_no_sense_are_refused(
        self, cli: Cli, path: Path, options: tuple[object, ...], named: str
    ) -> None:
        status, out, err = cli("decode", path, *options)
        assert (status, out) == (2, "")
        assert named in err
        assert err.count("\n") == 1

    def test_a_file_without_a_topic_refuses_to_be_asked_for_one(self, cli: Cli) -> None:
        outcome = spawn("decode", "-", "--topic", "money", stdin=MONEY.read_bytes())
        assert (outcome.status, "--topic cannot" in outcome.err) == (2, True)


class TestSources:
    @pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
    def test_compressed(self, cli: Cli, segment: Any, pack: Callable[[bytes], bytes]) -> None:
        path = segment(pack(MONEY.read_bytes()), f"{0:020}.log.packed")
        assert len(cli("decode", path, "-f", "json").lines) == 5

    def test_a_pipe(self) -> None:
        outcome = spawn("decode", "-", "-f", "json", stdin=MONEY.read_bytes())
        assert (outcome.status, len(outcome.lines)) == (0, 5)
        assert {(line["file"], line["topic"]) for line in outcome.lines} == {("stdin", None)}

    def test_batches_are_shown_while_they_are_written(self) -> None:
        with subprocess.Popen(
            [*COMMAND, "decode", "-", "-f", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env=ENVIRONMENT,
        ) as process:  # fmt: skip
            assert process.stdin is not None
            assert process.stdout is not None
            for offset in (0, 2, 4):
                process.stdin.write(batch(offset))
                process.stdin.flush()
                assert json.loads(process.stdout.readline())["batch"]["base_offset"] == offset
            process.stdin.close()
            assert process.wait() == 0

    def test_a_segment_beside_a_capture(self, cli: Cli) -> None:
        status, out, err = cli("decode", MONEY, CAPTURES / "first-contact.pcap", "-f", "summary", "--limit", 6)
        assert status == 0
        assert out.count("==>") == 2
        assert "packets" in err
        assert "5 batches" in err

    def test_explain_points_to_decode(self, cli: Cli) -> None:
        status, out, err = cli("explain", f"@{MONEY}")
        assert (status, out) == (2, "")
        assert err == f"kdbg: {str(MONEY)!r} is a log segment; use kdbg decode\n"
