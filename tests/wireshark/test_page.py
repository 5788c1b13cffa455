"""The page wireshark.md: its filters and preferences are those of the Lua file, its figures those of this tshark."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import kdbg
from kdbg.protocol.grammars import apis
from kdbg.ui.guide import section, text
from kdbg.views.wireshark import script

from ..cli.calls import CAPTURES
from ..traffic import Talk, framed, pcap

FIRST_PORT = 20_000
NOT_DECODED = {"kafka": re.compile(r"Unsupported|Unknown"), "kdbg": re.compile(r"nknown|alformed|after the last")}
"""What the two dissectors print of a message that they do not decode."""


tshark_needed = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


@pytest.fixture(scope="module")
def lua(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "kdbg.lua"
    path.write_text(script(), encoding="utf-8")
    return path


def named(heading: str) -> set[str]:
    """The names in the first column of a section's table."""
    rows = re.findall(r"^\| (`kdbg.*?) \|", section("wireshark", heading) or "", re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`kdbg\.(\w+)`", row)}


@tshark_needed
def test_every_filter_of_the_page_is_one(lua: Path) -> None:
    names = {*named("Display filters"), *named("Expert information")}
    assert len(names) >= 20
    command = ["tshark", "-X", f"lua_script:{lua}", "-r", CAPTURES / "first-contact.pcap", "-Y"]
    for name, status in ((" || ".join(f"kdbg.{name}" for name in sorted(names)), 0), ("kdbg.nothing", 2)):
        assert subprocess.run([*command, name], capture_output=True, timeout=60, check=False).returncode == status


def test_every_expert_info_and_every_preference_is_on_the_page() -> None:
    text = script()
    assert named("Expert information") == set(re.findall(r'= expert_info\("(\w+)"', text))
    assert named("Preferences") == set(re.findall(r"^kdbg\.prefs\.(\w+) = Pref", text, re.MULTILINE))


def requests() -> bytes:
    """A capture of one request of each version, each on a connection of its own."""
    talks = []
    for number, (api, version) in enumerate((each, version) for each in apis() for version in each.versions):
        header = {"correlation_id": 1} | ({"client_id": "c"} if api.header_version("request", version) else {})
        body = api.at("request", version).default()
        data = kdbg.encode(body, api=api.key, version=version, direction="request", header=header)
        talks.append(Talk(("10.0.0.1", FIRST_PORT + number), at=number * 1000).send(framed(data)).end())
    return pcap(*talks)


def decoded(protocol: str, *options: str) -> int:
    """The number of connections whose request a dissector decodes."""
    command = ["tshark", *options, "-Y", protocol, "-T", "fields", "-e", "tcp.srcport", "-e", "_ws.expert.message"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    ports = {port: message for port, _, message in (line.partition("\t") for line in lines)}
    return sum(not NOT_DECODED[protocol].search(message) for message in ports.values())


@tshark_needed
def test_the_table_is_what_this_tshark_decodes(tmp_path: Path, lua: Path) -> None:
    said = subprocess.run(["tshark", "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"\d+\.\d+\.\d+", said)
    assert version is not None
    row = re.search(rf"^\| {re.escape(version[0])} \| (\d+) \| (\d+) \|$", text("wireshark"), re.MULTILINE)
    if row is None:
        pytest.skip(f"the page has no figures for tshark {version[0]}")
    capture = tmp_path / "requests.pcap"
    capture.write_bytes(requests())
    found = decoded("kafka", "-r", str(capture)), decoded("kdbg", "-X", f"lua_script:{lua}", "-r", str(capture))
    assert found == (int(row[1]), int(row[2]))
    assert found[1] == sum(len(api.versions) for api in apis())
