"""Properties files: the Java client's names, as java.util.Properties would read them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kdbg.errors import InputError
from kdbg.live.client.settings import Sasl, Settings, Tls, jaas, parse, read, settings

from ..cases import for_each

PEM = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"


@for_each(
    ("text", "found"),
    [
        ("a=b", {"a": "b"}),
        ("  a  =  b c  ", {"a": "b c  "}),
        ("a:b\nc d\n", {"a": "b", "c": "d"}),
        ("a = : b", {"a": ": b"}),
        ("# no\n! no\n\n  # no\na=1", {"a": "1"}),
        ("a=1\\\n   2\\\n3\nb=4", {"a": "123", "b": "4"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=\\u00e9\\t\\=", {"a": "é\t="}),
        ("a\\ b\\=c=d", {"a b=c": "d"}),
        ("a\nb=\r\nc=1\rd=2", {"a": "", "b": "", "c": "1", "d": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\na=2", {"a": "2"}),
        ("", {}),
    ],
)
def test_the_format_of_java(text: str, found: dict[str, str]) -> None:
    assert dict(parse(text)) == found


@pytest.fixture
def pem(tmp_path: Path) -> str:
    """A file that looks like PEM."""
    path = tmp_path / "some.pem"
    path.write_text(PEM)
    return str(path)


def test_nothing_said_is_plaintext() -> None:
    assert settings({}) == Settings()
    assert settings({"acks": "all", "batch.size": "5"}) == Settings()


def test_the_plain_ones() -> None:
    assert settings({"client.id": "me", "request.timeout.ms": "2500"}) == Settings(client_id="me", timeout=2.5)


def test_tls(pem: str) -> None:
    given = {
        "security.protocol": "ssl", "ssl.truststore.type": "PEM", "ssl.truststore.location": pem,
        "ssl.keystore.location": pem, "ssl.keystore.type": "PEM", "ssl.key.password": "hush",
        "ssl.endpoint.identification.algorithm": "",
    }  # fmt: skip
    assert settings(given).tls == Tls(ca=pem, certificate=pem, password="hush", check_name=False)
    assert settings(given).sasl is None
    assert settings({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}).tls == Tls()


def test_sasl_from_a_jaas_line() -> None:
    line = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="a\\"b\\\\;c";'
    given = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "plain", "sasl.jaas.config": line}
    assert settings(given).sasl == Sasl("PLAIN", "me", 'a"b\\;c')
    assert settings(given).tls is None


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("X required username='me' password=plain;", {"username": "me", "password": "plain"}),
        ('X required a="1"\n   b="";', {"a": "1", "b": ""}),
        ("X required;", {}),
        ("", {}),
    ],
)
def test_jaas(text: str, found: dict[str, str]) -> None:
    assert jaas(text) == found


def test_a_mechanism_that_nobody_names_is_javas_default() -> None:
    sasl = settings({"security.protocol": "SASL_SSL"}).sasl
    assert sasl is not None
    assert sasl.mechanism == "GSSAPI"  # which kdbg then refuses by name


def test_the_names_of_librdkafka(tmp_path: Path, pem: str) -> None:
    path = tmp_path / "rd.properties"
    path.write_text(
        "metadata.broker.list=a:1\nsecurity.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-256\nsasl.username=u\n"
        f"sasl.password=p\nssl.ca.location={pem}\nssl.key.location={pem}\nenable.ssl.certificate.verification=false\n"
    )
    given = read(str(path))
    assert given["bootstrap.servers"] == "a:1"
    assert settings(given).sasl == Sasl("SCRAM-SHA-256", "u", "p")
    assert settings(given).tls == Tls(ca=pem, key=pem, verify=False)


@for_each(
    ("given", "said"),
    [
        ({"security.protocol": "TLS"}, "security.protocol=TLS: unknown; use one of PLAINTEXT, SSL"),
        ({"request.timeout.ms": "soon"}, "request.timeout.ms=soon"),
        ({"request.timeout.ms": "0"}, "request.timeout.ms=0"),
        (
            {"security.protocol": "SSL", "ssl.truststore.certificates": PEM},
            "ssl.truststore.certificates: inline PEM is not supported",
        ),
        ({"security.protocol": "SSL", "ssl.keystore.key": "hush"}, "ssl.keystore.key: inline PEM is not supported"),
        ({"security.protocol": "SSL", "ssl.truststore.location": "/nosuch"}, "/nosuch: No such file"),
    ],
)
def test_what_cannot_be_followed_is_said_in_a_line(given: dict[str, str], said: str) -> None:
    with pytest.raises(InputError) as refused:
        settings(given)
    assert said in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("kind", "shown"), [({}, "JKS"), ({"type": "PKCS12"}, "PKCS12"), ({"type": "PEM"}, ": not PEM; export")]
)
def test_javas_own_stores_are_refused_with_the_way_out(tmp_path: Path, kind: dict[str, Any], shown: str) -> None:
    store = tmp_path / "store"
    store.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    for name, tool in (("ssl.truststore", "-exportcert"), ("ssl.keystore", "openssl pkcs12")):
        typed = {f"{name}.{key}": value for key, value in kind.items()}
        with pytest.raises(InputError, match=shown) as refused:
            settings({"security.protocol": "SSL", f"{name}.location": str(store)} | typed)
        assert tool in str(refused.value)


def test_a_file_that_is_none(tmp_path: Path) -> None:
    for path in (tmp_path / "nosuch", tmp_path):
        with pytest.raises(InputError, match=str(path)):
            read(str(path))
    (tmp_path / "latin").write_bytes(b"a=\xe9")
    with pytest.raises(InputError, match="not UTF-8 text"):
        read(str(tmp_path / "latin"))
