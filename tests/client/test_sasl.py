"""The client's half of the mechanisms, against scramp's server half and the RFCs' own examples."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scramp import ScramMechanism

from kdbg.errors import InputError
from kdbg.live.client.sasl import MECHANISMS, Rejected, mechanism
from kdbg.live.client.settings import Sasl

from ..cases import for_each

SCRAM = [name for name in MECHANISMS if name.startswith("SCRAM")]


def test_plain() -> None:
    """RFC 4616: no authorization id, the user, the password."""
    talk = mechanism(Sasl("PLAIN", "tim", "tanstaaftanstaaf"))
    assert next(talk) == b"\0tim\0tanstaaftanstaaf"
    with pytest.raises(StopIteration):
        talk.send(b"")


def test_plain_is_utf_8() -> None:
    assert next(mechanism(Sasl("plain", "Zoë", "pässwörd"))) == "\0Zoë\0pässwörd".encode()


def test_oauthbearer() -> None:
    """RFC 7628, as KIP-255 uses it."""
    talk = mechanism(Sasl("OAUTHBEARER", token="a.b.c"))
    assert next(talk) == b"n,,\x01auth=Bearer a.b.c\x01\x01"
    with pytest.raises(StopIteration):
        talk.send(b"")


def test_oauthbearer_acknowledges_a_complaint_once() -> None:
    talk = mechanism(Sasl("OAUTHBEARER", token="a.b.c"))
    next(talk)
    assert talk.send(b'{"status":"invalid_token"}') == b"\x01"
    with pytest.raises(Rejected, match="invalid_token"):
        talk.send(b"again")


def prove(name: str, user: str, password: str, known: dict[str, Any]) -> Any:
    """A whole SCRAM exchange; the server, once it believes the client."""
    talk = mechanism(Sasl(name, user, password))
    server = ScramMechanism(name).make_server(lambda user: known[user])
    server.set_client_first(next(talk).decode())
    final = talk.send(server.get_server_first().encode())
    server.set_client_final(final.decode())
    with pytest.raises(StopIteration):
        talk.send(server.get_server_final().encode())
    return server


@for_each("name", SCRAM)
@for_each("user", ["alice", "a=b", "a,b", "a=2Cb,=3D", "Zoë", "user name"])
def test_scram(name: str, user: str) -> None:
    prove(name, user, "secret-of-hers", {user: ScramMechanism(name).make_auth_info("secret-of-hers")})


@given(st.sampled_from(SCRAM), st.text(st.characters(codec="ascii", exclude_categories=["C"]), min_size=1, max_size=20))
@settings(max_examples=10)
def test_scram_with_any_password(name: str, password: str) -> None:
    prove(name, "alice", password, {"alice": ScramMechanism(name).make_auth_info(password, iteration_count=4096)})


def test_scram_as_in_rfc_7677() -> None:
    """The RFC's own exchange for user and pencil, with its nonce."""
    talk = mechanism(Sasl("SCRAM-SHA-256", "user", "pencil"))
    nonce = next(talk).decode().partition("r=")[2]
    # the nonce is random, so the proof differs; its form does not
    final = talk.send(f"r={nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    binding, whole, proof = final.decode().split(",", 2)
    assert (binding, whole) == ("c=biws", f"r={nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0")
    assert len(base64.b64decode(proof.removeprefix("p="))) == 32


@pytest.mark.parametrize("name", SCRAM)
def test_scram_and_a_server_that_does_not_know_the_password(name: str) -> None:
    talk = mechanism(Sasl(name, "alice", "secret-of-hers"))
    nonce = next(talk).decode().partition("r=")[2]
    talk.send(f"r={nonce}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    with pytest.raises(Rejected, match="server authentication failed: the broker's SCRAM signature is wrong"):
        talk.send(b"v=" + base64.b64encode(bytes(32)))


@given(st.binary(max_size=60))
def test_scram_and_any_rubbish(rubbish: bytes) -> None:
    talk = mechanism(Sasl("SCRAM-SHA-256", "alice", "secret-of-hers"))
    next(talk)
    with pytest.raises(Rejected) as caught:
        talk.send(rubbish)
    assert "secret-of-hers" not in str(caught.value)


@for_each("count", ["1", "4095", "1000001", "99999999999999999999", "x", "-5", ""])
def test_scram_and_a_server_that_asks_for_too_much_or_too_little_work(count: str) -> None:
    talk = mechanism(Sasl("SCRAM-SHA-256", "alice", "secret-of-hers"))
    nonce = next(talk).decode().partition("r=")[2]
    with pytest.raises(Rejected):
        talk.send(f"r={nonce}x,s=W22ZaJ0SNY7soEsUEjb6gQ==,i={count}".encode())


@for_each(
    ("sasl", "words"),
    [
        (
            Sasl("GSSAPI"),
            "unknown SASL mechanism 'GSSAPI'; use one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512, OAUTHBEARER",
        ),
        (Sasl(""), "unknown SASL mechanism ''"),
        (Sasl("PLAIN", password="secret-of-hers"), "PLAIN requires a user name; use --sasl-username"),
        (Sasl("scram-sha-512", password="secret-of-hers"), "SCRAM-SHA-512 requires a user name"),
        (
            Sasl("OAUTHBEARER", "alice", "secret-of-hers"),
            "OAUTHBEARER requires a token; use --sasl-token-file or KDBG_SASL_TOKEN",
        ),
        (Sasl("SCRAM-SHA-256", "a\0b", "secret-of-hers"), "invalid user name or password: "),
        (Sasl("SCRAM-SHA-256", "alice", "secret\0-of-hers"), "invalid user name or password: "),
    ],
)
def test_settings_that_lack_something(sasl: Sasl, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        mechanism(sasl)
    assert "of-hers" not in str(caught.value)
