"""A message whose fields do not hold what their names say: a secret may stand in any of them, and no view shows it.

A sender leaves the name of a setting empty, or writes a field too many: what follows is read as other fields, so the
password stands where no password is declared, and bytes are left over at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

import kdbg
from kdbg.exchanges.messages.message import Message
from kdbg.exchanges.messages.message import read as read_message
from kdbg.ui.cli import run
from kdbg.views.tables.cells import plain
from kdbg.views.tables.message_columns import WantedRows
from kdbg.views.tables.rows import Rows
from tests.traffic import Talk, framed, packed, pcap

PASSWORD = b"hunter2"
KEY = b"ssl.keystore.password"
COUNT = b"\0\0\0\1"
ALTER_CONFIGS = COUNT + b"\4" + packed(b"1") + COUNT + packed(b"") + packed(PASSWORD) + packed(KEY) + b"\0"
"""The setting's key stands behind its value; the value is read as that of a setting without a name, which is shown."""
CREATE_TOPICS = COUNT + packed(PASSWORD) + bytes(14) + packed(KEY) + b"\0\0\xea\x60\0"
"""The password is read as the topic's name."""
SENT = {"AlterConfigs": (0, ALTER_CONFIGS), "CreateTopics": (1, CREATE_TOPICS)}
Shown = Callable[..., str]


@pytest.fixture
def shown(capfdbinary: pytest.CaptureFixture[bytes]) -> Shown:
    """What a command prints, on both streams."""

    def call(*arguments: object) -> str:
        assert run([*map(str, arguments)]) in (0, 1)
        out, err = capfdbinary.readouterr()
        return out.decode() + err.decode()

    return call


def talk(api: str) -> Talk:
    version, body = SENT[api]
    return Talk().ask_bytes(api, version, body).answer()


def shows_password(text: str) -> bool:
    """Whether the password stands in an output, as text or as the pairs of a hexdump, in lines of any length."""
    pairs = "".join(text.split())
    return PASSWORD.decode() in text or PASSWORD.hex() in pairs or PASSWORD[:4].hex(" ") in text


def broken(api: str) -> Message:
    version, body = SENT[api]
    return read_message(kdbg.protocol.grammars.api(api), version, "request", body, header=False)


@pytest.mark.parametrize("api", SENT)
def test_the_password_stands_in_a_field_that_is_not_secret(api: str) -> None:
    message = broken(api)
    assert "trailing-bytes" in [finding.kind for finding in message.findings]
    assert PASSWORD.decode() in repr(message.body)
    assert message.misaligned
    assert PASSWORD.decode() not in repr(message.open_body)


@pytest.mark.parametrize("format", ["tree", "hex", "json", "summary"])
@pytest.mark.parametrize("api", SENT)
def test_no_view_of_a_capture_shows_it(api: str, format: str, tmp_path: Path, shown: Shown) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(talk(api)))
    hidden = shown("decode", path, "-f", format)
    assert not shows_password(hidden)
    assert api in hidden
    if format != "summary":
        assert shows_password(shown("decode", path, "-f", format, "--show-secrets"))


@pytest.mark.parametrize("format", ["tree", "hex", "json"])
@pytest.mark.parametrize("api", SENT)
def test_explain_does_not_show_it(api: str, format: str, shown: Shown) -> None:
    version, body = SENT[api]
    header = {"correlation_id": 1, "client_id": "kdbg"}
    empty = kdbg.encode({}, api=api, version=version, direction="request")
    whole = kdbg.encode({}, api=api, version=version, direction="request", header=header)
    frame = framed(whole[: len(whole) - len(empty)] + body).hex()
    assert not shows_password(shown("explain", frame, "-f", format))
    assert shows_password(shown("explain", frame, "-f", format, "--show-secrets"))


@pytest.mark.parametrize("show_secrets", [False, True])
def test_no_table_holds_it(show_secrets: bool, tmp_path: Path) -> None:
    path = tmp_path / "made.pcap"
    path.write_bytes(pcap(talk("CreateTopics"), talk("AlterConfigs")))
    found = deque[Any]()
    rows = Rows(
        plain(lambda *row: found.append(row)),
        WantedRows(records=True, values=True, show_secrets=show_secrets),
        dict[UUID, str](),
    )
    for exchange in kdbg.read(path):
        rows.exchange("capture", exchange)
    assert shows_password(repr(found)) == show_secrets


def test_what_is_aligned_is_shown() -> None:
    """The key says that the value is a password: that alone is hidden."""
    fields = {"resource_type": 4, "resource_name": "1", "configs": [{"name": KEY.decode(), "value": PASSWORD.decode()}]}
    data = kdbg.encode({"resources": [fields]}, api="AlterConfigs", version=0, direction="request")
    message = kdbg.decode(data, api="AlterConfigs", version=0, direction="request", header=False)
    assert not message.misaligned
    (resource,) = message.open_body["resources"]
    assert resource["resource_name"] == "1"
    (config,) = resource["configs"]
    assert (config["name"], len(config["value"])) == (KEY.decode(), len(PASSWORD))
    assert PASSWORD.decode() not in repr(message.open_body)


def test_a_broken_message_without_secrets_is_shown() -> None:
    message = read_message(
        kdbg.protocol.grammars.api("Metadata"), 1, "request", COUNT + packed(b"orders") + b"!", header=False
    )
    assert [finding.kind for finding in message.findings] == ["trailing-bytes"]
    assert not message.misaligned
    assert message.open_body == {"topics": [{"name": "orders"}]}
