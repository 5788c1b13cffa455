"""Every kind of cipher that OpenSSL speaks with itself is decrypted to the same exchanges as plain traffic."""

from __future__ import annotations

import shutil
import ssl
import subprocess
from pathlib import Path

import pytest

import kdbg
from kdbg.streams.tls.hello import NAMES

from ..traffic import Talk, pcap
from .talks import TlsTalk, ends

TLS_1_2 = [
    ("rsa", "ECDHE-RSA-AES128-GCM-SHA256", True),
    ("rsa", "ECDHE-RSA-AES256-GCM-SHA384", True),
    ("rsa", "ECDHE-RSA-CHACHA20-POLY1305", True),
    ("rsa", "AES128-GCM-SHA256", True),
    ("rsa", "AES256-GCM-SHA384", True),
    ("rsa", "AES128-CCM8", True),
    ("rsa", "AES256-CCM", True),
    ("rsa", "AES128-SHA", True),
    ("rsa", "AES128-SHA", False),
    ("rsa", "AES256-SHA256", True),
    ("rsa", "AES256-SHA256", False),
    ("rsa", "ECDHE-RSA-AES256-SHA384", True),
    ("rsa", "ECDHE-RSA-AES256-SHA384", False),
    ("ec", "ECDHE-ECDSA-AES256-SHA", True),
    ("ec", "ECDHE-ECDSA-AES128-SHA256", False),
    ("ec", "ECDHE-ECDSA-AES128-GCM-SHA256", True),
    ("ec", "ECDHE-ECDSA-CHACHA20-POLY1305", True),
    ("ec", "ECDHE-ECDSA-AES256-CCM8", True),
]


def speak(talk: Talk) -> Talk:
    """Some requests and answers: small ones, one of many records, several that are sent together."""
    talk.ask("ApiVersions", 0).answer(api_keys=[{"api_key": 3, "min_version": 0, "max_version": 12}])
    topics = [{"name": f"topic-{number}"} for number in range(3000)]
    talk.ask("Metadata", 1, topics=topics)
    talk.answer(brokers=[{"node_id": 1, "host": "broker-1", "port": 9093}])
    for _ in range(3):
        talk.ask("Heartbeat", 0, group_id="billing", generation_id=1, member_id="m-1")
    for _ in range(3):
        talk.answer()
    return talk.end()


def exchanges(path: Path, keys: Path | None) -> list[dict[str, object]]:
    """What a capture says, without what TLS changes: ports, packets, times."""
    found = []
    for exchange in kdbg.read(path, **({"tls_keys": keys} if keys is not None else {})):
        said = exchange.to_dict()
        for half in ("request", "response"):
            said[half] = {"size": said[half]["size"], "body": said[half]["body"]}
        found.append({name: said[name] for name in ("api", "correlation_id", "findings", "request", "response")})
    return found


@pytest.fixture(scope="session")
def plain(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, object]]:
    """What is said in the clear."""
    path = tmp_path_factory.mktemp("plain") / "plain.pcap"
    path.write_bytes(pcap(speak(Talk())))
    return exchanges(path, None)


def check(talk: TlsTalk, keys: Path, folder: Path, plain: list[dict[str, object]], version: str) -> None:
    path = folder / "tls.pcap"
    path.write_bytes(pcap(speak(talk)))
    assert len(plain) == 5
    assert exchanges(path, keys) == plain
    with kdbg.read(path, tls_keys=keys) as reading:
        tls = {exchange.peers.tls for exchange in reading}
        assert reading.findings == ()
    (known,) = tls
    assert known is not None
    assert (known.version, known.server_name) == (version, "kafka.example")


def test_the_names_of_cipher_suites_are_those_that_openssl_knows() -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    listed = [openssl, "ciphers", "-V", "-stdname", "ALL:COMPLEMENTOFALL:@SECLEVEL=0"]
    lines = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.splitlines()
    known = {int(code.replace("0x", "").replace(",", ""), 16): name for code, _, name, *_ in map(str.split, lines)}
    assert len(known.keys() & NAMES.keys()) > 40
    for code in known.keys() & NAMES.keys():
        assert NAMES[code] == known[code]


@pytest.mark.parametrize(("key", "cipher", "encrypt_then_mac"), TLS_1_2)
def test_tls_1_2(
    key: str, cipher: str, encrypt_then_mac: bool, pems: dict[str, Path], tmp_path: Path, plain: list[dict[str, object]]
) -> None:
    both = ends(
        pems[key], ciphers=f"{cipher}:@SECLEVEL=0", newest=ssl.TLSVersion.TLSv1_2, encrypt_then_mac=encrypt_then_mac
    )
    talk = TlsTalk(both, tmp_path / "keys")
    assert talk.tls[0].cipher() is not None
    assert talk.tls[0].cipher()[0] == cipher  # type: ignore[index]
    check(talk, tmp_path / "keys", tmp_path, plain, "TLS 1.2")


def test_tls_1_3(pems: dict[str, Path], tmp_path: Path, plain: list[dict[str, object]]) -> None:
    talk = TlsTalk(ends(pems["ec"]), tmp_path / "keys")
    check(talk, tmp_path / "keys", tmp_path, plain, "TLS 1.3")
