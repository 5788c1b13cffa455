"""The parts of `kdbg send` that need no broker: --set, words as values, options and files to settings."""

from __future__ import annotations

import io
import os
import pty
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest

import kdbg
from kdbg.errors import InputError, KdbgError
from kdbg.exchanges.messages.reshape import assign, in_order, parse
from kdbg.live.client.forms import FORMS
from kdbg.live.client.settings import Sasl, Settings, Tls
from kdbg.protocol import grammars
from kdbg.ui.cli.send import command
from kdbg.ui.cli.send.api_options import ABOUT, acks, moment, moment_or_word, offset, own_options, pair, required
from kdbg.ui.cli.send.options import SendOptions, reach
from kdbg.ui.cli.send.request import FromBody, FromOptions, by_name, captured

from ..cases import for_each
from .calls import CAPTURES, COMMAND, ENVIRONMENT

NOTHING: dict[str, Any] = {param.name or "": None for param in command.params} | {
    "max_response": Settings().max_response, "only_named": False, "trust_advertised": False, "sasl_raw": False,
}  # fmt: skip
"""As if nothing had been said."""


def said(**options: Any) -> SendOptions:
    assert options.keys() <= NOTHING.keys(), "options of kdbg send"
    return SendOptions(**NOTHING | options)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("KDBG_BROKER", "KDBG_SASL_PASSWORD", "KDBG_SASL_TOKEN", "KDBG_KEY_PASSWORD"):
        monkeypatch.delenv(name, raising=False)


class TestSet:
    """--set PATH=VALUE."""

    @for_each(
        ("texts", "body"),
        [
            (["a=1"], {"a": 1}),
            (["a=text"], {"a": "text"}),
            (['a="1"'], {"a": "1"}),
            (["a="], {"a": ""}),
            (["a=b=c"], {"a": "b=c"}),
            (["a=null", "b=true", "c=[1]"], {"a": None, "b": True, "c": [1]}),
            (["a.b.c=1"], {"a": {"b": {"c": 1}}}),
            (["a[0].b=1", "a[0].c=2"], {"a": [{"b": 1, "c": 2}]}),
            (["a[1].b=1"], {"a": [{}, {"b": 1}]}),
            (["a[0][1]=7"], {"a": [[{}, 7]]}),
            (["a=1", "a=2"], {"a": 2}),
            (["a=null", "a[0]=3"], {"a": [3]}),
        ],
    )
    def test_what_comes_of_it(self, texts: list[str], body: dict[str, Any]) -> None:
        found: dict[str, Any] = {}
        for one in in_order(map(parse, texts)):
            assign(found, one)
        assert found == body

    @for_each(
        "text", ["", "a", "=1", "[0]=1", "a..b=1", "a[x]=1", "a[0=1", "a.=1", "a b=1", "a[-1]=1", "a[999999999]=1"]
    )
    def test_what_is_no_path(self, text: str) -> None:
        with pytest.raises(InputError, match="--set"):
            parse(text)

    @pytest.mark.parametrize("text", ["a.b=1", "a[0]=1", "c[0].x.y=1", "d.e=1"])
    def test_what_does_not_fit_what_is_there(self, text: str) -> None:
        with pytest.raises(InputError, match="--set"):
            assign({"a": 5, "c": [[]], "d": []}, parse(text))

    def batch(self, *texts: str, **batch: Any) -> dict[str, Any]:
        body = {"records": [{"magic": 2, "crc": 5, "compressed_records": b"x", "last_offset_delta": 3} | batch]}
        for one in in_order(map(parse, texts)):
            assign(body, one)
        return body["records"][0]

    def test_a_batch_forgets_what_its_records_no_longer_say(self) -> None:
        records = [{"value": "a"}]
        found = self.batch("records[0].records[0].value=b", records=records, max_timestamp=9)
        assert found == {"magic": 2, "records": [{"value": "b"}]}

    def test_a_batch_forgets_its_checksum_alone_where_the_records_stay(self) -> None:
        found = self.batch("records[0].producer_id=7", records=[])
        assert "crc" not in found
        assert found["last_offset_delta"] == 3

    def test_what_is_set_itself_stays(self) -> None:
        texts = ("records[0].crc=1", "records[0].max_timestamp=4", "records[0].records[0].value=b")
        found = self.batch(*texts, records=[{"value": "a"}])
        assert (found["crc"], found["max_timestamp"]) == (1, 4)

    def test_a_compressed_message_forgets_its_bytes_and_those_inside_their_checksum(self) -> None:
        inner = {"magic": 1, "crc": 6, "value": "a"}
        found = self.batch("records[0].records[0].value=b", magic=1, attributes=1, value=b"packed", records=[inner])
        assert found == {"magic": 1, "attributes": 1, "records": [{"magic": 1, "value": "b"}]}


class TestWords:
    """What people write as values."""

    @for_each(
        ("kind", "text", "value"),
        [
            (acks, "all", -1), (acks, "-1", -1), (acks, "0", 0), (acks, "7", 7),
            (pair, "a=b", ("a", "b")), (pair, "a=", ("a", "")), (pair, "a", ("a", None)),
            (pair, "a=b=c", ("a", "b=c")),
            (offset, "12", 12), (offset, "EARLIEST", "earliest"), (offset, "-1", -1),
            (moment_or_word, "latest", -1), (moment_or_word, "max-timestamp", -3), (moment_or_word, "-9", -9),
            (moment, "1700000000000", 1700000000000), (moment, "2023-11-14T22:13:20", 1700000000000),
            (moment, "2023-11-14T23:13:20+01:00", 1700000000000), (moment, "2023-11-14", 1699920000000),
        ],
    )  # fmt: skip
    def test_values(self, kind: Callable[[str], Any], text: str, value: Any) -> None:
        assert kind(text) == value

    @pytest.mark.parametrize(
        ("kind", "text"),
        [(acks, "most"), (pair, "=b"), (offset, "end"), (moment, "latest"), (moment, "9:00")],
    )
    def test_nonsense(self, kind: Callable[[str], Any], text: str) -> None:
        with pytest.raises(click.BadParameter):
            kind(text)


class TestOwnOptions:
    """Options made from the signatures of the forms."""

    @for_each("api", FORMS)
    def test_every_option_has_a_help_and_a_name(self, api: str) -> None:
        options = own_options(api, click.Option)
        assert all(option.help for option in options)
        assert {option.name for option in options} >= set(required(api))

    def test_no_help_is_for_nothing(self) -> None:
        used = {option.name for api in FORMS for option in own_options(api, click.Option)}
        assert set(ABOUT) <= used

    def test_other_apis_have_none(self) -> None:
        assert own_options("DescribeConfigs", click.Option) == []
        assert required("DescribeConfigs") == []


class TestReach:
    """Options, --config and the environment."""

    def test_the_command_line_comes_first_then_the_file_then_the_environment(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "client.properties"
        path.write_text("bootstrap.servers=file:1\nclient.id=file\nrequest.timeout.ms=3000\n")
        monkeypatch.setenv("KDBG_BROKER", "environment:1")
        assert reach(said()) == ("environment:1", Settings())
        assert reach(said(config=str(path))) == ("file:1", Settings(client_id="file", timeout=3))
        line = said(config=str(path), broker="line:1", client_id="line", timeout=5)
        assert reach(line) == ("line:1", Settings(client_id="line", timeout=5))

    def test_no_broker(self) -> None:
        with pytest.raises(InputError, match="no broker given; use --broker"):
            reach(said())

    def settings(self, **options: Any) -> Settings:
        return reach(said(broker="b", **options))[1]

    @for_each(
        ("options", "tls"),
        [
            ({}, None),
            ({"tls": True}, Tls()),
            ({"ca": "ca.pem"}, Tls(ca="ca.pem")),
            ({"insecure": True}, Tls(verify=False)),
            ({"cert": "c", "cert_key": "k"}, Tls(certificate="c", key="k")),
            ({"server_name": "n"}, Tls(server_name="n")),
        ],
    )
    def test_tls(self, options: dict[str, Any], tls: Tls | None) -> None:
        assert self.settings(**options).tls == tls

    def test_the_keys_password_comes_from_the_environment(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KDBG_KEY_PASSWORD", "hush")
        assert self.settings(cert="c").tls == Tls(certificate="c", password="hush")

    def test_passwords_come_from_wherever_they_are(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        user = {"sasl_mechanism": "plain", "sasl_username": "me"}
        (tmp_path / "password").write_text("of file\n")
        (tmp_path / "client.properties").write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=you\nsasl.password=of properties\n"
        )
        monkeypatch.setenv("KDBG_SASL_PASSWORD", "of environment")
        config = str(tmp_path / "client.properties")
        assert self.settings(**user).sasl == Sasl("PLAIN", "me", "of environment")
        assert self.settings(config=config).sasl == Sasl("PLAIN", "you", "of properties")
        assert self.settings(config=config, **user).sasl == Sasl("PLAIN", "me", "of properties")
        file = str(tmp_path / "password")
        assert self.settings(config=config, sasl_password_file=file).sasl == Sasl("PLAIN", "you", "of file")
        assert self.settings(**user, sasl_password="of line", sasl_raw=True).sasl == Sasl(
            "PLAIN", "me", "of line", raw=True
        )

    def test_tokens_come_from_a_file_or_the_environment(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("KDBG_SASL_TOKEN", "of environment")
        (tmp_path / "token").write_text("of file\n")
        bearer = {"sasl_mechanism": "oauthbearer"}
        assert self.settings(**bearer).sasl == Sasl("OAUTHBEARER", token="of environment")
        file = str(tmp_path / "token")
        assert self.settings(**bearer, sasl_token_file=file).sasl == Sasl("OAUTHBEARER", token="of file")

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"sasl_username": "me"}, "no SASL mechanism given; use --sasl-mechanism"),
            ({"sasl_raw": True}, "no SASL mechanism given; use --sasl-mechanism"),
            ({"sasl_mechanism": "PLAIN", "sasl_username": "me"}, "PLAIN requires a password"),
            ({"sasl_mechanism": "PLAIN", "sasl_username": "me", "sasl_password_file": "/nosuch"}, "/nosuch: No such"),
            ({"sasl_mechanism": "OAUTHBEARER", "sasl_token_file": "/"}, "/: Is a directory"),
            ({"config": "/nosuch"}, "/nosuch: No such file"),
        ],
    )
    def test_what_is_missing_is_said(
        self, options: dict[str, Any], problem: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("sys.stdin", io.StringIO())
        with pytest.raises(InputError, match=problem):
            self.settings(**options)

    def test_a_terminal_is_asked_without_an_echo(self) -> None:
        terminal, theirs = pty.openpty()
        call = ["send", "list-groups", "--broker", "127.0.0.1:1", "--sasl-mechanism", "PLAIN", "--sasl-username", "me"]
        running = subprocess.Popen([*COMMAND, *call], stdin=theirs, stdout=theirs, stderr=theirs, env=ENVIRONMENT)
        os.close(theirs)
        said = b""
        while b"Password of me: " not in said:
            said += os.read(terminal, 1000)
        os.write(terminal, b"hush\n")
        assert running.wait(20) == 1
        try:
            while piece := os.read(terminal, 1000):
                said += piece
        except OSError:  # Linux's way to say that the other end is closed
            pass
        os.close(terminal)
        assert b"127.0.0.1:1: " in said
        assert b"hush" not in said


class TestCaptured:
    """--from."""

    def test_every_request_of_the_captures_can_be_had_again(self) -> None:
        for exchange in kdbg.read(CAPTURES / "transactions.pcap"):
            if exchange.request is None or exchange.api is None:
                continue
            found = captured(f"{CAPTURES / 'transactions.pcap'}#{exchange.number}", None, [])
            assert (found.api, found.version) == (exchange.api, exchange.version)

    def test_topics_go_by_name_where_the_capture_tells_it(self) -> None:
        import uuid

        known, other = uuid.uuid4(), uuid.uuid4()
        body = {"topics": [{"topic_id": known, "partitions": []}, {"topic_id": other}, {"name": "x"}]}
        topics = [{"partitions": [], "name": "orders"}, {"topic_id": other}, {"name": "x"}]
        assert by_name(body, {known: "orders"}) == {"topics": topics}

    @pytest.mark.parametrize(
        ("source", "problem"),
        [("x.pcap", "no exchange number; use CAPTURE#N"), ("#3", "no exchange number; use CAPTURE#N"),
         ("/nosuch.pcap#1", "no such file"),
         (f"{CAPTURES / 'sasl-plain-raw.pcap'}#99", "no exchange #99")],
    )  # fmt: skip
    def test_what_is_not_there(self, source: str, problem: str) -> None:
        with pytest.raises(KdbgError, match=problem):
            captured(source, None, [])

    def test_tokens_are_no_requests(self) -> None:
        path = CAPTURES / "sasl-plain-raw.pcap"
        token = next(e for e in kdbg.read(path) if e.api is not None and e.api.headerless)
        with pytest.raises(InputError, match="raw SASL token"):
            captured(f"{path}#{token.number}", None, [])

    def test_the_version_may_be_another(self) -> None:
        found = captured(f"{CAPTURES / 'first-contact.pcap'}#1", 0, [])
        assert found.version == 0
        assert found.api is grammars.api("api-versions")


class TestSetting:
    """--set, at fields of every type."""

    @for_each(
        ("api", "path", "text", "value"),
        [
            ("heartbeat", "group_id", "42", "42"), ("heartbeat", "group_id", "true", "true"),
            ("heartbeat", "group_id", "1e3", "1e3"), ("heartbeat", "generation_id", "42", 42),
            ("heartbeat", "group_instance_id", "null", None),
            ("describe-configs", "resources[0].resource_name", "1", "1"),
            ("describe-groups", "groups[0]", "007", "007"), ("describe-configs", "resources[0].resource_type", "4", 4),
            ("sasl-authenticate", "auth_bytes", "12", "12"), ("metadata", "include_topic_authorized_operations", "true",
             True), ("metadata", "topics[0].nme", "5", 5),
        ],
    )  # fmt: skip
    def test_text_is_what_was_written(self, api: str, path: str, text: str, value: Any) -> None:
        found = grammars.api(api)
        body = FromBody(found, None, [parse(f"{path}={text}")], {}).body(found.versions[-1])
        for step in parse(f"{path}=0").steps:
            body = body[step]  # type: ignore[index]
        assert body == value


class TestNamesOfTheGuides:
    """--body and --set take the names of Kafka's guides of 0.8 and 0.10.1, in the versions that those describe."""

    def body(self, api: str, version: int, given: dict[str, Any], *sets: str) -> Any:
        return FromBody(grammars.api(api), version, list(map(parse, sets)), given).body(version)

    def test_a_body(self) -> None:
        assert self.body("Metadata", 1, {"topics": ["a"]}) == {"topics": [{"name": "a"}]}

    def test_a_path(self) -> None:
        found = self.body("Produce", 0, {"timeout": 1}, "timeout=2", "topic_data[0].data[0].partition=3")
        assert found == {"timeout_ms": 2, "topic_data": [{"partition_data": [{"index": 3}]}]}

    def test_a_value_at_a_path(self) -> None:
        assert self.body("Metadata", 0, {}, 'TopicName=["a"]', "topics[1]=b") == {
            "topics": [{"name": "a"}, {"name": "b"}]
        }

    def test_a_path_into_a_body_of_the_apis_own_options(self) -> None:
        request = FromOptions(grammars.api("Produce"), 0, [parse("timeout=7")], {"topic": "t", "value": (b"v",)})
        assert request.body(0)["timeout_ms"] == 7
        assert "timeout" not in request.body(0)

    def test_one_field_under_two_names_is_refused_like_any_mistake_in_a_body(self) -> None:
        with pytest.raises(InputError, match=r"Produce v0: timeout_ms: given twice.*--show-template"):
            self.body("Produce", 0, {"timeout": 1, "timeout_ms": 1})

    def test_not_in_later_versions(self) -> None:
        assert self.body("Produce", 9, {"timeout": 1}) == {"timeout": 1}, "which is refused when it is sent"
