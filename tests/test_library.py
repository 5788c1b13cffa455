"""kdbg for Python programs: `decode`, `encode`, `read`."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import kdbg
from kdbg.errors import (
    BadLength,
    BuildError,
    CaptureRefused,
    InputError,
    Leftover,
    Truncated,
    UnknownApi,
    UnknownCapture,
    UnknownVersion,
)
from kdbg.views.render.views import VIEWS
from kdbg.views.tables.columns import TABLES

from .cases import for_each
from .traffic import Talk, pcap

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
HEADER = {"correlation_id": 7, "client_id": "me"}
METADATA: dict[str, Any] = {"topics": [{"name": "orders"}]}
BODY: dict[str, Any] = {"api": "Metadata", "version": 1, "direction": "request"}


class TestDecode:
    def test_a_message_behind_its_header(self) -> None:
        data = kdbg.encode(METADATA, **BODY, header=HEADER)
        message = kdbg.decode(data, **BODY)
        assert message.header == {"api_key": 3, "api_version": 1, **HEADER}
        assert message.body == METADATA
        assert (message.api.name, message.version, message.direction) == ("Metadata", 1, "request")
        assert message.findings == ()
        assert type(message.body) is dict

    def test_a_body_alone(self) -> None:
        message = kdbg.decode(kdbg.encode(METADATA, **BODY), **BODY, header=False)
        assert (message.header, message.body) == (None, METADATA)

    @pytest.mark.parametrize("api", ["metadata", "METADATA", "meta-data", 3, "3"])
    def test_apis_go_by_name_alias_or_key(self, api: str | int) -> None:
        assert kdbg.decode(bytes(4), api=api, version=0, direction="request", header=False).api.name == "Metadata"

    def test_values_are_plain_and_give_back_the_bytes(self) -> None:
        fields = {"topics": [{"topic_id": uuid.UUID(int=5), "name": None, "tagged_fields": {7: b"x"}}]}
        data = kdbg.encode(fields, api=3, version=12, direction="request", header=HEADER)
        message = kdbg.decode(data, api=3, version=12, direction="request")
        assert message.body["topics"] == fields["topics"]
        assert [finding.kind for finding in message.findings] == ["unknown-tag"]
        assert kdbg.encode(message.body, api=3, version=12, direction="request", header=message.header) == data

    @pytest.mark.parametrize(
        ("data", "error", "path", "start"),
        [
            (b"\0\0\0\1\0\6order", Truncated, "topics[0].name", 6),
            (b"\0\0\0", Truncated, "topics", 0),
            (b"\0\0\0\1\xff\xff", BadLength, "topics[0].name", 4),
            (b"\0\0\0\0\1\2", Leftover, "", 4),
        ],
    )
    def test_bytes_that_do_not_follow_the_grammar(
        self, data: bytes, error: type[kdbg.WireError], path: str, start: int
    ) -> None:
        with pytest.raises(error) as raised:
            kdbg.decode(data, **BODY, header=False)
        assert type(raised.value) is error
        assert (raised.value.path, raised.value.start) == (path, start)
        assert f"(byte {start} " in str(raised.value)

    def test_offsets_count_from_the_first_byte_given(self) -> None:
        data = kdbg.encode(METADATA, **BODY, header=HEADER)
        with pytest.raises(Truncated) as raised:
            kdbg.decode(data[:-1], **BODY)
        assert raised.value.start == len(data) - len("orders")

    def test_questions_that_no_grammar_answers(self) -> None:
        with pytest.raises(UnknownApi, match="did you mean Metadata"):
            kdbg.decode(b"", api="metdata", version=1, direction="request")
        with pytest.raises(UnknownApi):
            kdbg.decode(b"", api=4711, version=1, direction="request")
        with pytest.raises(UnknownVersion, match="Metadata has no version 99; supported: 0 to "):
            kdbg.decode(b"", api=3, version=99, direction="request")
        with pytest.raises(BuildError, match="'request' or 'response', not 'sideways'"):
            kdbg.decode(b"", api=3, version=1, direction="sideways")  # type: ignore[arg-type]

    def test_they_are_kdbgs_own_errors(self) -> None:
        for error in (kdbg.WireError, kdbg.BuildError, kdbg.GrammarError, kdbg.CaptureError):
            assert issubclass(error, kdbg.KdbgError)


class TestEncode:
    def test_fields_that_are_missing_take_their_defaults(self) -> None:
        assert kdbg.encode({}, **BODY) == b"\0\0\0\0"
        assert kdbg.encode({}, api="Heartbeat", version=0, direction="request") == b"\0\0\0\0\0\0\0\0"

    @for_each(
        ("body", "path", "problem"),
        [
            ({"topics": [{"nam": "x"}]}, "topics[0]", "nam"),
            ({"topic": []}, "", "topic"),
            ({"topics": [{"name": None}]}, "topics[0].name", "null"),
            ({"topics": [{"name": 7}]}, "topics[0].name", "7"),
            ({"topics": "orders"}, "topics", "orders"),
            ({"topics": [["orders"]]}, "topics[0]", "orders"),
            ({"topics": [{"name": "x" * 40_000}]}, "topics[0].name", "40000"),
            ([], "", "not a structure"),
            (None, "", "not a structure"),
        ],
        ids=str,
    )
    def test_values_that_do_not_fit_are_named_by_their_path(self, body: Any, path: str, problem: str) -> None:
        with pytest.raises(BuildError) as raised:
            kdbg.encode(body, **BODY)
        assert raised.value.path.startswith(path)
        assert problem in str(raised.value).replace(",", "")

    def test_numbers_out_of_range_and_headers_that_do_not_fit(self) -> None:
        with pytest.raises(BuildError, match="generation_id"):
            kdbg.encode({"generation_id": 1 << 31}, api="Heartbeat", version=0, direction="request")
        with pytest.raises(BuildError, match="header"):
            kdbg.encode({}, **BODY, header={"correlation": 7})
        with pytest.raises(UnknownVersion):
            kdbg.encode({}, api=3, version=-1, direction="request")

    def test_bytes_may_be_written_as_json_has_them(self) -> None:
        sasl: dict[str, Any] = {"api": "SaslAuthenticate", "version": 0, "direction": "request"}
        assert kdbg.encode({"auth_bytes": {"base64": "AGE="}}, **sasl) == kdbg.encode({"auth_bytes": b"\0a"}, **sasl)

    def test_a_response_has_a_header_too(self) -> None:
        data = kdbg.encode({}, api=3, version=1, direction="response", header={"correlation_id": 9})
        assert kdbg.decode(data, api=3, version=1, direction="response").header == {"correlation_id": 9}


class TestRead:
    def test_paths_and_streams(self) -> None:
        path = CAPTURES / "first-contact.pcap"
        sources: list[Callable[[], Any]] = [lambda: path, lambda: str(path), lambda: io.BytesIO(path.read_bytes())]
        for source in sources:
            assert [exchange.number for exchange in kdbg.read(source())] == list(range(1, 32))

    def test_it_streams(self) -> None:
        """Exchanges come before the capture ends, even if it never does."""

        class Endless(io.RawIOBase):
            def __init__(self) -> None:
                self.left = pcap(Talk().ask("Metadata", 1).answer())

            def read(self, size: int = -1) -> bytes:
                assert self.left, "read on although an exchange was complete"
                piece, self.left = self.left[:64], self.left[64:]
                return piece

        assert next(kdbg.read(Endless())).correlation_id == 1

    def test_filters_are_those_of_the_command(self) -> None:
        path = CAPTURES / "errors.pcap"
        assert {exchange.api.name for exchange in kdbg.read(path, api="produce") if exchange.api} == {"Produce"}
        assert len(list(kdbg.read(path, api=["produce", "fetch"], limit=5))) == 5
        assert {exchange.peers.broker[1] for exchange in kdbg.read(path, port=9093)} == {9093}
        late = list(kdbg.read(path, where=lambda exchange: exchange.number > 50))
        assert [exchange.number for exchange in late] == list(range(51, 59))
        with pytest.raises(InputError, match="unknown filter 'colour'"):
            next(kdbg.read(path, colour="red"))  # type: ignore[call-arg]
        with pytest.raises(UnknownApi):
            next(kdbg.read(path, api="fetsh"))

    def test_a_limit_counts_what_where_lets_through(self) -> None:
        found = list(kdbg.read(CAPTURES / "errors.pcap", where=lambda exchange: exchange.number % 2 == 0, limit=3))
        assert [exchange.number for exchange in found] == [2, 4, 6]

    def test_what_cannot_be_read(self, tmp_path: Path) -> None:
        with pytest.raises(CaptureRefused, match="no such file"):
            next(kdbg.read(tmp_path / "none"))
        (picture := tmp_path / "picture").write_bytes(b"\x89PNG\r\n\x1a\n")
        with pytest.raises(UnknownCapture, match="not a pcap or pcapng file"):
            next(kdbg.read(picture))

    def test_damage_further_on_ends_it(self) -> None:
        whole = pcap(Talk().ask("Metadata", 1).answer().ask("Metadata", 1).answer())
        assert len(list(kdbg.read(io.BytesIO(whole[:-5])))) == 2

    def test_an_exchange_tells_everything(self) -> None:
        talk = Talk().ask("Metadata", 1, **METADATA).answer(controller_id=3)
        (exchange,) = kdbg.read(io.BytesIO(pcap(talk)))
        assert isinstance(exchange, kdbg.Exchange)
        assert (exchange.version, exchange.correlation_id, exchange.client_id) == (1, 1, "kdbg")
        assert exchange.latency == 1_000_000
        request, response = exchange.messages()
        assert isinstance(request, kdbg.Message)
        assert (request.body, response.body["controller_id"]) == (METADATA, 3)


def test_the_package_names_what_it_offers() -> None:
    assert all(getattr(kdbg, name) for name in kdbg.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'decoed'"):
        kdbg.decoed


class TestReading:
    """What `kdbg.read` gives, beside the exchanges themselves."""

    def test_it_knows_what_it_reads_and_closes(self) -> None:
        with kdbg.read(CAPTURES / "errors.pcap") as reading:
            assert repr(reading) == f"<Reading of {str(CAPTURES / 'errors.pcap')!r}, a capture, open>"
            next(reading)
        assert repr(reading).endswith("a capture, closed>")
        assert list(reading) == []

    def test_topic_names_are_told_and_cannot_be_changed(self) -> None:
        reading = kdbg.read_capture(CAPTURES / "real-4.4.0-new-group.pcap")
        list(reading)
        assert "orders" in reading.topic_names.values() or len(reading.topic_names) > 1
        with pytest.raises(TypeError):
            reading.topic_names[uuid.UUID(int=7)] = "x"  # type: ignore[index]

    def test_damage_is_a_problem_of_the_reading(self, tmp_path: Path) -> None:
        path = tmp_path / "cut.pcap"
        path.write_bytes((CAPTURES / "errors.pcap").read_bytes()[:-5])
        reading = kdbg.read(path)
        assert list(reading)
        assert [str(problem.kind) for problem in reading.problems] == ["damaged-capture"]

    def test_findings_of_connections_are_kept(self, tmp_path: Path) -> None:
        path = tmp_path / "http.pcap"
        path.write_bytes(pcap(Talk().send(b"GET / HTTP/1.1\r\n\r\n").end()))
        reading = kdbg.read(path)
        assert list(reading) == []
        assert [str(finding.kind) for _, finding in reading.findings] == ["not-kafka"]

    def test_durations_are_milliseconds(self) -> None:
        every = list(kdbg.read_capture(CAPTURES / "errors.pcap"))
        slow = list(kdbg.read_capture(CAPTURES / "errors.pcap", slower_than=0.1))
        assert 0 < len(slow) < len(every)
        assert all(one.latency_ms is not None and one.latency_ms > 0.1 for one in slow)
        assert len(slow) == sum((one.latency or 0) > 100_000 for one in every)

    def test_an_exchange_says_its_errors_with_what_they_are_about(self) -> None:
        failed = next(kdbg.read_capture(CAPTURES / "errors.pcap", api="produce", errors=True))
        (error,) = failed.errors
        assert tuple(error) == (6, "NOT_LEADER_OR_FOLLOWER", "orders", 0)
        assert repr(failed).startswith("<Exchange 7: Produce v10, correlation id 4, ")
        assert repr(failed).endswith(" ms, NOT_LEADER_OR_FOLLOWER>")

    @pytest.mark.parametrize("name", ["errors.pcap", "real-codecs-4.4.0.pcap", "real-sasl-tokens.pcap"])
    def test_to_dict_is_what_decode_prints_as_json(self, name: str) -> None:
        path = CAPTURES / name
        done = subprocess.run(
            [sys.executable, "-m", "kdbg", "decode", path, "-f", "json"], capture_output=True, check=False
        )
        printed = [json.loads(line) for line in done.stdout.splitlines()]
        assert [one.to_dict() for one in kdbg.read_capture(path)] == printed

    def test_secrets_are_hidden_in_every_form(self) -> None:
        path = CAPTURES / "sasl-plain-raw.pcap"
        tokens = [one.request.data for one in kdbg.read_capture(path) if one.api is not None and one.api.headerless]
        passwords = {token.split(b"\0")[-1].decode() for token in tokens if token.count(b"\0") == 2}
        assert passwords
        for one in kdbg.read_capture(path):
            shown = str([one.to_dict(), one.text(), one.text("hex"), one._repr_html_(), repr(one)])
            assert not [password for password in passwords if password in shown]

    def test_a_notebook_gets_no_markup_from_the_wire(self) -> None:
        one = next(kdbg.read_capture(CAPTURES / "errors.pcap"))
        text = one._repr_html_()
        assert text.startswith("<pre>")
        assert '"' not in text[5:-6]

    def test_a_log_is_read_like_a_capture(self) -> None:
        path = CAPTURES / "real-segments-4.4.0" / "money-0" / "00000000000000000000.log"
        entries = list(kdbg.read(path, limit=2))
        assert [(one.number, one.position, one.size) for one in entries] == [(1, 0, 99), (2, 99, 78)]
        assert entries[0].message.body["records"][0]["records_count"] == 2
        assert entries[0].to_dict()["batch"]["records_count"] == 2
        assert kdbg.render(entries[1], "summary") == entries[1].text("summary")
        with pytest.raises(kdbg.CaptureError, match="--api cannot filter a log segment"):
            list(kdbg.read(path, api="fetch"))
        with pytest.raises(kdbg.CaptureError, match="not a capture"):
            kdbg.read_capture(path)
        with pytest.raises(kdbg.CaptureError, match="is a capture"):
            kdbg.read_log(CAPTURES / "errors.pcap")

    @pytest.mark.parametrize("table", ["exchanges", "partitions", "records", "groups", "problems"])
    def test_tables_come_as_arrow_and_pandas(self, table: str) -> None:
        pytest.importorskip("pyarrow", reason="the extra spark is not installed")
        found = kdbg.read_capture(CAPTURES / "real-3.9.2-rebalance.pcap").to_arrow(table)
        assert found.column_names == list(TABLES[table])
        frame = kdbg.read_capture(CAPTURES / "real-3.9.2-rebalance.pcap").to_pandas(table)
        assert len(frame) == found.num_rows
        if table == "exchanges":
            assert found.num_rows == len(list(kdbg.read(CAPTURES / "real-3.9.2-rebalance.pcap")))

    def test_a_table_there_is_not_is_refused(self) -> None:
        with pytest.raises(kdbg.InputError, match="unknown table 'files'"):
            kdbg.read(CAPTURES / "errors.pcap").to_arrow("files")


class TestExplainAndRender:
    BROKEN = "00000016 0003 0001 00000002 0004 6b646267 00000001 0003 666f"

    def test_explain_says_what_bytes_are(self) -> None:
        (found,) = kdbg.explain(self.BROKEN)
        assert (found.start, found.end, found.explained) == (0, 26, 22)
        assert found.guesses[0].api.name == "Metadata"
        assert [str(finding.kind) for finding in found.findings] == ["truncated"]
        assert found.text("tree").startswith("Metadata request v1")
        assert found.to_dict()["api"] == "Metadata"
        assert "22 of 26 bytes" in repr(found)

    def test_what_is_known_may_be_said(self) -> None:
        (found,) = kdbg.explain(b"\x00\x06", api="heartbeat", version=0, direction="response", header=False)
        assert found.message is not None
        assert found.message.body == {"error_code": 6}

    def test_bytes_that_are_nothing_have_no_guess(self) -> None:
        (found,) = kdbg.explain(b"GET / HTTP/1.1\r\n\r\n")
        assert (found.guesses, found.message, found.explained) == ((), None, 0)
        assert "HTTP" in found.text()

    @pytest.mark.parametrize(
        ("asked", "problem"),
        [({"data": ""}, "bytes"), ({"data": b""}, "no bytes"), ({"data": b"1", "version": 3}, "version requires api")],
    )
    def test_what_cannot_be_explained_is_refused(self, asked: dict[str, Any], problem: str) -> None:
        with pytest.raises(kdbg.InputError, match=problem):
            kdbg.explain(**asked)

    @pytest.mark.parametrize("format", list(VIEWS))
    def test_render_is_what_decode_prints(self, format: str) -> None:
        path = CAPTURES / "first-contact.pcap"
        one = next(kdbg.read_capture(path))
        done = subprocess.run(
            [sys.executable, "-m", "kdbg", "decode", path, "-f", format, "--limit", "1", "--full"],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert kdbg.render(one, format, width=80) in done.stdout

    def test_render_is_a_function_whatever_was_imported(self) -> None:
        import kdbg.views.render.tree

        message = kdbg.decode(b"\0\6", api="heartbeat", version=0, direction="response", header=False)
        assert kdbg.render(message).startswith("Heartbeat response v0\n└── error_code  6  NOT_LEADER")
        assert kdbg.render(message, "json") == '{"error_code":6}\n'
        assert kdbg.render(message, "hex").startswith("0000  00 06  ")
        with pytest.raises(kdbg.InputError, match="did you mean json"):
            kdbg.render(message, "jsn")

    def test_every_api_is_listed(self) -> None:
        assert [api.key for api in kdbg.apis()] == sorted({api.key for api in kdbg.apis()})
        assert "Metadata" in {api.name for api in kdbg.apis()}


@for_each("name", kdbg.__all__)
def test_every_public_name_is_there_and_documented(name: str) -> None:
    assert getattr(kdbg, name).__doc__
    assert name in dir(kdbg)
