"""`python tests/readme/picture.py`: the README's picture, made of what kdbg prints on a terminal with colours."""

from __future__ import annotations

import os
import subprocess
import sys
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

TOP = Path(__file__).resolve().parents[2]
PICTURE = TOP / ".readme" / "decode.svg"
COMMANDS = (
    ("kdbg decode captures/errors.pcap --format summary --errors --limit 6",),
    ("kdbg decode captures/first-contact.pcap --api produce --limit 1",),
    ("kdbg explain 00000017 0003 0001 00000002 0004 6b646267 00000001 0003 666f6f",),
)
WIDTH = 106


def output(command: str) -> str:
    """What a command prints on a colour terminal of WIDTH columns."""
    words = [sys.executable, "-m", *command.split(), "--color", "always"]
    environment = {**os.environ, "COLUMNS": str(WIDTH)}
    found = subprocess.run(words, cwd=TOP, env=environment, capture_output=True, text=True, check=False)
    return found.stdout


def main() -> None:
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True, color_system="truecolor")
    for (command,) in COMMANDS:
        console.print(Text.assemble(("$ ", "bold green"), (command, "bold")))
        console.print(Text.from_ansi(output(command)))
    PICTURE.write_text(console.export_svg(title="kdbg", unique_id="kdbg"), encoding="utf-8")


if __name__ == "__main__":
    main()
