"""`kdbg wireshark`: the Lua file printed, in the folder where Wireshark loads it, replaced and removed; its colors."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from kdbg.ui.cli.wireshark import COLORS, plugin_folder
from kdbg.views.wireshark import FIRST_LINE

from .calls import CAPTURES, ENVIRONMENT, MAIN, call, spawn

DEFAULT = Path(".local", "lib", "wireshark", "plugins", "kdbg.lua")
tshark_needed = pytest.mark.skipif(shutil.which("tshark") is None, reason="tshark is not installed")


def tshark(home: Path, *arguments: object) -> tuple[str, str]:
    """What tshark prints for the user with this home, (stdout, stderr)."""
    environment = {name: value for name, value in ENVIRONMENT.items() if not name.startswith(("XDG_", "WIRESHARK_"))}
    done = subprocess.run(
        ["tshark", *map(str, arguments)], capture_output=True, text=True, timeout=60, cwd=home,
        env=environment | {"HOME": str(home)}, check=False,
    )  # fmt: skip
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def lua(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lua") / "kdbg.lua"
    path.write_text(call("wireshark", "--print").out)
    return path


def test_the_file_says_who_wrote_it(lua: Path) -> None:
    assert lua.read_bytes().startswith(FIRST_LINE.encode())


@tshark_needed
def test_it_is_installed_where_tshark_looks_replaced_and_removed(tmp_path: Path, lua: Path) -> None:
    path = tmp_path / DEFAULT
    for verb in ("installed", "replaced"):
        done = spawn("wireshark", "--install", HOME=str(tmp_path))
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(f"{path}: {verb}\n")
        assert "Analyze > Reload Lua Plugins (Ctrl+Shift+L" in done.out
        assert ("As root" in done.out) == (os.geteuid() == 0)
        assert path.read_bytes() == lua.read_bytes()
        assert list(path.parent.iterdir()) == [path]
    plugins, _ = tshark(tmp_path, "-G", "plugins")
    (line,) = [line.split("\t") for line in plugins.splitlines() if "kdbg" in line]
    assert (line[0], line[-1]) == ("kdbg.lua", str(path))
    shown, _ = tshark(tmp_path, "-r", CAPTURES / "first-contact.pcap", "-Y", 'kdbg.api == "Produce"')
    assert "Produce v10 request  orders" in shown
    assert spawn("wireshark", "--uninstall", HOME=str(tmp_path)) == (0, f"{path}: removed\n", "")
    assert spawn("wireshark", "--uninstall", HOME=str(tmp_path)) == (0, f"{path}: not installed\n", "")


@pytest.mark.parametrize("option", ["--install", "--uninstall"])
def test_a_file_that_kdbg_did_not_write_stays(option: str, tmp_path: Path) -> None:
    path = tmp_path / DEFAULT
    path.parent.mkdir(parents=True)
    path.write_text("-- mine\n")
    done = spawn("wireshark", option, HOME=str(tmp_path))
    assert done == (2, "", f"kdbg: {path}: not written by kdbg; rename or remove it first\n")
    assert path.read_text() == "-- mine\n"


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / ".local").write_text("")
    done = spawn("wireshark", "--install", HOME=str(tmp_path))
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    assert str(tmp_path / ".local") in done.err


def test_without_wireshark_it_is_in_the_documented_folder(tmp_path: Path) -> None:
    done = spawn("wireshark", "--install", HOME=str(tmp_path), PATH=str(tmp_path))
    assert done.out.startswith(f"{tmp_path / DEFAULT}: installed\n")


def test_the_folder_is_the_one_that_tshark_prints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a system where the folder is another one: a program named tshark that prints what Wireshark prints."""
    program = tmp_path / "tshark"
    program.write_text("#!/bin/sh\nprintf 'Temp:\\t/tmp\\nPersonal Lua Plugins:\\tC:\\\\Users\\\\a b\\\\plugins\\n'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert str(plugin_folder()) == r"C:\Users\a b\plugins"
    program.write_text("#!/bin/sh\nexit 1\n")
    assert plugin_folder() == Path.home() / DEFAULT.parent


def test_the_folder_on_windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setenv("APPDATA", "appdata")
    monkeypatch.delenv("WIRESHARK_CONFIG_DIR", raising=False)
    assert plugin_folder() == Path("appdata", "Wireshark", "plugins")
    monkeypatch.setenv("WIRESHARK_CONFIG_DIR", "config")
    assert plugin_folder() == Path("config", "plugins")


def test_definitions_are_in_the_file(lua: Path) -> None:
    with_lamp = call("wireshark", "--print", "--definitions", MAIN / "tests" / "definitions" / "made")
    assert (with_lamp.status, '"Lamp"' in with_lamp.out, '"Lamp"' in lua.read_text()) == (0, True, False)


def test_without_an_option_help() -> None:
    assert call("wireshark") == call("wireshark", "--help")


@pytest.mark.parametrize("arguments", [("--print", "--colors"), ("--install", "--uninstall"), ("--print", "file")])
def test_wrong_use_is_one_line(arguments: tuple[str, ...]) -> None:
    done = call("wireshark", *arguments)
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)


@tshark_needed
def test_wireshark_takes_the_coloring_rules(tmp_path: Path, lua: Path) -> None:
    folder = tmp_path / ".config" / "wireshark"
    folder.mkdir(parents=True)
    (folder / "colorfilters").write_text(call("wireshark", "--colors").out)
    rule = ("-T", "fields", "-e", "frame.coloring_rule.name", "-e", "kdbg.error")
    colored = ("--color", "-2", "-X", f"lua_script:{lua}", *rule, "-r")
    found, names = set(), [line.split("@")[1] for line in COLORS.splitlines() if line.startswith("@")]
    for capture in ("errors.pcap", "real-errors.pcap", "codecs.pcap"):
        shown, errors = tshark(tmp_path, *colored, CAPTURES / capture)
        assert "ould not" not in errors
        assert "WARNING" not in errors
        for name, _, error in (line.partition("\t") for line in shown.splitlines()):
            assert not error or name in names
            found.add(name)
    assert found >= {"Kafka: error code", "Kafka: unsolicited, unanswered"}
