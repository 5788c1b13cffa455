"""kdbg for Python programs: `decode`, `encode`, `read`."""

from __future__ import annotations

import io
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
        assert f"at byte {start} " in str(raised.value)

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
        with pytest.raises(UnknownVersion, match="Metadata has no version 99; kdbg knows 0 to "):
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

    @pytest.mark.parametrize(
        ("body", "path", "problem"),
        [
            ({"topics": [{"nam": "x"}]}, "topics[0]", "nam"),
            ({"topic": []}, "", "topic"),
            ({"topics": [{"name": None}]}, "topics[0].name", "null"),
            ({"topics": [{"name": 7}]}, "topics[0].name", "7"),
            ({"topics": "orders"}, "topics", "orders"),
            ({"topics": [["orders"]]}, "topics[0]", "orders"),
            ({"topics": [{"name": "x" * 40_000}]}, "topics[0].name", "40000"),
            ([], "", "no structure"),
            (None, "", "no structure"),
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
        with pytest.raises(InputError, match="no filter 'colour'"):
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
        with pytest.raises(UnknownCapture, match="neither pcap nor pcapng"):
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
