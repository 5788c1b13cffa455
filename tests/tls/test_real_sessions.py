"""Real sessions of four families of clients with a real broker: what is decrypted is what the broker logged."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from pathlib import Path

import pytest

import kdbg

FOLDER = Path(kdbg.__file__).resolve().parents[1] / "captures" / "tls"
VERSIONS = ("1.2", "1.3")
CLIENTS = {
    "console-producer", "console-consumer", "rdkafka-letters", "rdkafka-reader", "python-letters", "python-reader",
    "go-letterbox", "go-postman",
}  # fmt: skip
CIPHERS = {
    "1.3": {"TLS_AES_256_GCM_SHA384"},
    "1.2": {
        "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA384", "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
        "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    },
}  # fmt: skip
Said = tuple[str, int, int, int, str | None]
"""The client's end, correlation id, key and version of the API, client id."""


def logged(path: Path) -> Counter[Said]:
    """The requests of a broker's log."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    found: Counter[Said] = Counter()
    for entry in entries:
        header = entry["requestHeader"]
        client = "-".join(entry["connection"].split("-")[1:2])
        said = header["correlationId"], header["requestApiKey"], header["requestApiVersion"], header["clientId"]
        found[client, *said] += 1
    return found


def decrypted(path: Path, keys: Path, *, whole: bool = False) -> Counter[Said]:
    """The exchanges of a capture; `whole`: those that were answered to the last byte."""
    found: Counter[Said] = Counter()
    for exchange in kdbg.read_capture(path, tls_keys=keys):
        assert exchange.api is not None
        if whole and (exchange.response is None or exchange.response.missing):
            continue
        host, port = exchange.peers.client
        said = exchange.correlation_id, exchange.api.key, exchange.version, exchange.client_id
        found[f"{host}:{port}", *said] += 1
    return found


@pytest.mark.parametrize("version", VERSIONS)
def test_the_broker_logged_the_same_requests(version: str) -> None:
    path = FOLDER / f"real-tls-{version}.pcap"
    log = logged(FOLDER / f"real-tls-{version}.requests.jsonl.gz")
    found = decrypted(path, FOLDER / f"real-tls-{version}.keys")
    assert log - found == Counter()
    whole = decrypted(path, FOLDER / f"real-tls-{version}.keys", whole=True)
    assert whole - log == Counter(), "what the client hung up on was not answered, and is not logged"
    assert {said[4] for said in found} >= CLIENTS


@pytest.mark.parametrize("version", VERSIONS)
def test_each_client_has_its_cipher(version: str) -> None:
    path = FOLDER / f"real-tls-{version}.pcap"
    found = {exchange.peers.tls for exchange in kdbg.read(path, tls_keys=FOLDER / f"real-tls-{version}.keys")}
    assert {tls.cipher for tls in found if tls is not None} == CIPHERS[version]
    assert {tls.version for tls in found if tls is not None} == {f"TLS {version}"}


@pytest.mark.parametrize("name", ["tls12-rsa-aes256cbc-kafkapython", "tls13-aes128gcm-aiokafka"])
def test_the_shared_sessions(shared: Path, name: str) -> None:
    folder = shared / "captures" / "tls"
    found = decrypted(folder / f"{name}.pcap.gz", folder / f"{name}.keys")
    log = logged(folder / f"{name}.requests.jsonl.gz")
    assert log - found == Counter()
    assert {said[2] for said in found - log} <= {17, 18, 36}, "what comes before SASL is done is never logged"
