"""SASL tokens of every mechanism, as the RFCs have them: what they are, what is in them, what of that is hidden."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdbg.errors import WireError
from kdbg.protocol.grammars.payloads import client_token, server_token
from kdbg.protocol.grammars.payloads.sasl_tokens import TOKENS, named
from kdbg.protocol.wire.language.payload import Holding, PayloadForm
from kdbg.protocol.wire.nodes import build
from kdbg.protocol.wire.readings.annotate import inspect
from kdbg.protocol.wire.readings.compiled import read_whole
from kdbg.protocol.wire.readings.secrets import Hidden, hide

from ...cases import for_each

HIDDEN = object()
"""Stands for a secret in what a token shows."""
KERBEROS, SPNEGO = "06092a864886f712010202", "06062b0601050502"


class Token(NamedTuple):
    """A token, and what of it is shown."""

    mechanism: str
    sender: Holding
    data: bytes
    name: str
    shows: dict[str, Any]


FIRST = {"channel_binding": "n", "authorization_id": None, "tokenauth": None, "extensions": None}
WRAPPED = {
    "token_id": 0x0504, "flags": 1, "filler": 255, "extra_count": 12, "right_rotation_count": 0, "sequence_number": 7,
}  # fmt: skip
EXAMPLES = (
    Token("PLAIN", client_token, b"\0tim\0tanstaaftanstaaf", "PlainMessage", {
        "authorization_id": "", "user": "tim", "password": HIDDEN,
    }),
    Token("PLAIN", client_token, b"Ursel\0Kurt\0xipj3plmq", "PlainMessage", {
        "authorization_id": "Ursel", "user": "Kurt", "password": HIDDEN,
    }),
    # RFC 7677's own exchange
    Token("SCRAM-SHA-256", client_token, b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO", "ScramClientFirstMessage", FIRST | {
        "user": "user", "nonce": "rOprNGfwEbeRWgbNEkqO",
    }),
    Token(
        "SCRAM-SHA-256",
        server_token,
        b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096",
        "ScramServerFirstMessage",
        {
            "nonce": "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "salt": HIDDEN, "iterations": "4096",
            "extensions": None,
        },
    ),
    Token(
        "SCRAM-SHA-256",
        client_token,
        b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
        "ScramClientFinalMessage",
        {"channel_binding": "biws", "nonce": "rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0", "proof": HIDDEN},
    ),
    Token(
        "SCRAM-SHA-256",
        server_token,
        b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=",
        "ScramServerFinalMessage",
        {"signature": HIDDEN},
    ),
    Token("SCRAM-SHA-512", server_token, b"e=unknown-user", "ScramServerError", {"error": "unknown-user"}),
    # a delegation token's id as the user (KIP-48), and an authorization id
    Token("SCRAM-SHA-512", client_token, b"n,a=ann,n=Zq1,r=abc,tokenauth=true", "ScramClientFirstMessage", FIRST | {
        "authorization_id": "ann", "user": "Zq1", "nonce": "abc", "tokenauth": "true",
    }),
    Token("SCRAM-SHA-256", client_token, b"n,,n=user,r=abc,x=unknown", "ScramClientFirstMessage", FIRST | {
        "user": "user", "nonce": "abc", "extensions": HIDDEN,
    }),
    Token("OAUTHBEARER", client_token, b"n,,\1auth=Bearer vF9dft4qmT\1\1", "OAuthBearerClientInitialResponse", {
        "channel_binding": "n", "authorization_id": None, "auth": HIDDEN, "extensions": [], "end": "",
    }),
    Token(
        "OAUTHBEARER",
        client_token,
        b"n,a=ann,\1auth=Bearer vF9dft4qmT\1traceId=7 b\1accessToken=x\1\1",
        "OAuthBearerClientInitialResponse",
        {
            "channel_binding": "n", "authorization_id": "ann", "auth": HIDDEN, "end": "",
            "extensions": [{"name": "traceId", "value": HIDDEN}, {"name": "accessToken", "value": HIDDEN}],
        },
    ),
    Token("OAUTHBEARER", server_token, b'{"status":"invalid_token"}', "OAuthBearerServerError", {
        "json": '{"status":"invalid_token"}',
    }),
    Token("OAUTHBEARER", client_token, b"\1", "OAuthBearerErrorAcknowledgement", {"end": ""}),
    Token("GSSAPI", client_token, bytes.fromhex(f"60 10 {KERBEROS} 0100 6e0101"), "KerberosToken", {
        "tag": 0x60, "length": 16, "mechanism": "1.2.840.113554.1.2.2", "token_id": 0x0100, "token": HIDDEN,
    }),
    Token("GSSAPI", server_token, bytes.fromhex(f"60 8180 {KERBEROS} 0200") + bytes(115), "KerberosToken", {
        "tag": 0x60, "length": 128, "mechanism": "1.2.840.113554.1.2.2", "token_id": 0x0200, "token": HIDDEN,
    }),
    Token("GSSAPI", client_token, bytes.fromhex(f"60 0a {SPNEGO} a000"), "SpnegoInitialToken", {
        "tag": 0x60, "length": 10, "mechanism": "1.3.6.1.5.5.2", "token": HIDDEN,
    }),
    Token("GSSAPI", server_token, bytes.fromhex("a1 04 3002a000"), "SpnegoNegotiationToken", {
        "tag": 0xA1, "length": 4, "token": HIDDEN,
    }),
    Token(
        "GSSAPI",
        server_token,
        bytes.fromhex("0504 01 ff 000c 0000 0000000000000007 01 010000") + bytes(12),
        "KerberosSecurityLayer",
        WRAPPED | {"security_layers": 1, "data": HIDDEN},
    ),
    Token(
        "GSSAPI",
        client_token,
        bytes.fromhex("0504 02 ff 0000 001c 0000000000000007") + bytes(28),
        "KerberosWrapToken",
        WRAPPED | {"flags": 2, "extra_count": 0, "right_rotation_count": 28, "data": HIDDEN},
    ),
)  # fmt: skip
every_token = for_each("token", EXAMPLES, ids=lambda token: f"{token.mechanism}-{token.data[:12]!r}")


def read(holding: Holding, data: bytes, **around: Any) -> PayloadForm | None:
    """The one way that these bytes are read."""
    found = []
    for readable in holding(data, around):
        try:
            reading = readable.choose(data)
        except WireError:
            continue
        if read_whole(reading.grammar, data) is not None:
            found.append(reading)
    assert len(found) < 2
    return found[0] if found else None


@every_token
def test_a_token_of_a_known_mechanism(token: Token) -> None:
    reading = read(token.sender, token.data, mechanism=token.mechanism)
    assert reading is not None
    assert reading.name == token.name
    value = read_whole(reading.grammar, token.data)
    shown = hide(reading.grammar, value)
    assert veiled(shown) == token.shows
    assert shown.keys() == value.keys()


def veiled(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: veiled(item) for key, item in value.items()}
    if isinstance(value, list):
        return [veiled(item) for item in value]
    return HIDDEN if isinstance(value, Hidden) else value


@every_token
def test_a_token_is_told_by_its_looks_where_no_handshake_was_seen(token: Token) -> None:
    reading = read(token.sender, token.data)
    assert reading is not None
    assert reading.name == token.name


@every_token
def test_a_token_means_nothing_in_a_mechanism_that_kdbg_does_not_know(token: Token) -> None:
    assert read(token.sender, token.data, mechanism="AWS_MSK_IAM") is None


@every_token
def test_spans_tile_it_and_a_build_gives_its_bytes(token: Token) -> None:
    reading = read(token.sender, token.data)
    assert reading is not None
    inspection = inspect(reading.grammar, token.data)
    assert inspection.findings == []
    places = [(span.start, span.end) for span in inspection.spans]
    assert [start for start, _ in places] == [0, *(end for _, end in places[:-1])]
    assert places[-1][1] == len(token.data)
    assert build(reading.grammar, inspection.value) == token.data
    assert named(token.name) == reading


def test_every_kind_of_token_has_an_example() -> None:
    assert {token.name for token in EXAMPLES} == set(TOKENS)


NO_TOKENS: tuple[tuple[Holding, bytes], ...] = (
    (client_token, b"alice\0secret"),
    (client_token, b"\0alice\0"),
    (client_token, b"\0\0secret"),
    (client_token, b"\0alice\0sec\0ret"),
    (client_token, b"\0al\nice\0secret"),
    (client_token, b"n,,n=user"),
    (client_token, b"c=biws,r=abc"),
    (client_token, b"n,,\1auht=Bearer secret\1\1"),
    (client_token, b"n,,\1auth=Bearer secret\1trace-id=1\1\1"),
    (client_token, b"n,,\1auth=Bearer secret\1"),
    (client_token, b"\x60\x03\x06\x01\x2a"),
    (client_token, b"\xff\xfe\0secret\0secret"),
    (server_token, b"e=c2VjcmV0c2VjcmV0"),
    (server_token, b"e=secretsecret"),
    (server_token, b"secret"),
    (server_token, b"\0alice\0secret"),
)


@for_each(("holding", "data"), NO_TOKENS)
def test_what_looks_like_no_token_stays_closed(holding: Holding, data: bytes) -> None:
    assert read(holding, data) is None


def test_what_is_wrong_with_a_token_is_said_without_the_token() -> None:
    (plain,) = client_token(b"", ChainMap({"auth_bytes": b""}, {"mechanism": "PLAIN"}))
    with pytest.raises(WireError) as caught:
        plain.choose(b"alice:hunter2")
    assert "PLAIN" in str(caught.value)
    assert "hunter2" not in str(caught.value)


words = st.text("abcdefghijklmnop", min_size=8, max_size=8)
SECRETIVE: dict[str, tuple[Holding, Callable[[bytes], bytes]]] = {
    "PLAIN": (client_token, lambda word: b"\0alice\0" + word),
    "salt": (server_token, lambda word: b"r=abc,s=" + word + b",i=4096"),
    "proof": (client_token, lambda word: b"c=biws,r=abc,p=" + word),
    "signature": (server_token, lambda word: b"v=" + word),
    "OAUTHBEARER": (client_token, lambda word: b"n,,\1auth=Bearer " + word + b"\1traceId=7\1\1"),
    "Kerberos": (client_token, lambda word: bytes.fromhex(f"60 2d {KERBEROS} 0100") + word),
    "wrapped": (client_token, lambda word: bytes.fromhex("0504 02 ff 0000 001c 0000000000000007") + word),
}


@given(name=st.sampled_from(sorted(SECRETIVE)), word=words, place=st.integers(0, 60), wrong=st.integers(0, 255))
def test_no_field_shows_a_secret_whichever_byte_is_wrong(name: str, word: str, place: int, wrong: int) -> None:
    """The word stands four times in a row: a byte that is wrong can break two of them at most."""
    holding, make = SECRETIVE[name]
    data = bytearray(make(word.encode() * 4))
    data[place % len(data)] = wrong
    reading = read(holding, bytes(data))
    if reading is not None:
        assert word not in repr(hide(reading.grammar, read_whole(reading.grammar, bytes(data))))
