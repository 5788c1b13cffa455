"""`kdbg wireshark`: the dissector for Wireshark, printed, or in the folder of the user's Lua plugins."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ...errors import InputError
from .options import definitions_option
from .output import write_out

NAME = "kdbg.lua"
"""The file in the folder."""
FOLDER = "Personal Lua Plugins"
"""What `tshark -G folders` calls the folder."""
WAIT = 30
"""Seconds that tshark may take to print its folders."""
INSTALLED = """\
Wireshark: reload it with Analyze > Reload Lua Plugins (Ctrl+Shift+L, on macOS
Cmd+Shift+L). tshark loads it at each start.
"""
ROOT = """\
As root, Wireshark 4.4 loads no Lua plugins, and 4.0 only if init.lua has
run_user_scripts_when_superuser = true: use another user.
"""
COLORS = """\
# Kafka, as dissected by kdbg: View > Coloring Rules > Import
@Kafka: malformed@kdbg.malformed || kdbg.trailing_bytes || kdbg.wrong_crc@[0,0,0][65535,24672,24672]
@Kafka: unsolicited, unanswered@kdbg.unsolicited_response || kdbg.unanswered_request@[65535,57311,40863][0,0,0]
@Kafka: error code@kdbg.error@[64250,49344,49344][32896,0,0]
"""
"""Coloring rules in Wireshark's format: name, display filter, background and foreground; the first that fits counts."""


@click.command(context_settings={"max_content_width": 100})
@click.option("--print", "printed", is_flag=True, help="Print the Lua file.")
@click.option("--install", is_flag=True, help="Write the Lua file into Wireshark's folder of personal Lua plugins.")
@click.option("--uninstall", is_flag=True, help="Remove the Lua file from that folder.")
@click.option("--colors", is_flag=True, help="Print coloring rules for errors, to import into Wireshark.")
@definitions_option
def command(printed: bool, install: bool, uninstall: bool, colors: bool) -> None:
    """Write or install a Wireshark dissector of every API version.

    The dissector is one Lua file. Wireshark and tshark 4.0 and later decode Kafka with it as the protocol kdbg, next
    to their own protocol kafka. APIs of --definitions are in the file as well.

    \b
    kdbg wireshark --install
    kdbg wireshark --print > kdbg.lua
    tshark -X lua_script:kdbg.lua -r capture.pcap
    kdbg wireshark --colors > colors.txt
    kdbg wireshark --uninstall
    """
    if printed + install + uninstall + colors > 1:
        raise click.UsageError("use only one of --print, --install, --uninstall and --colors")
    if printed:
        write_out([dissector()])
    elif install:
        write_out([installed(plugin_folder() / NAME)])
    elif uninstall:
        write_out([removed(plugin_folder() / NAME)])
    else:
        write_out([COLORS if colors else click.get_current_context().get_help() + "\n"])


def dissector() -> str:
    """Return the Lua file."""
    from ...views.wireshark import script

    return script()


def installed(path: Path) -> str:
    """Write the dissector; return where it is and how it is loaded. Raise `InputError` for a file of others."""
    from ...atomic import AtomicFile
    from ...errors import WriteError

    older = is_ours(path)
    data = dissector().encode()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(str(path.parent), error.strerror or str(error)) from None
    with AtomicFile(path) as file:
        file.write(data)
    root = ROOT if hasattr(os, "geteuid") and os.geteuid() == 0 else ""
    return f"{path}: {'replaced' if older else 'installed'}\n{INSTALLED}{root}"


def removed(path: Path) -> str:
    """Remove the dissector, if it is there; return what was done. Raise `InputError` for a file of others."""
    if not is_ours(path):
        return f"{path}: not installed\n"
    path.unlink()
    return f"{path}: removed\n"


def is_ours(path: Path) -> bool:
    """Return whether a file is there that kdbg wrote; raise `InputError` if another is there."""
    from ...views.wireshark import FIRST_LINE

    try:
        with path.open("rb") as file:
            begins = file.read(len(FIRST_LINE))
    except FileNotFoundError:
        return False
    if begins != FIRST_LINE.encode():
        raise InputError(f"{path}: not written by kdbg; rename or remove it first")
    return True


def plugin_folder() -> Path:
    """Return the folder of personal Lua plugins: as tshark or Wireshark has it, otherwise the documented default."""
    import shutil
    import subprocess

    for program in filter(None, map(shutil.which, ("tshark", "wireshark"))):
        try:
            found = subprocess.run([program, "-G", "folders"], capture_output=True, timeout=WAIT, check=False).stdout
        except (OSError, subprocess.TimeoutExpired):
            continue
        for line in os.fsdecode(found).splitlines():
            name, _, folder = line.partition(":")
            if name == FOLDER and folder.strip():
                return Path(folder.strip())
    if sys.platform == "win32":
        settings = os.environ.get("WIRESHARK_CONFIG_DIR") or Path(os.environ.get("APPDATA", ""), "Wireshark")
        return Path(settings, "plugins")
    return Path.home() / ".local" / "lib" / "wireshark" / "plugins"
