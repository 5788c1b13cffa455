"""Addresses as users write them, and settings that keep their secrets."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import InputError
from kdbg.live.client.settings import Address, Sasl, Settings, Tls, addresses, show

from ..cases import for_each


@for_each(
    ("text", "wanted"),
    [
        ("localhost", [("localhost", 9092)]),
        ("localhost:19092", [("localhost", 19092)]),
        ("localhost:", [("localhost", 9092)]),
        ("a:1,b:2,c", [("a", 1), ("b", 2), ("c", 9092)]),
        (" a:1 , b:2 ,", [("a", 1), ("b", 2)]),
        ("127.0.0.1:9093", [("127.0.0.1", 9093)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
        ("::1", [("::1", 9092)]),
        ("[fe80::1%eth0]:9093", [("fe80::1%eth0", 9093)]),
        ("2001:db8::7:9092", [("2001:db8::7:9092", 9092)]),
        ("h:65535", [("h", 65535)]),
    ],
)
def test_addresses(text: str, wanted: list[Address]) -> None:
    assert addresses(text) == wanted


@pytest.mark.parametrize("text", ["", " ", ",", ",,"])
def test_no_address(text: str) -> None:
    with pytest.raises(InputError, match="no broker given; use host:port"):
        addresses(text)


@for_each("text", ["a:0", "a:65536", "a:x", "a:-1", "a:9092x", "[::1]:0", "a:1,b:http"])
def test_a_port_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match="the port must be 1 to 65535"):
        addresses(text)


@for_each("text", [":9092", "[]:9092", "[]", "SASL_SSL://broker:9092", "http://broker", "a b:9092"])
def test_a_host_that_is_none(text: str) -> None:
    with pytest.raises(InputError, match=r"invalid broker address .*; use host:port$"):
        addresses(text)


@given(st.sampled_from(["host", "10.0.0.1", "::1", "fe80::1%lo", "broker-1.example"]), st.integers(1, 65535))
def test_what_is_shown_is_what_was_written(host: str, port: int) -> None:
    text = show((host, port))
    assert addresses(text) == [(host, port)]
    assert text.startswith("[") == (":" in host)


def test_settings_keep_their_secrets() -> None:
    sasl = Sasl("PLAIN", "alice", password="a-password", token="a-token")
    tls = Tls(key="key.pem", password="a-pass-phrase")
    text = repr(Settings(sasl=sasl, tls=tls)) + str(sasl) + f"{tls}"
    for secret in ("a-password", "a-token", "a-pass-phrase"):
        assert secret not in text
    assert "alice" in text


def test_the_limits_are_sound() -> None:
    settings = Settings()
    assert settings.timeout > 0
    assert settings.max_response >= 50 << 20, "fetch.max.bytes of the Java client"
    assert settings.client_id == "kdbg"
